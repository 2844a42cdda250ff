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
from memorybase.database.upsert import core, insert, insert_unless_there, new_id, rows_affected
from memorybase.models import (
    IS_ACTIVE,
    DeletedMessage,
    Generation,
    IngestionJob,
    LedgerEntry,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
)
from memorybase.queries import jobs
from memorybase.queries.sessions import counted

Progress = SessionProgress


def ensure_progress(
    db: OrmSession, *, base_id: UUID, generation: int, flow_id: UUID, session_id: str, start_seq: int = 0
) -> None:
    """The session's row in a generation, made when there is none."""
    new = {
        "id": uuid4(), "memory_base_id": base_id, "generation": generation, "flow_id": flow_id,
        "session_id": session_id, "start_seq": start_seq, "cursor_seq": start_seq, "target_seq": start_seq,
        "build_seq": 0, "total_processed": 0, "total_chunks": 0, "epoch": 0, "dirty": 0, "repaired": 0,
    }  # fmt: skip
    insert_unless_there(db, Progress, new, "memory_base_id", "session_id", "generation")


def begin_build(db: OrmSession, base_id: UUID, serving: int, building: int) -> None:
    """A row of the build for each of the serving generation, at its beginning, with what is covered now for target.

    One statement: it runs under the base's lock. What a running job is about to cover has to be in the new generation
    too before that serves.
    """
    covered = sa.case((Progress.target_seq > Progress.cursor_seq, Progress.target_seq), else_=Progress.cursor_seq)
    db.execute(_copied_progress(db, base_id, serving, building, target_seq=covered, build_seq=covered))


def end_build(db: OrmSession, base_id: UUID, serving: int, building: int) -> None:
    """What the build was owed is owed to the serving generation from now on. One statement, as to begin it."""
    copied = _copied_progress(db, base_id, building, serving, target_seq=Progress.target_seq, build_seq=sa.literal(0))
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


def _copied_progress(
    db: OrmSession,
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
        "id": new_id(db), "memory_base_id": Progress.memory_base_id, "generation": sa.literal(generation),
        "flow_id": Progress.flow_id, "session_id": Progress.session_id, "start_seq": Progress.start_seq,
        "cursor_seq": Progress.start_seq, "target_seq": target_seq, "build_seq": build_seq,
        "total_processed": nothing, "total_chunks": nothing,
        "epoch": nothing, "dirty": nothing, "repaired": nothing, "idle_due_at": Progress.idle_due_at,
    }  # fmt: skip
    there = sa.select(*values.values()).where(Progress.memory_base_id == base_id, Progress.generation == source)
    return insert(db, Progress).from_select(list(values), there)


def sessions_to_build(db: OrmSession, base_id: UUID, generation: int, *, limit: int) -> list[Progress]:
    """Rows of a build that are owed something."""
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


def lock_session_progress(
    db: OrmSession, base_ids: Sequence[UUID], session_id: str, *, skip_locked: bool = False
) -> list[Progress]:
    """The session's rows in the serving and building generations of the bases, locked in id order."""
    if not base_ids:
        return []
    asked = {"base_ids": base_ids, "session_id": session_id}
    return list(db.scalars(_rows_of_session(skip_locked), asked))


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


def try_lock_session_progress(db: OrmSession, base: MemoryBase, session_id: str, *, wait: bool) -> bool:
    """The same locks, without waiting for anybody unless told to; False: somebody holds one of the rows."""
    locked = lock_session_progress(db, [base.id], session_id, skip_locked=not wait)
    there = sa.select(sa.func.count()).where(
        Progress.memory_base_id == base.id,
        Progress.session_id == session_id,
        Progress.generation.in_([base.serving, base.building]),
    )
    return len(locked) == db.scalar(there)


def request_audit(db: OrmSession, progress_id: UUID, now: datetime) -> bool:
    """Have the store's ids of this session compared with the ledger by its next job; False: the row is gone."""
    return rows_affected(db, sa.update(Progress).where(Progress.id == progress_id).values(audit_at=now)) == 1


def busy_sessions(db: OrmSession, base_id: UUID, generation: int) -> set[UUID]:
    """Rows whose part of the store is about to change: an active job, a repair that is owed, an audit that waits."""
    active = sa.select(IngestionJob.progress_id).where(
        IngestionJob.memory_base_id == base_id, IngestionJob.generation == generation, IS_ACTIVE
    )
    marked = sa.select(Progress.id).where(
        Progress.memory_base_id == base_id, Progress.generation == generation, is_repair_pending()
    )
    return {*db.scalars(active), *db.scalars(marked)}


def is_repair_pending() -> sa.ColumnElement[bool]:
    """A repair is owed, or an audit waits for its time."""
    return sa.or_(Progress.audit_at.is_not(None), Progress.dirty > Progress.repaired)


def sessions_of_messages(db: OrmSession, base: MemoryBase, message_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """The serving generation's session row of each message that SQL still knows of, if only as a deleted one."""
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
    remembered = sa.select(LedgerEntry.message_id, LedgerEntry.progress_id).where(
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        LedgerEntry.message_id.in_(message_ids),
    )
    deleted = (
        sa.select(DeletedMessage.message_id, Progress.id)
        .join(Session, Session.id == DeletedMessage.conversation_id)
        .join(Progress, sa.and_(serving, Progress.session_id == Session.session_id))
        .where(DeletedMessage.flow_id == base.flow_id, DeletedMessage.message_id.in_(message_ids))
    )
    return {progress[0]: progress[1] for progress in db.execute(stored.union(remembered, deleted))}


def lock_progress(db: OrmSession, progress_id: UUID, *, skip_locked: bool = False) -> Progress | None:
    return db.scalar(
        sa.select(Progress)
        .where(Progress.id == progress_id)
        .with_for_update(key_share=True, skip_locked=skip_locked)
        .execution_options(populate_existing=True)
    )


def fetch_progress(db: OrmSession, progress_id: UUID) -> Progress | None:
    return lookup.get(db, Progress, progress_id)


_COLUMNS = core(Progress).c
_COMPARE_AND_ADVANCE = (
    sa.update(core(Progress))
    .where(
        _COLUMNS.id == sa.bindparam("progress"),
        _COLUMNS.epoch == sa.bindparam("claimed"),
        _COLUMNS.generation == sa.bindparam("served"),
        _COLUMNS.cursor_seq == sa.bindparam("expected"),
    )
    .values(cursor_id=sa.func.coalesce(sa.bindparam("message", type_=_COLUMNS.cursor_id.type), _COLUMNS.cursor_id))
)


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
) -> Progress | None:
    """Move the cursor if nothing has changed since the claim; the row as it is now, or None: somebody else did it.

    A cursor_id of None keeps the old one. With to_seq = from_seq (a repair) the cursor stays.
    """
    moved = rows_affected(
        db,
        _COMPARE_AND_ADVANCE,
        {
            "progress": progress_id, "claimed": epoch, "served": generation, "expected": from_seq,
            "cursor_seq": to_seq, "message": cursor_id, "last_sync_at": now, "lease_until": None, "lease_owner": None,
        },
    )  # fmt: skip
    if moved != 1:
        return None
    return db.get_one(Progress, progress_id, populate_existing=True)


def renew_lease(db: OrmSession, *, progress_id: UUID, epoch: int, until: datetime) -> bool:
    renew = (
        sa.update(Progress)
        .where(Progress.id == progress_id, Progress.epoch == epoch, Progress.lease_until.is_not(None))
        .values(lease_until=until)
    )
    return rows_affected(db, renew) == 1


def release_lease(db: OrmSession, *, progress_id: UUID, epoch: int, audit_at: datetime | None, written_as: str) -> None:
    """Give the lease back, if it is still this claim's; what may have been written is audited then, in any case, and
    under the name that the session had for the claim."""
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
    """Rows leased by owners of that prefix."""
    rows = db.execute(
        sa.select(Progress.id, Progress.lease_owner).where(
            Progress.lease_until.is_not(None), Progress.lease_owner.startswith(owner_prefix, autoescape=True)
        )
    )
    return [(progress_id, owner or "") for progress_id, owner in rows]


def leased_until(db: OrmSession, base_id: UUID) -> datetime | None:
    """The latest lease on any session of the base; None when no worker holds one."""
    return db.scalar(
        sa.select(sa.func.max(Progress.lease_until)).where(
            Progress.memory_base_id == base_id, Progress.lease_until.is_not(None)
        )
    )


def sessions_with_pending_work(db: OrmSession, now: datetime, *, limit: int) -> list[tuple[UUID, str]]:
    """(base, session) pairs with something owed (a target ahead, a mark, a due audit) and no active job."""
    fed = Progress.generation == sa.func.coalesce(MemoryBase.building, MemoryBase.serving)
    current = Progress.generation.in_([MemoryBase.serving, MemoryBase.building])
    pairs: dict[tuple[UUID, str], None] = {}
    # Three questions, each along an index that holds only what is owed.
    for pending in (
        sa.and_(Progress.target_seq > Progress.cursor_seq, fed),
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


def sessions_to_flush(db: OrmSession, base: MemoryBase, fed: Generation, *, after: str, limit: int) -> Sequence[str]:
    """Sessions of the flow with anything pending for that generation, or a job of the base, by session id in the
    database's order. Those at rest are passed over here: there are thousands of them."""
    own = (
        Progress.memory_base_id == base.id,
        Progress.generation == fed.generation,
        Progress.session_id == Session.session_id,
    )
    pending = sa.exists().where(
        Message.flow_id == Session.flow_id,
        Message.session_id == Session.session_id,
        counted(fed.capture),
        Message.seq > sa.func.coalesce(Progress.cursor_seq, 0),
    )
    return db.scalars(
        sa.select(Session.session_id)
        .outerjoin(Progress, sa.and_(*own))
        .where(Session.flow_id == base.flow_id, Session.deleted_at.is_(None), Session.session_id > after)
        .where(pending | jobs.is_active_in_session(base.id))
        .order_by(Session.session_id)
        .limit(limit)
    ).all()


def idle_sessions(db: OrmSession, now: datetime, *, limit: int) -> list[Progress]:
    """Rows whose silence may have lasted long enough."""
    return list(
        db.scalars(sa.select(Progress).where(Progress.idle_due_at <= now).order_by(Progress.idle_due_at).limit(limit))
    )


def recheck_idle_sessions(db: OrmSession, base_id: UUID, now: datetime) -> None:
    """After idle_after or auto_capture changed, the sweeper works out every session's time anew."""
    db.execute(sa.update(Progress).where(Progress.memory_base_id == base_id).values(idle_due_at=now))


def build_is_complete(db: OrmSession, base_id: UUID, generation: int) -> bool:
    """Every session of the build has reached what the old generation covered, and no edit waits."""
    behind = sa.select(sa.literal(1)).where(
        Progress.memory_base_id == base_id, Progress.generation == generation, Progress.cursor_seq < Progress.build_seq
    )
    edited = sa.select(sa.literal(1)).where(
        Progress.memory_base_id == base_id, Progress.generation == generation, Progress.dirty > Progress.repaired
    )
    return db.scalar(behind.limit(1)) is None and db.scalar(edited.limit(1)) is None


def build_progress(db: OrmSession, base_id: UUID, generation: int) -> tuple[int, int, int, int]:
    """Of a build: its sessions, those that have reached what was covered, and the same in messages."""
    passed = sa.case((Progress.cursor_seq < Progress.build_seq, Progress.cursor_seq), else_=Progress.build_seq)
    reached = sa.case((Progress.cursor_seq < Progress.build_seq, 0), else_=1)
    statement = sa.select(sa.func.count(), sa.func.sum(reached), sa.func.sum(Progress.build_seq), sa.func.sum(passed))
    found = db.execute(statement.where(Progress.memory_base_id == base_id, Progress.generation == generation)).one()
    sessions, built, messages, done = (int(value or 0) for value in found)
    return sessions, built, messages, done


def chunks_of_generation(db: OrmSession, base_id: UUID, generation: int) -> int:
    """How many chunks the generation's collection should hold."""
    total = db.scalar(
        sa.select(sa.func.sum(Progress.total_chunks)).where(
            Progress.memory_base_id == base_id, Progress.generation == generation
        )
    )
    return int(total or 0)


def delete_progress_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> None:
    """In every generation, with their jobs, ledger entries and dead letters."""
    db.execute(sa.delete(Progress).where(Progress.flow_id == flow_id, Progress.session_id == session_id))
