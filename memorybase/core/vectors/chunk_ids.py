"""Deterministic chunk ids of memory base, message, version and index: writing a chunk twice stores it once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NUMBER = "0|[1-9][0-9]{0,17}"
_CHUNK_ID = re.compile(f"({_UUID}):({_UUID}):({_NUMBER}):({_NUMBER})")


class ChunkId(NamedTuple):
    """The parts of a chunk's id."""

    base_id: UUID
    message_id: UUID
    version: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not used here


def chunk_id(base_id: UUID, message_id: UUID, version: int, index: int) -> str:
    """The id of a stored chunk: writing it again overwrites it."""
    return f"{base_id}:{message_id}:{version}:{index}"


def chunk_ids(base_id: UUID, message_id: UUID, version: int, count: int) -> list[str]:
    """The ids of a message's chunks, in order."""
    prefix = chunk_id(base_id, message_id, version, 0)[:-1]  # a search builds hundreds, and formatting a UUID is slow
    return [f"{prefix}{index}" for index in range(count)]


def parse_chunk_id(text: str) -> ChunkId | None:
    """The parts of a chunk id; None for any other text."""
    parsed = _CHUNK_ID.fullmatch(text)
    if parsed is None:
        return None
    base, message, version, index = parsed.groups()
    return ChunkId(_base_id(base), UUID(message), int(version), int(index))


@lru_cache(maxsize=256)
def _base_id(text: str) -> UUID:
    """The memory base's id from text, cached: hundreds of chunks of a search nearly always have the same."""
    return UUID(text)
