"""Ingestion jobs: insert, claim, find, update, cancel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.database import records
from memorybase.core.database.batches import pages
from memorybase.core.database.upsert import core, insert_if_absent
from memorybase.core.models import (
    IS_ACTIVE,
    IS_IN_ORDER,
    IS_LAST_IN_BASE,
    IS_RUNNING,
    IngestionJob,
    JobKind,
    JobState,
    MemoryBase,
    Session,
)
from memorybase.core.queries.joins import own_base
from memorybase.core.services import JobMessage

Job = IngestionJob


class JobRow(NamedTuple):
    """A job, as captures, workers and the sweeper read it. `update` writes it."""

    id: UUID
    memory_base_id: UUID
    progress_id: UUID
    session_id: str
    kind: JobKind
    state: JobState
    generation: int
    from_seq: int
    to_seq: int
    cursor_id: UUID | None
    embedder: str
    chunker: str
    audit: bool
    epoch: int
    total: int
    total_chunks: int
    stored_chunks: int
    attempts: int
    outages: int
    lost_workers: int
    embedding_started: bool
    batched: bool
    run_alone: bool
    started_at: datetime | None
    available_at: datetime
    virtual_time: int
    notify_count: int
    traceparent: str | None

    def message(self) -> JobMessage:
        """The job's immutable arguments, as its task receives them."""
        return JobMessage(
            job_id=self.id,
            memory_base_id=self.memory_base_id,
            session_id=self.session_id,
            kind=str(self.kind),
            generation=self.generation,
            from_seq=self.from_seq,
            to_seq=self.to_seq,
            cursor_id=self.cursor_id,
            embedder=self.embedder,
            chunker=self.chunker,
        )


Condition = sa.ColumnElement[bool]
CANCEL_PAGE = 500  # queued jobs in one statement, some 30 ms
OVERLAPPING = 100  # more than the jobs of one batch
_ACTIVE = sa.text("state IN ('queued', 'running')")
# Statements of every job are built once, on tables: database/records.py says why.
_COLUMNS = core(Job).c
_ROW_COLUMNS = records.columns(Job, JobRow)
_THIS = Job.id == sa.bindparam("id")
_ACTIVE_OF_SESSION = sa.select(*_ROW_COLUMNS).where(
    _COLUMNS.memory_base_id == sa.bindparam("base_id"), _COLUMNS.session_id == sa.bindparam("session_id"), IS_ACTIVE
)
_ROW_FOR_UPDATE = sa.select(*_ROW_COLUMNS).where(_COLUMNS.id == sa.bindparam("id")).with_for_update(key_share=True)
_RUNNING_FOR_UPDATE = (
    sa.select(*_ROW_COLUMNS)
    .where(_COLUMNS.progress_id == sa.bindparam("progress_id"), _COLUMNS.state == JobState.RUNNING)
    .with_for_update(key_share=True)
)
_UPDATE = sa.update(core(Job)).where(_COLUMNS.id == sa.bindparam("job_id"))
_NOTIFIED = _UPDATE.values(notify_count=_COLUMNS.notify_count + 1)
_STATE = sa.select(Job.state).where(_THIS)
_RUNNING = sa.select(Job.id, Job.epoch).where(
    Job.id.in_(sa.bindparam("ids", expanding=True)), Job.state == JobState.RUNNING
)
_UPDATE_CLAIMED = sa.update(core(Job)).where(
    _COLUMNS.id == sa.bindparam("claimed_id"),
    _COLUMNS.state == JobState.RUNNING,
    _COLUMNS.epoch == sa.bindparam("claimed_epoch"),
)
_DUE = (
    sa.select(*_ROW_COLUMNS)
    .where(IS_IN_ORDER, IS_LAST_IN_BASE, _COLUMNS.available_at <= sa.bindparam("now"))
    .order_by(_COLUMNS.virtual_time)
    .limit(sa.bindparam("at_most", type_=sa.Integer))
)
_WAITING = _DUE.where(_COLUMNS.kind != JobKind.REPAIR, _COLUMNS.run_alone.is_(False))
_VIRTUAL = _COLUMNS.virtual_time
_IS_UP_TO = _VIRTUAL <= sa.bindparam("to", type_=sa.BigInteger)  # noqa: SIM300 - the column on the left
_IS_FROM = _VIRTUAL >= sa.bindparam("since", type_=sa.BigInteger)  # noqa: SIM300
_LATEST = sa.select(_VIRTUAL).where(_IS_UP_TO).order_by(_VIRTUAL.desc()).limit(1)
_LAST_RUNNING = _LATEST.where(IS_RUNNING)
_LAST_OF_BASE = _LATEST.where(IS_LAST_IN_BASE, _COLUMNS.memory_base_id == sa.bindparam("base_id"))
_FIRST_QUEUED = sa.select(_VIRTUAL).where(IS_IN_ORDER, _IS_FROM).order_by(_VIRTUAL).limit(1)


_NEW: Mapping[str, Any] = {
    "state": JobState.QUEUED,
    "notify_count": 1,
    **dict.fromkeys(("processed", "epoch", "attempts", "outages", "lost_workers", "total_chunks", "stored_chunks"), 0),
    **dict.fromkeys(("embedding_started", "batched", "run_alone"), False),
    "started_at": None,
}

MOST_JOBS = 1_000  # that overlap one run


def insert_job(db: OrmSession, **job: Any) -> JobRow | None:
    """The new job, or None if this session of the memory base has an active one. A partial unique index decides."""
    values = {"id": uuid4(), **_NEW, **job}
    if not insert_if_absent(db, Job, values, "memory_base_id", "session_id", where=_ACTIVE):
        return None
    return JobRow(*(values[name] for name in JobRow._fields))


def active_job(db: OrmSession, base_id: UUID, session_id: str) -> JobRow | None:
    return records.fetch_one(db, JobRow, _ACTIVE_OF_SESSION, {"base_id": base_id, "session_id": session_id})


def is_active_in_session(base_id: UUID) -> sa.ColumnElement[bool]:
    """Whether the base has an active job in the outer statement's `Session`."""
    active = sa.select(Job.id).where(Job.memory_base_id == base_id, Job.active_in == Session.session_id, IS_ACTIVE)
    return active.correlate(Session).exists()


def count_active(db: OrmSession, base_id: UUID, generation: int) -> int:
    """Number of active jobs of a generation."""
    mine = (Job.memory_base_id == base_id, Job.generation == generation, IS_ACTIVE)
    return db.scalar(sa.select(sa.func.count()).select_from(Job).where(*mine)) or 0


def is_queued(db: OrmSession, job_id: UUID) -> bool:
    return db.scalar(_STATE, {"id": job_id}) == JobState.QUEUED


def last_done(db: OrmSession, now: datetime) -> datetime | None:
    """When a job last ended with its session's position advanced, among those started last.

    Not those from the future, which ended before the clock was stepped back.
    """
    # By the index on started_at, since there is none on finished_at. The jobs of several workers overlap.
    done = Job.state == JobState.DONE, Job.started_at <= now, Job.finished_at <= now
    latest = sa.select(Job.finished_at).where(*done).order_by(Job.started_at.desc()).limit(OVERLAPPING).subquery()
    ended: datetime | None = db.scalar(sa.select(sa.func.max(latest.c.finished_at)))
    return ended


def fetch_owned_job(db: OrmSession, user_id: UUID, job_id: UUID) -> Job | None:
    own = sa.select(Job).join(MemoryBase, MemoryBase.id == Job.memory_base_id).where(own_base(user_id))
    return db.scalar(own.where(Job.id == job_id))


def lock_row(db: OrmSession, job_id: UUID) -> JobRow | None:
    return records.fetch_one(db, JobRow, _ROW_FOR_UPDATE, {"id": job_id})


def lock_running(db: OrmSession, progress_id: UUID) -> JobRow | None:
    """The job that runs in this session and generation."""
    return records.fetch_one(db, JobRow, _RUNNING_FOR_UPDATE, {"progress_id": progress_id})


def update(db: OrmSession, job: JobRow, **changes: Any) -> JobRow:
    """Write these columns of a locked job; returns it as it is now."""
    records.execute(db, _UPDATE, {"job_id": job.id, **changes})
    return job._replace(**{name: value for name, value in changes.items() if name in JobRow._fields})


def start(db: OrmSession, job: JobRow, epoch: int, now: datetime) -> JobRow:
    """A worker has claimed the locked job; returns it as it is now."""
    return update(
        db,
        job,
        state=JobState.RUNNING,
        epoch=epoch,
        attempts=job.attempts + 1,
        started_at=job.started_at if job.started_at and job.stored_chunks else now,  # else it continues
        embedding_started=False,
        batched=False,
    )


def update_claimed(db: OrmSession, *, job_id: UUID, epoch: int, **values: Any) -> bool:
    """Update a job under its claim; False if the claim is lost."""
    claimed = {"claimed_id": job_id, "claimed_epoch": epoch}
    return records.execute(db, _UPDATE_CLAIMED, {**claimed, **values}).rowcount == 1


def claims_that_hold(db: OrmSession, claims: Collection[tuple[UUID, int]]) -> set[tuple[UUID, int]]:
    """The claims among these that still hold: the job runs, under the same epoch."""
    if not claims:
        return set()
    ids = {job_id for job_id, _ in claims}
    running = db.execute(_RUNNING, {"ids": list(ids)})
    return {(job_id, epoch) for job_id, epoch in running} & set(claims)


class Totals(NamedTuple):
    """Size of a job: messages to embed, and their chunks."""

    messages: int = 0
    chunks: int = 0


def set_embedding_started(db: OrmSession, totals: Mapping[tuple[UUID, int], Totals], *, batched: bool) -> None:
    """Write that embedding started, with each job's totals, in one batch or alone."""
    db.execute(
        _UPDATE_CLAIMED,
        [
            {
                "claimed_id": job_id,
                "claimed_epoch": epoch,
                "embedding_started": True,
                "total": total.messages,
                "total_chunks": total.chunks,
                "batched": batched,
            }
            for (job_id, epoch), total in sorted(totals.items())
        ],
    )


def set_progress(db: OrmSession, stored_chunks: Mapping[tuple[UUID, int], int]) -> None:
    """Write how many chunks these claims have stored, which ends a suspicion: a lost worker counts against a job only
    if it was lost before any progress."""
    db.execute(
        _UPDATE_CLAIMED,
        [
            {
                "claimed_id": job_id,
                "claimed_epoch": epoch,
                "stored_chunks": stored,
                "embedding_started": False,
                "lost_workers": 0,
                "run_alone": False,
            }
            for (job_id, epoch), stored in sorted(stored_chunks.items())
        ],
    )


def waiting_jobs(db: OrmSession, now: datetime, *, limit: int) -> list[JobRow]:
    """Queued jobs that are due and may run in a batch, in the order of their virtual time."""
    return records.fetch_all(db, JobRow, _WAITING, {"now": now, "at_most": limit})


def first_due(db: OrmSession, now: datetime) -> JobRow | None:
    """The first queued job, of any kind, that is due."""
    return next(iter(records.fetch_all(db, JobRow, _DUE, {"now": now, "at_most": 1})), None)


def now_and_last_of_base(db: OrmSession, base_id: UUID, *, since: int, to: int) -> tuple[int, int]:
    """The virtual time of now, and that of the base's last queued job, both from `since` to `to`.

    Now is where the last running job is, else the first queued one; `since` without any.
    """
    now = db.scalar(_LAST_RUNNING, {"to": to})
    if now is None or now < since:
        first = db.scalar(_FIRST_QUEUED, {"since": since})
        now = since if first is None or first > to else first
    return now, max(db.scalar(_LAST_OF_BASE, {"to": to, "base_id": base_id}) or 0, since)


def rescale(db: OrmSession, base_id: UUID, *, now: int, to: int, times: int, divided_by: int) -> None:
    """Multiply the distance of the base's queued jobs from the virtual time `now` by this fraction."""
    # Lock in id order, as a worker does that updates several jobs at once.
    ids = (
        sa.select(Job.id)
        .where(Job.memory_base_id == base_id, IS_LAST_IN_BASE, Job.virtual_time > now, Job.virtual_time <= to)
        .order_by(Job.id)
        .with_for_update(key_share=True)
    )
    moved = now + (Job.virtual_time - now) * times // divided_by
    db.execute(
        sa.update(Job)
        .where(Job.id.in_(ids.scalar_subquery()))
        .values(virtual_time=moved)
        .execution_options(synchronize_session=False)
    )


def session_of(db: OrmSession, job_id: UUID) -> str:
    """The session that a job is of now; empty if there is no such job."""
    return db.scalar(sa.select(IngestionJob.session_id).where(IngestionJob.id == job_id)) or ""


def cancel_jobs(db: OrmSession, ids: Sequence[UUID], now: datetime, reason: str) -> None:
    """Cancel active jobs; a running worker finds its claim lost at its next check."""
    if ids:
        _cancel(db, Job.id.in_(ids), now, reason)


def cancel_jobs_of_base(db: OrmSession, base_id: UUID, now: datetime, reason: str, *which: Condition) -> bool:
    """Cancel the active jobs of a base that match `which`: all that run, and up to CANCEL_PAGE that are queued; whether
    more of these may be left.

    A claim cancels those too: no worker runs a job whose memory base is paused, or is deleted, or writes to another
    generation.
    """
    mine = sa.and_(Job.memory_base_id == base_id, *which)
    _cancel(db, sa.and_(mine, IS_RUNNING), now, reason)
    return _cancel_queued(db, mine, now, reason) >= CANCEL_PAGE


def cancel_jobs_of_sessions(
    db: OrmSession, base_id: UUID, session_ids: Collection[str], now: datetime, reason: str, *which: Condition
) -> None:
    """Cancel the queued jobs of up to CANCEL_PAGE sessions of a base that match `which`."""
    _cancel_queued(db, sa.and_(Job.memory_base_id == base_id, Job.active_in.in_(session_ids), *which), now, reason)


def _cancel(db: OrmSession, which: Condition, now: datetime, reason: str) -> None:
    # Lock in id order, as a worker does that updates several jobs at once.
    ids = sa.select(Job.id).where(which, IS_ACTIVE).order_by(Job.id).with_for_update(key_share=True)
    _end(db, Job.id.in_(ids.scalar_subquery()), now, reason)


def _cancel_queued(db: OrmSession, which: Condition, now: datetime, reason: str) -> int:
    """Cancel a page of them, and return their number."""
    # Without waiting, so in any order: whoever has locked one is about to claim it, or to notify a worker of it.
    queued = sa.select(Job.id).where(which, IS_LAST_IN_BASE).limit(CANCEL_PAGE)
    ids = db.scalars(queued.with_for_update(key_share=True, skip_locked=True)).all()
    _end(db, Job.id.in_(ids), now, reason)
    return len(ids)


def _end(db: OrmSession, which: Condition, now: datetime, reason: str) -> None:
    ended = sa.update(Job).where(which).values(state=JobState.CANCELLED, finished_at=now, error=reason)
    db.execute(ended)


def has_ended(db: OrmSession, before: datetime) -> bool:
    """Whether `delete_ended` would delete a job."""
    return db.scalar(_ended(before).limit(1)) is not None


def delete_ended(db: OrmSession, before: datetime, *, limit: int) -> int:
    """Delete jobs that ended before then, the earliest first, and return their number.

    A failed job that is the last one of its session stays: it is why the session's state is failed.
    """
    ids = list(db.scalars(_ended(before).limit(limit).with_for_update(skip_locked=True, of=Job)))
    for some in pages(ids):
        db.execute(sa.delete(core(Job)).where(_COLUMNS.id.in_(some)))
    return len(ids)


def _ended(before: datetime) -> sa.Select[UUID]:
    later = aliased(Job)
    is_later = sa.tuple_(later.created_at, later.id) > sa.tuple_(Job.created_at, Job.id)
    has_later = sa.select(later.id).where(later.progress_id == Job.progress_id, is_later).correlate(Job).exists()
    return (
        sa.select(Job.id)
        .where(Job.finished_at.is_not(None), Job.finished_at < before, ~IS_ACTIVE)
        .where(sa.or_(Job.state != JobState.FAILED, has_later))
        .order_by(Job.finished_at)
    )


def waits_to_ingest() -> sa.ColumnElement[bool]:
    """A queued job that is not a repair."""
    return sa.and_(Job.state == JobState.QUEUED, Job.kind != JobKind.REPAIR)


def is_queued_in(base_id: UUID) -> sa.ColumnElement[bool]:
    return sa.and_(Job.memory_base_id == base_id, IS_LAST_IN_BASE)


def not_of_generation(generation: int) -> sa.ColumnElement[bool]:
    return Job.generation != generation


def of_generation(generation: int) -> sa.ColumnElement[bool]:
    return Job.generation == generation


def jobs_to_notify(db: OrmSession, now: datetime, *, notified_before: datetime | None, limit: int) -> list[JobRow]:
    """Queued jobs whose `notify_at` has passed; also those due and last notified before `notified_before`. Locked;
    other sweepers skip them."""
    found = sa.select(*_ROW_COLUMNS).where(*_to_notify(now, notified_before)).order_by(Job.notify_at).limit(limit)
    return [JobRow(*row) for row in db.execute(found.with_for_update(key_share=True, skip_locked=True))]


def set_notified(db: OrmSession, notify_at: Mapping[UUID, datetime], now: datetime) -> None:
    """Write that workers were notified again of these locked jobs, and when to do so next."""
    again = [{"job_id": job_id, "notified_at": now, "notify_at": when} for job_id, when in notify_at.items()]
    if again:
        records.execute(db, _NOTIFIED, again)


def has_job_to_notify(db: OrmSession, now: datetime, *, notified_before: datetime | None) -> bool:
    return db.scalar(sa.select(Job.id).where(*_to_notify(now, notified_before)).limit(1)) is not None


def _to_notify(now: datetime, notified_before: datetime | None) -> tuple[sa.ColumnElement[bool], ...]:
    due: sa.ColumnElement[bool] = Job.notify_at <= now
    if notified_before is not None:
        due = sa.or_(due, sa.and_(Job.available_at <= now, Job.notified_at < notified_before))
    return Job.state == JobState.QUEUED, due


def jobs_over(db: OrmSession, progress_ids: Collection[UUID], *, first_seq: int, last_seq: int) -> list[Job]:
    """The jobs that ingest, or have ingested, messages between these seqs, oldest first."""
    statement = sa.select(Job).where(
        Job.progress_id.in_(progress_ids),
        Job.kind == JobKind.INGEST,
        Job.state != JobState.CANCELLED,
        Job.from_seq < last_seq,
        Job.to_seq >= first_seq,
    )
    return list(db.scalars(statement.order_by(Job.created_at, Job.id).limit(MOST_JOBS)))
