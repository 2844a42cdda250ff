"""Memory base sessions: cursors, targets, leases, marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session as OrmSession

from memorybase.database import lookup
from memorybase.database.batches import pages
from memorybase.database.upsert import core, insert, insert_unless_there, new_id
from memorybase.models import (
    IS_ACTIVE,
    DeletedMessage,
    Generation,
    IngestionJob,
    LedgerEntry,
    MemoryBase,
    MemoryBaseSession,
    Message,
    Session,
)
from memorybase.queries import jobs
from memorybase.queries.sessions import counted

Row = MemoryBaseSession


def ensure_row(
    session: OrmSession, *, base_id: UUID, generation: int, flow_id: UUID, session_id: str, start_seq: int = 0
) -> None:
    """The session's row in a generation, made when there is none."""
    new = {
        "id": uuid4(), "memory_base_id": base_id, "generation": generation, "flow_id": flow_id,
        "session_id": session_id, "start_seq": start_seq, "cursor_seq": start_seq, "target_seq": start_seq,
        "build_seq": 0, "total_processed": 0, "total_chunks": 0, "epoch": 0, "dirty": 0, "repaired": 0,
    }  # fmt: skip
    insert_unless_there(session, Row, new, "memory_base_id", "session_id", "generation")


def begin_build(session: OrmSession, base_id: UUID, serving: int, building: int) -> None:
    """A row of the build for each of the serving generation, at its beginning, with what is covered now for target.

    One statement: it runs under the base's lock. What a running job is about to cover has to be in the new generation
    too before that serves.
    """
    covered = sa.case((Row.target_seq > Row.cursor_seq, Row.target_seq), else_=Row.cursor_seq)
    session.execute(_copied_rows(session, base_id, serving, building, target_seq=covered, build_seq=covered))


def end_build(session: OrmSession, base_id: UUID, serving: int, building: int) -> None:
    """What the build was owed is owed to the serving generation from now on. One statement, as to begin it."""
    copied = _copied_rows(session, base_id, building, serving, target_seq=Row.target_seq, build_seq=sa.literal(0))
    owed = copied.excluded.target_seq
    session.execute(
        copied.on_conflict_do_update(
            index_elements=["memory_base_id", "session_id", "generation"],
            set_={
                "target_seq": sa.case((owed > Row.target_seq, owed), else_=Row.target_seq),
                "idle_due_at": copied.excluded.idle_due_at,
            },
        )
    )


def _copied_rows(
    session: OrmSession,
    base_id: UUID,
    source: int,
    generation: int,
    *,
    target_seq: sa.SQLColumnExpression[int],
    build_seq: sa.SQLColumnExpression[int],
) -> postgresql.Insert:
    """A row in a generation for each that another has, with nothing ingested."""
    nothing = sa.literal(0)
    values: dict[str, Any] = {
        "id": new_id(session), "memory_base_id": Row.memory_base_id, "generation": sa.literal(generation),
        "flow_id": Row.flow_id, "session_id": Row.session_id, "start_seq": Row.start_seq, "cursor_seq": Row.start_seq,
        "target_seq": target_seq, "build_seq": build_seq, "total_processed": nothing, "total_chunks": nothing,
        "epoch": nothing, "dirty": nothing, "repaired": nothing, "idle_due_at": Row.idle_due_at,
    }  # fmt: skip
    there = sa.select(*values.values()).where(Row.memory_base_id == base_id, Row.generation == source)
    return insert(session, Row).from_select(list(values), there)


def rows_to_build(session: OrmSession, base_id: UUID, generation: int, *, limit: int) -> list[Row]:
    """Rows of a build that are owed something."""
    return list(
        session.scalars(
            sa.select(Row)
            .where(Row.memory_base_id == base_id, Row.generation == generation, Row.target_seq > Row.cursor_seq)
            .order_by(Row.id)
            .limit(limit)
        )
    )


def lock_rows_of_session(
    session: OrmSession, base_ids: Sequence[UUID], session_id: str, *, skip_locked: bool = False
) -> list[Row]:
    """The session's rows in the serving and building generations of the bases, locked in id order."""
    if not base_ids:
        return []
    asked = {"base_ids": base_ids, "session_id": session_id}
    return list(session.scalars(_rows_of_session(skip_locked), asked))


@lru_cache
def _rows_of_session(skip_locked: bool) -> sa.Select[Row]:
    return (
        sa.select(Row)
        .join(MemoryBase, MemoryBase.id == Row.memory_base_id)
        .where(
            Row.memory_base_id.in_(sa.bindparam("base_ids", expanding=True)),
            Row.session_id == sa.bindparam("session_id"),
            Row.generation.in_([MemoryBase.serving, MemoryBase.building]),
        )
        .order_by(Row.id)
        .with_for_update(key_share=True, of=Row, skip_locked=skip_locked)
        .execution_options(populate_existing=True)
    )


def try_lock_rows_of_session(session: OrmSession, base: MemoryBase, session_id: str, *, wait: bool) -> bool:
    """The same locks, without waiting for anybody unless told to; False: somebody holds one of the rows."""
    locked = lock_rows_of_session(session, [base.id], session_id, skip_locked=not wait)
    there = sa.select(sa.func.count()).where(
        Row.memory_base_id == base.id,
        Row.session_id == session_id,
        Row.generation.in_([base.serving, base.building]),
    )
    return len(locked) == session.scalar(there)


def audit_at_once(session: OrmSession, row_id: UUID, now: datetime) -> bool:
    """Have the store's ids of this session compared with the ledger by its next job; False: the row is gone."""
    marked = session.execute(sa.update(Row).where(Row.id == row_id).values(audit_at=now))
    return marked.rowcount == 1  # type: ignore[attr-defined,no-any-return]


def rows_at_work(session: OrmSession, base_id: UUID, generation: int) -> set[UUID]:
    """Rows whose part of the store is about to change: an active job, a repair that is owed, an audit that waits."""
    active = sa.select(IngestionJob.row_id).where(
        IngestionJob.memory_base_id == base_id, IngestionJob.generation == generation, IS_ACTIVE
    )
    marked = sa.select(Row.id).where(Row.memory_base_id == base_id, Row.generation == generation, is_marked())
    return {*session.scalars(active), *session.scalars(marked)}


def is_marked() -> sa.ColumnElement[bool]:
    """A repair is owed, or an audit waits for its time."""
    return sa.or_(Row.audit_at.is_not(None), Row.dirty > Row.repaired)


def rows_of_messages(session: OrmSession, base: MemoryBase, message_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """The serving generation's session row of each message that SQL still knows of, if only as a deleted one."""
    found: dict[UUID, UUID] = {}
    for some in pages(message_ids):
        found.update(_rows_of_some(session, base, some))
    return found


def _rows_of_some(session: OrmSession, base: MemoryBase, message_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    serving = sa.and_(Row.memory_base_id == base.id, Row.generation == base.serving)
    stored = (
        sa.select(Message.id, Row.id)
        .join(Row, sa.and_(serving, Row.session_id == Message.session_id))
        .where(Message.flow_id == base.flow_id, Message.id.in_(message_ids))
    )
    remembered = sa.select(LedgerEntry.message_id, LedgerEntry.row_id).where(
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        LedgerEntry.message_id.in_(message_ids),
    )
    deleted = (
        sa.select(DeletedMessage.message_id, Row.id)
        .join(Session, Session.id == DeletedMessage.conversation_id)
        .join(Row, sa.and_(serving, Row.session_id == Session.session_id))
        .where(DeletedMessage.flow_id == base.flow_id, DeletedMessage.message_id.in_(message_ids))
    )
    return {row[0]: row[1] for row in session.execute(stored.union(remembered, deleted))}


def lock_row(session: OrmSession, row_id: UUID, *, skip_locked: bool = False) -> Row | None:
    return session.scalar(
        sa.select(Row)
        .where(Row.id == row_id)
        .with_for_update(key_share=True, skip_locked=skip_locked)
        .execution_options(populate_existing=True)
    )


def fetch_row(session: OrmSession, row_id: UUID) -> Row | None:
    return lookup.get(session, Row, row_id)


_COLUMNS = core(Row).c
_COMPARE_AND_ADVANCE = (
    sa.update(core(Row))
    .where(
        _COLUMNS.id == sa.bindparam("row"),
        _COLUMNS.epoch == sa.bindparam("claimed"),
        _COLUMNS.generation == sa.bindparam("served"),
        _COLUMNS.cursor_seq == sa.bindparam("expected"),
    )
    .values(cursor_id=sa.func.coalesce(sa.bindparam("message", type_=_COLUMNS.cursor_id.type), _COLUMNS.cursor_id))
)


def compare_and_advance(
    session: OrmSession,
    *,
    row_id: UUID,
    epoch: int,
    generation: int,
    from_seq: int,
    to_seq: int,
    cursor_id: UUID | None,
    now: datetime,
) -> Row | None:
    """Move the cursor if nothing has changed since the claim; the row as it is now, or None: somebody else did it.

    A cursor_id of None keeps the old one. With to_seq = from_seq (a repair) the cursor stays.
    """
    moved = session.execute(
        _COMPARE_AND_ADVANCE,
        {
            "row": row_id, "claimed": epoch, "served": generation, "expected": from_seq,
            "cursor_seq": to_seq, "message": cursor_id, "last_sync_at": now, "lease_until": None, "lease_owner": None,
        },
    )  # fmt: skip
    if moved.rowcount != 1:  # type: ignore[attr-defined]
        return None
    return session.get_one(Row, row_id, populate_existing=True)


def renew_lease(session: OrmSession, *, row_id: UUID, epoch: int, until: datetime) -> bool:
    renewed = session.execute(
        sa.update(Row)
        .where(Row.id == row_id, Row.epoch == epoch, Row.lease_until.is_not(None))
        .values(lease_until=until)
    )
    return renewed.rowcount == 1  # type: ignore[attr-defined,no-any-return]


def release_lease(session: OrmSession, *, row_id: UUID, epoch: int, audit_at: datetime | None, written_as: str) -> None:
    """Give the lease back, if it is still this claim's; what may have been written is audited then, in any case, and
    under the name that the session had for the claim."""
    session.execute(
        sa.update(Row).where(Row.id == row_id, Row.epoch == epoch).values(lease_until=None, lease_owner=None)
    )
    row = lock_row(session, row_id) if audit_at is not None else None
    if row is not None:
        row.audit_at = audit_at
        former = row.renamed_from or []
        if row.session_id != written_as and written_as not in former:
            row.renamed_from = [*former, written_as]
        session.flush()


def expired_leases(session: OrmSession, now: datetime, *, limit: int) -> list[UUID]:
    return list(session.scalars(sa.select(Row.id).where(Row.lease_until < now).limit(limit)))


def leases_of(session: OrmSession, owner_prefix: str) -> list[tuple[UUID, str]]:
    """Rows leased by owners of that prefix."""
    rows = session.execute(
        sa.select(Row.id, Row.lease_owner).where(
            Row.lease_until.is_not(None), Row.lease_owner.startswith(owner_prefix, autoescape=True)
        )
    )
    return [(row_id, owner or "") for row_id, owner in rows]


def leased_until(session: OrmSession, base_id: UUID) -> datetime | None:
    """The latest lease on any session of the base; None when no worker holds one."""
    return session.scalar(
        sa.select(sa.func.max(Row.lease_until)).where(Row.memory_base_id == base_id, Row.lease_until.is_not(None))
    )


def sessions_owed_work(session: OrmSession, now: datetime, *, limit: int) -> list[tuple[UUID, str]]:
    """(base, session) pairs with something owed (a target ahead, a mark, a due audit) and no active job."""
    fed = Row.generation == sa.func.coalesce(MemoryBase.building, MemoryBase.serving)
    current = Row.generation.in_([MemoryBase.serving, MemoryBase.building])
    pairs: dict[tuple[UUID, str], None] = {}
    # Three questions, each along an index that holds only what is owed.
    for owed in (
        sa.and_(Row.target_seq > Row.cursor_seq, fed),
        sa.and_(Row.dirty > Row.repaired, current),
        sa.and_(Row.audit_at <= now, current),
    ):
        found = session.execute(
            sa.select(Row.memory_base_id, Row.session_id)
            .join(MemoryBase, MemoryBase.id == Row.memory_base_id)
            .where(owed, MemoryBase.deleting_at.is_(None), ~_has_active_job())
            .limit(limit)
        )
        pairs.update(dict.fromkeys((base_id, session_id) for base_id, session_id in found))
    return list(pairs)


def _has_active_job() -> sa.Exists:
    return (
        sa.exists()
        .where(
            IngestionJob.memory_base_id == Row.memory_base_id,
            IngestionJob.session_id == Row.session_id,
            IS_ACTIVE,
        )
        .correlate(Row)
    )


def sessions_to_flush(
    session: OrmSession, base: MemoryBase, fed: Generation, *, after: str, limit: int
) -> Sequence[str]:
    """Sessions of the flow with anything pending for that generation, or a job of the base, by session id in the
    database's order. Those at rest are passed over here: there are thousands of them."""
    own = (Row.memory_base_id == base.id, Row.generation == fed.generation, Row.session_id == Session.session_id)
    pending = sa.exists().where(
        Message.flow_id == Session.flow_id,
        Message.session_id == Session.session_id,
        counted(fed.capture),
        Message.seq > sa.func.coalesce(Row.cursor_seq, 0),
    )
    return session.scalars(
        sa.select(Session.session_id)
        .outerjoin(Row, sa.and_(*own))
        .where(Session.flow_id == base.flow_id, Session.deleted_at.is_(None), Session.session_id > after)
        .where(pending | jobs.is_active_in_session(base.id))
        .order_by(Session.session_id)
        .limit(limit)
    ).all()


def idle_rows(session: OrmSession, now: datetime, *, limit: int) -> list[Row]:
    """Rows whose silence may have lasted long enough."""
    return list(session.scalars(sa.select(Row).where(Row.idle_due_at <= now).order_by(Row.idle_due_at).limit(limit)))


def look_at_idle_soon(session: OrmSession, base_id: UUID, now: datetime) -> None:
    """After idle_after or auto_capture changed, the sweeper works out every session's time anew."""
    session.execute(sa.update(Row).where(Row.memory_base_id == base_id).values(idle_due_at=now))


def build_is_complete(session: OrmSession, base_id: UUID, generation: int) -> bool:
    """Every session of the build has reached what the old generation covered, and no edit waits."""
    behind = sa.select(sa.literal(1)).where(
        Row.memory_base_id == base_id, Row.generation == generation, Row.cursor_seq < Row.build_seq
    )
    edited = sa.select(sa.literal(1)).where(
        Row.memory_base_id == base_id, Row.generation == generation, Row.dirty > Row.repaired
    )
    return session.scalar(behind.limit(1)) is None and session.scalar(edited.limit(1)) is None


def build_progress(session: OrmSession, base_id: UUID, generation: int) -> tuple[int, int, int, int]:
    """Of a build: its sessions, those that have reached what was covered, and the same in messages."""
    passed = sa.case((Row.cursor_seq < Row.build_seq, Row.cursor_seq), else_=Row.build_seq)
    reached = sa.case((Row.cursor_seq < Row.build_seq, 0), else_=1)
    statement = sa.select(sa.func.count(), sa.func.sum(reached), sa.func.sum(Row.build_seq), sa.func.sum(passed))
    found = session.execute(statement.where(Row.memory_base_id == base_id, Row.generation == generation)).one()
    sessions, built, messages, done = (int(value or 0) for value in found)
    return sessions, built, messages, done


def chunks_of_generation(session: OrmSession, base_id: UUID, generation: int) -> int:
    """How many chunks the generation's collection should hold."""
    total = session.scalar(
        sa.select(sa.func.sum(Row.total_chunks)).where(Row.memory_base_id == base_id, Row.generation == generation)
    )
    return int(total or 0)


def delete_rows_of_session(session: OrmSession, flow_id: UUID, session_id: str) -> None:
    """In every generation, with their jobs, ledger entries and dead letters."""
    session.execute(sa.delete(Row).where(Row.flow_id == flow_id, Row.session_id == session_id))
