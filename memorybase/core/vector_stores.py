"""The vector stores that there are, and what the rest of memorybase knows of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

VectorStoreName = Literal["chroma", "pgvector"]


@dataclass(frozen=True, slots=True)
class VectorStoreKind:
    """Differences between stores, outside of their adapters."""

    label: str  # for people
    url: str  # the setting with its address; the property `resolved_{url}` of the settings has a default for it
    suffix: str  # of the names of its collections; one store has none
    value_bytes: int  # of one number of a vector: 4 for 32 bits
    server: str = ""  # what people start; empty: `memorybase up` does


VECTOR_STORES: Mapping[VectorStoreName, VectorStoreKind] = {
    "chroma": VectorStoreKind(label="Chroma", url="chroma_url", suffix="", value_bytes=4),
    "pgvector": VectorStoreKind(
        label="pgvector", url="pgvector_url", suffix=".pgvector", value_bytes=2, server="PostgreSQL"
    ),
}
