"""Names of collections: what they belong to, a random part, so that no name is ever used twice, and the server.

A name ends in the server that has the collection: `.chroma-east`, `.pgvector`, or nothing for the Chroma server of
`chroma_url`.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID, uuid4

from memorybase.settings import VectorStoreName

_SERVER = "(?:pgvector|chroma-[a-z0-9-]{1,24})"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Collections created by earlier versions have no random part.
_OF_GENERATION = re.compile(f"mb-({_UUID})-g[1-9][0-9]{{0,8}}(?:-[0-9a-f]{{8}})?(?:[.]{_SERVER})?")
_OF_KNOWLEDGE_BASE = re.compile(f"knowledge-({_UUID})(?:-[0-9a-f]{{8}})?(?:[.]{_SERVER})?")
UNNAMED = "chroma"  # the Chroma server of chroma_url


class Owner(NamedTuple):
    """What a collection belongs to, by its name; one of the two is set."""

    memory_base_id: UUID | None
    knowledge_base_id: UUID | None


def of_generation(base_id: UUID, generation: int, server: str) -> str:
    """A new name for a generation of a memory base."""
    return f"mb-{base_id}-g{generation}-{uuid4().hex[:8]}{suffix_of(server)}"


def of_knowledge_base(kb_id: UUID, server: str) -> str:
    """A new name for an ordinary knowledge base."""
    return f"knowledge-{kb_id}-{uuid4().hex[:8]}{suffix_of(server)}"


def suffix_of(server: str) -> str:
    """The end of the names of a server's collections."""
    return "" if server == UNNAMED else f".{server}"


def server_of(name: str) -> str:
    """The server that has the collection of this name; its URL may be in the settings no more."""
    return name.partition(".")[2] or UNNAMED


def kind_of(server: str) -> VectorStoreName:
    """The kind of store that a server is."""
    return "pgvector" if server == "pgvector" else "chroma"


def store_of(name: str) -> VectorStoreName:
    """The kind of store that has the collection of this name."""
    return kind_of(server_of(name))


def owner(name: str) -> Owner | None:
    """Whose collection this is; None for a name that memorybase does not give."""
    if parsed := _OF_GENERATION.fullmatch(name):
        return Owner(UUID(parsed[1]), None)
    if parsed := _OF_KNOWLEDGE_BASE.fullmatch(name):
        return Owner(None, UUID(parsed[1]))
    return None
