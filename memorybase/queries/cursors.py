"""Progress of sessions in generations: cursors, targets, leases, edit counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session as OrmSession

from memorybase.database import lookup, records
from memorybase.database.batches import pages
from memorybase.database.upsert import core, insert, insert_if_absent, new_id, rows_affected
from memorybase.models import (
    IS_ACTIVE,
    Capture,
    DeletedMessage,
    Generation,
    IngestionJob,
    JobState,
    LedgerEntry,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
)
from memorybase.queries.sessions import counted

Progress = SessionProgress


@dataclass(slots=True)
class ProgressRow:
    """A session's row in a generation, as captures and jobs read it. `update` writes it."""

    id: UUID
    memory_base_id: UUID
    generation: int
    flow_id: UUID
    session_id: str
    start_seq: int
    cursor_id: UUID | None
    cursor_seq: int
    target_seq: int
    total_processed: int
    total_chunks: int
    epoch: int
    lease_until: datetime | None
    lease_owner: str | None
    dirty: int
    repaired: int
    renamed_from: list[str] | None
    audit_at: datetime | None
    job_cap: int | None
    idle_due_at: datetime | None
    traceparent: str | None


AnyProgress = Progress | ProgressRow


class SessionToFlush(NamedTuple):
    """A session with pending messages or an active job."""

    session_id: str
    is_pending: bool
    job_id: UUID | None
    job_state: JobState | None


# Statements of every capture and job are built once, on tables: database/records.py says why.
_COLUMNS, _BASES = core(Progress).c, core(MemoryBase).c
_ROW_COLUMNS = records.columns(Progress, ProgressRow)
_ROWS_OF_SESSION = (
    sa.select(*_ROW_COLUMNS)
    .join(core(MemoryBase), _BASES.id == _COLUMNS.memory_base_id)
    .where(
        _COLUMNS.memory_base_id.in_(sa.bindparam("base_ids", expanding=True)),
        _COLUMNS.session_id == sa.bindparam("session_id"),
        _COLUMNS.generation.in_([_BASES.serving, _BASES.building]),
    )
    .order_by(_COLUMNS.id)
    .with_for_update(key_share=True, of=core(Progress))
)
_UPDATE = sa.update(core(Progress)).where(_COLUMNS.id == sa.bindparam("row_id"))
_COMPARE_AND_ADVANCE = (
    sa.update(core(Progress))
    .where(
        _COLUMNS.id == sa.bindparam("row_id"),
        _COLUMNS.epoch == sa.bindparam("claimed"),
        _COLUMNS.generation == sa.bindparam("served"),
        _COLUMNS.cursor_seq == sa.bindparam("expected"),
    )
    .values(cursor_id=sa.func.coalesce(sa.bindparam("message", type_=_COLUMNS.cursor_id.type), _COLUMNS.cursor_id))
    .returning(*_ROW_COLUMNS)
)


def ensure_progress(
    db: OrmSession, *, base_id: UUID, generation: int, flow_id: UUID, session_id: str, start_seq: int = 0
) -> None:
    """Insert the session's row in a generation if there is none."""
    new = {
        "id": uuid4(), "memory_base_id": base_id, "generation": generation, "flow_id": flow_id,
        "session_id": session_id, "start_seq": start_seq, "cursor_seq": start_seq, "target_seq": start_seq,
        "build_seq": 0, "total_processed": 0, "total_chunks": 0, "epoch": 0, "dirty": 0, "repaired": 0,
    }  # fmt: skip
    insert_if_absent(db, Progress, new, "memory_base_id", "session_id", "generation")


def begin_build(db: OrmSession, base_id: UUID, serving: int, building: int) -> None:
    """Copy the serving generation's rows to the build, with the cursor at the start and the target at what is covered.

    One statement, since it runs under the base's lock. What a running job is about to cover must be in the new
    generation too before that serves.
    """
    covered = sa.case((Progress.target_seq > Progress.cursor_seq, Progress.target_seq), else_=Progress.cursor_seq)
    db.execute(_copy_progress(db, base_id, serving, building, target_seq=covered, build_seq=covered))


def end_build(db: OrmSession, base_id: UUID, serving: int, building: int) -> None:
    """Move the pending work of an abandoned build to the serving generation, in one statement."""
    copied = _copy_progress(db, base_id, building, serving, target_seq=Progress.target_seq, build_seq=sa.literal(0))
    pending = copied.excluded.target_seq
    db.execute(
        copied.on_conflict_do_update(
            index_elements=["memory_base_id", "session_id", "generation"],
            set_={
                "target_seq": sa.case((pending > Progress.target_seq, pending), else_=Progress.target_seq),
                "idle_due_at": copied.excluded.idle_due_at,
            },
        )
    )


def _copy_progress(
    db: OrmSession,
    base_id: UUID,
    source: int,
    generation: int,
    *,
    target_seq: sa.SQLColumnExpression[int],
    build_seq: sa.SQLColumnExpression[int],
) -> postgresql.Insert:
    """An INSERT that copies rows of one generation to another, with nothing ingested."""
    zero = sa.literal(0)
    values: dict[str, Any] = {
        "id": new_id(db), "memory_base_id": Progress.memory_base_id, "generation": sa.literal(generation),
        "flow_id": Progress.flow_id, "session_id": Progress.session_id, "start_seq": Progress.start_seq,
        "cursor_seq": Progress.start_seq, "target_seq": target_seq, "build_seq": build_seq,
        "total_processed": zero, "total_chunks": zero,
        "epoch": zero, "dirty": zero, "repaired": zero, "idle_due_at": Progress.idle_due_at,
    }  # fmt: skip
    rows = sa.select(*values.values()).where(Progress.memory_base_id == base_id, Progress.generation == source)
    return insert(db, Progress).from_select(list(values), rows)


def skip_history(db: OrmSession, base: MemoryBase) -> None:
    """Insert rows of a new base for its flow's sessions, with the cursor at their end."""
    every = Session.flow_id == base.flow_id
    _insert_rows(db, base, every, start_seq=Session.last_seq, idle_due_at=None)


def begin_history(
    db: OrmSession,
    base: MemoryBase,
    capture: Capture,
    *,
    idle_due_at: datetime | None,
    forgotten_before: datetime | None = None,
) -> None:
    """Insert rows of a new base for its flow's sessions with counted messages, with the target at their end. They start
    after the messages that were captured until `forgotten_before`."""
    has_counted = sa.exists().where(
        Message.flow_id == Session.flow_id, Message.session_id == Session.session_id, counted(capture)
    )
    living = sa.and_(Session.flow_id == base.flow_id, Session.deleted_at.is_(None), has_counted)
    start_seq: sa.SQLColumnExpression[int] = sa.literal(0)
    if forgotten_before is not None:
        old = sa.select(sa.func.max(Message.seq)).where(
            Message.flow_id == Session.flow_id,
            Message.session_id == Session.session_id,
            Message.captured_at <= forgotten_before,
        )
        start_seq = sa.func.coalesce(old.correlate(Session).scalar_subquery(), 0)
    _insert_rows(db, base, living, start_seq=start_seq, idle_due_at=idle_due_at)


def _insert_rows(
    db: OrmSession,
    base: MemoryBase,
    which: sa.ColumnElement[bool],
    *,
    start_seq: sa.SQLColumnExpression[int],
    idle_due_at: datetime | None,
) -> None:
    """One statement, since it runs under the flow's lock."""
    due = sa.literal(idle_due_at, Progress.idle_due_at.type)
    db.execute(_new_rows(db, base.id, base.serving, which, start_seq=start_seq, idle_due_at=due))


def _new_rows(
    db: OrmSession,
    base_id: UUID,
    generation: int,
    which: sa.ColumnElement[bool],
    *,
    start_seq: sa.SQLColumnExpression[int],
    idle_due_at: sa.SQLColumnExpression[datetime | None],
) -> postgresql.Insert:
    """An INSERT of rows for these sessions, with the cursor at `start_seq` and the target at the last message."""
    zero = sa.literal(0)
    values: dict[str, Any] = {
        "id": new_id(db), "memory_base_id": sa.literal(base_id), "generation": sa.literal(generation),
        "flow_id": Session.flow_id, "session_id": Session.session_id, "start_seq": start_seq, "cursor_seq": start_seq,
        "target_seq": Session.last_seq, "build_seq": zero, "total_processed": zero, "total_chunks": zero,
        "epoch": zero, "dirty": zero, "repaired": zero, "idle_due_at": idle_due_at,
    }  # fmt: skip
    return insert(db, Progress).from_select(list(values), sa.select(*values.values()).where(which))


def sessions_behind(db: OrmSession, base_id: UUID, generation: int, *, limit: int) -> list[Progress]:
    """Rows of a generation with pending messages."""
    return list(
        db.scalars(
            sa.select(Progress)
            .where(
                Progress.memory_base_id == base_id,
                Progress.generation == generation,
                Progress.target_seq > Progress.cursor_seq,
            )
            .order_by(Progress.id)
            .limit(limit)
        )
    )


def lock_rows(db: OrmSession, base_ids: Sequence[UUID], session_id: str) -> list[ProgressRow]:
    """The same as `lock_session_progress`, as records."""
    if not base_ids:
        return []
    return records.fetch_all(db, ProgressRow, _ROWS_OF_SESSION, {"base_ids": base_ids, "session_id": session_id})


def update(db: OrmSession, row: ProgressRow, **changes: Any) -> None:
    """Write these columns of a locked row."""
    records.execute(db, _UPDATE, {"row_id": row.id, **changes})
    for name, value in changes.items():
        setattr(row, name, value)


def lock_session_progress(
    db: OrmSession, base_ids: Sequence[UUID], session_id: str, *, skip_locked: bool = False
) -> list[Progress]:
    """Lock the session's rows in the serving and building generations of the bases, in id order."""
    if not base_ids:
        return []
    parameters = {"base_ids": base_ids, "session_id": session_id}
    return list(db.scalars(_rows_of_session(skip_locked), parameters))


@lru_cache
def _rows_of_session(skip_locked: bool) -> sa.Select[Progress]:
    return (
        sa.select(Progress)
        .join(MemoryBase, MemoryBase.id == Progress.memory_base_id)
        .where(
            Progress.memory_base_id.in_(sa.bindparam("base_ids", expanding=True)),
            Progress.session_id == sa.bindparam("session_id"),
            Progress.generation.in_([MemoryBase.serving, MemoryBase.building]),
        )
        .order_by(Progress.id)
        .with_for_update(key_share=True, of=Progress, skip_locked=skip_locked)
        .execution_options(populate_existing=True)
    )


def try_lock_session_progress(
    db: OrmSession, base_id: UUID, generations: Sequence[int | None], session_id: str, *, wait: bool
) -> bool:
    """The same, without waiting unless `wait`; False if another transaction holds one of the rows. `generations`:
    the serving and the building one."""
    locked = lock_session_progress(db, [base_id], session_id, skip_locked=not wait)
    count = sa.select(sa.func.count()).where(
        Progress.memory_base_id == base_id,
        Progress.session_id == session_id,
        Progress.generation.in_(generations),
    )
    return len(locked) == db.scalar(count)


def request_audit(db: OrmSession, progress_id: UUID, now: datetime) -> bool:
    """Let the session's next job compare its store with the ledger; False if the row is deleted."""
    return rows_affected(db, sa.update(Progress).where(Progress.id == progress_id).values(audit_at=now)) == 1


def busy_sessions(db: OrmSession, base_id: UUID, generation: int) -> set[UUID]:
    """Rows that are about to change the store: with an active job, a pending repair or a scheduled audit."""
    active = sa.select(IngestionJob.progress_id).where(
        IngestionJob.memory_base_id == base_id, IngestionJob.generation == generation, IS_ACTIVE
    )
    marked = sa.select(Progress.id).where(
        Progress.memory_base_id == base_id, Progress.generation == generation, is_repair_pending()
    )
    return {*db.scalars(active), *db.scalars(marked)}


def is_repair_pending() -> sa.ColumnElement[bool]:
    """A repair is pending, or an audit is scheduled."""
    return sa.or_(Progress.audit_at.is_not(None), Progress.dirty > Progress.repaired)


def sessions_of_messages(db: OrmSession, base: MemoryBase, message_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """The serving generation's session row of each message that is stored, in the ledger, or recorded as deleted."""
    found: dict[UUID, UUID] = {}
    for some in pages(message_ids):
        found.update(_sessions_of_some(db, base, some))
    return found


def _sessions_of_some(db: OrmSession, base: MemoryBase, message_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    serving = sa.and_(Progress.memory_base_id == base.id, Progress.generation == base.serving)
    stored = (
        sa.select(Message.id, Progress.id)
        .join(Progress, sa.and_(serving, Progress.session_id == Message.session_id))
        .where(Message.flow_id == base.flow_id, Message.id.in_(message_ids))
    )
    in_ledger = sa.select(LedgerEntry.message_id, LedgerEntry.progress_id).where(
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        LedgerEntry.message_id.in_(message_ids),
    )
    deleted = (
        sa.select(DeletedMessage.message_id, Progress.id)
        .join(Session, Session.id == DeletedMessage.session_uuid)
        .join(Progress, sa.and_(serving, Progress.session_id == Session.session_id))
        .where(DeletedMessage.flow_id == base.flow_id, DeletedMessage.message_id.in_(message_ids))
    )
    return {row[0]: row[1] for row in db.execute(stored.union(in_ledger, deleted))}


def lock_progress(db: OrmSession, progress_id: UUID, *, skip_locked: bool = False) -> Progress | None:
    return db.scalar(
        sa.select(Progress)
        .where(Progress.id == progress_id)
        .with_for_update(key_share=True, skip_locked=skip_locked)
        .execution_options(populate_existing=True)
    )


def fetch_progress(db: OrmSession, progress_id: UUID) -> Progress | None:
    return lookup.get(db, Progress, progress_id)


def compare_and_advance(
    db: OrmSession,
    *,
    progress_id: UUID,
    epoch: int,
    generation: int,
    from_seq: int,
    to_seq: int,
    cursor_id: UUID | None,
    now: datetime,
) -> ProgressRow | None:
    """Move the cursor if nothing has changed since the claim; the updated row, or None if the claim is lost.

    A cursor_id of None keeps the old one. With to_seq = from_seq (a repair) the cursor does not move.
    """
    return records.fetch_one(
        db,
        ProgressRow,
        _COMPARE_AND_ADVANCE,
        {
            "row_id": progress_id, "claimed": epoch, "served": generation, "expected": from_seq,
            "cursor_seq": to_seq, "message": cursor_id, "last_sync_at": now, "lease_until": None, "lease_owner": None,
        },
    )  # fmt: skip


def renew_leases(db: OrmSession, claims: Collection[tuple[UUID, int]], until: datetime, *, wait: bool) -> set[UUID]:
    """Renew the leases of these (row, epoch) that still hold; the rows. Without `wait` a locked row is left out: of
    rows of several sessions, each must be locked without waiting for another."""
    mine = (sa.tuple_(Progress.id, Progress.epoch).in_(claims), Progress.lease_until.is_not(None))
    free = sa.select(Progress.id).where(*mine).with_for_update(key_share=True, skip_locked=not wait)
    ids = list(db.scalars(free))
    renew = sa.update(Progress).where(Progress.id.in_(ids)).values(lease_until=until)
    db.execute(renew.execution_options(synchronize_session=False))
    return set(ids)


def release_lease(db: OrmSession, *, progress_id: UUID, epoch: int, audit_at: datetime | None, written_as: str) -> None:
    """Release the lease if this claim still holds it.

    With `audit_at`, schedule an audit even if it does not: the claim may have written chunks, under the session id of
    that time.
    """
    db.execute(
        sa.update(Progress)
        .where(Progress.id == progress_id, Progress.epoch == epoch)
        .values(lease_until=None, lease_owner=None)
    )
    progress = lock_progress(db, progress_id) if audit_at is not None else None
    if progress is not None:
        progress.audit_at = audit_at
        former = progress.renamed_from or []
        if progress.session_id != written_as and written_as not in former:
            progress.renamed_from = [*former, written_as]
        db.flush()


def expired_leases(db: OrmSession, now: datetime, *, limit: int) -> list[UUID]:
    return list(db.scalars(sa.select(Progress.id).where(Progress.lease_until < now).limit(limit)))


def leases_of(db: OrmSession, owner_prefix: str) -> list[tuple[UUID, str]]:
    """Leased rows with an owner of this prefix."""
    rows = db.execute(
        sa.select(Progress.id, Progress.lease_owner).where(
            Progress.lease_until.is_not(None), Progress.lease_owner.startswith(owner_prefix, autoescape=True)
        )
    )
    return [(progress_id, owner or "") for progress_id, owner in rows]


def leased_until(db: OrmSession, base_id: UUID) -> datetime | None:
    """The latest lease on any session of the base; None without one."""
    return db.scalar(
        sa.select(sa.func.max(Progress.lease_until)).where(
            Progress.memory_base_id == base_id, Progress.lease_until.is_not(None)
        )
    )


def sessions_with_pending_work(db: OrmSession, now: datetime, *, limit: int) -> list[tuple[UUID, str]]:
    """(base, session) pairs without an active job and with a target ahead, unrepaired edits or a due audit.

    Of a paused base only edits and audits.
    """
    is_written = Progress.generation == sa.func.coalesce(MemoryBase.building, MemoryBase.serving)
    current = Progress.generation.in_([MemoryBase.serving, MemoryBase.building])
    pairs: dict[tuple[UUID, str], None] = {}
    # Three statements, each on a partial index of pending rows.
    for pending in (
        sa.and_(Progress.target_seq > Progress.cursor_seq, is_written, MemoryBase.paused_at.is_(None)),
        sa.and_(Progress.dirty > Progress.repaired, current),
        sa.and_(Progress.audit_at <= now, current),
    ):
        found = db.execute(
            sa.select(Progress.memory_base_id, Progress.session_id)
            .join(MemoryBase, MemoryBase.id == Progress.memory_base_id)
            .where(pending, MemoryBase.deleting_at.is_(None), ~_has_active_job())
            .limit(limit)
        )
        pairs.update(dict.fromkeys((base_id, session_id) for base_id, session_id in found))
    return list(pairs)


def _has_active_job() -> sa.Exists:
    return (
        sa.exists()
        .where(
            IngestionJob.memory_base_id == Progress.memory_base_id,
            IngestionJob.session_id == Progress.session_id,
            IS_ACTIVE,
        )
        .correlate(Progress)
    )


def sessions_to_flush(
    db: OrmSession, base: MemoryBase, generation: Generation, *, after: str, limit: int
) -> list[SessionToFlush]:
    """Sessions of the flow with pending messages in that generation or an active job of the base, by session id.

    Filtered in SQL: thousands of sessions may have zero pending.
    """
    of_generation = (
        Progress.memory_base_id == base.id,
        Progress.generation == generation.generation,
        Progress.session_id == Session.session_id,
    )
    active = (
        IngestionJob.memory_base_id == base.id, IngestionJob.session_id == Session.session_id, IS_ACTIVE
    )  # fmt: skip
    pending = sa.exists().where(
        Message.flow_id == Session.flow_id,
        Message.session_id == Session.session_id,
        counted(generation.capture),
        Message.seq > sa.func.coalesce(Progress.cursor_seq, 0),
    )
    rows = db.execute(
        sa.select(Session.session_id, pending, IngestionJob.id, IngestionJob.state)
        .outerjoin(Progress, sa.and_(*of_generation))
        .outerjoin(IngestionJob, sa.and_(*active))
        .where(Session.flow_id == base.flow_id, Session.deleted_at.is_(None), Session.session_id > after)
        .where(pending | IngestionJob.id.is_not(None))
        .order_by(Session.session_id)
        .limit(limit)
    )
    return [SessionToFlush(*row) for row in rows]


def set_targets(db: OrmSession, base_id: UUID, generation: int, flow_id: UUID, session_ids: Sequence[str]) -> int:
    """Move the targets of these sessions to their last messages; how many. The caller has locked the sessions."""
    which = sa.and_(Session.flow_id == flow_id, Session.session_id.in_(session_ids))
    never_idle = sa.null().cast(Progress.idle_due_at.type)
    new = _new_rows(db, base_id, generation, which, start_seq=sa.literal(0), idle_due_at=never_idle)
    last = new.excluded.target_seq
    statement = new.on_conflict_do_update(
        index_elements=["memory_base_id", "session_id", "generation"],
        set_={
            "target_seq": sa.case((last > Progress.target_seq, last), else_=Progress.target_seq),
            "idle_due_at": new.excluded.idle_due_at,
        },
    )
    return rows_affected(db, statement.execution_options(preserve_rowcount=True))


def idle_sessions(db: OrmSession, now: datetime, *, limit: int) -> list[Progress]:
    """Rows whose idle time may have passed."""
    return list(
        db.scalars(sa.select(Progress).where(Progress.idle_due_at <= now).order_by(Progress.idle_due_at).limit(limit))
    )


def recheck_idle_sessions(db: OrmSession, base_id: UUID, now: datetime) -> None:
    """After a change of idle_after or auto_capture: the sweeper computes the idle time of every session again."""
    db.execute(sa.update(Progress).where(Progress.memory_base_id == base_id).values(idle_due_at=now))


def build_is_complete(db: OrmSession, base_id: UUID, generation: int) -> bool:
    """Whether every session of the build has reached what the old generation covered, and no repair is pending."""
    behind = sa.select(sa.literal(1)).where(
        Progress.memory_base_id == base_id, Progress.generation == generation, Progress.cursor_seq < Progress.build_seq
    )
    edited = sa.select(sa.literal(1)).where(
        Progress.memory_base_id == base_id, Progress.generation == generation, Progress.dirty > Progress.repaired
    )
    return db.scalar(behind.limit(1)) is None and db.scalar(edited.limit(1)) is None


def build_progress(db: OrmSession, base_id: UUID, generation: int) -> tuple[int, int, int, int]:
    """The progress of a build: sessions in total and done, then messages in total and done."""
    passed = sa.case((Progress.cursor_seq < Progress.build_seq, Progress.cursor_seq), else_=Progress.build_seq)
    reached = sa.case((Progress.cursor_seq < Progress.build_seq, 0), else_=1)
    statement = sa.select(sa.func.count(), sa.func.sum(reached), sa.func.sum(Progress.build_seq), sa.func.sum(passed))
    found = db.execute(statement.where(Progress.memory_base_id == base_id, Progress.generation == generation)).one()
    sessions, built, messages, done = (int(value or 0) for value in found)
    return sessions, built, messages, done


def chunks_of_generation(db: OrmSession, base_id: UUID, generation: int) -> int:
    """How many chunks the generation's collection must hold."""
    total = db.scalar(
        sa.select(sa.func.sum(Progress.total_chunks)).where(
            Progress.memory_base_id == base_id, Progress.generation == generation
        )
    )
    return int(total or 0)


def delete_progress_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> None:
    """Delete the session's rows in every generation, with their jobs, ledger entries and dead letters."""
    db.execute(sa.delete(Progress).where(Progress.flow_id == flow_id, Progress.session_id == session_id))
