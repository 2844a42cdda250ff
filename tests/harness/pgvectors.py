"""The pgvector adapter with the hooks of the store in memory: the state machine's hand on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from harness.doubles import Faults
from memorybase.core.errors import MemorybaseError, VectorStoreUnavailable
from memorybase.core.vectors import pgvector_layout as layout
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.pgvector_values import decode
from memorybase.core.vectors.store import CollectionRef, VectorRecord

INDEX_ABOVE = 2


class HookedPgVectors(PgVectorStore):
    """Fails when it is told to, and moves collections of three records. It begins without any collection."""

    def __init__(self, url: str) -> None:
        super().__init__(url, index_above=INDEX_ABOVE)
        self.away = False
        self.before_upsert: Callable[[CollectionRef, Sequence[VectorRecord]], object] | None = None
        self.after_upsert: Callable[[CollectionRef, Sequence[VectorRecord]], object] | None = None
        self._faults = Faults()
        self._looking = PgVectorStore(url, pool_size=1)  # sees it even when it is away
        for name in self.names():
            self._looking.delete_collection(name)

    def fail_next(self, error: MemorybaseError, *, on: str | None = None, times: int = 1) -> None:
        """Raise this error from the next calls, of any operation or of `on`."""
        self._faults.add(error, on=on, times=times)

    def names(self) -> list[str]:
        """The names of all collections."""
        return sorted(each.ref.name for each in self._looking.list_collections())

    def records(self, ref: CollectionRef) -> dict[str, VectorRecord]:
        """The collection's records, by id. Raises CollectionMissing."""
        collection = self._looking._look_up(ref)
        if collection.dimension is None:
            return {}
        rows = self._looking._rows(
            "records",
            "SELECT id, halfvec_send(embedding), text, metadata"
            f" FROM {layout.table_of(collection)} WHERE collection = %(number)s",
            {"number": collection.number},
        )
        return {
            id_: VectorRecord(id_, decode(vector), bytes(text).decode(), metadata)
            for id_, vector, text, metadata in rows
        }

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        if self.before_upsert is not None:
            self.before_upsert(ref, records)
        super().upsert(ref, records)
        if self.after_upsert is not None:
            self.after_upsert(ref, records)

    def delete_collection(self, name: str) -> None:
        self._fail("delete_collection")
        super().delete_collection(name)

    def index(self, ref: CollectionRef) -> bool:
        self._fail("index")
        return super().index(ref)

    def maintain(self, *, leave: Collection[UUID] = ()) -> int:
        self._fail("maintain")
        return super().maintain(leave=leave)

    def close(self) -> None:
        super().close()
        self._looking.close()

    def _rows(
        self, operation: str, statement: str, parameters: Mapping[str, Any], settings: str | None = None
    ) -> Sequence[Any]:
        self._fail(operation)
        return super()._rows(operation, statement, parameters, settings)

    def _fail(self, operation: str) -> None:
        if self.away:
            raise VectorStoreUnavailable(operation=operation, reason="away")
        self._faults.raise_due(operation)
