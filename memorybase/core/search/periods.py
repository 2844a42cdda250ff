"""The times that a query names, as periods. Pure.

`date_tokens` gives each word that a time may be made of a letter. Here are the forms that times have, over these
letters, for all languages at once, and the bounds of each.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal, NamedTuple

from memorybase.core import time_zones
from memorybase.core.keyword_index.languages import ENGLISH, LATIN, Language
from memorybase.core.keyword_index.languages.date_words import FEW
from memorybase.core.search import date_tokens
from memorybase.core.search.date_tokens import LEAP_YEAR, MONTHS, Token

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
EARLIEST = datetime(1200, 1, 1, tzinfo=UTC)  # 999 years ago is a date even then
FEW_WORDS = 6
FEW_AGO, SEVERAL = 3, 5  # days and the like that "a few" stands for: ago, and in a stretch
Resolution = Literal["day", "week", "weekend", "month", "quarter", "season", "year", "stretch"]

UNIT_LETTERS = frozenset(date_tokens.UNITS.values())
_DAYS_OF = {"d": 1, "w": 7, "e": 7}
_MONTHS_OF: Mapping[str, tuple[int, Resolution]] = {"m": (1, "month"), "k": (3, "quarter")}
# Days before and after the day that is meant.
_AROUND: Mapping[str, tuple[int, Resolution]] = {
    "d": (0, "day"),
    "w": (3, "week"),
    "m": (15, "month"),
    "k": (45, "quarter"),
    "y": (182, "year"),
}


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a query names, up to but not including `end`; `yearly`: without a year, so every year matches."""

    start: datetime
    end: datetime
    resolution: Resolution
    yearly: bool = False

    def nearness(self, moment: datetime) -> float:
        """1 for a message in this period, less for soon after it: people talk about a day on the days that follow.

        A stretch has sharp bounds, and a year is a weak hint.
        """
        if self.yearly:
            year = moment.astimezone(self.start.tzinfo).year if MINYEAR + 1 < moment.year < MAXYEAR - 1 else 0
            return max(self._moved(year).nearness(moment), self._moved(year - 1).nearness(moment)) if year else 0.0
        if self.resolution == "stretch":
            return float(self.start <= moment < self.end)
        if self.start - DAY <= moment < self.end + DAY:
            return 0.2 if self.resolution == "year" else 1.0
        if self.resolution == "year":
            return 0.0
        after = moment - self.end
        return 0.0 if after < timedelta(0) else 0.6 if after <= 8 * DAY else 0.3 if after <= 31 * DAY else 0.0

    def latest(self, now: datetime) -> Period:
        """The last one that has begun, of a period without a year."""
        if not self.yearly:
            return self
        now = max(now, EARLIEST)
        moved = self._moved(now.year)
        return moved if moved.start <= now else self._moved(now.year - 1)

    def _moved(self, year: int) -> Period:
        start = _in_year(self.start, year)
        return replace(self, start=start, end=start + (self.end - self.start), yearly=False)


class Named(NamedTuple):
    """The periods of a query, and its other words."""

    periods: tuple[Period, ...]
    rest: str  # the folded query without them, and without words such as since


def periods(query: str, now: datetime, language: Language, zone: tzinfo = UTC) -> tuple[Period, ...]:
    """The periods that a query in normal form C names, with days of the zone."""
    return named(query, now, language, zone).periods


def named(query: str, now: datetime, language: Language, zone: tzinfo = UTC) -> Named:
    """The periods that a query in normal form C names, with days of the zone.

    A few words hardly show their language, so a short query that is taken for English is also read in each language in
    which it is nothing but a time.
    """
    moment = time_zones.local(max(now, EARLIEST), zone)
    found = _named_in(query, moment, language)
    if language is ENGLISH and _is_more(found) and 1 < len(query.split()) <= FEW_WORDS:
        others = (_named_in(query, moment, other) for other in LATIN)
        return next((other for other in others if other.periods and not _is_more(other)), found)
    return found


def _is_more(found: Named) -> bool:
    return re.search(r"\w", found.rest) is not None


def _named_in(query: str, now: datetime, language: Language) -> Named:
    text = date_tokens.folded(query, language)
    found = date_tokens.tokens(text, language)
    letters = "".join(token.letter for token in found)
    if not _HINTS.search(letters):
        return Named((), text)
    words = language.dates
    reader = _Reader(now, is_past=date_tokens.is_past(text, language), weekday_of_week=words.weekday_of_week)
    forms = _forms(months=words.months_need_preposition, years=words.years_need_preposition, bare_days=words.bare_days)
    spans = [
        (match, reader.read(match.lastgroup or "", found[match.start(match.lastgroup or 0) : match.end()]))
        for match in forms.finditer(letters)
    ]
    separable = _BETWEEN_TIMES if language.has_spaces else frozenset[str]()
    kept = _without_weak([period for _, period in spans if period is not None])
    covered = [match.span() for match, period in spans if period]
    return Named(tuple(kept), _rest(text, found, covered, separable))


def _without_weak(found: Sequence[Period]) -> Sequence[Period]:
    """The periods without years that a more exact period covers."""
    return [period for period in found if period.resolution != "year"] or found


def _rest(text: str, found: Sequence[Token], spans: Sequence[tuple[int, int]], separable: Collection[str]) -> str:
    covered = {number for span in spans for number in range(*span)}
    characters = list(text)
    for number, token in enumerate(found):
        if number in covered or token.letter in separable:
            characters[token.start : token.end] = " " * (token.end - token.start)
    return "".join(characters)


# Letters: D date, f date that may be a fraction, Y year, M month, s abbreviated month, N number, u one, O ordinal,
# W weekday, S season, Q quarter, R day relative to today, r the same if past; L last, P past, T this, F next or every;
# I since, J the same after its time, B between, Z to, A and, G ago, E early or late; n on, i in; units h d w e m k y:
# e is the weekend, k the quarter. Between all of them may be fillers and prepositions.
_BETWEEN_TIMES = frozenset("inAZBIJF_")
_HINTS = re.compile("[DfYMsNWSQRrwemkyhd]")
_JOINED = "[in_]*"

# Every Monday, next March, and in some languages before Friday.
_NOT_AFTER = "(?<![FG])(?<![FG][in_])"


def _form(*letters: str) -> str:
    return _JOINED.join(letters)


def _any(*forms: str) -> str:
    return "(?:" + "|".join(_form(*form.split()) for form in forms) + ")"


_YEAR = f"(?:Y|[LT]{_JOINED}y|y{_JOINED}[LT])"
_WEEK = f"(?:[LT]{_JOINED}w|w{_JOINED}[LT])"
_MAYBE_YEAR = f"(?:{_JOINED}{_YEAR})?"
_MONTH = "[Ms]"
_DATE = _any(
    f"{_YEAR} {_MONTH} N",
    f"(?:W{_JOINED})?{_MONTH} N{_MAYBE_YEAR}",
    f"(?:W{_JOINED})?[NO] {_MONTH}{_MAYBE_YEAR}",
    "D",
)
_EXACT = _any(
    f"[OL] [wed] M{_MAYBE_YEAR}",
    f"[wed] [OL] M{_MAYBE_YEAR}",
    f"(?:{_YEAR}{_JOINED})?M (?:[OL]{_JOINED}[wed]|[wed]{_JOINED}O)",
    f"E (?:[LT]{_JOINED})?M{_MAYBE_YEAR}",
    f"{_YEAR} M E",
    "[MS] E",
    f"E (?:[LT]{_JOINED})?S{_MAYBE_YEAR}",
    "E [LT] [wmky]",
    "[LT] [wmky] E",
    "[wmky] [LT] E",
    "E [wmky] [LT]",
    "E Y",
    "Y E",
    f"{_MONTH} {_YEAR}",
    f"{_YEAR} M",
    "[LT] M",
    "M [LT]",
    f"{_YEAR} (?:Q|[ON]{_JOINED}k)",
    f"(?:[LT]{_JOINED})?(?:Q|[ON]{_JOINED}k|k{_JOINED}[ON]){_MAYBE_YEAR}",
    f"S {_YEAR}",
    f"{_YEAR} S",
    "[LT] S",
    "S [LT]",
    f"W {_WEEK}",
    f"{_WEEK} W",
    "[LTP] W",
    "W [LT]",
    "[LT] [wemky]",
    "[wemky] [LT]",
    "R",
)
_AGO = _any(
    "[Nu] [hdwemkyS] G",
    f"(?:R{_JOINED})?G [Nu] [hdwemkyS]",  # "heute vor einem Jahr"
    "[hdwmy] G",
    "G [hdwmy]",
)
_NAMED = f"(?:{_DATE}|{_AGO}|{_EXACT})"
_LOOSE = f"(?:{_NAMED}|[WMSYNf])"  # it needs nothing more, since or between stands next to it
_VAGUE = frozenset("WSerBIAZJ")  # too often no time in the past to be one by themselves
_STRETCH = _any(
    "[LTP] [Nu] [hdwemky]",
    f"(?:T{_JOINED})?[Nu] L [hdwemky]",
    "[Nu] [hdwemky] L",
    "[hdwemky] [Nu] L",
    f"L [hd](?!{_JOINED}M)",
    "[hd] L",
    "P [hdwemky]",
)


@lru_cache(maxsize=4)
def _forms(*, months: bool, years: bool, bare_days: bool) -> re.Pattern[str]:
    """The forms of times, over letters; groups are what `_Reader` reads them as.

    `months` and `years` are whether these need a preposition.
    """
    bare = [
        "[in] e",
        "[inZ] M" if months else "M",
        "[in] S",
        "n W",
        r"W(?=_*\.*$)",
        *(["W", "e"] if bare_days else []),
        *([] if months else ["S"]),
    ]
    alternatives = {
        "between": _any(
            f"[BI] {_LOOSE} [AZ] {_LOOSE}", f"{_LOOSE} [AZJ] {_LOOSE} B", f"(?:[BI]{_JOINED})?{_LOOSE} Z {_LOOSE}"
        ),
        "since": _any(f"I (?:{_NAMED}|[WMSYf])", f"(?:{_NAMED}|[WMSYf]) J", "I [Nu] [hdwemky]"),
        "stretch": _STRETCH,
        "point": _NAMED,
        "fraction": _any("n f"),
        "maybe": "r",
        "bare": f"{_any(*bare)}(?!{_JOINED}[FW])",
        "year": "[in]_*Y" if years else "Y",
    }
    return re.compile(
        "|".join(
            f"{_NOT_AFTER if name == 'bare' else ''}{_JOINED}(?P<{name}>{form})" for name, form in alternatives.items()
        )
    )


class _Reader:
    """Gives the forms their bounds, as seen from one moment, in its time zone."""

    def __init__(self, now: datetime, *, is_past: bool, weekday_of_week: bool) -> None:
        self._now = now
        self._today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        self._monday = self._today - self._today.weekday() * DAY
        self._is_past = is_past
        self._weekday_of_week = weekday_of_week

    def read(self, form: str, found: Sequence[Token]) -> Period | None:
        found = [token for token in found if token.letter not in "in_"]
        is_vague = form in ("maybe", "bare", "between") and {token.letter for token in found} <= _VAGUE
        if is_vague and not self._is_past:
            return None
        if form == "between":
            return self._between([token for token in found if token.letter not in "BI"])
        if form == "since":
            return self._since([token for token in found if token.letter not in "IJ"])
        return self._stretch(found) if form == "stretch" else self._point(found)

    def _between(self, found: Sequence[Token]) -> Period | None:
        middle = next(number for number, token in enumerate(found) if token.letter in "AZJ")
        first, last = list(found[:middle]), list(found[middle + 1 :])
        is_day = any(token.letter == "N" for token in (*first, *last))
        for letter in "MsY" if is_day else "Y":  # "1 to 15 August", "August 1 to 15": the month is of both
            for these, others in ((first, last), (last, first)):
                if not any(token.letter == letter for token in these):
                    these += [token for token in others if token.letter == letter]
        if is_day and not any(token.letter in "MsD" for token in first):  # numbers alone
            return None
        start, end = self._settled(self._point(first)), self._settled(self._point(last))
        if start is None or end is None:
            return None
        begin = start.start
        if begin >= end.end:  # from December to January, from Friday to Monday
            is_weekday = start.end - begin == DAY and begin - end.end < 7 * DAY
            begin = begin - 7 * DAY if is_weekday else _in_year(begin, begin.year - 1)
        return _stretch(begin, end.end)

    def _since(self, found: Sequence[Token]) -> Period | None:
        if len(found) == 2 and found[0].letter in "Nu" and found[1].letter in UNIT_LETTERS:
            return self._stretch(found)
        point = self._settled(self._point(found))
        return _stretch(point.start, self._today + DAY) if point else None

    def _settled(self, period: Period | None) -> Period | None:
        """One without a year in the latest year in which it has begun."""
        if period is None or not period.yearly:
            return period
        start = _in_year(period.start, self._today.year)
        if start > self._today:
            start = _in_year(period.start, self._today.year - 1)
        return replace(period, start=start, end=start + (period.end - period.start), yearly=False)

    def _stretch(self, found: Sequence[Token]) -> Period | None:
        unit = next(token for token in found if token.letter in UNIT_LETTERS)
        number = next((token.value for token in found if token.letter in "Nu"), None)
        is_until_now = any(token.letter == "P" for token in found)  # "the past year"
        if number is None and not (unit.is_plural or unit.value > 1 or is_until_now):  # "the last day"
            return None
        if number is None:
            number = FEW if unit.is_plural else 1
        return self._last((number or SEVERAL) * unit.value, unit.letter)

    def _last(self, number: int, unit: str) -> Period | None:
        if unit == "h":
            return _stretch(self._now - number * HOUR, self._now)
        return _stretch(_back(self._today, number, unit), self._today + DAY)

    def _point(self, found: Sequence[Token]) -> Period | None:
        """A time without `since` or `between`, from the tokens that it has, in any order."""
        parts = {token.letter: token.value for token in found}
        units = [token for token in found if token.letter in UNIT_LETTERS]
        if (day := parts.get("D") or parts.get("f")) is not None:
            return self._day(day // 10_000, day // 100 % 100, day % 100)
        if "G" in parts:
            return self._ago(parts, units)
        back, year = parts.get("L", parts.get("T", parts.get("P"))), parts.get("Y")
        if "y" in parts and back is not None and parts.keys() & set("MsSQk"):  # "October of last year"
            year, back, units = self._today.year - back, None, [unit for unit in units if unit.letter != "y"]
        period = self._named(parts, units[0] if units else None, year, back)
        return _third(period, parts["E"]) if period and "E" in parts else period

    def _named(self, parts: Mapping[str, int], unit: Token | None, year: int | None, back: int | None) -> Period | None:
        number, month = parts.get("N", parts.get("O")), parts.get("M", parts.get("s"))
        if month is not None:
            day = self._day(year or 0, month, number) if number and not unit else None
            within = self._within_month(unit.letter, number, month, year) if unit else None
            return day or within or self._month(month, year, back)
        if "S" in parts:
            return self._season(parts["S"], year, back)
        quarter = parts.get("Q", number if unit and unit.letter == "k" else None)
        if quarter is not None:
            return self._quarter(quarter, year, back)
        return self._relative(parts, unit, year, back)

    def _relative(
        self, parts: Mapping[str, int], unit: Token | None, year: int | None, back: int | None
    ) -> Period | None:
        if "W" in parts:
            return self._weekday(parts["W"], back, is_of_week=unit is not None or self._weekday_of_week)
        if (days := parts.get("R", parts.get("r"))) is not None:
            return Period(self._today - days * DAY, self._today - days * DAY + DAY, "day")
        if unit is None:
            return self._months(year, 1, MONTHS, "year") if year else None
        return self._unit(unit, back)

    def _day(self, year: int, month: int, day: int) -> Period | None:
        try:
            start = self._today.replace(year=year or LEAP_YEAR, month=month, day=day)
        except ValueError:  # the 31st of June
            return None
        return Period(start, start + DAY, "day", yearly=not year)

    def _months(self, year: int | None, month: int, count: int, resolution: Resolution) -> Period:
        start = self._today.replace(year=year or LEAP_YEAR, month=month, day=1)
        return Period(start, _back(start, -count, "m"), resolution, yearly=not year)

    def _month(self, month: int, year: int | None, back: int | None) -> Period:
        if year is None and back is not None:
            year = self._today.year - (back and back - (month < self._today.month))
        return self._months(year, month, 1, "month")

    def _within_month(self, unit: str, number: int | None, month: int, year: int | None) -> Period:
        """The first week, weekend or day of a month and the like; without a number the last one."""
        whole = self._months(year, month, 1, "month")
        days = 1 if unit == "d" else 7
        start = whole.end - days * DAY if number is None else whole.start + (number - 1) * days * DAY
        if unit == "e":
            settled = self._settled(replace(whole, start=start, end=start + 7 * DAY)) or whole
            saturday = settled.start + (5 - settled.start.weekday()) % 7 * DAY
            return Period(saturday, saturday + 2 * DAY, "weekend")
        return Period(start, start + days * DAY, "day" if unit == "d" else "week", yearly=whole.yearly)

    def _season(self, season: int, year: int | None, back: int | None) -> Period:
        """A season of the northern half of the earth; winter begins in December of its year."""
        if year is None and back is not None:
            year = self._today.year
            while (period := self._months(year, 3 + 3 * season, 3, "season")).end > self._today and back:
                year -= 1
            while not back and period.start > self._today:
                year -= 1
                period = self._months(year, 3 + 3 * season, 3, "season")
            year -= max(0, back - 1)
        return self._months(year, 3 + 3 * season, 3, "season")

    def _quarter(self, number: int, year: int | None, back: int | None) -> Period | None:
        if not 1 <= number <= 4:
            return None
        if year is None:  # the latest that has begun, or that is over
            latest = self._months(self._today.year, 3 * number - 2, 3, "quarter")
            is_over = (latest.end if back else latest.start) <= self._today
            year = self._today.year - (not is_over)
        return self._months(year, 3 * number - 2, 3, "quarter")

    def _weekday(self, weekday: int, back: int | None, *, is_of_week: bool) -> Period:
        if is_of_week and back is not None:
            day = self._monday + (weekday - 7 * back) * DAY
        else:  # the latest that is over
            day = self._monday + weekday * DAY
            day -= (7 if day >= self._today else 0) * DAY + 7 * max(0, (back or 0) - 1) * DAY
        return Period(day, day + DAY, "day")

    def _unit(self, unit: Token, back: int | None) -> Period | None:
        if unit.is_plural or unit.value != 1:
            return self._stretch([unit])
        if unit.letter == "e":
            saturday = self._monday + 5 * DAY
            saturday -= 7 * ((saturday > self._today) if back is None else back) * DAY
            return Period(saturday, saturday + 2 * DAY, "weekend")
        if back is None:
            return None
        if unit.letter == "w":
            start = self._monday - 7 * back * DAY
            return Period(start, start + 7 * DAY, "week" if back else "stretch")
        if unit.letter == "y":
            return self._months(self._today.year - back, 1, MONTHS, "stretch")
        length, resolution = _MONTHS_OF[unit.letter]
        first = self._today.replace(month=(self._today.month - 1) // length * length + 1, day=1)
        start = _back(first, back * length, "m")
        return self._months(start.year, start.month, length, resolution)

    def _ago(self, parts: Mapping[str, int], units: Sequence[Token]) -> Period | None:
        """The period of "... ago", around that moment."""
        number = parts.get("N", parts.get("u", 1)) or FEW_AGO
        if "S" in parts:
            return self._season(parts["S"], None, number)
        unit, number = units[0].letter, number * units[0].value
        if units[0].is_plural and not parts.keys() & {"N", "u"}:  # "weeks ago"
            return None
        if unit == "h":
            return Period(self._now - (number + 1) * HOUR, self._now - (number - 1) * HOUR, "day")
        day = _back(self._today, number, unit)
        if unit == "e":
            saturday = day + (5 - day.weekday()) * DAY
            return Period(saturday, saturday + 2 * DAY, "weekend")
        before, resolution = (0, _AROUND["d"][1]) if "R" in parts else _AROUND[unit]
        return Period(day - before * DAY, day + (before + 1) * DAY, resolution)


def _stretch(start: datetime, end: datetime) -> Period | None:
    return Period(start, end, "stretch") if start < end else None


def _third(period: Period, number: int) -> Period:
    """The first, middle or last third, in whole days."""
    days = (period.end - period.start).days
    start, end = (period.start + days * part // 3 * DAY for part in (number, number + 1))
    return replace(
        period, start=start, end=end, resolution="season" if period.resolution == "year" else period.resolution
    )


def _back(day: datetime, number: int, unit: str) -> datetime:
    """The day `number` units before; the last of its month where that is shorter."""
    if unit in _DAYS_OF:
        return day - number * _DAYS_OF[unit] * DAY
    months = day.year * MONTHS + day.month - 1 - number * {"m": 1, "k": 3, "y": MONTHS}[unit]
    year, month = months // MONTHS, months % MONTHS + 1
    return day.replace(year=year, month=month, day=min(day.day, calendar.monthrange(year, month)[1]))


def _in_year(day: datetime, year: int) -> datetime:
    """The same day of another year; for the 29th of February the 28th."""
    return day.replace(year=year, day=min(day.day, calendar.monthrange(year, day.month)[1]))
