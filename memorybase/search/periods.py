"""A time that a query names, and how near a message is to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta

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
        start = a_day(year, self.start.month, self.start.day) or self.start.replace(year=year, day=28)
        return Period(start, start + length)


def a_month(year: int, month: int, *, yearly: bool) -> Period:
    start = datetime(year, month, 1, tzinfo=UTC)
    return Period(start, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC), yearly=yearly)


def a_day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:  # the 31st of June, the 29th of February
        return None
