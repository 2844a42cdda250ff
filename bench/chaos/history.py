"""The history of a run in a file, one JSON document a line, and what must hold of it: all clients see one order of
events, whichever API answers."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

Entry = dict[str, Any]
SHOWN = 5


class History:
    """Appends entries from many threads. `at` is when the entry was written, in seconds of one monotonic clock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] = path.open("w")
        self._mutex = threading.Lock()

    def write(self, what: str, **fields: Any) -> None:
        line = json.dumps({"at": time.monotonic(), "what": what, **fields})
        with self._mutex:
            self._file.write(f"{line}\n")

    def close(self) -> None:
        self._file.close()


def read_history(path: Path) -> Iterator[Entry]:
    with path.open() as file:
        for line in file:
            yield json.loads(line)


def check_history(entries: Iterable[Entry]) -> list[str]:
    """What contradicts one order of all events: captures that swap their places, reads that miss what was acknowledged
    before they began or have what was deleted before, cursors that go back."""
    captures: dict[tuple[str, str, int], list[Entry]] = defaultdict(list)
    reads: list[Entry] = []
    removed: dict[str, float] = {}
    cursors: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry["what"] == "capture":
            captures[entry["flow"], entry["session"], entry["life"]].append(entry)
        elif entry["what"] == "read":
            reads.append(entry)
        elif entry["what"] == "remove":
            removed |= dict.fromkeys(entry["ids"], entry["at"])
        elif entry["what"] == "cursor":
            cursors[entry["row"]].append(entry)
    found = [violation for of_session in captures.values() for violation in _swapped(of_session)]
    found += [violation for read in reads for violation in _missed(read, captures, removed)]
    return found + [violation for of_row in cursors.values() for violation in _decreased(of_row)]


def _swapped(captures: list[Entry]) -> Iterator[str]:
    """A capture that began after another was acknowledged has higher positions; no position is taken twice."""
    positions = [seq for capture in captures for seq in capture["seqs"]]
    if len(set(positions)) < len(positions):
        yield f"session {captures[0]['session']}: two messages at one position"
    highest: list[tuple[float, int]] = []  # after this moment no capture may begin below this position
    for capture in sorted(captures, key=lambda each: each["at"]):
        highest.append((capture["at"], max(highest[-1][1] if highest else 0, *capture["seqs"])))
    moments = sorted(captures, key=lambda each: each["began"])
    done = 0
    for capture in moments:
        while done < len(highest) and highest[done][0] < capture["began"]:
            done += 1
        if done and min(capture["seqs"]) <= highest[done - 1][1]:
            given, before = min(capture["seqs"]), highest[done - 1][1]
            yield f"session {capture['session']}: position {given} was given after {before}"


def _missed(read: Entry, captures: dict[tuple[str, str, int], list[Entry]], removed: dict[str, float]) -> Iterator[str]:
    """A read of a session that one client alone writes and deletes."""
    key = (read["flow"], read["session"], read["life"])
    stored = {m for capture in captures[key] if capture["at"] < read["began"] for m in capture["ids"]}
    gone = {m for m in stored if removed.get(m, read["began"]) < read["began"]}
    seen = set(read["ids"])
    if missed := stored - gone - seen:
        yield f"session {read['session']}: a read missed {len(missed)} messages, such as {min(missed)}"
    if back := gone & seen:
        yield f"session {read['session']}: a read had {len(back)} deleted messages, such as {min(back)}"


def _decreased(samples: list[Entry]) -> Iterator[str]:
    for before, after in itertools.pairwise(samples):
        if after["cursor"] < before["cursor"] or after["epoch"] < before["epoch"]:
            yield f"row {after['row']}: cursor {before['cursor']} became {after['cursor']}"
