"""The values that sentences state."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.keyword_index.languages import LANGUAGES
from memorybase.core.search.corrections import Kind
from memorybase.features.hit_corrections.statements import Statement, prose_sentences, statements

ENGLISH = analyzer("english")
KINDS: tuple[Kind, ...] = ("date", "time", "percent", "number", "name")


def values(text: str, *kinds: Kind) -> list[tuple[str, str]]:
    return [(value.kind, value.shown) for each in found(text, *kinds) for value in each.values]


def found(text: str, *kinds: Kind) -> list[Statement]:
    return statements(text, ENGLISH, kinds or KINDS)


@each_row(
    ("text", "expected"),
    [
        ("The pilot starts on 3 October.", [("date", "3 October")]),
        ("The deadline is April 5, 2024, at last.", [("date", "April 5, 2024")]),
        ("We meet at 11 AM or half past six.", [("time", "11 AM"), ("time", "half past six")]),
        ("Coverage is at 78%.", [("percent", "78%")]),
        ("It answers in 250ms.", [("number", "250ms")]),
        ("We have 1,200 calls and $15,500.", [("number", "1,200"), ("number", "$15,500")]),
        ("I keep seven colonies.", [("number", "seven")]),
        ("my teacher is called Mrs Ferrant these days", [("name", "Mrs Ferrant")]),
        ("she came in 2024 with flask 2.3.1 for a 4/5 score of 3 x^2.", [("number", "3")]),  # year, version, fraction
        ("1. Wait a day", []),  # the number of an item
        ("I have one question about that", []),
        ("On Monday, in May", [("date", "Monday")]),  # no names
        ("I went there last Friday", []),
    ],
)
def test_values_are_found_as_written(text: str, expected: list[tuple[str, str]]) -> None:
    assert values(text) == expected


def test_only_the_kinds_asked_for_are_found() -> None:
    text = "On 3 October at 10:30 we had 40 guests."
    assert values(text, "number") == [("number", "40")]
    assert values(text, "time", "date") == [("time", "10:30"), ("date", "3 October")]


def test_a_number_has_the_words_after_it_as_units_and_its_clause() -> None:
    (statement,) = found("My dog is well, and I have solved 12 conditional probability problems in total", "number")
    (value,) = statement.values
    assert value.unit_stems == {"condit", "probabl", "problem"}
    assert value.clause == {"solv", "12", "condit", "probabl", "problem", "total"}


@each_row("text", ["It moved to Friday the 3rd", "Now it is 7 pm", "The date is 3 May after all"])
def test_words_of_change_are_recognized(text: str) -> None:
    assert found(text)[0].tells_change


def test_code_and_attachments_state_nothing() -> None:
    text = "We use it.\n```python\nlimit = 40\n```\n[image: a photo of three turtles on a rock]"
    assert values(text + " " * 100) == []


def test_a_short_message_is_one_sentence() -> None:
    text = "It was put off. New date is 30 May."
    assert prose_sentences(text, LANGUAGES["english"]) == [text]
    assert len(prose_sentences("It was put off for a while. New date is 30 May. " * 5, LANGUAGES["english"])) > 1
