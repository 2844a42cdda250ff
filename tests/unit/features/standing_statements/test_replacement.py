"""A later statement replaces an earlier one that it repeats or contradicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from harness.rows import each_row

from memorybase.features.standing_statements.replacement import holding


@dataclass
class Said:
    found: str
    edited: str | None = None
    deleted_at: datetime | None = None


def kept(*texts: str | Said) -> list[str]:
    """The statements that hold, of these from the earliest to the latest; the latest first."""
    said = [each if isinstance(each, Said) else Said(each) for each in reversed(texts)]
    return [said[index].edited or said[index].found for index in holding(said).holding]


def deleted(text: str) -> Said:
    return Said(text, deleted_at=datetime(2026, 1, 1, tzinfo=UTC))


@each_row(
    ("earlier", "later"),
    [
        ("Never use emojis.", "never use emojis"),
        ("Never use emojis.", "You can use emojis again."),
        ("Always answer in metric units.", "From now on use imperial units."),
        ("Call me Sam.", "Please call me Dr. Meyer."),
        ("Reply in French please", "From now on, answer in German."),
        ("Keep your answers short.", "I want your answers to be detailed."),
        ("I prefer light frameworks.", "I prefer heavy, light frameworks."),
    ],
)
def test_the_later_of_two_about_the_same_holds(earlier: str, later: str) -> None:
    assert kept(earlier, later) == [later]


@each_row(
    ("earlier", "later"),
    [
        ("I prefer light frameworks.", "I prefer light themes."),
        ("Always answer in metric units.", "Call me Sam."),
        # With a condition it says something of that case only.
        ("Keep your answers short.", "Give me detailed answers when I ask about contracts."),
        ("Always include prices when I ask about hotels.", "Always include opening hours when I ask about museums."),
    ],
)
def test_statements_about_different_things_hold_together(earlier: str, later: str) -> None:
    assert kept(earlier, later) == [later, earlier]


def test_what_replaces_is_the_latest_of_several() -> None:
    said = [Said(text) for text in ("Never use emojis.", "You can use emojis again.", "Never use emojis.")]
    assert holding(said).replaced_by == {1: 0, 2: 0}


def test_the_words_of_a_person_decide_what_a_statement_is_about() -> None:
    assert kept(Said("Call me Sam.", edited="Use British spelling."), "Call me Alex.") == [
        "Call me Alex.",
        "Use British spelling.",
    ]


def test_a_deleted_statement_hides_what_it_repeats_and_not_what_it_contradicted() -> None:
    assert kept("Never use emojis.", deleted("never use emojis")) == []
    assert kept("Always answer in metric units.", deleted("Always use imperial units.")) == [
        "Always answer in metric units."
    ]
    earlier, later = ("Always mention sizes, colors and prices.", "Always mention sizes, colors and weights.")
    assert kept(earlier, later) == [later]
    assert kept(earlier, deleted(later)) == [earlier]


def test_statements_without_words_of_their_own_hold() -> None:
    assert kept("Always do so.", "Never do it.") == ["Never do it.", "Always do so."]
