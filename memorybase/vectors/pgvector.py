"""The pgvector adapter: a VectorStore in PostgreSQL, exact and in half precision.

Half precision halves what a search reads, and changes a score by less than 0.0002.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memorybase.database import postgresql
from memorybase.database.engine import Database
from memorybase.errors import (
    CollectionMissing,
    DimensionMismatch,
    MemorybaseError,
    VectorRejected,
    VectorStoreUnavailable,
)
from memorybase.vectors import pgvector_layout as layout
from memorybase.vectors.pgvector_filters import condition
from memorybase.vectors.store import (
    CHECK_COLLECTION,
    CHECK_ID,
    CHECK_SECONDS,
    COLLECTION_NAME,
    CollectionRef,
    MetadataValue,
    StoredCollection,
    StoredVector,
    VectorHit,
    VectorRecord,
    as_score,
    batches,
    check_records,
)

BATCH = 1_000  # records or ids in one statement
ID_PAGE = 5_000
KNOWN_COLLECTIONS = 10_000
# A record is reached by any vector this near: two computations of one text's vector may differ.
SAME_DISTANCE = 1e-3
NOT_CREATED = frozenset({"42P01", "3F000"})  # SQLSTATE: the table or the schema does not exist
DATA_ERRORS = "22"  # the class of SQLSTATEs of invalid values
TOO_LARGE = "54000"  # SQLSTATE: for example an id that no index can hold


class _Collection(NamedTuple):
    """A row of the table of collections; both values never change once there is a dimension."""

    number: int
    dimension: int | None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value in PostgreSQL's binary format."""

    data: bytes


class EncodedDumper(Dumper):
    """Sends an encoded value; a cast in the statement names its type."""

    format = Format.BINARY

    def dump(self, obj: Encoded) -> bytes:
        return obj.data


class PgVectorStore:
    """PostgreSQL 14 or newer with pgvector 0.7 or newer. The constructor does not connect; calls reconnect."""

    def __init__(self, url: str, *, pool_size: int = 4) -> None:
        self._database = Database(url, pool_size=pool_size)
        self._engine = self._database.engine
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._known: dict[UUID, _Collection] = {}

        @sa.event.listens_for(self._engine, "connect")
        def _connect(connection: Any, _record: object) -> None:
            connection.adapters.register_dumper(Encoded, EncodedDumper)

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        if not COLLECTION_NAME.fullmatch(name):
            raise VectorRejected(reason="the collection's name")
        parameters = {"id": uuid4(), "name": name, "metadata": json.dumps(dict(metadata))}
        try:
            created = self._rows("create_collection", layout.CREATE, parameters)
        except CollectionMissing:
            self._create_layout()
            created = self._rows("create_collection", layout.CREATE, parameters)
        if not created:
            raise VectorRejected(reason="the collection exists")
        return CollectionRef(name, created[0][0])

    def delete_collection(self, name: str) -> None:
        try:
            with self._errors("delete_collection"), self._engine.begin() as connection:
                removed = connection.exec_driver_sql(layout.REMOVE, {"name": name}).first()
                if removed is not None and removed.dimension is not None:
                    statement = layout.statements(removed.dimension).drop_rows
                    connection.exec_driver_sql(statement, {"number": removed.number})
        except CollectionMissing:
            return

    def collection_exists(self, ref: CollectionRef) -> bool:
        try:
            return bool(self._rows("collection_exists", layout.EXISTS, {"id": ref.id, "name": ref.name}))
        except CollectionMissing:
            return False

    def list_collections(self) -> list[StoredCollection]:
        try:
            rows = self._rows("list_collections", layout.LIST, {})
        except CollectionMissing:
            return []
        return [StoredCollection(CollectionRef(row.name, row.id), row.metadata) for row in rows]

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        check_records(records)
        for batch in batches(records, BATCH):
            collection = self._of_dimension(ref, batch[0].vector.size)
            statement = layout.statements(batch[0].vector.size).upsert
            if self._rows("upsert", statement, self._parameters(collection, batch))[0][0] == 0:
                raise self._missing(ref)

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        return {row.id for batch in batches(ids, BATCH) for row in self._of_ids("stored_ids", ref, batch)}

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        reached: set[str] = set()
        for batch in batches(records, BATCH):
            collection = self._find(ref)
            if collection.dimension is None:
                return set()
            for record in batch:
                _check_dimension(collection, record.vector)
            parameters = {
                "ids": [record.id for record in batch],
                "vectors": _encode_all([record.vector for record in batch]),
                "distance": SAME_DISTANCE,
            }
            statement = layout.statements(collection.dimension).reached
            reached |= {row.id for row in self._read("reached_ids", ref, collection, statement, parameters)}
        return reached

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        found: dict[str, StoredVector] = {}
        for batch in batches(list(dict.fromkeys(ids)), BATCH):
            for id_, vector, text in self._of_ids("fetch" if texts else "fetch_without_texts", ref, batch):
                found[id_] = StoredVector(_decode(vector), bytes(text or b"").decode())
        return found

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        for batch in batches(ids, BATCH):
            collection = self._find(ref)
            if collection.dimension is None:
                return
            with self._errors("delete"), self._single.connect() as connection:
                statement = layout.statements(collection.dimension).delete
                deleted = connection.exec_driver_sql(statement, {"number": collection.number, "ids": batch}).rowcount
            if not deleted:
                self._check_exists(ref)

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        collection = self._find(ref)
        if collection.dimension is None:
            return
        parameters: dict[str, Any] = {"after": "", "limit": ID_PAGE}
        where = None if session_id is None else {"session_id": session_id}
        statement = layout.statements(collection.dimension).page(condition(where, parameters))
        while page := [row.id for row in self._read("iter_ids", ref, collection, statement, parameters)]:
            yield page
            parameters["after"] = page[-1]

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        collection = self._find(ref)
        if collection.dimension is None:
            return []
        statement = layout.statements(collection.dimension).newest
        return [row.id for row in self._read("newest_ids", ref, collection, statement, {"limit": limit})]

    def count(self, ref: CollectionRef) -> int:
        collection = self._find(ref)
        if collection.dimension is None:
            return 0
        statement = layout.statements(collection.dimension).count
        count = int(self._rows("count", statement, {"number": collection.number})[0][0])
        if not count:
            self._check_exists(ref)
        return count

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
    ) -> list[VectorHit]:
        if limit < 1:
            return []
        collection = self._find(ref)
        if collection.dimension is None:
            return []
        _check_dimension(collection, vector)
        parameters: dict[str, Any] = {"vector": _encode(vector), "limit": limit}
        statement = layout.statements(collection.dimension).query(condition(where, parameters), texts=texts)
        return [
            VectorHit(id_, as_score(distance), bytes(text or b"").decode(), metadata or {})
            for id_, distance, text, metadata in self._read("query", ref, collection, statement, parameters)
        ]

    def ping(self) -> None:
        try:
            with self._check("ping") as connection:
                connection.exec_driver_sql(layout.FIND_BY_NAME, {"name": CHECK_COLLECTION})
        except CollectionMissing:
            return

    def check_writes(self) -> None:
        collection = self._of_dimension(self._check_collection(), 1)
        statements = layout.statements(1)
        # The metadata differ each time: what is unchanged would not be written.
        record = VectorRecord(CHECK_ID, np.ones(1, dtype=np.float32), "", {"checked": uuid4().hex})
        parameters = self._parameters(collection, [record])
        with self._check("check_writes") as connection:
            connection.exec_driver_sql(statements.upsert, parameters)
            if connection.exec_driver_sql(statements.stored, parameters).first() is None:
                raise VectorStoreUnavailable(operation="check_writes", reason="the record could not be read back")

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._database.dispose()

    @contextmanager
    def _check(self, operation: str) -> Iterator[sa.Connection]:
        # Within a transaction, because a connection pooler gives the connection to others afterwards.
        with self._errors(operation), self._engine.begin() as connection:
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{CHECK_SECONDS}s'")
            yield connection

    def _check_collection(self) -> CollectionRef:
        for _ in range(2):
            try:
                if rows := self._rows("check_writes", layout.FIND_BY_NAME, {"name": CHECK_COLLECTION}):
                    return CollectionRef(CHECK_COLLECTION, rows[0][0])
                return self.create_collection(CHECK_COLLECTION, {})
            except CollectionMissing:
                self._create_layout()
            except VectorRejected:  # another process has just created it
                continue
        raise VectorStoreUnavailable(operation="check_writes", reason="no collection")

    def _of_ids(self, kind: str, ref: CollectionRef, ids: Sequence[str]) -> Sequence[Any]:
        collection = self._find(ref)
        if collection.dimension is None:
            return []
        statements = layout.statements(collection.dimension)
        statement = {
            "stored_ids": statements.stored,
            "fetch": statements.fetch,
            "fetch_without_texts": statements.fetch_without_texts,
        }[kind]
        return self._read(kind, ref, collection, statement, {"ids": list(ids)})

    def _read(
        self, operation: str, ref: CollectionRef, collection: _Collection, statement: str, parameters: dict[str, Any]
    ) -> Sequence[Any]:
        """The rows of one collection. Only if there are none can the collection have been deleted."""
        rows = self._rows(operation, statement, parameters | {"number": collection.number})
        if not rows:
            self._check_exists(ref)
        return rows

    def _rows(self, operation: str, statement: str, parameters: dict[str, Any]) -> Sequence[Any]:
        with self._errors(operation), self._single.connect() as connection:
            rows = connection.exec_driver_sql(statement, parameters).all()
            if postgresql.take_unconfirmed(connection):
                raise VectorStoreUnavailable(operation=operation, reason="no standby has confirmed the commit")
            return rows

    def _find(self, ref: CollectionRef) -> _Collection:
        """Raises CollectionMissing. A collection without a dimension is empty."""
        known = self._known.get(ref.id)
        if known is None:
            known = self._look_up(ref)
            if known.dimension is not None:
                if len(self._known) >= KNOWN_COLLECTIONS:
                    self._known.clear()
                self._known[ref.id] = known
        return known

    def _look_up(self, ref: CollectionRef) -> _Collection:
        rows = self._rows("find", layout.FIND, {"id": ref.id})
        if not rows:
            raise self._missing(ref)
        return _Collection(*rows[0])

    def _check_exists(self, ref: CollectionRef) -> None:
        self._look_up(ref)

    def _missing(self, ref: CollectionRef) -> CollectionMissing:
        self._known.pop(ref.id, None)
        return CollectionMissing()

    def _of_dimension(self, ref: CollectionRef, dimension: int) -> _Collection:
        """The collection, which gets its dimension with its first record. Raises DimensionMismatch."""
        collection = self._find(ref)
        if collection.dimension is None:
            with self._errors("upsert"), self._engine.begin() as connection:
                layout.lock_layout(connection)
                layout.create_vectors(connection, dimension)
                connection.exec_driver_sql(layout.SET_DIMENSION, {"id": ref.id, "dimension": dimension})
            collection = self._find(ref)
        if collection.dimension != dimension:
            raise DimensionMismatch(expected=collection.dimension, got=dimension)
        return collection

    @staticmethod
    def _parameters(collection: _Collection, records: Sequence[VectorRecord]) -> dict[str, Any]:
        return {
            "number": collection.number,
            "ids": [record.id for record in records],
            "metadata": [json.dumps(dict(record.metadata)) for record in records],
            "texts": [record.text.encode() for record in records],
            "vectors": _encode_all([record.vector for record in records]),
        }

    def _create_layout(self) -> None:
        with self._errors("create_layout"), self._engine.begin() as connection:
            layout.lock_layout(connection)
            self._create_extension(connection)
            if connection.exec_driver_sql(layout.SCHEMA_EXISTS).first() is None:
                connection.exec_driver_sql(f"CREATE SCHEMA {layout.SCHEMA}")
            connection.exec_driver_sql(layout.CREATE_COLLECTIONS)

    def _create_extension(self, connection: sa.Connection) -> None:
        if connection.exec_driver_sql(layout.EXTENSION_EXISTS).first() is not None:
            return
        try:
            connection.exec_driver_sql(layout.CREATE_EXTENSION)
        except sa.exc.DBAPIError as error:
            message = "The database lacks pgvector: install it, and as a superuser run CREATE EXTENSION vector"
            raise VectorStoreUnavailable(message, reason=type(error.orig).__name__) from None

    @contextmanager
    def _errors(self, operation: str) -> Iterator[None]:
        """Raise the driver's errors as ours, without the chain: PostgreSQL quotes whole rows."""
        try:
            yield
        except sa.exc.DBAPIError as error:
            raise _error_of(error, operation) from None
        except sa.exc.SQLAlchemyError as error:
            raise VectorStoreUnavailable(operation=operation, reason=type(error).__name__) from None


def _error_of(error: sa.exc.DBAPIError, operation: str) -> MemorybaseError:
    state = getattr(error.orig, "sqlstate", None) or ""
    reason = type(error.orig).__name__
    if state in NOT_CREATED:
        return CollectionMissing()
    if isinstance(error, sa.exc.DataError) or state.startswith(DATA_ERRORS) or state == TOO_LARGE:
        return VectorRejected(operation=operation, reason=reason)
    return VectorStoreUnavailable(operation=operation, reason=reason)


def _check_dimension(collection: _Collection, vector: NDArray[np.float32]) -> None:
    if collection.dimension != vector.size:
        raise DimensionMismatch(expected=collection.dimension, got=vector.size)


def _encode_all(vectors: Sequence[NDArray[np.float32]]) -> Encoded:
    # One dimension, no nulls, no type (PostgreSQL takes it from the cast), the number of elements, the first index.
    return Encoded(struct.pack(">iiIii", 1, 0, 0, len(vectors), 1) + _elements(np.stack(vectors)))


def _encode(vector: NDArray[np.float32]) -> Encoded:
    return Encoded(_elements(vector[np.newaxis])[4:])


def _elements(vectors: NDArray[np.float32]) -> bytes:
    """Each vector with its length in bytes before it, as in an array."""
    count, dimension = vectors.shape
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which PostgreSQL refuses
        halves = vectors.astype(np.float16)
    fields = [("bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("values", ">f2", (dimension,))]
    elements = np.zeros(count, dtype=fields)
    elements["bytes"], elements["dimension"], elements["values"] = 4 + 2 * dimension, dimension, halves
    return elements.tobytes()


def _decode(data: bytes) -> NDArray[np.float32]:
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float32)
