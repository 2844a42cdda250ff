"""What each server of the vector stores holds, as far as this database knows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import Document, Generation, GenerationState, KnowledgeBase, MemoryBase, SessionProgress
from memorybase.vectors.collection_names import server_of

# A collection costs Chroma 2.6 MB of memory once it is used, a chunk 2.2 kB.
CHUNKS_OF_A_COLLECTION = 1_200


@dataclass(frozen=True, slots=True)
class Load:
    """Collections and chunks of one server, or of one memory base."""

    collections: int = 0
    chunks: int = 0

    @property
    def size(self) -> int:
        """What they cost, in chunks."""
        return self.collections * CHUNKS_OF_A_COLLECTION + self.chunks

    def __add__(self, other: Load) -> Load:
        return Load(self.collections + other.collections, self.chunks + other.chunks)


@dataclass(frozen=True, slots=True)
class PlacedBase:
    """A memory base and the server of its serving generation."""

    id: UUID
    user_id: UUID
    name: str
    server: str
    chunks: int
    is_building: bool


def loads(db: OrmSession, servers: Collection[str]) -> dict[str, Load]:
    """The load of each of these servers. It reads a row for each collection and each session's progress."""
    found = dict.fromkeys(servers, Load())
    in_use = sa.or_(Generation.state != GenerationState.RETIRED, Generation.retired_at.is_not(None))
    of_bases = sa.select(Generation.collection_name, sa.func.coalesce(_chunks_of_generation(), 0)).where(in_use)
    of_documents = sa.select(sa.func.sum(Document.chunks)).where(Document.knowledge_base_id == KnowledgeBase.id)
    of_knowledge_bases = sa.select(
        KnowledgeBase.collection_name, sa.func.coalesce(of_documents.scalar_subquery(), 0)
    ).where(KnowledgeBase.memory_base_id.is_(None), KnowledgeBase.collection_name.is_not(None))
    for statement in (of_bases, of_knowledge_bases):
        for name, chunks in db.execute(statement):
            server = server_of(name)
            if server in found:
                found[server] += Load(1, int(chunks))
    return found


def placed_bases(db: OrmSession) -> list[PlacedBase]:
    """Every memory base that is not being deleted, the largest first."""
    chunks = sa.func.coalesce(_chunks_of_generation(), 0)
    statement = (
        sa.select(
            MemoryBase.id, MemoryBase.user_id, MemoryBase.name, Generation.collection_name, chunks, MemoryBase.building
        )
        .join(Generation, (Generation.memory_base_id == MemoryBase.id) & (Generation.generation == MemoryBase.serving))
        .where(MemoryBase.deleting_at.is_(None))
        .order_by(chunks.desc(), MemoryBase.id)
    )
    return [
        PlacedBase(id_, user_id, name, server_of(collection), int(held), building is not None)
        for id_, user_id, name, collection, held, building in db.execute(statement)
    ]


def _chunks_of_generation() -> sa.ScalarSelect[int]:
    of_generation = (
        SessionProgress.memory_base_id == Generation.memory_base_id,
        SessionProgress.generation == Generation.generation,
    )
    return sa.select(sa.func.sum(SessionProgress.total_chunks)).where(*of_generation).scalar_subquery()
