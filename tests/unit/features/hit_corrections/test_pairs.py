"""Later statements of the same fact: which pairs are corrections, and which are not."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta

from harness.rows import each_row
from made import changes

from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.features.hit_corrections.pairs import Correction, Said, find, sought_by, stated

ENGLISH = analyzer("english")
START = datetime(2026, 1, 1, tzinfo=UTC)


def said(*texts: str, speakers: tuple[Hashable, ...] = ()) -> list[Said]:
    """Messages in the order of time."""
    return [
        Said(speakers[number] if speakers else "ada", (START + timedelta(days=number), 1), text)
        for number, text in enumerate(texts)
    ]


def alike(likeness: float) -> Callable[[str, str], float]:
    return lambda _one, _other: likeness


def corrections(query: str, messages: list[Said], likeness: float = 0.6) -> list[Correction]:
    sought = sought_by(query, ENGLISH)
    return find(messages, stated(messages, query, sought, ENGLISH), query, alike(likeness), ENGLISH)


@each_row(
    ("query", "older", "newer", "was", "now"),
    [
        (
            "What is the response time of the dashboard?",
            "I reduced the response time of the dashboard from 800ms to 300ms.",
            "The dashboard's response time has recently improved to 250ms.",
            "300ms",
            "250ms",
        ),
        (
            "How many connections does our plan allow?",
            "The plan allows 20 connections.",
            "Our plan was upgraded, 40 connections now instead of 20.",
            "20 connections",
            "40 connections",
        ),
        (
            "When does the pilot start?",
            "The pilot has to start on 3 October.",
            "The board moved the pilot by two weeks, it's 17 October now.",
            "3 October",
            "17 October",
        ),
        (
            "What is the test coverage percentage?",
            "Test coverage is at 65% after the first run.",
            "We raised the test coverage to 78%.",
            "65%",
            "78%",
        ),
        (
            "Who is my piano teacher?",
            "the piano teacher is called Mr Zabo",
            "the piano teacher is called Mrs Ferrant these days",
            "Mr Zabo",
            "Mrs Ferrant",
        ),
        (
            "At what time does our train leave?",
            "Our train leaves at 6:08.",
            "A correction: our train leaves at 5:52.",
            "6:08",
            "5:52",
        ),
    ],
)
def test_a_later_value_is_a_correction(query: str, older: str, newer: str, was: str, now: str) -> None:
    (correction,) = corrections(query, said(older, newer))
    assert (correction.older, correction.newer, correction.was, correction.now) == (0, 1, was, now)


@each_row(
    "query",
    [
        "What was the limit of the plan originally?",
        "What was the limit of our old plan?",
        "What was the very first limit of the plan?",
        "What is the difference between the two limits?",
        "How has the limit changed?",
        "What limit did you recommend?",
        "What limit should we set?",
        "Tell me about the plan.",
    ],
)
def test_questions_about_the_past_comparisons_and_advice_compare_nothing(query: str) -> None:
    assert not sought_by(query, ENGLISH)


def test_the_order_of_time_decides_and_not_that_of_rank() -> None:
    newer, older = reversed(said("The plan allows 20 connections.", "The plan allows 40 connections now."))
    (correction,) = corrections("How many connections are there?", [newer, older])
    assert (correction.older, correction.newer) == (1, 0)


def test_two_speakers_do_not_correct_each_other() -> None:
    room = ("My room has the number 14.", "My room has the number 22 now.")
    messages = said(*room, "My room is bright.", "My room is dark.", speakers=("ada", "bob", "ada", "bob"))
    assert not corrections("What is the number of my room?", messages)
    assert corrections("What is the number of my room?", said(*room))


def test_the_same_value_again_is_no_correction() -> None:
    messages = said(
        "The plan allows 20 calls.", "The plan allows 40 calls now.", "It was 20 calls, now the plan has 40."
    )
    pairs = {(each.older, each.newer) for each in corrections("How many calls does the plan allow?", messages)}
    assert pairs == {(0, 1), (0, 2)}  # the third repeats the second


@each_row(
    ("query", "first", "second", "third", "values"),
    [
        (
            "Which berth is my boat at?",
            "My boat lies at berth 12.",
            "The boat has moved to berth 31 now.",
            "Back to berth 12.",
            ("12", "31", "12"),
        ),
        (
            "When is the team meeting?",
            "The team meeting is at 10:00.",
            "The team meeting moved to 14:00.",
            "The team meeting is at 10 am after all.",
            ("10:00", "14:00", "10 am"),
        ),
        (
            "What is the deadline?",
            "The deadline is 12 March.",
            "The deadline moved to 19 March.",
            "We restored the deadline of March 12th.",
            ("12 March", "19 March", "March 12th"),
        ),
        (
            "What is the test coverage percentage?",
            "Test coverage is at 65%.",
            "We raised the test coverage to 78%.",
            "The coverage went from 78% back to 65%.",
            ("65%", "78%", "65%"),
        ),
        (
            "How many calls does the plan allow?",
            "The plan allows 20 calls.",
            "The plan allows 40 calls now.",
            "The plan allows 20 calls again instead of 40 calls.",
            ("20 calls", "40 calls", "20 calls"),
        ),
        (
            "Which editor do I use?",
            "I use Vim for everything.",
            "I've switched to Helix for everything.",
            "I'm back on Vim.",
            ("Vim", "Helix", "Vim"),
        ),
    ],
)
def test_a_value_that_returns_corrects_the_one_between(
    query: str, first: str, second: str, third: str, values: tuple[str, str, str]
) -> None:
    found = {(each.older, each.newer): each for each in corrections(query, said(first, second, third))}
    assert {pair: each.is_return for pair, each in found.items()} == {(0, 1): False, (1, 2): False, (0, 2): True}
    assert [(found[pair].was, found[pair].now) for pair in ((0, 1), (1, 2))] == [values[:2], values[1:]]


@each_row(
    "third",
    [
        "When the plan allowed 20 calls it was cheaper.",
        "It was 20 calls before the upgrade.",
        "We used to have 20 calls, those were the days.",
        "We moved the plan from 20 calls to 40 calls in spring.",
    ],
)
def test_a_former_value_that_is_only_mentioned_does_not_return(third: str) -> None:
    messages = said("The plan allows 20 calls.", "The plan allows 40 calls now.", third)
    found = corrections("How many calls does the plan allow?", messages)
    assert all((each.newer, each.now) != (2, "20 calls") for each in found)


@each_row(
    "values",
    [
        (20, 40, 60),
        (20, 40, 20),
        (20, 40, 60, 20),
        (20, 40, 60, 40),
        (20, 40, 20, 40),
        (20, 40, 20, 40, 20),
        (20, 40, 60, 80, 60),
        (20, 20, 40, 20),
    ],
)
def test_the_last_of_a_chain_corrects_or_restates_all_others(values: tuple[int, ...]) -> None:
    messages = said(
        f"The plan allows {values[0]} calls.", *(f"The plan allows {each} calls now." for each in values[1:])
    )
    last = len(values) - 1
    found = {each.older: each for each in corrections("How many calls does it allow?", messages) if each.newer == last}
    assert set(found) == set(range(last))
    assert [found[number].is_return for number in range(last)] == [each == values[-1] for each in values[:-1]]
    assert all(each.older != last for each in corrections("How many calls does it allow?", messages))


def test_a_sentence_that_was_replaced_returns() -> None:
    messages = said(
        "Ines is the on-call engineer.", "Tomasz is the on-call engineer now.", "Ines is the on-call engineer again."
    )
    found = corrections("Who is our on-call engineer?", messages, likeness=0.7)
    assert {(each.older, each.newer, each.is_return) for each in found} == {(0, 1, False), (1, 2, False), (0, 2, True)}


def test_without_a_word_of_change_more_likeness_is_needed() -> None:
    messages = said("My library has 45 sources.", "My library has 52 sources.")
    query = "How many sources are in my library?"
    assert not corrections(query, messages, likeness=0.6)
    assert corrections(query, messages, likeness=0.7)


@each_row(
    "newer",
    ["The rent used to be 850 euros.", "Our rent was 850 euros until May.", "The rent had 850 euros back then."],
)
def test_what_was_so_corrects_nothing_that_is(newer: str) -> None:
    assert not corrections("What is our rent?", said("Our rent is 920 euros.", newer), likeness=0.9)


def test_what_was_so_corrects_what_was_said_of_the_past_and_not_what_another_clause_says() -> None:
    messages = said("There were 40 guests at the party.", "I counted, there were 43 guests at the party.")
    assert corrections("How many guests were at the party?", messages, likeness=0.9)
    messages = said("We have 6 chickens.", "The fox was here, we have 4 chickens.")
    assert corrections("How many chickens do we have?", messages, likeness=0.9)


def test_what_is_said_of_another_person_corrects_nothing() -> None:
    mia = "Mia is 12 years old."
    assert not corrections("How old is Mia?", said(mia, "Jonas is 14 years old now."))
    assert corrections("How old is Mia?", said(mia, "Today is her birthday, Mia is 13 years old now."))


def test_numbers_of_different_things_correct_nothing() -> None:
    messages = said("The plan has 3 seats for the team.", "The plan now has 40 gigabytes.")
    assert not corrections("What is the limit of the plan?", messages)


def test_how_many_counts_only_what_it_names() -> None:
    messages = said("I swam 20 lengths in the pool.", "Now I swam with 3 friends in the pool.")
    assert not corrections("How many lengths did I swim in the pool?", messages)


def test_unlike_statements_and_those_unlike_the_question_correct_nothing() -> None:
    messages = said("The plan allows 20 connections.", "The plan allows 40 connections now.")
    assert not corrections("How many connections are there?", messages, likeness=0.3)


class TestChanges:
    def test_a_later_message_that_tells_a_change_supersedes_the_earlier_one_and_no_trap_does(self) -> None:
        wrong = [
            f"{pair.kind}: {pair.later}"
            for pair in changes.pairs()
            if bool(corrections(pair.question, said(pair.earlier, pair.later))) != pair.changed
        ]
        assert not wrong

    def test_a_change_without_a_value_names_both_sentences(self) -> None:
        older, newer = "I drink black coffee in the morning", "I no longer drink coffee, I have tea in the morning"
        found = corrections("What do I drink in the morning?", said(f"{older}.", f"{newer}."))
        assert found == [Correction(0, 1, "statement", older, newer)]

    def test_sentences_that_are_not_alike_are_no_change(self) -> None:
        messages = said("I drink black coffee in the morning.", "I no longer drink coffee.")
        assert not corrections("What do I drink in the morning?", messages, likeness=0.4)

    def test_what_the_question_names_must_be_named_again(self) -> None:
        messages = said("The kitchen lamp is red.", "The lamp is green now.")
        assert corrections("Which colour is the lamp?", messages)
        assert not corrections("Which colour is the kitchen lamp?", messages)


class TestDenials:
    QUERY = "Have I ever used Zotero?"

    @each_row(
        ("older", "newer"),
        [
            ("I just downloaded Zotero and used it.", "I've never used Zotero."),
            ("I\u2019ve never used Zotero.", "Today I used Zotero, I've used it twice."),
        ],
    )
    def test_a_claim_and_its_denial_are_a_pair_without_values(self, older: str, newer: str) -> None:
        assert corrections(self.QUERY, said(older, newer)) == [Correction(0, 1, "denial")]

    @each_row("text", ["I want to use Zotero.", "Can you use Zotero?", "Zotero is used a lot."])
    def test_wishes_and_questions_claim_nothing(self, text: str) -> None:
        assert not corrections(self.QUERY, said(text, "I've never used Zotero."))

    def test_two_denials_are_no_pair(self) -> None:
        assert not corrections(self.QUERY, said("I've never used Zotero.", "I have not used Zotero."))

    def test_unlike_sentences_are_no_pair(self) -> None:
        messages = said("I've used Zotero twice.", "I've never used Zotero.")
        assert not corrections(self.QUERY, messages, likeness=0.4)
