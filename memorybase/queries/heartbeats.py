"""Heartbeats of workers, sweepers and the vector store, and turns at periodic tasks."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert
from memorybase.models import Heartbeat

DELETE_AFTER = timedelta(days=1)  # a killed process never deletes its own


def beat(db: OrmSession, name: str, kind: str, now: datetime) -> None:
    """Write a heartbeat; delete old ones of processes."""
    is_process = Heartbeat.kind.in_(["worker", "sweeper"])
    db.execute(sa.delete(Heartbeat).where(Heartbeat.beat_at < now - DELETE_AFTER, is_process))
    statement = insert(db, Heartbeat).values(name=name, kind=kind, started_at=now, beat_at=now)
    db.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"beat_at": statement.excluded.beat_at}))


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


def take_turn(db: OrmSession, name: str, now: datetime, every: timedelta) -> bool:
    """Whether this process is the one to run a task that runs once in `every`, whatever the number of processes.

    A turn in the future was taken before the clock was stepped back.
    """
    statement = insert(db, Heartbeat).values(name=name, kind="turn", started_at=now, beat_at=now)
    statement = statement.on_conflict_do_update(
        index_elements=["name"],
        set_={"beat_at": statement.excluded.beat_at},
        where=sa.or_(Heartbeat.beat_at <= now - every, Heartbeat.beat_at > now),
    )
    return db.scalar(statement.returning(Heartbeat.name)) is not None


def delete(db: OrmSession, name: str) -> None:
    db.execute(sa.delete(Heartbeat).where(Heartbeat.name == name))
