"""What a user's message tells of its writer, and which sentences replace others."""

from __future__ import annotations

from memorybase.core.comparison import Relation
from memorybase.features.standing_statements.oneself import relation, sentences_of
from tests.harness.rows import each_row


@each_row(
    "text",
    [
        "The kettle holds 1.7 litres.",
        "Der Kessel fasst 1,7 Liter.",
        "La tetera hierve en tres minutos.",
        "水壶的容量是一升七。",
        "Чайник вмещает 1,7 литра.",
    ],
)
def test_a_sentence_of_something_else_does_not(text: str) -> None:
    assert not any(each.tells for each in sentences_of(text))


@each_row(
    "text",
    [
        "Where is my office?",
        "Wo ist mein Büro?",
        "Can you write a poem about my cat.",
        "```\nI am a comment\n```",
        "> I am quoted here",
        "My mail to them:\n\n" + "I am very sorry about the delay of our answer. " * 10,
        "...",
        "",
    ],
)
def test_questions_requests_and_material_are_passed_over(text: str) -> None:
    assert not any(each.tells for each in sentences_of(text))


def test_of_a_long_message_the_first_paragraph_is_read() -> None:
    pasted = "I am the landlord and I own this house. " * 40
    assert [each.text for each in sentences_of(f"My contract is here.\n\n{pasted}")] == ["My contract is here."]


@each_row(
    ("older", "newer", "expected"),
    [
        ("I never eat meat.", "I never eat meat, you know.", Relation.REPEATS),
        ("My office is in room 12.", "My office is in room 31.", Relation.REPLACES),
        ("My office is in room 12.", "My office is now in the annex.", Relation.REPLACES),
        ("I live in Bergen.", "I live in Oslo now.", Relation.REPLACES),
        ("I'm living in Bergen.", "We live in Oslo.", Relation.REPLACES),
        ("My daughter is called Ida.", "My daughter is in Oslo.", Relation.NONE),
        ("I work for Kettlebyte.", "I work in the mornings.", Relation.NONE),
        ("My sister lives in Rome.", "My brother lives in Oslo now.", Relation.NONE),
        ("Mein Büro ist in Raum 12.", "Mein Büro ist jetzt in Raum 31.", Relation.REPLACES),
        ("Mi oficina está en la sala 12.", "Mi oficina está ahora en la sala 31.", Relation.REPLACES),
        ("I never eat meat.", "Ich bin jetzt Krankenpflegerin.", Relation.NONE),
    ],
)
def test_later_sentences_repeat_or_replace_earlier_ones(older: str, newer: str, expected: Relation) -> None:
    (before,), (after,) = sentences_of(older), sentences_of(newer)
    assert relation(after, before) is expected
