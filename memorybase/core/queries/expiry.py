"""When stored data expires, by the rules in columns of flows, memory bases and sessions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from memorybase.core import errors
from memorybase.core.models import Flow
from memorybase.core.queries.sessions import SessionRow

MAX_RETAIN_DAYS = 36_500  # a hundred years

Rule = Literal["flow", "session", "memory_base"]


class Expiry(NamedTuple):
    """A rule, and the time until which captured data has expired by it."""

    rule: Rule
    before: datetime


def check_retain_days(days: int | None) -> None:
    """Raises InvalidRequest unless it is a number of days in bounds, or None: for ever."""
    if days is not None:
        check_days("retain_days", days)


def check_days(field: str, days: int) -> None:
    """Raises InvalidRequest for a number of days out of bounds."""
    if not 1 <= days <= MAX_RETAIN_DAYS:
        bounds = [1, MAX_RETAIN_DAYS]
        raise errors.InvalidRequest(
            f"{field} must be from 1 to {MAX_RETAIN_DAYS}", field=field, value=days, limit=bounds
        )


def expiry_of(flow: Flow, session: SessionRow, now: datetime) -> Expiry | None:
    """The expiry of the session, by the flow's rule or the session's own; None: nothing has expired."""
    found: list[Expiry] = []
    if flow.retain_days is not None:
        found.append(Expiry("flow", now - timedelta(days=flow.retain_days)))
    if session.expires_at is not None and session.expires_at <= now:
        found.append(Expiry("session", session.expires_at))
    return max(found, key=lambda each: each.before, default=None)
