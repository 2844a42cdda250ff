"""Heartbeats of workers, sweepers and the vector store, and turns at periodic tasks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.due import change_if_due
from memorybase.core.database.engine import Database
from memorybase.core.database.upsert import core, insert
from memorybase.core.models import IS_RUNNING, Heartbeat, IngestionJob, SessionProgress, UtcDateTime

DELETE_AFTER = timedelta(days=1)  # a killed process never deletes its own


# Built once: a process writes its heartbeat every two seconds for as long as it lives.
_ROWS = core(Heartbeat)
_DELETE_OLD = sa.delete(_ROWS).where(_ROWS.c.beat_at < sa.bindparam("before"), _ROWS.c.kind.in_(["worker", "sweeper"]))
_BEAT = (
    sa.update(_ROWS)
    .where(_ROWS.c.name == sa.bindparam("own_name"))
    .values(
        beat_at=sa.bindparam("now"),
        draining_at=sa.func.coalesce(_ROWS.c.draining_at, sa.bindparam("since", type_=UtcDateTime())),
    )
    .returning(_ROWS.c.drain_requested_at)
)


def beat(db: OrmSession, name: str, kind: str, now: datetime, *, draining: bool = False) -> bool:
    """Write a heartbeat; delete old ones of processes. Whether somebody has asked this process to stop."""
    since = now if draining else None
    records.execute(db, _DELETE_OLD, {"before": now - DELETE_AFTER})
    found = records.execute(db, _BEAT, {"own_name": name, "now": now, "since": since}).first()
    if found is None:
        first = insert(db, Heartbeat).values(name=name, kind=kind, started_at=now, beat_at=now, draining_at=since)
        again = {"beat_at": first.excluded.beat_at}  # another sweeper has checked the same store
        db.execute(first.on_conflict_do_update(index_elements=["name"], set_=again))
    return found is not None and found.drain_requested_at is not None


def request_drain(db: OrmSession, name: str, now: datetime) -> None:
    """Ask a worker to stop; it reads this with its next heartbeat."""
    asked = sa.update(Heartbeat).where(Heartbeat.name == name, Heartbeat.kind == "worker")
    db.execute(asked.values(drain_requested_at=sa.func.coalesce(Heartbeat.drain_requested_at, now)))


def workers(db: OrmSession) -> list[Heartbeat]:
    """Workers that have a heartbeat, those that died within `DELETE_AFTER` too; the oldest first."""
    return list(db.scalars(sa.select(Heartbeat).where(Heartbeat.kind == "worker").order_by(Heartbeat.started_at)))


def is_alive(db: OrmSession, kind: str, since: datetime) -> bool:
    """Whether a process of this kind has a heartbeat since then."""
    return (
        db.scalar(sa.select(Heartbeat.name).where(Heartbeat.kind == kind, Heartbeat.beat_at >= since).limit(1))
        is not None
    )


def since(db: OrmSession, kind: str, moment: datetime) -> list[tuple[datetime, datetime]]:
    """The first and the latest heartbeat of each process of this kind with one since then. A clean stop leaves none."""
    statement = sa.select(Heartbeat.started_at, Heartbeat.beat_at)
    rows = db.execute(statement.where(Heartbeat.kind == kind, Heartbeat.beat_at >= moment))
    return [(first, latest) for first, latest in rows]


def latest(db: OrmSession, name: str) -> datetime | None:
    """The latest heartbeat under this name."""
    return db.scalar(sa.select(Heartbeat.beat_at).where(Heartbeat.name == name))


def take_turn(database: Database, name: str, every: timedelta) -> bool:
    """Whether this process is the one to run a task that runs once in `every`, whatever the number of processes.

    A power cut may undo the turn: then the task runs again.
    """

    def is_due(db: OrmSession, now: datetime) -> bool:
        taken = sa.select(Heartbeat.name).where(Heartbeat.name == name, ~_is_over(now, every))
        return db.scalar(taken) is None

    def take(db: OrmSession, now: datetime) -> bool:
        return _take_turn(db, name, now, every)

    return bool(change_if_due(database, is_due, take, durable=False))


def _take_turn(db: OrmSession, name: str, now: datetime, every: timedelta) -> bool:
    statement = insert(db, Heartbeat).values(name=name, kind="turn", started_at=now, beat_at=now)
    statement = statement.on_conflict_do_update(
        index_elements=["name"],
        set_={"beat_at": statement.excluded.beat_at},
        where=_is_over(now, every),
    )
    return db.scalar(statement.returning(Heartbeat.name)) is not None


def _is_over(now: datetime, every: timedelta) -> sa.ColumnElement[bool]:
    """A turn in the future was taken before the clock was stepped back."""
    return sa.or_(Heartbeat.beat_at <= now - every, Heartbeat.beat_at > now)


def delete(db: OrmSession, name: str) -> None:
    db.execute(sa.delete(Heartbeat).where(Heartbeat.name == name))


class HeldJobs(NamedTuple):
    """Jobs of one worker: running jobs, their messages, and the start of the first of them."""

    jobs: int
    messages: int
    oldest_job_at: datetime | None


NOTHING_HELD = HeldJobs(0, 0, None)


def held_by_owner(db: OrmSession) -> dict[str, HeldJobs]:
    """The jobs of each owner of leases."""
    numbers = sa.func.count(), sa.func.sum(IngestionJob.total), sa.func.min(IngestionJob.started_at)
    rows = db.execute(
        sa.select(SessionProgress.lease_owner, *numbers)
        .join(IngestionJob, IngestionJob.progress_id == SessionProgress.id)
        .where(SessionProgress.lease_until.is_not(None), IS_RUNNING)
        .group_by(SessionProgress.lease_owner)
    )
    return {owner or "": HeldJobs(count, int(messages or 0), oldest) for owner, count, messages, oldest in rows}
