"""Which of the sweeper's steps that somebody waits for have work: one statement, since asking each takes longer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.models import (
    Flow,
    Heartbeat,
    IngestionJob,
    JobState,
    MemoryBase,
    PlannedBaseDeletion,
    PlannedDeletion,
    Preparation,
    Session,
    SessionProgress,
    UtcDateTime,
)
from memorybase.core.queries.pending import SESSION_IS_DUE, SESSION_IS_EDITED
from memorybase.core.queries.store_health import CHECK_EVERY, CHECK_TURN

Condition = sa.ColumnElement[bool]
_NOW = sa.bindparam("now", type_=UtcDateTime())
_CHECKED_AFTER = sa.bindparam("checked_after", type_=UtcDateTime())


def _any(column: sa.SQLColumnExpression[object], *conditions: sa.ColumnElement[bool]) -> sa.Exists:
    return sa.select(column).where(*conditions).exists()


_IS_SESSION_DELETED = _any(Session.id, Session.deleted_at.is_not(None))
# A step may find less than its condition says, never more. Each condition is on an index, or on a small table.
_STEPS: dict[str, Condition] = {
    "store_check": ~_any(
        Heartbeat.name, Heartbeat.name == CHECK_TURN, Heartbeat.beat_at > _CHECKED_AFTER, Heartbeat.beat_at <= _NOW
    ),
    "requeued": _any(SessionProgress.id, SessionProgress.lease_until < _NOW),
    "idle": _any(SessionProgress.id, SessionProgress.idle_due_at <= _NOW),
    "prepared": _any(Preparation.memory_base_id),
    "planned": sa.or_(
        _any(SessionProgress.id, SESSION_IS_DUE),
        _any(SessionProgress.id, SESSION_IS_EDITED),
        _any(SessionProgress.id, SessionProgress.audit_at <= _NOW),
    ),
    "notified": _any(IngestionJob.id, IngestionJob.state == JobState.QUEUED),
    "planned_deletions": sa.or_(
        _any(PlannedBaseDeletion.memory_base_id, PlannedBaseDeletion.due_at <= _NOW),
        _any(PlannedDeletion.session_uuid, PlannedDeletion.due_at <= _NOW),
    ),
    "deletions": sa.or_(
        _any(MemoryBase.id, MemoryBase.deleting_at.is_not(None)), _any(Flow.id, Flow.deleting_at.is_not(None))
    ),
    "builds": _any(MemoryBase.id, MemoryBase.building.is_not(None)),
    "sessions_erased": _IS_SESSION_DELETED,
    "sessions_removed": _IS_SESSION_DELETED,
}


def find(db: OrmSession, now: datetime, added: Mapping[str, Condition]) -> set[str]:
    """The names of the steps that have work now, of the core's and of those that features add."""
    steps = {**_STEPS, **added}
    statement = sa.select(*(condition.label(name) for name, condition in steps.items()))
    row = records.execute(db, statement, {"now": now, "checked_after": now - CHECK_EVERY}).one()
    return {name for name, is_due in zip(steps, row, strict=True) if is_due}
