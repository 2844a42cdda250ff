"""The header Retry-After of a service that is busy or down."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_in(value: str | None, *, now: datetime | None = None) -> float | None:
    """The pause that the header asks for, which is a number of seconds or a date; None without a valid one."""
    if value is None:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    with suppress(ValueError, TypeError, OverflowError):
        until = parsedate_to_datetime(value)
        until = until.replace(tzinfo=UTC) if until.tzinfo is None else until  # a date without a zone is in UTC
        return max((until - (now or datetime.now(UTC))).total_seconds(), 0.0)
    return None
