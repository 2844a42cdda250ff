"""Notes of what was deleted but may still be in a file: in a store's log of a collection, or in freed pages.

Each is a row of `heartbeats`: `started_at` is the first deletion since it was removed last, `beat_at` the latest.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.database.upsert import insert
from memorybase.core.models import Heartbeat
from memorybase.core.vectors import purging
from memorybase.core.vectors.store import CollectionRef, VectorStore

LOG, FILES = "residue:log", "residue:files"  # kinds
# Deletions come in numbers: wait until there were none for SETTLED, but no longer than AT_MOST.
SETTLED = timedelta(seconds=5)
AT_MOST = timedelta(minutes=1)


class Residue(NamedTuple):
    """A note, as it was read."""

    name: str
    noted_at: datetime


def note_log(db: OrmSession, vectors: VectorStore, ref: CollectionRef) -> None:
    """Chunks were deleted from this collection; nothing to note if its store keeps no log."""
    if purging.keeps_log(vectors, ref):
        _note(db, f"{LOG}:{ref.id}:{ref.name}", LOG)


def note_files(db: OrmSession) -> None:
    """The files of the stack's servers may hold what was deleted."""
    _note(db, FILES, FILES)


def _note(db: OrmSession, name: str, kind: str) -> None:
    now = clock.now(db)
    statement = insert(db, Heartbeat).values(name=name, kind=kind, started_at=now, beat_at=now)
    changes = {"beat_at": statement.excluded.beat_at}
    db.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changes))


def logs_due(db: OrmSession, *, limit: int) -> list[tuple[Residue, CollectionRef]]:
    """Logs to purge, the oldest first, once no more deletions follow."""
    rows = db.execute(_due(db, LOG).order_by(Heartbeat.started_at).limit(limit))
    return [(Residue(name, noted_at), _collection(name)) for name, noted_at in rows]


def files_due(db: OrmSession) -> Residue | None:
    """The note of the files, if it is time to compact them: after the logs, which leave freed pages behind."""
    waits = sa.select(Heartbeat.name).where(Heartbeat.kind == LOG, Heartbeat.started_at > clock.now(db) - AT_MOST)
    row = db.execute(_due(db, FILES).where(~waits.exists())).one_or_none()
    return None if row is None else Residue(*row)


def _due(db: OrmSession, kind: str) -> sa.Select[str, datetime]:
    now = clock.now(db)
    is_settled = sa.or_(Heartbeat.beat_at <= now - SETTLED, Heartbeat.started_at <= now - AT_MOST)
    # One in the future was written before the clock was stepped back.
    is_due = sa.or_(is_settled, Heartbeat.beat_at > now)
    return sa.select(Heartbeat.name, Heartbeat.beat_at).where(Heartbeat.kind == kind, is_due)


def remove(db: OrmSession, residue: Residue) -> None:
    """Remove a note, unless something was deleted since it was read: it then counts from now."""
    mine = Heartbeat.name == residue.name
    db.execute(sa.delete(Heartbeat).where(mine, Heartbeat.beat_at == residue.noted_at))
    db.execute(sa.update(Heartbeat).where(mine).values(started_at=clock.now(db)))


def _collection(name: str) -> CollectionRef:
    collection_id, _, collection = name.removeprefix(f"{LOG}:").partition(":")
    return CollectionRef(collection, UUID(collection_id))
