"""The difference of two texts, word by word, as people read it. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

# Comparing costs the square of the pieces: longer texts are compared by lines, the longest as wholes.
MAX_WORDS = 2_000
MAX_LINES = 2_000

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a difference: in both texts, only in the new one (`added`), or only in the former one (`removed`)."""

    kind: Annotated[
        Literal["same", "added", "removed"],
        Field(description="`same`: in both texts; `added`: only in the new one; `removed`: only in the former one."),
    ]
    text: Annotated[str, Field(description="The text.")]


def difference(former: str, new: str) -> list[Piece]:
    """Pieces in reading order; without the added ones they are the former text, without the removed ones the new."""
    return list(_joined(_pieces(former, new)))


def _pieces(former: str, new: str) -> Iterator[Piece]:
    before, after = _split(former, new)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield Piece("same", "".join(before[start:end]))
        else:
            yield Piece("removed", "".join(before[start:end]))
            yield Piece("added", "".join(after[new_start:new_end]))


def _split(former: str, new: str) -> tuple[Sequence[str], Sequence[str]]:
    words = _WORDS.findall(former), _WORDS.findall(new)
    if max(map(len, words)) <= MAX_WORDS:
        return words
    lines = former.splitlines(keepends=True), new.splitlines(keepends=True)
    return lines if max(map(len, lines)) <= MAX_LINES else ([former], [new])


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Join pieces: without empty ones, and with a single space between two changes taken into both, so that whole
    phrases differ and not words."""
    waiting = {"removed": "", "added": ""}
    found = [piece for piece in pieces if piece.text]
    for index, piece in enumerate(found):
        between = 0 < index < len(found) - 1 and piece.text.isspace() and piece.kind == "same"
        if piece.kind != "same":
            waiting[piece.kind] += piece.text
        elif between and any(waiting.values()):
            waiting = {kind: text + piece.text for kind, text in waiting.items()}
        else:
            yield from _flushed(waiting)
            waiting = {"removed": "", "added": ""}
            yield piece
    yield from _flushed(waiting)


def _flushed(waiting: dict[str, str]) -> Iterator[Piece]:
    if waiting["removed"]:
        yield Piece("removed", waiting["removed"])
    if waiting["added"]:
        yield Piece("added", waiting["added"])
