"""Maps and their points: requested, claimed, stored, read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import undefer

from memorybase.core.database import batches
from memorybase.core.database.upsert import core, insert
from memorybase.core.models import LedgerEntry, MemoryBase, Message, SessionProgress
from memorybase.features.memory_map.models import MapPoint, MemoryMap

_Progress = SessionProgress
# The maps that workers compute.
IS_OF_A_BASE = MemoryMap.memory_base_id.in_(sa.select(MemoryBase.id).where(MemoryBase.deleting_at.is_(None)))


class Entry(NamedTuple):
    """A message as the ledger has it."""

    progress_id: UUID
    message_id: UUID
    version: int


class Point(NamedTuple):
    """A point with what is shown of its message."""

    message_id: UUID
    x: float
    y: float
    cluster: int
    session_id: str
    role: str
    sender_name: str | None
    timestamp: datetime


class ShownMessage(NamedTuple):
    """A message of the memory base's flow."""

    id: UUID
    session_id: str
    seq: int
    role: str
    sender_name: str | None
    content: Any
    timestamp: datetime
    muted: bool
    pinned: bool


def fetch(db: OrmSession, base_id: UUID) -> MemoryMap | None:
    return db.get(MemoryMap, base_id, options=[undefer(MemoryMap.projection)])


def request(db: OrmSession, base_id: UUID, now: datetime) -> bool:
    """Ask for a map; False if one is pending. A pending one that failed is tried at once."""
    has_failed = sa.and_(MemoryMap.lease_until.is_(None), MemoryMap.error_code.is_not(None))
    statement = insert(db, MemoryMap).values(
        memory_base_id=base_id, messages=0, version=0, notify_at=now, progress=0, attempts=0
    )
    asked = db.execute(
        statement.on_conflict_do_update(
            index_elements=["memory_base_id"],
            set_={"notify_at": now, "progress": 0, "attempts": 0},
            where=sa.or_(MemoryMap.notify_at.is_(None), has_failed),
        ).returning(MemoryMap.memory_base_id)
    )
    return asked.scalar() is not None


def lengths(db: OrmSession, base_id: UUID, generation: int) -> dict[UUID, int]:
    """Number of messages that the generation holds of each session, by its row."""
    rows = db.execute(
        sa.select(_Progress.id, _Progress.total_processed).where(
            _Progress.memory_base_id == base_id, _Progress.generation == generation
        )
    )
    return {progress_id: processed for progress_id, processed in rows}  # noqa: C416 - typed


def held_messages(db: OrmSession, base_id: UUID, generation: int) -> int:
    """Number of messages that the generation holds."""
    total = db.scalar(
        sa.select(sa.func.sum(_Progress.total_processed)).where(
            _Progress.memory_base_id == base_id, _Progress.generation == generation
        )
    )
    return int(total or 0)


def has_entries(db: OrmSession, base_id: UUID, generation: int, at_least: int) -> bool:
    """Whether the generation holds so many messages with text."""
    return len(entries_after(db, base_id, generation, None, limit=at_least)) >= at_least


def ingested_since(db: OrmSession, base_id: UUID, generation: int, since: datetime) -> int:
    """Number of messages that were ingested after that time."""
    found = db.scalar(
        sa.select(sa.func.count())
        .select_from(LedgerEntry)
        .where(
            LedgerEntry.memory_base_id == base_id,
            LedgerEntry.generation == generation,
            LedgerEntry.ingested_at > since,
        )
    )
    return found or 0


def entries_after(db: OrmSession, base_id: UUID, generation: int, after: UUID | None, *, limit: int) -> list[Entry]:
    """The generation's next entries, by message."""
    statement = sa.select(LedgerEntry.progress_id, LedgerEntry.message_id, LedgerEntry.version).where(
        LedgerEntry.memory_base_id == base_id, LedgerEntry.generation == generation, LedgerEntry.chunks > 0
    )
    if after is not None:
        statement = statement.where(LedgerEntry.message_id > after)
    return [Entry(*row) for row in db.execute(statement.order_by(LedgerEntry.message_id).limit(limit))]


def share_entries(db: OrmSession, entries: Iterable[Entry]) -> set[tuple[UUID, UUID]]:
    """Share-lock the entries that still exist, against deletion; their keys."""
    key = (LedgerEntry.progress_id, LedgerEntry.message_id)
    found: set[tuple[UUID, UUID]] = set()
    for some in batches.pages(entries):
        wanted = {(entry.progress_id, entry.message_id) for entry in some}
        rows = db.execute(
            sa.select(*key)
            .where(LedgerEntry.message_id.in_([entry.message_id for entry in some]))
            .where(LedgerEntry.progress_id.in_({entry.progress_id for entry in some}))
            .order_by(*key)
            .with_for_update(read=True, key_share=True)
        )
        found |= wanted & {(progress_id, message_id) for progress_id, message_id in rows}
    return found


def replace_points(db: OrmSession, base_id: UUID, points: Sequence[Mapping[str, Any]]) -> None:
    """Delete the old points and insert these."""
    db.execute(
        sa.delete(MapPoint).where(MapPoint.memory_base_id == base_id).execution_options(synchronize_session=False)
    )
    if points:
        db.execute(sa.insert(core(MapPoint)), points)


class Counts(NamedTuple):
    """`gone`: points whose message is deleted, before a repair deletes them too."""

    shown: int
    gone: int
    edited: int


NO_POINTS = Counts(0, 0, 0)


def counts(db: OrmSession, base: MemoryBase, generation: int, since: datetime) -> Counts:
    """Number of points, and of those whose messages were edited after that time."""
    edited = sa.func.sum(sa.case((Message.edited_at > since, 1), else_=0))
    points, shown, changed = db.execute(
        sa.select(sa.func.count(), sa.func.count(Message.id), edited)
        .select_from(MapPoint)
        .outerjoin(Message, sa.and_(Message.id == MapPoint.message_id, Message.flow_id == base.flow_id))
        .where(MapPoint.memory_base_id == base.id, MapPoint.generation == generation)
    ).one()
    return Counts(shown, points - shown, changed or 0)


def points(db: OrmSession, base: MemoryBase, generation: int) -> list[Point]:
    """The points whose messages exist, by position."""
    rows = db.execute(
        sa.select(
            MapPoint.message_id,
            MapPoint.x,
            MapPoint.y,
            MapPoint.cluster,
            Message.session_id,
            Message.role,
            Message.sender_name,
            Message.timestamp,
        )
        .join(Message, Message.id == MapPoint.message_id)
        .where(MapPoint.memory_base_id == base.id, MapPoint.generation == generation, Message.flow_id == base.flow_id)
        .order_by(MapPoint.position)
    )
    return [Point(*row) for row in rows]


def contents(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, Any]:
    found: dict[UUID, Any] = {}
    for some in batches.pages(ids):
        rows = db.execute(sa.select(Message.id, Message.content).where(Message.id.in_(some)))
        found.update((message_id, content) for message_id, content in rows)
    return found


def shown_messages(db: OrmSession, base: MemoryBase, ids: Collection[UUID]) -> dict[UUID, ShownMessage]:
    """The messages of the memory base's flow that are on its map, among these."""
    found: dict[UUID, ShownMessage] = {}
    for some in batches.pages(ids):
        rows = db.execute(
            sa.select(
                Message.id,
                Message.session_id,
                Message.seq,
                Message.role,
                Message.sender_name,
                Message.content,
                Message.timestamp,
                Message.muted,
                Message.pinned,
            )
            .join(MapPoint, sa.and_(MapPoint.message_id == Message.id, MapPoint.memory_base_id == base.id))
            .where(Message.id.in_(some), Message.flow_id == base.flow_id)
        )
        found.update((row.id, ShownMessage(*row)) for row in rows)
    return found
