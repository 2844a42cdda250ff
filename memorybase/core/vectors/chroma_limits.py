"""Limits of one request to a Chroma server: anything that the adapter sends, or the quotas of Chroma Cloud.

A request over a quota is refused with a status that looks like an outage, so records are checked before they are
sent.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.core.errors import VectorRejected
from memorybase.core.vectors.store import VectorRecord

NONE = sys.maxsize


@dataclass(frozen=True, slots=True)
class Limits:
    """`records`: in one write, read or page, and the results of a query. Sizes are in bytes of UTF-8."""

    records: int = NONE
    document: int = NONE
    record_id: int = NONE
    dimensions: int = NONE
    keys: int = NONE
    key: int = NONE
    value: int = NONE
    collection_value: int = NONE
    conditions: int = NONE

    def check(self, records: Sequence[VectorRecord]) -> None:
        """Raises VectorRejected for a record that the server would refuse, whatever else the request holds."""
        if self == UNLIMITED:
            return
        for record in records:
            values = [value for value in record.metadata.values() if isinstance(value, str)]
            sizes = (
                ("the id", len(record.id.encode()), self.record_id),
                ("the vector's dimension", record.vector.size, self.dimensions),
                ("the number of metadata keys", len(record.metadata), self.keys),
                ("a metadata key", max((len(key.encode()) for key in record.metadata), default=0), self.key),
                ("a metadata value", max((len(value.encode()) for value in values), default=0), self.value),
            )
            for what, size, limit in sizes:
                if size > limit:
                    raise VectorRejected(reason=f"{what} has {size}, more than {limit}", record_id=ascii(record.id))

    def check_where(self, where: Mapping[str, Any] | None) -> None:
        """Raises VectorRejected for a query with too many conditions."""
        if where and len(where) > self.conditions:
            raise VectorRejected(reason=f"{len(where)} conditions, more than {self.conditions}")

    def document_of(self, text: str) -> str:
        """The text, cut to what is stored of it. SQL has the whole text."""
        return _cut(text, self.document)

    def collection_metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata with long texts cut: only ids and times are read back."""
        return {
            key: _cut(value, self.collection_value) if isinstance(value, str) else value
            for key, value in metadata.items()
        }


UNLIMITED = Limits()
CLOUD = Limits(
    records=300,
    document=16_384,
    record_id=128,
    dimensions=4_096,
    keys=32,
    key=36,
    value=4_096,
    collection_value=256,
    conditions=8,
)


def _cut(text: str, size: int) -> str:
    if len(text) * 4 <= size:  # at most four bytes a character
        return text
    return text.encode()[:size].decode(errors="ignore")
