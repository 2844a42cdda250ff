"""Parsing queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st

from memorybase.core.search.passages import best_passage
from memorybase.core.search.periods import Period
from memorybase.core.search.query_parser import Question, parse, possible_names

NOW = datetime(2023, 8, 16, 12, tzinfo=UTC)  # a Wednesday
SPEAKERS = {"caroline", "melanie"}


def asked(query: str) -> Question:
    return parse(query, language="english", speakers=SPEAKERS & possible_names(query), now=NOW)


def test_names_are_left_out_of_terms_and_embedded_text() -> None:
    question = asked("When did Caroline\u2019s kids go to the LGBTQ support group?")
    assert question.names == {"caroline"}
    assert question.terms == ("kid", "go", "lgbtq", "support", "group")
    assert question.text == "When did kids go to the LGBTQ support group"


@each_row(
    ("query", "terms"),
    [
        ("How many puffs does he take?", ("puff", "take")),
        ("What shouldn\u2019t I find in it?", ("find",)),
        ("I've got how much?", ("got",)),
        ("how many", ("mani",)),  # rather than nothing
        ("don't", ("dont",)),
        ("many thanks", ("mani", "thank")),
    ],
)
def test_what_only_makes_a_question_is_no_term(query: str, terms: tuple[str, ...]) -> None:
    assert asked(query).terms == terms


@each_row(
    ("query", "is_small_talk"),
    [
        ("see you on Monday", True),
        ("How are you today?", True),
        ("How are you doing?", True),
        ("What did I see on Monday?", False),
        ("How are you going to pay for it?", False),
        ("Monday", False),
    ],
)
def test_a_greeting_asks_for_nothing(query: str, *, is_small_talk: bool) -> None:
    assert asked(query).is_small_talk is is_small_talk


@each_row(
    ("query", "names"),
    [
        ("What did Dr. Urroz say?", {"urroz", "dr"}),
        ("I read the paper. Good stuff in there.", set()),
        ("\u201cAurora\u201d lies where?", set()),
        ("Regards:\n- Bo", set()),
        ("What is 40 times 19?", set()),
        ("Who paid 1649 for FIN-3391?", {"1649", "fin", "3391"}),
    ],
)
def test_names_and_codes_are_told_from_sentence_starts_and_numbers(query: str, names: set[str]) -> None:
    assert asked(query).asked.names == names


def test_a_misspelled_word_is_sought_as_what_it_is_read_as() -> None:
    sought = asked("antibiotik").reading({"antibiotik": ("antibiot",)}).sought
    assert sought.others["antibiotik"] == ("antibiot",)
    passage = best_passage("It rained. " * 90 + "Antibiotics again.", {"antibiotik": 1.0}, sought, max_chars=60)
    assert passage is not None
    assert passage.score > 0


@each_row("query", ["Caroline?", "Melanie Caroline", "who"])
def test_a_query_of_names_only_is_embedded_unchanged(query: str) -> None:
    assert asked(query).text == query


@each_row(
    ("query", "expected"),
    [
        ("boat", True),
        ("sailing boats", True),
        ("Caroline's boat trip", True),
        ("\u6771\u4eac", True),
        ("red boat trip yesterday", False),
        ("what boat", False),
        ("the boat?", False),
        ("who", False),
        ("", False),
    ],
)
def test_keywords_are_told_from_sentences(query: str, expected: bool) -> None:
    assert asked(query).is_keywords == expected


@each_row(
    ("query", "start", "days"),
    [
        ("on 5 July, 2023", "2023-07-05", 1),
        ("on July 5th, 2023", "2023-07-05", 1),
        ("on the 5th of July 2023", "2023-07-05", 1),
        ("on 2023-07-05", "2023-07-05", 1),
        ("in May 2023", "2023-05-01", 31),
        ("December, 2022", "2022-12-01", 31),
        ("during 2022", "2022-01-01", 365),
        ("yesterday", "2023-08-15", 1),
        ("today", "2023-08-16", 1),
        ("last week", "2023-08-07", 7),
        ("this week", "2023-08-14", 7),
        ("last weekend", "2023-08-12", 2),
        ("last Friday", "2023-08-11", 1),
        ("on last Wednesday", "2023-08-09", 1),
        ("last month", "2023-07-01", 31),
        ("last year", "2022-01-01", 365),
        ("two weeks ago", "2023-07-30", 7),
        ("3 days ago", "2023-08-13", 1),
    ],
)
def test_dates_are_parsed(query: str, start: str, days: int) -> None:
    (period,) = asked(query).periods
    assert period.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert (period.end - period.start).days == days
    assert not period.yearly


def test_the_month_of_an_impossible_date_counts() -> None:
    june = Period(datetime(2023, 6, 1, tzinfo=UTC), datetime(2023, 7, 1, tzinfo=UTC), "month")
    assert asked("31 June 2023").periods == (june,)


def test_a_date_without_a_year_matches_every_year() -> None:
    (period,) = asked("on 5 July").periods
    assert period.yearly
    for year in (1999, 2023, 2031):
        assert period.nearness(datetime(year, 7, 5, 15, tzinfo=UTC)) == 1
    assert period.nearness(datetime(2023, 3, 5, tzinfo=UTC)) == 0
    (turn_of_the_year,) = asked("on December 31st").periods
    assert turn_of_the_year.nearness(datetime(2024, 1, 5, tzinfo=UTC)) == 0.6
    (leap_day,) = asked("on 29 February").periods
    assert leap_day.nearness(datetime(2023, 2, 28, tzinfo=UTC)) == 1


def test_messages_soon_after_a_date_are_near() -> None:
    (period,) = asked("on 5 July 2023").periods
    nearness = [period.nearness(datetime(2023, 7, 5, tzinfo=UTC) + timedelta(days=days)) for days in (-3, 0, 5, 20, 60)]
    assert nearness == [0, 1, 0.6, 0.3, 0]
    (year,) = asked("in 2023").periods
    assert [year.nearness(datetime(y, 6, 1, tzinfo=UTC)) for y in (2022, 2023, 2024)] == [0, 0.2, 0]


@given(st.text(), st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 2, 1), max_value=datetime(9998, 1, 1)))  # noqa: DTZ001 - the zone is the strategy's
def test_any_query_is_parsed(query: str, moment: datetime) -> None:
    for period in asked(query).periods:
        assert 0 <= period.nearness(moment) <= 1


@given(
    st.integers(0, 99),
    st.sampled_from(["January", "february", "May", "december"]),
    st.sampled_from(["", " 0001", " 2024", " 9999", " 0000"]),
)
def test_any_date_is_parsed(day: int, month: str, year: str) -> None:
    asked(f"in {day} {month}{year}")
    asked(f"in {month}{year}")
    asked(f"in{year}, {day} weeks ago, {day}00 years ago")


@each_row(
    ("query", "other_side", "help_"),
    [
        ("What did you suggest about the boat?", True, False),
        ("Which library have you chosen?", True, False),
        ("the list you gave me", True, False),
        ("Can you recommend a restaurant?", False, True),
        ("How should I name the branch?", False, True),
        ("I\u2019m looking for a dentist", False, True),
        ("Can you list the order in which I met them?", False, False),
        ("When did I say that?", False, False),
        ("Where does Ada live?", False, False),
    ],
)
def test_other_side_and_help_are_recognized(query: str, other_side: bool, help_: bool) -> None:
    question = asked(query)
    assert (question.asks_other_side, question.asks_help) == (other_side, help_)
