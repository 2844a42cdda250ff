"""Compares the newest chunks of a memory base with its ledger."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.messages import message_text
from memorybase.core.models import MemoryBase
from memorybase.core.queries import cursors, ledger
from memorybase.core.queries.ledger import EntryWithMessage
from memorybase.core.services import Services
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef

# After one of the two was restored from a backup, numbers of chunks may agree by chance, and comparing every id takes
# long. What was written last is in one of them alone, and reading a few of these chunks costs the same in any store.
NEWEST_MESSAGES = 10
NEWEST_STORED = 10  # chunks


@dataclass(frozen=True, slots=True)
class NewestChunks:
    """Differences among the newest chunks, without sessions in flight.

    `unreadable` chunks are missing, or their vector is. `altered` ones have a text that is not their message's.
    """

    unreadable: set[str]
    extra: set[str]
    altered: set[str]

    def __bool__(self) -> bool:
        return bool(self.unreadable or self.extra or self.altered)


def compare_newest(services: Services, base: MemoryBase, ref: CollectionRef) -> NewestChunks:
    """Compare the newest chunks of the serving generation. Raises VectorStoreUnavailable and CollectionMissing."""
    tail = services.vectors.newest_ids(ref, NEWEST_STORED)
    parsed = {id_: chunk_ids.parse_chunk_id(id_) for id_ in tail}
    with services.database.reading() as db:
        busy = cursors.busy_sessions(db, base.id, base.serving)
        newest = ledger.newest_entries(db, base.id, base.serving, limit=NEWEST_MESSAGES)
        named = ledger.entries_of_messages(
            db, base.id, base.serving, {chunk.message_id for chunk in parsed.values() if chunk}
        )
    expected = {id_: entry for entry in newest for id_ in _outer_chunks(base, entry)}
    held = {(entry.message_id, entry.version): entry for entry in named}
    extra = set()
    for id_, chunk in parsed.items():
        entry = held.get((chunk.message_id, chunk.version)) if chunk else None
        if chunk is None or entry is None or chunk.index >= entry.chunks:
            extra.add(id_)
        else:
            expected[id_] = entry
    expected = {id_: entry for id_, entry in expected.items() if entry.progress_id not in busy}
    stored = services.vectors.fetch(ref, list(expected))
    altered = {id_ for id_, record in stored.items() if not _is_of(record.text, expected[id_])}
    if busy and extra:  # what an active job has written is not in the ledger yet
        with services.database.reading() as db:
            extra -= chunks_in_flight(db, base, extra, busy)
    return NewestChunks(expected.keys() - stored.keys(), extra, altered)


def _outer_chunks(base: MemoryBase, entry: EntryWithMessage) -> set[str]:
    """The ids of a message's first and last chunk; none of a message without text."""
    return {
        chunk_ids.chunk_id(base.id, entry.message_id, entry.version, index)
        for index in {0, entry.chunks - 1}
        if 0 <= index < entry.chunks
    }


def _is_of(text: str, entry: EntryWithMessage) -> bool:
    """Whether this is a part of the message's text; an edit that is still to be ingested proves nothing."""
    return entry.message_version != entry.version or text in message_text(entry.content)


def chunks_in_flight(db: OrmSession, base: MemoryBase, chunks: set[str], busy: set[UUID]) -> set[str]:
    """The chunks among these that belong to messages of busy sessions."""
    messages: dict[UUID, list[str]] = {}
    for chunk in chunks:
        parsed = chunk_ids.parse_chunk_id(chunk)
        if parsed is not None:
            messages.setdefault(parsed.message_id, []).append(chunk)
    owners = cursors.sessions_of_messages(db, base, messages)
    return {chunk for message_id, row in owners.items() if row in busy for chunk in messages[message_id]}
