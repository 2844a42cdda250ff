"""What a memory holds after kills, after a full disk, and after two writers of one session.

Calls of ten messages. A call that was not acknowledged is repeated, as its caller would, with the same key.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ingesting.figures import Figures
from ingesting.texts import Corpus

from comparing.child import Child, Environments, Failed, Peer, empty_directory, messages

CALL = 10
SHORTEST_WAIT_SECONDS = 0.3  # at most so long after a call was sent, or as long as a call takes, it is killed
CALLS_BETWEEN_KILLS = (1, 5)
ROOM, SPARE = "2g", 1_000_000  # of the disk; what is left of it once the memory has started
MOST_CALLS = 200  # until the disk is full
REFUSALS = 3  # in a row
WRITTEN = 20  # calls of two writers

Start = Callable[[], Child]


class Calls:
    """Calls of ten messages in sessions, and which of them were acknowledged."""

    def __init__(self, count: int, *, sessions: int) -> None:
        self.texts = Corpus.made().take(CALL * count)
        self._sessions = sessions
        self.acknowledged: set[int] = set()

    def arguments(self, number: int) -> dict[str, Any]:
        texts = self.texts[CALL * number : CALL * (number + 1)]
        session = f"session-{number % self._sessions}"
        return {
            "person": "anna",
            "session": session,
            "messages": messages(texts, f"m{number}"),
            "key": f"call-{number}",
        }

    def make(self, child: Child, number: int) -> None:
        child.call("add", **self.arguments(number))
        self.acknowledged.add(number)

    def left(self, held: Sequence[str], sent: int) -> Figures:
        """What the index holds of the first `sent` calls, all of which were made until they were acknowledged; lost are
        texts that had been acknowledged before the fault."""
        acknowledged = {
            text for number in self.acknowledged for text in self.texts[CALL * number : CALL * (number + 1)]
        }
        copies = copies_of(self.texts[: CALL * sent], held)
        return {
            "acknowledged": len(acknowledged),
            "lost": sum(not copies[text] for text in acknowledged),
            "doubled": sum(max(0, count - 1) for count in copies.values()),
        }


def copies_of(texts: Sequence[str], held: Sequence[str]) -> Counter[str]:
    """How many entries have each text, alone or among others."""
    exact, found = Counter(held), Counter[str]()
    for text in texts:
        found[text] = exact[text] or sum(text in entry for entry in held)
    return found


def kills(environments: Environments, peer: Peer, *, times: int) -> Figures:
    """So often: some calls, and kill -9 of all processes during the next one or right after it."""
    calls, dice, number = Calls(times * (CALLS_BETWEEN_KILLS[1] + 1) + 1, sessions=5), random.Random(23), 0
    figures: Figures = {"kills": 0}
    with empty_directory() as directory:
        try:
            for _ in range(times):
                with Child(environments, peer, directory) as child:
                    number += _until_killed(child, calls, number, dice)
                figures["kills"] += 1
            before = set(calls.acknowledged)
            with Child(environments, peer, directory) as child:
                calls.make(child, number)
                child.call("wait")
                held = child.call("texts")
            calls.acknowledged = before
            return figures | calls.left(held, number + 1)
        except Failed as error:
            return figures | {"acknowledged": CALL * len(calls.acknowledged), "failed": str(error)}


def _until_killed(child: Child, calls: Calls, first: int, dice: random.Random) -> int:
    """How many calls, from the first on, were acknowledged before it was killed."""
    began, count = time.monotonic(), dice.randint(*CALLS_BETWEEN_KILLS)
    for number in range(first, first + count):
        calls.make(child, number)
    child.send("add", **calls.arguments(first + count))
    time.sleep(dice.random() * max(SHORTEST_WAIT_SECONDS, (time.monotonic() - began) / count))
    child.kill()
    if child.answers_left():
        calls.acknowledged.add(first + count)
        return count + 1
    return count


def full_disk(environments: Environments, peer: Peer) -> Figures:
    """Calls on a disk of a megabyte until it is full; then it is stopped, gets room, and is started again."""
    calls = Calls(MOST_CALLS, sessions=5)
    with empty_directory() as directory:
        try:
            with _disk(directory) as resize:
                with Child(environments, peer, directory) as child:
                    calls.make(child, 0)
                    child.call("wait")
                    resize(f"{shutil.disk_usage(directory).used + SPARE}")
                    sent = _until_refused(child, calls)
                before = set(calls.acknowledged)
                resize(ROOM)
                with Child(environments, peer, directory) as child:
                    for number in sorted(set(range(sent)) - before):
                        calls.make(child, number)
                    child.call("wait")
                    held = child.call("texts")
        except Failed as error:
            return {"acknowledged": CALL * len(calls.acknowledged), "failed": str(error)}
    refused = CALL * (sent - len(before))
    calls.acknowledged = before
    return {"refused": refused} | calls.left(held, sent)


def _until_refused(child: Child, calls: Calls) -> int:
    """How many calls were sent until several in a row were refused."""
    refused = 0
    for number in range(1, MOST_CALLS):
        try:
            calls.make(child, number)
            refused = 0
        except Failed:
            refused += 1
        if refused == REFUSALS:
            return number + 1
    return MOST_CALLS


@contextlib.contextmanager
def _disk(directory: Path) -> Iterator[Callable[[str], None]]:
    """A file system in memory, mounted there, whose size can be changed; raises Failed without the right to mount."""

    def mount(*options: str) -> None:
        done = subprocess.run(["mount", *options, str(directory)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"not measured: a small disk needs root, or `unshare --map-root-user --mount`: {done.stderr}")

    if not hasattr(os, "geteuid"):
        raise Failed("not measured: a small disk is a tmpfs, which is Linux's")
    mount("-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs")
    try:
        yield lambda size: mount("-o", f"remount,size={size}")
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def two_writers(environments: Environments, peer: Peer) -> Figures:
    """Two threads write to one session by turns, without a pause; calls that were refused are repeated."""
    calls = Calls(WRITTEN, sessions=1)
    with empty_directory() as directory:
        try:
            with Child(environments, peer, directory) as child:
                found = child.call("together", adds=[calls.arguments(number) for number in range(WRITTEN)])
                calls.acknowledged = {number for number, is_acknowledged in enumerate(found) if is_acknowledged}
                for number in range(WRITTEN):
                    if number not in calls.acknowledged:
                        child.call("add", **calls.arguments(number))
                child.call("wait")
                held = child.call("texts")
        except Failed as error:
            return {"acknowledged": CALL * len(calls.acknowledged), "failed": str(error)}
    return {"refused": CALL * found.count(False)} | calls.left(held, WRITTEN)
