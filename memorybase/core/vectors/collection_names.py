"""Names of collections: their owner, a random part, so that no name is ever used twice, and the store.

The name of a collection in pgvector ends in `.pgvector`; without a suffix the collection is in Chroma.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID, uuid4

from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName

_SUFFIX = "|".join(re.escape(store.suffix) for store in VECTOR_STORES.values())
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Collections created by earlier versions have no random part.
_OF_GENERATION = re.compile(f"mb-({_UUID})-g[1-9][0-9]{{0,8}}(?:-[0-9a-f]{{8}})?(?:{_SUFFIX})")
_OF_KNOWLEDGE_BASE = re.compile(f"knowledge-({_UUID})(?:-[0-9a-f]{{8}})?(?:{_SUFFIX})")


class Owner(NamedTuple):
    """Owner of a collection, by its name; one of the two is set."""

    memory_base_id: UUID | None
    knowledge_base_id: UUID | None


def of_generation(base_id: UUID, generation: int, store: VectorStoreName) -> str:
    """A new name for a generation of a memory base."""
    return f"mb-{base_id}-g{generation}-{uuid4().hex[:8]}{VECTOR_STORES[store].suffix}"


def of_knowledge_base(kb_id: UUID, store: VectorStoreName) -> str:
    """A new name for an ordinary knowledge base."""
    return f"knowledge-{kb_id}-{uuid4().hex[:8]}{VECTOR_STORES[store].suffix}"


def store_of(name: str) -> VectorStoreName:
    """The store that has the collection of this name; its URL may be in the settings no more."""
    fitting = (store for store, kind in VECTOR_STORES.items() if name.endswith(kind.suffix))
    return max(fitting, key=lambda store: len(VECTOR_STORES[store].suffix))  # every name ends in the empty suffix


def owner(name: str) -> Owner | None:
    """Owner of this collection; None for a name that memorybase does not give."""
    if parsed := _OF_GENERATION.fullmatch(name):
        return Owner(UUID(parsed[1]), None)
    if parsed := _OF_KNOWLEDGE_BASE.fullmatch(name):
        return Owner(None, UUID(parsed[1]))
    return None
