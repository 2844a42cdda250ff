"""The times that a query in another language than English names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from memorybase.keyword_index.languages import Language
from memorybase.keyword_index.languages.definition import UNITS
from memorybase.keyword_index.languages.definition import YEAR as YEAR_PATTERN
from memorybase.search.periods import DAY, LEAP_YEAR, YEAR, Period, a_day, a_month

# Numbers alone: the day first, as in all of these languages; or ISO 8601.
_NUMERIC = re.compile(rf"(?<!\d)(\d{{1,2}})[./](\d{{1,2}})[./]({YEAR_PATTERN})(?!\d)")
_ISO = re.compile(rf"(?<!\d)({YEAR_PATTERN})-(\d{{2}})-(\d{{2}})(?!\d)")
_YEAR = re.compile(rf"(?<!\d){YEAR_PATTERN}(?!\d)")
_UNIT_DAYS = dict(zip(UNITS, (1, 7, 30, 365), strict=True))


def periods(query: str, language: Language, now: datetime) -> Iterator[Period]:
    """Every period of the most exact kind that the folded query names."""
    found = [*_days(query, language)] or [*_months(query, language)] or [*_relative(query, language, now)]
    yield from found or _years(query)


def _days(query: str, language: Language) -> Iterator[Period]:
    dates = [(year, int(month), day) for day, month, year in _NUMERIC.findall(query)]
    dates += [(year, int(month), day) for year, month, day in _ISO.findall(query)]
    dates += [(found["year"], _month_of(found, language), found["day"]) for found in _named(query, language, day=True)]
    for year, month, day in dates:
        start = a_day(int(year or LEAP_YEAR), month, int(day))
        if start is not None:
            yield Period(start, start + DAY, yearly=not year)


def _months(query: str, language: Language) -> Iterator[Period]:
    for found in _named(query, language, day=False):
        month, year = _month_of(found, language), found["year"]
        if 1 <= month <= len(language.months.split() or range(12)):
            yield a_month(int(year or LEAP_YEAR), month, yearly=not year)


def _named(query: str, language: Language, *, day: bool) -> list[re.Match[str]]:
    return [found for found in language.day_and_month.finditer(query) if bool(found["day"]) == day]


def _month_of(found: re.Match[str], language: Language) -> int:
    return language.month_numbers.get(found["month"]) or int(found["month"])


def _years(query: str) -> Iterator[Period]:
    for year in map(int, _YEAR.findall(query)):
        yield Period(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _relative(query: str, language: Language, now: datetime) -> Iterator[Period]:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday, first = today - today.weekday() * DAY, today.replace(day=1)
    before = first - DAY
    last_year = datetime(today.year - 1, 1, 1, tzinfo=UTC)
    named = {
        "today": Period(today, today + DAY),
        "yesterday": Period(today - DAY, today),
        "last_week": Period(monday - 7 * DAY, monday),
        "last_month": a_month(before.year, before.month, yearly=False),
        "last_year": Period(last_year, last_year + YEAR - DAY),
    }
    yield from (period for name, period in named.items() if language.questions[name].search(query))
    for found in language.time_ago.finditer(query):
        unit = next(name for name in UNITS if found[name])
        length = timedelta(days=_UNIT_DAYS[unit])
        middle = today - (language.amounts.get(found["n"]) or int(found["n"])) * length
        yield Period(middle - length / 2, middle + length / 2)
