"""The periods that queries name, in every language."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from harness.rows import each_row
from hypothesis import example, given
from hypothesis import strategies as st

from memorybase.core.keyword_index.languages import ENGLISH, LANGUAGES
from memorybase.core.search.periods import DAY, Period, periods
from memorybase.core.search.query_parser import Question, parse

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)  # a Saturday
TABLES = tomllib.loads(Path(__file__).with_name("named_times.toml").read_text(encoding="utf-8"))
TIMES = [(name, *line.split(" | ")) for name, text in TABLES["times"].items() for line in text.splitlines()]
NO_TIMES = [(name, line) for name, text in TABLES["no_times"].items() for line in text.splitlines()]


def found(query: str, language: str = "english") -> tuple[Period, ...]:
    return periods(query, NOW, LANGUAGES[language])


def asked(query: str) -> Question:
    return parse(query, language="detect", speakers=(), now=NOW)


def bound(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("*", "2000-")).replace(tzinfo=UTC)


@each_row(("language", "query", "start", "end"), TIMES)
def test_times_are_recognized(language: str, query: str, start: str, end: str) -> None:
    (period,) = found(query, language)
    assert (period.start, period.end, period.yearly) == (bound(start), bound(end), start.startswith("*"))


@each_row(("language", "query"), NO_TIMES)
def test_what_is_no_time_sets_no_period(language: str, query: str) -> None:
    assert found(query, language) == ()
    assert asked(query).periods == ()


@each_row("query", TABLES["alone"].splitlines())
def test_a_question_about_a_time_alone_is_recognized(query: str) -> None:
    question = asked(query)
    assert question.is_time_alone
    assert question.periods


@each_row("query", TABLES["not_alone"].splitlines())
def test_a_question_with_another_topic_is_not_about_a_time_alone(query: str) -> None:
    assert not asked(query).is_time_alone


def test_a_question_that_names_a_speaker_is_not_about_a_time_alone() -> None:
    question = parse("What did Ada say last week?", language="detect", speakers=("ada",), now=NOW)
    assert question.periods
    assert not question.is_time_alone


@each_row(
    ("query", "expected"),
    [(query, True) for query in TABLES["latest"].splitlines()]
    + [(query, False) for query in TABLES["not_latest"].splitlines()],
)
def test_a_question_for_the_last_thing_said_is_recognized(query: str, expected: bool) -> None:
    assert asked(query).asks_latest == expected


@each_row("query", ["letzten Sommer", "afgelopen zomer", "la semana pasada", "il mese scorso", "w zeszły weekend"])
def test_a_time_alone_is_read_in_any_language(query: str) -> None:
    """So few words do not show their language."""
    assert len(asked(query).periods) == 1


@each_row("query", ["mars", "mayo", "sabato"])
def test_one_word_of_another_language_is_no_time(query: str) -> None:
    assert found(query) == ()


@each_row(
    ("now", "zone", "query", "start"),
    [
        # 08:30 on the 28th in Tokyo, and 15:30 on the 27th in Los Angeles.
        ("2026-11-27T23:30", "Asia/Tokyo", "yesterday", "2026-11-27T00:00+09:00"),
        ("2026-11-27T23:30", "America/Los_Angeles", "yesterday", "2026-11-26T00:00-08:00"),
        ("2026-11-27T23:30", "Asia/Tokyo", "on 28 November 2026", "2026-11-28T00:00+09:00"),
        ("2026-11-27T23:30", "Asia/Tokyo", "on Friday I said", "2026-11-27T00:00+09:00"),
        ("2026-11-27T23:30", "America/Los_Angeles", "this month", "2026-11-01T00:00-07:00"),  # summer time
    ],
)
def test_days_are_those_of_the_zone(now: str, zone: str, query: str, start: str) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    (period,) = periods(query, moment, ENGLISH, ZoneInfo(zone))
    assert period.start == datetime.fromisoformat(start)


def test_a_day_without_a_year_is_that_of_the_zone_in_every_year() -> None:
    (period,) = periods("on 28 October", NOW, ENGLISH, ZoneInfo("Asia/Tokyo"))
    for year in (2024, 2031):
        start = datetime(year, 10, 28, tzinfo=ZoneInfo("Asia/Tokyo"))
        assert period.nearness(start) == period.nearness(start + timedelta(hours=23)) == 1
        assert period.nearness(start - timedelta(days=1, hours=1)) == 0


@each_row("query", ["this week", "in the last 5 days", "between 23 and 28 November", "since Monday"])
def test_a_stretch_has_sharp_bounds(query: str) -> None:
    (period,) = found(query)
    last = period.end - timedelta(seconds=1)
    assert [period.nearness(moment) for moment in (period.start, last)] == [1, 1]
    assert [period.nearness(moment) for moment in (period.start - DAY / 2, period.end)] == [0, 0]


def test_a_number_of_a_year_is_a_weak_hint_beside_another_time() -> None:
    (year,) = found("in 2024")
    assert year.nearness(datetime(2024, 5, 1, tzinfo=UTC)) == 0.2
    assert [period.resolution for period in found("in 2024 and last week")] == ["week"]


WORDS = ("last", "in", "on", "between", "and", "to", "since", "ago", "1", "31", "2000", "1999", "monday", "may", "week")
MORE = (
    "days",
    "early",
    "summer",
    "q3",
    "next",
    "third",
    "28.10.",
    "29/2",
    "30.2.2025",
    "weekend",
    "year",
    "hours",
    "a",
)


@given(
    st.lists(st.sampled_from(WORDS + MORE), max_size=9),
    st.datetimes(timezones=st.just(UTC), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone is the strategy's
    st.sampled_from(("America/New_York", "Europe/Berlin")),
)
@example(["yesterday"], datetime(1, 1, 1, tzinfo=UTC), "America/New_York")
@example(["last", "month"], datetime(1, 1, 1, tzinfo=UTC), "Europe/Berlin")
@example(["in", "march"], datetime(1, 1, 1, tzinfo=UTC), "Europe/Berlin")
def test_any_words_of_times_are_read(words: list[str], now: datetime, zone: str) -> None:
    for period in periods(" ".join(words), now, ENGLISH, ZoneInfo(zone)):
        assert period.start < period.end
        assert 0 <= period.nearness(now) <= 1
        assert period.latest(now).start < period.latest(now).end


@each_row("text", ["1 ", "a ", "last ", "1-", "from 3 ", "of the ", "monday to "])
def test_long_queries_are_read_in_bounded_time(text: str) -> None:
    assert len(found(text * 2_000)) < 2_000
