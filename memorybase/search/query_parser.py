"""Reads a query: its terms, the speakers and dates that it names, and whether it asks for a time or a number. Pure.

Rules, not a model. They know English; a query in another language only has terms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta

from memorybase.keyword_index import analyzer as keywords

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "|".join(_MONTHS)
_YEAR = r"(?:19|20)\d\d"
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b(?:,? ({_YEAR})\b)?")
_MONTH_DAY = re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? ({_YEAR})\b)?")
_ISO_DAY = re.compile(rf"\b({_YEAR})-(\d{{2}})-(\d{{2}})\b")
# "may" and "march" are verbs too: they count as months only after a preposition or before a year.
_IN_MONTH = re.compile(
    rf"(?:\b(in|of|since|during|early|late|mid|by|until|last|this)[ -])?\b({_MONTH})\b(?:,? (?:of )?({_YEAR})\b)?"
)
_IN_YEAR = re.compile(rf"\b(?:in|of|during|since) ({_YEAR})\b")
_AGO = re.compile(r"\b(\d{1,3}|a|an|one|two|three|four|five|six|few|couple of) (day|week|month|year)s? ago\b")
_LAST = re.compile(rf"\b(last|this|past) (week|weekend|month|year|{'|'.join(_WEEKDAYS)})\b")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 3, "couple of": 2}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_ASKS_TIME = re.compile(
    r"^\W*(?:(?:by|from|since|until|till) )?when\b|\b(?:what|which) (?:date|year|month|day|weekday|time)\b|\bhow long\b"
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|often|old|long)\b")
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|we|our)\b")
_ASKS_OTHER_SIDE = re.compile(
    r"\b(?:did|have|had|were) you\b"
    r"|(?<!can )(?<!could )(?<!would )(?<!will )(?<!please )\byou (?:recommend|suggest|said|told|mention|gave|explain"
    r"|list|provid|propos|advis|offer|show|describ|wrote)"
)
_ASKS_HELP = re.compile(
    r"\b(?:(?:can|could|would) you|how (?:should|do|can) (?:i|we)|(?:should|shall) (?:i|we)|what (?:\w+ )?should"
    r"|suggest|recommend|show me|explain|help (?:me|us)|i'm|i am|i need)\b"
    r"|^\W*(?:please|add|book|draft|find|make|plan|write)\b"
)
_ASKS_TO_RECALL = re.compile(
    r"\b(?:summar\w*|order|timeline|conversations?|(?:did|have|had) i|i (?:said|told|mentioned|asked))\b"
)
_WORDS = re.compile(r"[\w'\u2019-]+")

MOST_KEYWORDS = 3

DAY = timedelta(days=1)
LEAP_YEAR = 2000
YEAR = timedelta(days=360)


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a query names; `yearly`: without a year, so every year matches."""

    start: datetime
    end: datetime
    yearly: bool = False

    def nearness(self, moment: datetime) -> float:
        """1 for a message in this period, less for soon after it: people talk about a day on the days that follow."""
        if self.yearly:
            if not MINYEAR + 1 < moment.year < MAXYEAR:
                return 0.0
            return max(self._moved(moment.year).nearness(moment), self._moved(moment.year - 1).nearness(moment))
        if self.start - DAY <= moment < self.end + DAY:
            return 1.0 if self.end - self.start < YEAR else 0.2  # a year is a weak hint
        if self.end - self.start >= YEAR:
            return 0.0
        after = moment - self.end
        return 0.0 if after < timedelta(0) else 0.6 if after <= 8 * DAY else 0.3 if after <= 31 * DAY else 0.0

    def _moved(self, year: int) -> Period:
        length = self.end - self.start
        start = _day(year, self.start.month, self.start.day) or self.start.replace(year=year, day=28)
        return Period(start, start + length)


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed query. `terms` are its stems without speakers' names; `text` is the text to embed.

    A name weighs so much in a sentence vector that every turn of that speaker looks like an answer. So `text` leaves
    names out, and the signal `speaker` counts them.
    """

    terms: tuple[str, ...]
    names: frozenset[str]
    text: str
    asks_time: bool
    asks_number: bool
    asks_other_side: bool  # what the other side said: "What did you suggest?"
    asks_help: bool  # with something now, so that standing wishes matter; not about what was said before
    in_first_person: bool
    is_keywords: bool  # up to three words, each a term or a name: no sentence says what is asked
    periods: tuple[Period, ...]


def possible_names(query: str) -> set[str]:
    """The case-folded words that may name a speaker."""
    return keywords.name_words(query)


def parse(query: str, *, language: str, speakers: Collection[str], now: datetime) -> Question:
    """Parse a query; `speakers` are its words that name a speaker of the flow."""
    analyzer = keywords.analyzer(language)
    names = frozenset(speakers)
    name_terms = set(analyzer.terms(" ".join(names)))
    folded = query.casefold().replace("\u2019", "'")
    terms = analyzer.terms(query)
    asks_other_side = bool(_ASKS_OTHER_SIDE.search(folded))
    return Question(
        terms=tuple(dict.fromkeys(term for term in terms if term not in name_terms)),
        names=names,
        text=_without_names(query, names),
        asks_time=bool(_ASKS_TIME.search(folded)),
        asks_number=bool(_ASKS_NUMBER.search(folded)),
        asks_other_side=asks_other_side,
        asks_help=bool(_ASKS_HELP.search(folded)) and not asks_other_side and not _ASKS_TO_RECALL.search(folded),
        in_first_person=bool(_FIRST_PERSON.search(folded)),
        is_keywords=0 < len(terms) == len(analyzer.words(query)) <= MOST_KEYWORDS,
        periods=tuple(_periods(folded, now)),
    )


def _without_names(query: str, names: Collection[str]) -> str:
    words = _WORDS.findall(query)
    kept = [word for word in words if not _is_name(word.casefold(), names)]
    return " ".join(kept) if 1 < len(kept) < len(words) else query


def _is_name(word: str, names: Collection[str]) -> bool:
    return word.replace("\u2019", "'").removesuffix("'s") in names


def _periods(query: str, now: datetime) -> Iterator[Period]:
    """Every period of the most exact kind that the query names."""
    for kind in (_days, _months, _years, _relative):
        found = [period for period in kind(query, now) if period is not None]
        if found:
            yield from found
            return


def _days(query: str, _now: datetime) -> Iterator[Period | None]:
    dates = [(year, _MONTHS.index(month) + 1, day) for day, month, year in _DAY_MONTH.findall(query)]
    dates += [(year, _MONTHS.index(month) + 1, day) for month, day, year in _MONTH_DAY.findall(query)]
    dates += [(year, int(month), day) for year, month, day in _ISO_DAY.findall(query)]
    for year, month, day in dates:
        start = _day(int(year or LEAP_YEAR), month, int(day))
        yield Period(start, start + DAY, yearly=not year) if start else None


def _months(query: str, _now: datetime) -> Iterator[Period | None]:
    for before, month, year in _IN_MONTH.findall(query):
        if before or year:
            yield _month(int(year or LEAP_YEAR), _MONTHS.index(month) + 1, yearly=not year)


def _years(query: str, _now: datetime) -> Iterator[Period | None]:
    for year in map(int, _IN_YEAR.findall(query)):
        yield Period(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _relative(query: str, now: datetime) -> Iterator[Period | None]:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if re.search(r"\btoday\b|\bthis morning\b|\btonight\b", query):
        yield Period(today, today + DAY)
    if re.search(r"\byesterday\b|\blast night\b", query):
        yield Period(today - DAY, today)
    for amount, unit in _AGO.findall(query):
        length = timedelta(days=_UNIT_DAYS[unit])
        middle = today - (_NUMBERS.get(amount) or int(amount)) * length
        yield Period(middle - length / 2, middle + length / 2)
    for which, unit in _LAST.findall(query):
        yield _last(today, which, unit)


def _last(today: datetime, which: str, unit: str) -> Period | None:
    monday = today - today.weekday() * DAY
    back = 0 if which == "this" else 1
    if unit in _WEEKDAYS:
        day = monday + _WEEKDAYS.index(unit) * DAY
        day -= 7 * DAY if day >= today else timedelta(0)
        return Period(day, day + DAY)
    if unit == "week":
        return Period(monday - 7 * back * DAY, monday + (7 - 7 * back) * DAY)
    if unit == "weekend":
        saturday = monday + (5 - 7 * back) * DAY
        return Period(saturday, saturday + 2 * DAY)
    if unit == "month":
        return _month((today.replace(day=1) - back * DAY).year, (today.replace(day=1) - back * DAY).month, yearly=False)
    start = datetime(today.year - back, 1, 1, tzinfo=UTC)
    return Period(start, start + YEAR - DAY)


def _month(year: int, month: int, *, yearly: bool) -> Period:
    start = datetime(year, month, 1, tzinfo=UTC)
    return Period(start, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC), yearly=yearly)


def _day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:  # the 31st of June, the 29th of February
        return None
