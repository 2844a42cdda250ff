"""What each signal adds to a result's score, in groups for a bar and line by line for a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.search.scoring import SIGNALS, WEAK_SCORE

PENALTIES = "Penalties"
ATTRIBUTES = "Attributes"


@dataclass(frozen=True, slots=True)
class Group:
    """Signals that are shown as one. Attributes has those that no other group names."""

    name: str
    css_class: str
    description: str
    signals: tuple[str, ...] = ()


GROUPS = (
    Group("Meaning", "meaning", "the message is close in meaning to the question",
          ("dense", "two_before", "after_question")),
    Group("Words", "words", "the question's words are in the message or next to it",
          ("nearby", "coverage", "keywords")),
    Group("Context", "context", "the previous turn or the session is about the topic", ("reply", "topic")),
    Group(ATTRIBUTES, "attributes", "length, speaker, dates, times and numbers"),
    Group(PENALTIES, "penalties", "signals that lower the score: long messages match by chance"),
)  # fmt: skip
_GROUP_OF = {signal: group.name for group in GROUPS for signal in group.signals}


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a group adds to the sum; penalties are negative."""

    group: Group
    share: float


def contributions_of(parts: Mapping[str, Any]) -> list[Contribution]:
    """The groups that contribute, in the order of GROUPS; `parts` is a hit's explanation."""
    sums = dict.fromkeys((group.name for group in GROUPS), 0.0)
    for name, share in _shares(parts).items():
        sums[PENALTIES if share < 0 else _GROUP_OF.get(name, ATTRIBUTES)] += share
    return [Contribution(group, sums[group.name]) for group in GROUPS if sums[group.name]]


def bar_segments(contributions: Sequence[Contribution], score: float) -> list[tuple[Group, float]]:
    """The bar of a score: its groups' lengths add up to the score, of a whole bar of 1. Penalties have no length."""
    raising = [each for each in contributions if each.share > 0]
    total = sum(each.share for each in raising)
    return [(each.group, score * each.share / total) for each in raising]


def is_weak(score: float, parts: Mapping[str, Any]) -> bool:
    """Whether so few results with this score are right that it says "unlikely". A cosine does not say that."""
    return "signals" in parts and score < WEAK_SCORE


def describe(contributions: Sequence[Contribution]) -> str:
    return ", ".join(f"{each.group.name} {signed(each.share)}" for each in contributions) or "none"


def signed(share: float) -> str:
    return f"{share:+.2f}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    name: str
    description: str
    value: str
    share: str


def lines_of(parts: Mapping[str, Any]) -> list[Line]:
    """The starting value and every signal that contributes, strongest first; empty if the score is only the cosine."""
    if "signals" not in parts:
        return []
    signals = {name: signal for name, signal in parts["signals"].items() if signal["share"]}
    start = "where every candidate starts: lower, the better all candidates are together"
    return [
        Line("start", start, "", signed(parts["bias"])),
        *(
            Line(name, SIGNALS[name], f"{signals[name]['value']:.2f}", signed(signals[name]["share"]))
            for name in sorted(signals, key=lambda name: -abs(signals[name]["share"]))
        ),
    ]


def _shares(parts: Mapping[str, Any]) -> dict[str, float]:
    if "signals" not in parts:
        return {"dense": float(parts["dense"])}
    return {name: float(signal["share"]) for name, signal in parts["signals"].items()}
