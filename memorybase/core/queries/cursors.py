"""Progress of sessions in generations: cursors, targets, leases, edit counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.batches import pages
from memorybase.core.database.upsert import core, rows_affected
from memorybase.core.models import (
    IS_ACTIVE,
    Base,
    DeletedMessage,
    IngestionJob,
    JobState,
    LedgerEntry,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
)
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, serving_progress
from memorybase.core.queries.pending import CURSOR, SESSION_IS_DUE, SESSION_IS_EDITED, is_pending

if TYPE_CHECKING:
    from memorybase.core.queries.jobs import JobRow
    from memorybase.core.queries.memory_bases import BaseRow

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


class SessionToFlush(NamedTuple):
    """A session with pending messages or an active job."""

    session_id: str
    is_pending: bool
    job_id: UUID | None
    job_state: JobState | None


# Statements of every capture and job are built once, on tables: database/records.py says why.
_COLUMNS, _BASES = core(Progress).c, core(MemoryBase).c
_ROW_COLUMNS = records.columns(Progress, ProgressRow)
_THIS = sa.select(*_ROW_COLUMNS).where(_COLUMNS.id == sa.bindparam("id"))
_LOCK_THIS, _LOCK_THIS_IF_FREE = (_THIS.with_for_update(key_share=True, skip_locked=skip) for skip in (False, True))
_ROWS_OF_SESSION = (
    sa.select(*_ROW_COLUMNS)
    .join(core(MemoryBase), _BASES.id == _COLUMNS.memory_base_id)
    .where(
        _COLUMNS.memory_base_id.in_(sa.bindparam("base_ids", expanding=True)),
        _COLUMNS.session_id == sa.bindparam("session_id"),
        _COLUMNS.generation.in_([_BASES.serving, _BASES.building]),
    )
    .order_by(_COLUMNS.id)
)
_LOCK_ROWS, _LOCK_FREE_ROWS = (
    _ROWS_OF_SESSION.with_for_update(key_share=True, of=core(Progress), skip_locked=skip) for skip in (False, True)
)
_DUE = (
    sa.select(*_ROW_COLUMNS)
    .where(
        _COLUMNS.memory_base_id == sa.bindparam("base_id"),
        _COLUMNS.generation == sa.bindparam("generation"),
        SESSION_IS_DUE,
    )
    .order_by(_COLUMNS.id)
    .limit(sa.bindparam("at_most", type_=sa.Integer))
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
    .values(
        cursor_seq=sa.bindparam("to_seq"),
        cursor_id=sa.func.coalesce(sa.bindparam("message", type_=_COLUMNS.cursor_id.type), _COLUMNS.cursor_id),
        last_sync_at=sa.bindparam("now"),
        lease_until=None,
        lease_owner=None,
    )
    .returning(*_ROW_COLUMNS)
)


def write_generation(base: BaseRow) -> int:
    """The generation that ingestion writes to: the build while there is one."""
    return base.serving if base.building is None else base.building


def sessions_due(db: OrmSession, base_id: UUID, generation: int, *, limit: int) -> list[ProgressRow]:
    """Rows of a generation whose sessions are due."""
    return records.fetch_all(db, ProgressRow, _DUE, {"base_id": base_id, "generation": generation, "at_most": limit})


def lock_rows(
    db: OrmSession, base_ids: Sequence[UUID], session_id: str, *, skip_locked: bool = False
) -> list[ProgressRow]:
    """Lock the session's rows in the serving and building generations of the bases, in id order."""
    if not base_ids:
        return []
    statement = _LOCK_FREE_ROWS if skip_locked else _LOCK_ROWS
    return records.fetch_all(db, ProgressRow, statement, {"base_ids": base_ids, "session_id": session_id})


def update(db: OrmSession, row: ProgressRow, **changes: Any) -> None:
    """Write these columns of a locked row."""
    records.execute(db, _UPDATE, {"row_id": row.id, **changes})
    for name, value in changes.items():
        setattr(row, name, value)


def try_lock_rows(
    db: OrmSession, base_id: UUID, generations: Sequence[int | None], session_id: str, *, wait: bool
) -> list[ProgressRow] | None:
    """`lock_rows` of a base with these generations, the serving and the building one; without `wait` None if another
    transaction holds one of the rows."""
    locked = lock_rows(db, [base_id], session_id, skip_locked=not wait)
    mine = (Progress.memory_base_id == base_id, Progress.session_id == session_id, Progress.generation.in_(generations))
    return locked if len(locked) == db.scalar(sa.select(sa.func.count()).where(*mine)) else None


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
    return sa.or_(Progress.audit_at.is_not(None), SESSION_IS_EDITED)


def sessions_of_messages(db: OrmSession, base: MemoryBase, message_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """The serving generation's session row of each message that is stored, in the ledger, or recorded as deleted."""
    found: dict[UUID, UUID] = {}
    for some in pages(message_ids):
        found.update(_sessions_of_some(db, base, some))
    return found


def _sessions_of_some(db: OrmSession, base: MemoryBase, message_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    stored = (
        sa.select(Message.id, Progress.id)
        .join(Progress, serving_progress(Message.session_uuid, base))
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
        .join(Progress, serving_progress(base=base))
        .where(DeletedMessage.flow_id == base.flow_id, DeletedMessage.message_id.in_(message_ids))
    )
    return {row[0]: row[1] for row in db.execute(stored.union(in_ledger, deleted))}


def lock_row(db: OrmSession, progress_id: UUID, *, skip_locked: bool = False) -> ProgressRow | None:
    return records.fetch_one(db, ProgressRow, _LOCK_THIS_IF_FREE if skip_locked else _LOCK_THIS, {"id": progress_id})


def fetch_row(db: OrmSession, progress_id: UUID) -> ProgressRow | None:
    return records.fetch_one(db, ProgressRow, _THIS, {"id": progress_id})


def compare_and_advance(
    db: OrmSession, job: JobRow, *, to_seq: int, cursor_id: UUID | None, now: datetime
) -> ProgressRow | None:
    """Move the cursor if nothing has changed since the job was claimed; the updated row, or None if the claim is lost.

    A cursor_id of None keeps the old one. With to_seq = from_seq (a repair) the cursor does not move.
    """
    return records.fetch_one(
        db,
        ProgressRow,
        _COMPARE_AND_ADVANCE,
        {
            "row_id": job.progress_id,
            "claimed": job.epoch,
            "served": job.generation,
            "expected": job.from_seq,
            "to_seq": to_seq,
            "message": cursor_id,
            "now": now,
        },
    )


def renew_leases(db: OrmSession, claims: Collection[tuple[UUID, int]], until: datetime, *, wait: bool) -> set[UUID]:
    """Renew the leases of these (row, epoch) that still hold; the rows. Without `wait` a locked row is left out: of
    rows of several sessions, each must be locked without waiting for another."""
    mine = (sa.tuple_(Progress.id, Progress.epoch).in_(claims), Progress.lease_until.is_not(None))
    free = sa.select(Progress.id).where(*mine).with_for_update(key_share=True, skip_locked=not wait)
    ids = list(db.scalars(free))
    renew = sa.update(Progress).where(Progress.id.in_(ids)).values(lease_until=until)
    db.execute(renew.execution_options(synchronize_session=False))
    return set(ids)


def release_lease(db: OrmSession, row: ProgressRow, *, epoch: int, audit_at: datetime | None, written_as: str) -> None:
    """Release the lease on a locked row if the claim of this epoch still holds it.

    With `audit_at`, schedule an audit even if it does not: the claim may have written chunks, under the session id of
    that time.
    """
    changes: dict[str, Any] = {"lease_until": None, "lease_owner": None} if row.epoch == epoch else {}
    if audit_at is not None:
        former = row.renamed_from
        if row.session_id != written_as and written_as not in (former or ()):
            former = [*(former or ()), written_as]
        changes |= {"audit_at": audit_at, "renamed_from": former}
    if changes:
        update(db, row, **changes)


def expired_leases(db: OrmSession, now: datetime, *, limit: int) -> list[UUID]:
    return list(db.scalars(sa.select(Progress.id).where(Progress.lease_until < now).limit(limit)))


def leases_of(db: OrmSession, owner_prefix: str) -> list[tuple[UUID, str]]:
    """Leased rows with an owner of this prefix."""
    held = (Progress.lease_until.is_not(None), Progress.lease_owner.startswith(owner_prefix, autoescape=True))
    rows = db.execute(sa.select(Progress.id, Progress.lease_owner).where(*held))
    return [(progress_id, owner or "") for progress_id, owner in rows]


def leased_until(db: OrmSession, base_id: UUID) -> datetime | None:
    """The latest lease on any session of the base; None without one."""
    held = (Progress.memory_base_id == base_id, Progress.lease_until.is_not(None))
    return db.scalar(sa.select(sa.func.max(Progress.lease_until)).where(*held))


def sessions_with_pending_work(db: OrmSession, now: datetime, *, limit: int) -> list[tuple[UUID, str]]:
    """(base, session) pairs without an active job and with a target ahead, unrepaired edits or a due audit.

    Of a paused base only edits and audits.
    """
    is_written = Progress.generation == sa.func.coalesce(MemoryBase.building, MemoryBase.serving)
    current = Progress.generation.in_([MemoryBase.serving, MemoryBase.building])
    pairs: dict[tuple[UUID, str], None] = {}
    # Three statements, each on a partial index of pending rows.
    for pending in (
        sa.and_(SESSION_IS_DUE, is_written, MemoryBase.paused_at.is_(None)),
        sa.and_(SESSION_IS_EDITED, current),
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
    of_row = (
        IngestionJob.memory_base_id == Progress.memory_base_id,
        IngestionJob.active_in == Progress.session_id,
    )
    return sa.exists().where(*of_row, IS_ACTIVE).correlate(Progress)


def sessions_to_flush(db: OrmSession, base: BaseRow, *, after: str, limit: int) -> list[SessionToFlush]:
    """Sessions of the flow with pending messages in the generation that is written to or an active job of the base, by
    session id.

    Filtered in SQL: thousands of sessions may have zero pending.
    """
    of_generation = (
        Progress.memory_base_id == base.id,
        Progress.generation == base.written.generation,
        Progress.session_id == Session.session_id,
    )
    active = (IngestionJob.memory_base_id == base.id, IngestionJob.active_in == Session.session_id, IS_ACTIVE)
    pending = sa.exists().where(MESSAGE_OF_SESSION, is_pending(base.written.capture, CURSOR))
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


def idle_sessions(db: OrmSession, now: datetime, *, limit: int) -> list[tuple[UUID, UUID]]:
    """Rows whose idle time may have passed: their memory bases and their ids."""
    due = sa.select(Progress.memory_base_id, Progress.id).where(Progress.idle_due_at <= now)
    return [(row[0], row[1]) for row in db.execute(due.order_by(Progress.idle_due_at).limit(limit))]


def recheck_idle_sessions(db: OrmSession, base: BaseRow, now: datetime, session_ids: Sequence[str]) -> None:
    """After a change of idle_after or auto_capture: the sweeper computes the idle time of those of these sessions again
    that have messages beyond their cursors."""
    behind = (
        sa.select(Progress.id)
        .join(Session, sa.and_(Session.flow_id == Progress.flow_id, Session.session_id == Progress.session_id))
        .where(
            Progress.memory_base_id == base.id,
            Progress.generation.in_([base.serving, write_generation(base)]),
            Progress.session_id.in_(session_ids),
            Progress.cursor_seq < Session.last_seq,
        )
        .order_by(Progress.id)
        .with_for_update(key_share=True, of=Progress)
    )
    recheck = sa.update(Progress).where(Progress.id.in_(list(db.scalars(behind))))
    db.execute(recheck.values(idle_due_at=now).execution_options(synchronize_session=False))


def build_is_complete(db: OrmSession, base_id: UUID, generation: int) -> bool:
    """Whether every session of the build has reached what the old generation covered, and no repair is pending."""
    row = sa.select(sa.literal(1)).where(Progress.memory_base_id == base_id, Progress.generation == generation)
    left = (Progress.cursor_seq < Progress.build_seq, SESSION_IS_EDITED)
    return all(db.scalar(row.where(each).limit(1)) is None for each in left)


def build_progress(db: OrmSession, base_id: UUID, generation: int) -> tuple[int, int, int, int]:
    """The progress of a build: sessions in total and done, then messages in total and done."""
    passed = sa.case((Progress.cursor_seq < Progress.build_seq, Progress.cursor_seq), else_=Progress.build_seq)
    reached = sa.case((Progress.cursor_seq < Progress.build_seq, 0), else_=1)
    statement = sa.select(sa.func.count(), sa.func.sum(reached), sa.func.sum(Progress.build_seq), sa.func.sum(passed))
    found = db.execute(statement.where(Progress.memory_base_id == base_id, Progress.generation == generation)).one()
    sessions, built, messages, done = (int(value or 0) for value in found)
    return sessions, built, messages, done


def chunks_of_generation(db: OrmSession, base_id: UUID, generation: int) -> int:
    """Number of chunks that the generation's collection must hold."""
    mine = (Progress.memory_base_id == base_id, Progress.generation == generation)
    return int(db.scalar(sa.select(sa.func.sum(Progress.total_chunks)).where(*mine)) or 0)


@cache
def of_progress() -> tuple[type[Any], ...]:
    """The tables with rows of a session's row, features' too, each after those that refer to it: once these are empty,
    nothing refers to the session's rows."""
    classes = {mapper.local_table: mapper.class_ for mapper in Base.registry.mappers}
    return tuple(classes[table] for table in reversed(Base.metadata.sorted_tables) if "progress_id" in table.columns)


def pending_targets(db: OrmSession, base: MemoryBase, session_ids: list[str]) -> dict[str, int]:
    """The target seq of each session in the generation that captures feed."""
    fed = base.serving if base.building is None else base.building
    statement = sa.select(Progress.session_id, Progress.target_seq).where(
        Progress.memory_base_id == base.id,
        Progress.generation == fed,
        Progress.session_id.in_(session_ids),
    )
    return {row.session_id: row.target_seq for row in db.execute(statement)}
