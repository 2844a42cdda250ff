"""What is left in a memory's files of a person who was deleted: what `grep` finds."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path

from ingesting.figures import Figures
from ingesting.texts import WORDS

from comparing.child import Child, Environments, Failed, Peer, empty_directory, messages

PEOPLE = ("anna", "boris", "clara")
EACH = 30  # messages
LOOK_SECONDS = 5.0


def deletion(environments: Environments, peer: Peer) -> Figures:
    """Three people's messages, each with a word of its own; the first person is deleted, and the files are searched at
    once, and again as long after it as the documentation says, when it has ended."""
    dice = random.Random(31)
    texts = {person: [_text(dice) for _ in range(EACH)] for person in PEOPLE}
    marks = [text.split()[0] for text in texts[PEOPLE[0]]]
    with empty_directory() as directory:
        try:
            with Child(environments, peer, directory) as child:
                for person in PEOPLE:
                    written = messages(texts[person], person)
                    child.call("add", person=person, session=person, messages=written, key=person)
                child.call("wait")
                child.call("delete", person=PEOPLE[0])
                found = child.call("search", person=PEOPLE[0], question=texts[PEOPLE[0]][0], limit=10)
                at_once = left(directory, marks)
                _settle(directory, marks, child.call("about")["settles_seconds"])
        except Failed as error:
            return {"failed": str(error)}
        later = left(directory, marks)
        return {
            "messages": EACH,
            "still_found": len(found),
            "left_at_once": len(at_once),
            "left": len(later),
            "files": sorted({file for files in later.values() for file in files}),
        }


def _text(dice: random.Random) -> str:
    return f"mark{dice.getrandbits(64):016x} " + " ".join(dice.choices(WORDS, k=20))


def _settle(directory: Path, marks: Sequence[str], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and left(directory, marks):
        time.sleep(LOOK_SECONDS)


def left(directory: Path, marks: Sequence[str]) -> dict[str, list[str]]:
    """The files that have each mark, of those that any has."""
    found: dict[str, list[str]] = {}
    for file in sorted(directory.rglob("*")):
        try:
            data = file.read_bytes() if file.is_file() else b""
        except OSError:  # it is gone
            continue
        for mark in marks:
            if mark.encode() in data:
                found.setdefault(mark, []).append(file.relative_to(directory).as_posix())
    return found
