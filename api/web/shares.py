"""What each part gave to a hit's score: the signals in a few groups, for a bar and in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.search.scoring import SIGNALS

AGAINST = "Against"


@dataclass(frozen=True, slots=True)
class Group:
    """Signals that a reader takes for one. Without signals: all that are in no other group."""

    name: str
    look: str  # its class in the style sheet
    why: str
    signals: tuple[str, ...] = ()


GROUPS = (
    Group("Meaning", "meaning", "the message says what the question asks",
          ("dense", "two_before", "after_question")),
    Group("Words", "words", "the question's words are in the message or beside it", ("nearby", "coverage")),
    Group("Around it", "around", "the turn before it or its session speaks of it", ("reply", "topic")),
    Group("Kind", "kind", "how long it is, who said it, whether it tells a time or a number"),
    Group(AGAINST, "against", "what speaks against it: long messages match by chance"),
)  # fmt: skip
_NAMED = {signal: group.name for group in GROUPS for signal in group.signals}


@dataclass(frozen=True, slots=True)
class Piece:
    """What a group gave, or with a negative share, what was taken away."""

    group: Group
    share: float


def pieces_of(parts: Mapping[str, Any]) -> list[Piece]:
    """The groups that gave something, in their order; `parts` as a hit explains itself."""
    sums = dict.fromkeys((group.name for group in GROUPS), 0.0)
    for name, share in _shares(parts).items():
        sums[AGAINST if share < 0 else _NAMED.get(name, "Kind")] += share
    return [Piece(group, sums[group.name]) for group in GROUPS if sums[group.name]]


def length_of(pieces: Sequence[Piece]) -> float:
    """How long their bar is, on the scale of the shares."""
    return sum(abs(piece.share) for piece in pieces)


def in_words(pieces: Sequence[Piece]) -> str:
    return ", ".join(f"{piece.group.name} {signed(piece.share)}" for piece in pieces) or "No part gave anything"


def signed(share: float) -> str:
    return f"{share:+.2f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class Line:
    """One signal of the whole account."""

    name: str
    why: str
    value: str
    share: str


def account_of(parts: Mapping[str, Any]) -> list[Line]:
    """Where the sum begins and every signal that says something, strongest first; none where the cosine is all."""
    if "signals" not in parts:
        return []
    told = {name: told for name, told in parts["signals"].items() if told["share"]}
    return [
        Line(
            "start",
            "where every candidate begins: lower, the better all are together",
            "",
            signed(parts["bias"]),
        ),
        *(
            Line(name, SIGNALS[name], f"{told[name]['value']:.2f}", signed(told[name]["share"]))
            for name in sorted(told, key=lambda name: -abs(told[name]["share"]))
        ),
    ]


def _shares(parts: Mapping[str, Any]) -> dict[str, float]:
    if "signals" not in parts:
        return {"dense": float(parts["dense"])}
    return {name: float(told["share"]) for name, told in parts["signals"].items()}
