"""The rows of a session that is deleted: how many, in pages, and what is removed last."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.batches import delete_page, delete_some
from memorybase.core.models import (
    MemoryBase,
    MemoryUse,
    Message,
    MessageChange,
    NodeExecution,
    Receipt,
    RestorableMessage,
    Run,
    Session,
)
from memorybase.core.models import SessionProgress as Progress
from memorybase.core.queries import cursors
from memorybase.core.queries.joins import key_of
from memorybase.core.queries.pending import SESSION_IS_DUE
from memorybase.core.queries.sessions import SessionRow, rows_are_left

ErasureKind = Literal["erase_end_user", "delete_session", "redact_secrets"]
KINDS: dict[str, ErasureKind] = {kind: kind for kind in get_args(ErasureKind)}
NO_FLOW = UUID(int=0)  # of an end user in all flows


def count_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> tuple[int, int]:
    """Number of messages and runs of a session."""
    messages, runs = (
        db.scalar(sa.select(sa.func.count()).where(table.session_uuid == key_of(flow_id, session_id))) or 0
        for table in (Message, Run)
    )
    return messages, runs


def removable_sessions(db: OrmSession, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, session id) of sessions of which no rows are left and whose stores are repaired, the longest deleted
    first."""
    pending = (
        sa.exists()
        .where(
            Progress.flow_id == Session.flow_id,
            Progress.session_id == Session.session_id,
            MemoryBase.id == Progress.memory_base_id,
            Progress.generation.in_([MemoryBase.serving, MemoryBase.building]),
            sa.or_(cursors.is_repair_pending(), SESSION_IS_DUE),
        )
        .correlate(Session)
    )
    found = sa.select(Session.flow_id, Session.session_id).where(
        Session.deleted_at.is_not(None), ~rows_are_left(), ~pending
    )
    return [(row[0], row[1]) for row in db.execute(found.order_by(Session.deleted_at).limit(limit))]


def oldest_messages(db: OrmSession, session: SessionRow, *, limit: int) -> list[tuple[UUID, int]]:
    """(id, seq) of the first messages of a session."""
    of_session = sa.select(Message.id, Message.seq).where(Message.session_uuid == session.id)
    rows = db.execute(of_session.order_by(Message.seq).limit(limit))
    return [(row[0], row[1]) for row in rows]


def delete_messages(db: OrmSession, session: SessionRow, *, to_seq: int) -> None:
    """Delete the messages of a session up to this one."""
    delete = sa.delete(Message).where(Message.session_uuid == session.id, Message.seq <= to_seq)
    db.execute(delete.execution_options(synchronize_session=False))


class RowsAbout(NamedTuple):
    """Number of rows that belong to a session or its messages, without those that other modules count."""

    message_changes: int
    restorable_messages: int


def count_rows_about(db: OrmSession, session: SessionRow) -> RowsAbout:
    def count(which: sa.ColumnElement[bool]) -> int:
        return db.scalar(sa.select(sa.func.count()).where(which)) or 0

    return RowsAbout(
        count(MessageChange.session_uuid == session.id),
        count(RestorableMessage.session_uuid == session.id),
    )


def delete_rows_about(db: OrmSession, session: SessionRow, *, limit: int) -> int:
    """Delete up to `limit` rows that refer to a session, its messages or runs, each table after those that refer to it;
    how many."""
    steps: tuple[tuple[type[Any], sa.ColumnElement[bool]], ...] = (
        (MessageChange, MessageChange.session_uuid == session.id),
        (RestorableMessage, RestorableMessage.session_uuid == session.id),
        (MemoryUse, _of_session(MemoryUse, session)),
        (NodeExecution, NodeExecution.session_uuid == session.id),
    )
    deleted = 0
    for table, which in steps:
        if deleted >= limit:
            break
        deleted += delete_page(db, table, which, limit=limit - deleted)
    return deleted


def delete_runs(db: OrmSession, session: SessionRow, *, limit: int) -> int:
    """Delete up to `limit` runs of a session, or the memory that models were given in them for other sessions. Returns
    the number deleted."""
    ids = db.scalars(sa.select(Run.id).where(Run.session_uuid == session.id).limit(limit)).all()
    given = sa.and_(MemoryUse.flow_id == session.flow_id, MemoryUse.run_id.in_(ids))
    deleted = delete_page(db, MemoryUse, given, limit=limit)
    if deleted < limit:
        db.execute(sa.delete(Run).where(Run.id.in_(ids)).execution_options(synchronize_session=False))
    return max(deleted, len(ids))


def delete_progress_of_session(db: OrmSession, flow_id: UUID, session_id: str, *, limit: int) -> bool:
    """Delete the session's rows in every generation, with their jobs, ledger entries and dead letters, at most `limit`
    rows; False once nothing is left."""
    mine = sa.and_(Progress.flow_id == flow_id, Progress.session_id == session_id)
    ids = list(db.scalars(sa.select(Progress.id).where(mine)))
    if any(delete_some(db, table, table.progress_id.in_(ids), limit=limit) for table in cursors.of_progress()):
        return True
    db.execute(sa.delete(Progress).where(mine).execution_options(synchronize_session=False))
    return False


def _of_session(table: type[Any], session: SessionRow) -> sa.ColumnElement[bool]:
    return sa.and_(table.flow_id == session.flow_id, table.session_id == session.session_id)


# Receipts are in one table with those of rules: finished at once, and deleted as late.


def insert_receipt(
    db: OrmSession,
    user_id: UUID,
    kind: ErasureKind,
    subject_id: UUID,
    flow_id: UUID | None,
    counts: dict[str, int],
    now: datetime,
) -> Receipt:
    """Keep the receipt of an erasure."""
    row = Receipt(
        id=uuid4(),
        user_id=user_id,
        rule=kind,
        flow_id=flow_id or NO_FLOW,
        subject_id=subject_id,
        expired_before=now,
        counts=counts,
        started_at=now,
        finished_at=now,
    )
    db.add(row)
    db.flush()
    return row
