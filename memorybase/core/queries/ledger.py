"""The ledger: which messages each generation holds, in which version and in how many chunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.database import records
from memorybase.core.database.batches import pages
from memorybase.core.database.paging import AnySelect
from memorybase.core.database.upsert import core, insert_into
from memorybase.core.models import Capture, DeadLetter, Generation, LedgerEntry, MemoryBase, Message, SessionProgress
from memorybase.core.queries.joins import key_of
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.messages import CountedMessage, MessageSize, count_within, counted_columns
from memorybase.core.queries.pending import is_counted, is_due

Entry = LedgerEntry
# Dead letters in these states are not tried again.
SETTLED = ("dead", "discarded")


class HeldMessage(NamedTuple):
    """A message as a generation holds it."""

    message_id: UUID
    version: int
    chunks: int


class EntryWithMessage(NamedTuple):
    """An entry with its session row, and the message's current version and content; None if it is deleted."""

    progress_id: UUID
    message_id: UUID
    version: int
    chunks: int
    message_version: int | None
    content: Any


class ChunkCollection(NamedTuple):
    """A collection that holds some of the messages, with their numbers of chunks."""

    memory_base_id: UUID
    collection_name: str
    collection_id: UUID
    chunks: dict[UUID, int]


_COLUMNS = core(Entry).c
_ENTRIES = sa.select(*records.columns(Entry, HeldMessage)).where(
    _COLUMNS.progress_id == sa.bindparam("progress_id"), _COLUMNS.message_id.in_(sa.bindparam("ids", expanding=True))
)

NEWEST_SESSIONS = 3


def record(
    db: OrmSession,
    *,
    base: BaseRow,
    generation: int,
    progress_id: UUID,
    held: Sequence[HeldMessage],
    now: datetime,
    repaired: bool,
) -> tuple[int, int]:
    """Write ledger entries. Returns the number of messages and chunks that the ledger gained.

    `ingested_at` is now. A repair keeps the entry's time, and a build takes over the serving generation's. An ingestion
    overwrites it: an existing entry dates from before the message was deleted.
    """
    if not held:
        return 0, 0
    ids = [h.message_id for h in held]
    times = {} if generation == base.serving else held_since(db, progress_id=progress_id, serving=base.serving, ids=ids)
    before = entries(db, progress_id, ids)
    records.execute(
        db,
        _record(db.get_bind().dialect.name, repaired),
        [
            {
                "memory_base_id": base.id,
                "generation": generation,
                "progress_id": progress_id,
                **h._asdict(),
                "ingested_at": times.get(h.message_id, now),
            }
            for h in held
        ],
    )
    return len(held) - len(before), sum(h.chunks for h in held) - sum(h.chunks for h in before.values())


@lru_cache
def _record(dialect: str, repaired: bool) -> sa.Executable:
    statement = insert_into(dialect, core(Entry))
    changed = ("version", "chunks") if repaired else ("version", "chunks", "ingested_at")
    return statement.on_conflict_do_update(
        index_elements=["progress_id", "message_id"], set_={name: statement.excluded[name] for name in changed}
    )


def held_since(
    db: OrmSession, *, progress_id: UUID, serving: int, ids: Collection[UUID]
) -> dict[UUID, datetime | None]:
    """When the serving generation ingested these messages of a build's session.

    None for messages that its cursor has passed without holding them. Messages beyond its cursor are left out.
    """
    target, serving_row = aliased(SessionProgress), aliased(SessionProgress)
    found: dict[UUID, datetime | None] = {}
    for some in pages(ids):
        rows = db.execute(
            sa.select(Message.id, Entry.ingested_at)
            .select_from(target)
            .join(
                serving_row,
                sa.and_(
                    serving_row.memory_base_id == target.memory_base_id,
                    serving_row.session_id == target.session_id,
                    serving_row.generation == serving,
                ),
            )
            .join(
                Message,
                sa.and_(
                    Message.session_uuid == target.session_uuid,
                    Message.seq <= serving_row.cursor_seq,
                ),
            )
            .outerjoin(Entry, sa.and_(Entry.progress_id == serving_row.id, Entry.message_id == Message.id))
            .where(target.id == progress_id, Message.id.in_(some))
        )
        found.update((message_id, ingested_at) for message_id, ingested_at in rows)
    return found


def entries(db: OrmSession, progress_id: UUID, ids: Collection[UUID]) -> dict[UUID, HeldMessage]:
    found: dict[UUID, HeldMessage] = {}
    for some in pages(ids):
        rows = records.fetch_all(db, HeldMessage, _ENTRIES, {"progress_id": progress_id, "ids": some})
        found.update((row.message_id, row) for row in rows)
    return found


def entries_of_sessions(db: OrmSession, progress_ids: Collection[UUID]) -> list[tuple[UUID, HeldMessage]]:
    """All entries of these sessions in one generation, each with its session row."""
    columns = sa.select(Entry.progress_id, Entry.message_id, Entry.version, Entry.chunks)
    return [
        (row[0], HeldMessage(*row[1:]))
        for some in pages(progress_ids)
        for row in db.execute(columns.where(Entry.progress_id.in_(some)))
    ]


def sources(
    db: OrmSession, *, progress_id: UUID, embedder: str, chunker: str, versions: Mapping[UUID, int], limit: int
) -> list[ChunkCollection]:
    """Other generations with the same embedder and chunker that hold these messages; those that hold most first."""
    parameters = {"progress_id": progress_id, "embedder": embedder, "chunker": chunker, "at_most": limit}
    found: dict[UUID, ChunkCollection] = {}
    for some in pages(versions):
        rows = db.execute(_sources(), {**parameters, "ids": some})
        for source_id, base_id, name, collection_id, message_id, version, chunks in rows:
            if version == versions[message_id]:
                source = found.setdefault(source_id, ChunkCollection(base_id, name, collection_id, {}))
                source.chunks[message_id] = chunks
    return sorted(found.values(), key=lambda source: -len(source.chunks))


@lru_cache
def _sources() -> sa.Select[UUID, UUID, str, UUID, UUID, int, int]:
    target = aliased(SessionProgress)
    alike = (
        sa.select(
            SessionProgress.id,
            Generation.memory_base_id,
            Generation.collection_name,
            Generation.collection_id,
        )
        .join(
            target,
            sa.and_(target.flow_id == SessionProgress.flow_id, target.session_id == SessionProgress.session_id),
        )
        .join(
            Generation,
            sa.and_(
                Generation.memory_base_id == SessionProgress.memory_base_id,
                Generation.generation == SessionProgress.generation,
            ),
        )
        .where(
            target.id == sa.bindparam("progress_id"),
            SessionProgress.id != sa.bindparam("progress_id"),
            Generation.embedder == sa.bindparam("embedder"),
            Generation.chunker == sa.bindparam("chunker"),
        )
        .order_by(SessionProgress.cursor_seq.desc(), SessionProgress.id)
        .limit(sa.bindparam("at_most", type_=sa.Integer))
        .subquery()
    )
    return (
        sa.select(alike, Entry.message_id, Entry.version, Entry.chunks)
        .join(Entry, Entry.progress_id == alike.c.id)
        .where(Entry.message_id.in_(sa.bindparam("ids", expanding=True)))
    )


def chunks_by_session(
    db: OrmSession, base_id: UUID, generation: int, *, after: str, limit: int
) -> list[tuple[str, UUID, int]]:
    """The generation's next sessions, (session id, row, chunks that it must have), in the order of an index."""
    page = sa.select(SessionProgress.session_id, SessionProgress.id, SessionProgress.total_chunks).where(
        SessionProgress.memory_base_id == base_id,
        SessionProgress.generation == generation,
        SessionProgress.session_id > after,
    )
    return [(*row,) for row in db.execute(page.order_by(SessionProgress.session_id).limit(limit))]


def held_chunks(
    db: OrmSession, base_id: UUID, generation: int, message_ids: Collection[UUID]
) -> dict[tuple[UUID, int, int], UUID]:
    """The generation's chunks of these messages, by message, version and index, each with its session row."""
    of_generation = (Entry.memory_base_id == base_id, Entry.generation == generation)
    columns = sa.select(Entry.progress_id, Entry.message_id, Entry.version, Entry.chunks)
    return {
        (message_id, version, index): progress_id
        for some in pages(message_ids)
        for progress_id, message_id, version, chunks in db.execute(
            columns.where(*of_generation, Entry.message_id.in_(some))
        )
        for index in range(chunks)
    }


def newest_entries(db: OrmSession, base_id: UUID, generation: int, *, limit: int) -> list[EntryWithMessage]:
    """The entries that were written last, of the sessions that were written last; edits count like new messages."""
    of_generation = (SessionProgress.memory_base_id == base_id, SessionProgress.generation == generation)
    sessions = db.scalars(
        sa.select(SessionProgress.id)
        .where(*of_generation, SessionProgress.last_sync_at.is_not(None))
        .order_by(SessionProgress.last_sync_at.desc())
        .limit(NEWEST_SESSIONS)
    ).all()
    written = sa.case((Message.edited_at > Entry.ingested_at, Message.edited_at), else_=Entry.ingested_at)
    rows = db.execute(
        _with_messages()
        .where(Entry.progress_id.in_(sessions))
        .order_by(written.desc().nulls_last(), Entry.message_id)
        .limit(limit)
    )
    return [EntryWithMessage(*row) for row in rows]


def entries_after(
    db: OrmSession, base_id: UUID, generation: int, after: tuple[UUID, UUID] | None, *, limit: int
) -> list[EntryWithMessage]:
    """The generation's next entries, by session row and message."""
    statement = _with_messages().where(Entry.memory_base_id == base_id, Entry.generation == generation)
    if after is not None:
        statement = statement.where(sa.tuple_(Entry.progress_id, Entry.message_id) > sa.tuple_(*after))
    rows = db.execute(statement.order_by(Entry.progress_id, Entry.message_id).limit(limit))
    return [EntryWithMessage(*row) for row in rows]


def entries_of_messages(
    db: OrmSession, base_id: UUID, generation: int, message_ids: Collection[UUID]
) -> list[EntryWithMessage]:
    """The generation's entries of these messages."""
    of_generation = (Entry.memory_base_id == base_id, Entry.generation == generation)
    return [
        EntryWithMessage(*row)
        for some in pages(message_ids)
        for row in db.execute(_with_messages().where(*of_generation, Entry.message_id.in_(some)))
    ]


def _with_messages() -> sa.Select[UUID, UUID, int, int, int, Any]:
    return sa.select(
        Entry.progress_id, Entry.message_id, Entry.version, Entry.chunks, Message.version, Message.content
    ).outerjoin(Message, Message.id == Entry.message_id)


def delete(db: OrmSession, progress_id: UUID, ids: Collection[UUID]) -> None:
    for some in pages(ids):
        db.execute(sa.delete(Entry).where(Entry.progress_id == progress_id, Entry.message_id.in_(some)))


class Covered(NamedTuple):
    """What a session's row in a generation has ingested: the counted messages of (start_seq, cursor_seq]."""

    progress_id: UUID
    flow_id: UUID
    session_id: str
    capture: Capture
    start_seq: int
    cursor_seq: int


def messages_to_write(
    db: OrmSession, covered: Covered, *, also: Collection[UUID], limit: int, max_bytes: int
) -> tuple[list[CountedMessage], bool]:
    """Covered messages that are missing in the ledger or have another version there, in seq order, at least one and
    within the bytes; and whether these are all.

    Messages in `also` are included whatever the ledger says. Settled dead letters of the same version are left out.
    """
    wanted = _to_write(covered, also)
    sized = wanted.with_only_columns(Message.seq, Message.text_bytes, maintain_column_froms=True)
    sizes = [MessageSize(*row) for row in db.execute(sized.limit(limit + 1))]
    count = count_within(sizes[:limit], max_bytes)
    rows = db.execute(wanted.where(Message.seq <= sizes[count - 1].seq)) if sizes else ()
    return [CountedMessage(*row) for row in rows], count == len(sizes)


def first_message_to_write(db: OrmSession, covered: Covered) -> CountedMessage | None:
    """The first of `messages_to_write`."""
    row = db.execute(_to_write(covered).limit(1)).one_or_none()
    return None if row is None else CountedMessage(*row)


def _to_write(covered: Covered, also: Collection[UUID] = ()) -> AnySelect:
    entry = sa.and_(Entry.message_id == Message.id, Entry.progress_id == covered.progress_id)
    differs = sa.or_(Entry.message_id.is_(None), Entry.version != Message.version, Message.id.in_(also))
    return (
        counted_columns()
        .outerjoin(Entry, entry)
        .where(
            Message.session_uuid == key_of(covered.flow_id, covered.session_id),
            is_due(covered.capture, sa.literal(covered.start_seq), sa.literal(covered.cursor_seq)),
            differs,
            ~_settled(covered.progress_id),
        )
        .order_by(Message.seq)
    )


def obsolete_entries(db: OrmSession, progress_id: UUID, *, capture: Capture, limit: int) -> list[HeldMessage]:
    """Entries of messages that are deleted, forgotten or no longer counted, or that are settled dead letters in their
    current version.

    Also of messages beyond the cursor: they were deleted and captured again, and the entry is the old one.
    """
    rows = db.execute(
        sa.select(Entry.message_id, Entry.version, Entry.chunks)
        .join(SessionProgress, SessionProgress.id == Entry.progress_id)
        .outerjoin(Message, _is_message(Entry.message_id))
        .where(
            Entry.progress_id == progress_id,
            sa.or_(
                Message.id.is_(None),
                sa.not_(is_counted(capture)),
                Message.seq > SessionProgress.cursor_seq,
                Message.seq <= SessionProgress.start_seq,
                _settled(Entry.progress_id),
            ),
        )
        .limit(limit)
    )
    return [HeldMessage(*row) for row in rows]


def _is_message(message_id: sa.SQLColumnExpression[UUID]) -> sa.ColumnElement[bool]:
    """The message with that id, in the session of the joined row."""
    return sa.and_(Message.id == message_id, Message.session_uuid == SessionProgress.session_uuid)


def _settled(progress_id: UUID | sa.SQLColumnExpression[UUID]) -> sa.Exists:
    return (
        sa.exists()
        .where(
            DeadLetter.progress_id == progress_id,
            DeadLetter.message_id == Message.id,
            DeadLetter.version == Message.version,
            DeadLetter.state.in_(SETTLED),
        )
        .correlate(Message, Entry)
    )


def chunks_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    """Number of chunks of a session in all generations, according to the ledger."""
    row = SessionProgress
    total = db.scalar(
        sa.select(sa.func.sum(LedgerEntry.chunks))
        .join(row, row.id == LedgerEntry.progress_id)
        .where(row.flow_id == flow_id, row.session_id == session_id)
    )
    return int(total or 0)


def chunks_of_messages(db: OrmSession, flow_id: UUID, session_id: str, ids: Collection[UUID]) -> int:
    """Number of chunks of these messages of a session in all generations, according to the ledger."""
    row = SessionProgress
    held = sa.select(sa.func.sum(Entry.chunks)).join(row, row.id == Entry.progress_id)
    mine = (row.flow_id == flow_id, row.session_id == session_id)
    return sum(int(db.scalar(held.where(*mine, Entry.message_id.in_(some))) or 0) for some in pages(ids))


def chunks_of_message(db: OrmSession, flow_id: UUID, session_id: str, message_id: UUID) -> list[tuple[UUID, str, int]]:
    """The memory bases that hold a message: id, knowledge base and chunks in all generations, according to the
    ledgers."""
    rows = db.execute(
        sa.select(MemoryBase.id, MemoryBase.kb_name, sa.func.sum(Entry.chunks))
        .join(SessionProgress, SessionProgress.id == Entry.progress_id)
        .join(MemoryBase, MemoryBase.id == Entry.memory_base_id)
        .where(
            SessionProgress.flow_id == flow_id,
            SessionProgress.session_id == session_id,
            Entry.message_id == message_id,
        )
        .group_by(MemoryBase.id, MemoryBase.kb_name)
        .order_by(MemoryBase.kb_name)
    )
    return [(base_id, kb_name, int(chunks)) for base_id, kb_name, chunks in rows]
