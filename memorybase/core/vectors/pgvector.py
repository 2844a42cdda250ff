"""The pgvector adapter: a VectorStore in PostgreSQL, in half precision, exact for small collections.

Half precision halves what a search reads, and changes a score by less than 0.0002. A large collection gets an HNSW
index, see pgvector_indexes.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from memorybase.core.cache import Cache
from memorybase.core.database import postgresql
from memorybase.core.database.engine import Database
from memorybase.core.errors import (
    CollectionMissing,
    DimensionMismatch,
    VectorRejected,
    VectorStoreUnavailable,
)
from memorybase.core.vectors import pgvector_indexes as indexes
from memorybase.core.vectors import pgvector_layout as layout
from memorybase.core.vectors.pgvector_layout import INDEXED_KEY, Collection, Statements
from memorybase.core.vectors.pgvector_values import (
    Encoded,
    EncodedDumper,
    decode,
    encode,
    encode_all,
    translated_errors,
)
from memorybase.core.vectors.store import (
    CHECK_COLLECTION,
    CHECK_ID,
    CHECK_SECONDS,
    COLLECTION_NAME,
    EXPECTED_CHUNKS,
    TWINS,
    CollectionRef,
    MetadataValue,
    StoredCollection,
    StoredVector,
    VectorHit,
    VectorRecord,
    as_score,
    batches,
    check_records,
    nearest,
)

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

BATCH = 1_000  # records or ids in one statement
ID_PAGE = 5_000
KNOWN_COLLECTIONS = 10_000
INDEX_ABOVE = 5_000  # records in a collection; searching this many without an index takes milliseconds
# A record is reached by any vector this near: two computations of one text's vector may differ.
SAME_DISTANCE = 1e-3
# A query for a vector that is stored nearly always finds it with little effort; it is repeated with that of a search.
EF_SEARCH_OF_ITSELF = 20
NOTHING = (0,)  # what a write or a count returns where the collection is not
MAX_MOVES = 5  # during one call; each takes as long as building an index


def condition(where: Mapping[str, Any] | None, parameters: dict[str, Any]) -> str:
    """The filter as SQL, with its values added to the parameters. Raises VectorRejected for an unknown filter."""
    return _all(where or {}, parameters)


def _all(where: Mapping[str, Any], parameters: dict[str, Any]) -> str:
    return " AND ".join(_one(key, wanted, parameters) for key, wanted in where.items()) or "true"


def _one(key: str, wanted: Any, parameters: dict[str, Any]) -> str:
    if key in {"$and", "$or"}:
        parts = [f"({_all(part, parameters)})" for part in wanted]
        return f"({' AND '.join(parts)})" if key == "$and" else f"({' OR '.join(parts)})"
    (operator, operand), *more = (wanted if isinstance(wanted, Mapping) else {"$eq": wanted}).items()
    if more:
        raise VectorRejected(reason="the filter")
    value = f"metadata -> {_parameter(key, parameters)}::text"
    if operator in {"$eq", "$in"}:
        operands = operand if operator == "$in" else [operand]
        return f"{_indexed(key, operands, parameters)}{value} = ANY({_jsons(operands, parameters)})"
    if operator == "$ne":
        return f"{value} IS DISTINCT FROM {_parameter(_json(operand), parameters)}::jsonb"
    if operator == "$nin":
        return f"({value} = ANY({_jsons(operand, parameters)})) IS NOT TRUE"
    if operator in _COMPARISONS and isinstance(operand, int | float):
        number = f"{_parameter(_json(operand), parameters)}::jsonb"
        return f"(jsonb_typeof({value}) = 'number' AND {value} {_COMPARISONS[operator]} {number})"
    raise VectorRejected(reason="the filter")


def _indexed(key: str, operands: Sequence[Any], parameters: dict[str, Any]) -> str:
    """A condition that an index answers and that holds wherever the filter does."""
    if key != INDEXED_KEY or not all(isinstance(operand, str) for operand in operands):
        return ""
    return f"metadata ->> '{key}' = ANY({_parameter(list(operands), parameters)}::text[]) AND "


def _jsons(operands: Sequence[Any], parameters: dict[str, Any]) -> str:
    return f"{_parameter([_json(operand) for operand in operands], parameters)}::jsonb[]"


def _json(operand: Any) -> str:
    if not isinstance(operand, str | int | float):
        raise VectorRejected(reason="the filter")
    return json.dumps(operand)


def _parameter(value: Any, parameters: dict[str, Any]) -> str:
    name = f"filter_{len(parameters)}"
    parameters[name] = value
    return f"%({name})s"


class PgVectorStore:
    """PostgreSQL 14 or newer with pgvector 0.7 or newer. The constructor does not connect; calls reconnect.

    With pgvector 0.8 collections of more than `index_above` records get an index.
    """

    def __init__(self, url: str, *, pool_size: int = 4, index_above: int = INDEX_ABOVE) -> None:
        self._database = Database(url, pool_size=pool_size)
        self._engine = self._database.engine
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._known: Cache[UUID, Collection] = Cache(KNOWN_COLLECTIONS)
        self._index_above = index_above
        self._indexes = indexes.Indexes(self._engine, above=index_above)

        @sa.event.listens_for(self._engine, "connect")
        def _connect(connection: Any, _record: object) -> None:
            connection.adapters.register_dumper(Encoded, EncodedDumper)

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        if not COLLECTION_NAME.fullmatch(name):
            raise VectorRejected(reason="the collection's name")
        # A large collection starts in a separate table: the shared one would keep the space of rows that move out.
        home = layout.SHARED + self.needs_index(int(metadata.get(EXPECTED_CHUNKS, 0)))
        parameters = {"id": uuid4(), "name": name, "metadata": json.dumps(dict(metadata)), "home": home}
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
            with translated_errors("delete_collection"), self._engine.begin() as connection:
                removed = connection.exec_driver_sql(layout.REMOVE, {"name": name}).first()
                if removed is None or removed.dimension is None:
                    return
                collection = Collection(*removed)
                # Rows in the shared table may be left of a move.
                shared = layout.statements(collection._replace(home=layout.SHARED)).drop_rows
                connection.exec_driver_sql(shared, {"number": collection.number})
        except CollectionMissing:
            return
        self._indexes.drop_table(collection)

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
            self._write("upsert", ref, lambda on: on.upsert, _parameters(batch), dimension=batch[0].vector.size)

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str], *, vectors: bool = True) -> set[str]:  # noqa: ARG002 - a row has its vector
        pages = (
            self._read("stored_ids", ref, lambda on: on.stored, {"ids": list(batch)}) for batch in batches(ids, BATCH)
        )
        return {row.id for page in pages for row in page}

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        reached: set[str] = set()
        for batch in batches(records, BATCH):
            reached |= self._reached(ref, batch, ef_search=EF_SEARCH_OF_ITSELF)
            if rest := [record for record in batch if record.id not in reached]:
                reached |= self._reached(ref, rest, ef_search=None)
        return reached

    def _reached(self, ref: CollectionRef, records: Sequence[VectorRecord], *, ef_search: int | None) -> set[str]:
        parameters = {
            "ids": [record.id for record in records],
            "vectors": encode_all([record.vector for record in records]),
            "distance": SAME_DISTANCE,
            "twins": TWINS,
            "wanted": 0,
            "ef_search": ef_search,
        }
        sizes = {record.vector.size for record in records}
        rows = self._read("reached_ids", ref, lambda on: on.reached, parameters, sizes=sizes, by_index=True)
        return {row.id for row in rows}

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        found: dict[str, StoredVector] = {}
        for batch in batches(list(dict.fromkeys(ids)), BATCH):
            rows = self._read(
                "fetch", ref, lambda on: on.fetch if texts else on.fetch_without_texts, {"ids": list(batch)}
            )
            for id_, vector, text in rows:
                found[id_] = StoredVector(decode(vector), bytes(text or b"").decode())
        return found

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        for batch in batches(ids, BATCH):
            self._write("delete", ref, lambda on: on.delete, {"ids": list(batch)})

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        parameters: dict[str, Any] = {"after": "", "limit": ID_PAGE}
        where = None if session_id is None else {"session_id": session_id}
        holds = condition(where, parameters)
        while page := [row.id for row in self._read("iter_ids", ref, lambda on: on.page(holds), parameters)]:
            yield page
            parameters["after"] = page[-1]

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        return [row.id for row in self._read("newest_ids", ref, lambda on: on.newest, {"limit": limit})]

    def count(self, ref: CollectionRef) -> int:
        rows = self._read("count", ref, lambda on: on.count, {})
        return int(rows[0][0]) if rows else 0

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
        parameters: dict[str, Any] = {"vector": encode(vector), "limit": limit, "wanted": 2 * limit, "ef_search": None}
        holds = condition(where, parameters) if where else None
        rows = self._read(
            "query",
            ref,
            lambda on: on.query(holds, texts=texts),
            parameters,
            sizes={vector.size},
            by_index=holds is None,
        )
        return [
            VectorHit(id_, as_score(distance), bytes(text or b"").decode(), metadata or {})
            for id_, distance, text, metadata in rows
        ]

    def query_among(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        ids: Sequence[str],
        limit: int,  # noqa: ARG002 - reads all
    ) -> list[VectorHit]:
        return nearest(self.fetch(ref, ids, texts=False), vector)

    def ping(self) -> None:
        try:
            with self._check("ping") as connection:
                connection.exec_driver_sql(layout.FIND_BY_NAME, {"name": CHECK_COLLECTION})
        except CollectionMissing:
            return

    def check_writes(self) -> None:
        collection = self._of_dimension(self._check_collection(), 1)
        statements = layout.statements(collection)
        # The metadata differ each time: what is unchanged would not be written.
        record = VectorRecord(CHECK_ID, np.ones(1, dtype=np.float32), "", {"checked": uuid4().hex})
        parameters = _parameters([record]) | _place(collection)
        with self._check("check_writes") as connection:
            connection.exec_driver_sql(statements.upsert, parameters)
            if connection.exec_driver_sql(statements.stored, parameters).first() is None:
                raise VectorStoreUnavailable(operation="check_writes", reason="the record could not be read back")

    def needs_index(self, chunks: int) -> bool:
        """Whether a collection of this number of chunks is large enough for an index."""
        return chunks > self._index_above

    def index(self, ref: CollectionRef) -> bool:
        """Move the collection to a separate table with an index if it has none and can have one; False while another
        index is being built. Reads and writes continue meanwhile."""
        return self._indexes.index(ref.id)

    def maintain(self, *, leave: AnyCollection[UUID] = ()) -> int:
        """Index collections that have grown large, rebuild those with large deletions, drop old tables. Returns the
        number built. `leave` is the ids of collections that are being filled."""
        return self._indexes.maintain(leave)

    def disk_bytes(self) -> int:
        """The size of its tables on disk, with their indexes."""
        ((total,),) = self._rows("disk_bytes", layout.DISK_BYTES, {})
        return int(total)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._database.dispose()

    @contextmanager
    def _check(self, operation: str) -> Iterator[sa.Connection]:
        # Within a transaction, because a connection pooler gives the connection to others afterwards.
        with translated_errors(operation), self._engine.begin() as connection:
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

    def _read(
        self,
        operation: str,
        ref: CollectionRef,
        statement: Callable[[Statements], str],
        parameters: Mapping[str, Any],
        *,
        sizes: AnyCollection[int] = (),
        by_index: bool = False,
    ) -> Sequence[Any]:
        """The rows of one collection. Only if there are none can it have moved or been deleted.

        `sizes`: the dimensions of the given vectors. `by_index`: use the index if there is one.
        """
        for _ in range(MAX_MOVES):
            collection = self._find(ref)
            if collection.dimension is None:
                return []
            for size in sizes:
                _check_dimension(collection, size)
            on = layout.statements(collection)
            settings = on.search_settings if by_index and collection.indexed else None
            rows = self._rows_at(collection, operation, statement(on), parameters, settings)
            if (rows and rows[0] != NOTHING) or not self._has_moved(ref, collection):
                if rows is None:
                    raise self._missing(ref)
                return rows
        raise VectorStoreUnavailable(operation=operation, reason="the collection moves")

    def _write(
        self,
        operation: str,
        ref: CollectionRef,
        statement: Callable[[Statements], str],
        parameters: Mapping[str, Any],
        *,
        dimension: int | None = None,
    ) -> None:
        """Run a statement that returns 0 unless the collection is where it was found; it gets a dimension if given."""
        for _ in range(MAX_MOVES):
            collection = self._find(ref) if dimension is None else self._of_dimension(ref, dimension)
            if collection.dimension is None:
                return
            rows = self._rows_at(collection, operation, statement(layout.statements(collection)), parameters)
            if rows and rows[0] != NOTHING:
                return
            if not self._has_moved(ref, collection):
                raise self._missing(ref)
        raise VectorStoreUnavailable(operation=operation, reason="the collection moves")

    def _rows_at(
        self,
        collection: Collection,
        operation: str,
        statement: str,
        parameters: Mapping[str, Any],
        settings: str | None = None,
    ) -> Sequence[Any] | None:
        """The rows, if the collection is there; None if its table does not exist, as after a move."""
        try:
            return self._rows(operation, statement, {**parameters, **_place(collection)}, settings)
        except CollectionMissing:
            return None

    def _rows(
        self, operation: str, statement: str, parameters: Mapping[str, Any], settings: str | None = None
    ) -> Sequence[Any]:
        """The rows of a statement, in its own transaction. `settings` is run before it."""
        engine = self._single if settings is None else self._engine
        with translated_errors(operation), engine.connect() as connection:
            if settings is not None:
                connection.exec_driver_sql(settings, dict(parameters))
            rows = connection.exec_driver_sql(statement, dict(parameters)).all()
            if postgresql.take_unconfirmed(connection):
                raise VectorStoreUnavailable(operation=operation, reason="no standby has confirmed the commit")
            return rows

    def _find(self, ref: CollectionRef) -> Collection:
        """Raises CollectionMissing. A collection without a dimension is empty."""
        known = self._known.get(ref.id)
        if known is None:
            known = self._look_up(ref)
            if known.dimension is not None:
                self._known.put(ref.id, known)
        return known

    def _look_up(self, ref: CollectionRef) -> Collection:
        rows = self._rows("find", layout.FIND, {"id": ref.id})
        if not rows:
            raise self._missing(ref)
        return Collection(*rows[0])

    def _has_moved(self, ref: CollectionRef, collection: Collection) -> bool:
        """Look the collection up again. Raises CollectionMissing."""
        self._known.drop(ref.id)
        return self._find(ref) != collection

    def _missing(self, ref: CollectionRef) -> CollectionMissing:
        self._known.drop(ref.id)
        return CollectionMissing()

    def _of_dimension(self, ref: CollectionRef, dimension: int) -> Collection:
        """The collection, which gets its dimension with its first record. Raises DimensionMismatch."""
        collection = self._find(ref)
        if collection.dimension is None:
            with translated_errors("upsert"), self._engine.begin() as connection:
                layout.lock_layout(connection)
                layout.create_vectors(connection, collection._replace(dimension=dimension))
                connection.exec_driver_sql(layout.SET_DIMENSION, {"id": ref.id, "dimension": dimension})
            collection = self._find(ref)
        _check_dimension(collection, dimension)
        return collection

    def _create_layout(self) -> None:
        with translated_errors("create_layout"), self._engine.begin() as connection:
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


def _check_dimension(collection: Collection, dimension: int) -> None:
    if collection.dimension != dimension:
        raise DimensionMismatch(expected=collection.dimension, got=dimension)


def _place(collection: Collection) -> dict[str, Any]:
    return {"number": collection.number, "home": collection.home}


def _parameters(records: Sequence[VectorRecord]) -> dict[str, Any]:
    return {
        "ids": [record.id for record in records],
        "metadata": [json.dumps(dict(record.metadata)) for record in records],
        "texts": [record.text.encode() for record in records],
        "vectors": encode_all([record.vector for record in records]),
    }
