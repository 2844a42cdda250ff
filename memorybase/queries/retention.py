"""Until when the messages of a session have expired, and the bounds of a rule."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.models import Flow, Session

MAX_RETAIN_DAYS = 36_500  # a hundred years

Rule = Literal["flow", "session", "memory_base"]


class Expiry(NamedTuple):
    """What was captured until `before` has expired, by this rule."""

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


def share_flow(db: OrmSession, flow_id: UUID) -> Flow | None:
    """The flow, unless it is being deleted; its rule does not change before the transaction ends."""
    statement = sa.select(Flow).where(Flow.id == flow_id, Flow.deleting_at.is_(None)).with_for_update(read=True)
    return db.scalar(statement.execution_options(populate_existing=True))


def expiry_of(flow: Flow, session: Session, now: datetime) -> Expiry | None:
    """What has expired of the session, by the flow's rule or the session's own; None: nothing."""
    found: list[Expiry] = []
    if flow.retain_days is not None:
        found.append(Expiry("flow", now - timedelta(days=flow.retain_days)))
    if session.expires_at is not None and session.expires_at <= now:
        found.append(Expiry("session", session.expires_at))
    return max(found, key=lambda each: each.before, default=None)
