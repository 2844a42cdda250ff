"""Signs of life of workers and sweepers, and when one of them last began what is done now and then."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert
from memorybase.models import Heartbeat

FORGET_AFTER = timedelta(days=1)  # a process that was killed never takes its own away


def beat(db: OrmSession, name: str, kind: str, now: datetime) -> None:
    """Sign life; signs of long ago go."""
    db.execute(sa.delete(Heartbeat).where(Heartbeat.beat_at < now - FORGET_AFTER))
    statement = insert(db, Heartbeat).values(name=name, kind=kind, started_at=now, beat_at=now)
    db.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"beat_at": statement.excluded.beat_at}))


def take_turn(db: OrmSession, name: str, now: datetime, every: timedelta) -> bool:
    """Whether it is this process that begins what is done by one of all, so often."""
    statement = insert(db, Heartbeat).values(name=name, kind="turn", started_at=now, beat_at=now)
    statement = statement.on_conflict_do_update(
        index_elements=["name"], set_={"beat_at": statement.excluded.beat_at}, where=Heartbeat.beat_at <= now - every
    )
    return db.scalar(statement.returning(Heartbeat.name)) is not None


def delete(db: OrmSession, name: str) -> None:
    db.execute(sa.delete(Heartbeat).where(Heartbeat.name == name))
