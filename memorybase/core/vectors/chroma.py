"""The Chroma adapter: a VectorStore over HTTP."""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx
import numpy as np
import orjson
from numpy.typing import NDArray

from memorybase.core.cache import Cache
from memorybase.core.errors import (
    CollectionMissing,
    DimensionMismatch,
    MemorybaseError,
    VectorRejected,
    VectorStoreUnavailable,
)
from memorybase.core.vectors.chroma_limits import CLOUD, UNLIMITED
from memorybase.core.vectors.store import (
    CHECK_COLLECTION,
    CHECK_ID,
    CHECK_SECONDS,
    READ_BATCH,
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
from memorybase.core.vectors.verified_writes import read_back

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ServerAPI

UPSERT_BATCH = 250  # records in one call, 0.2 s; 500 are up to a tenth faster but block the caller twice as long
DAMAGE_PARTS = 16  # a request that fails on a lost vector is split into this many
ID_BATCH = 1_000  # ids in one delete
# Writes after which Chroma saves a collection's index and drops their log: its default `sync_threshold`.
SYNC_THRESHOLD = 1_000
SAME_DISTANCE = 1e-5
COLLECTION_PAGE = 500
# Chroma reads all ids before a page of them: 10 µs for each.
ID_PAGE, LONG_LIST, LONG_LIST_SECONDS = 25_000, 100_000, 60.0
# Chroma takes 35 µs to read a vector (105 over HTTP), and to find the nearest of some ids 3 ms (6) and about .4 µs for
# each record of the collection.
READ_BELOW, SEARCHED_PER_READ = 64, 128
SIZE_SECONDS = 60.0
# Statuses that do not depend on the request's content: retry later. A wrong token is not the record's fault.
RETRYABLE_STATUSES = frozenset({401, 403, 407, 408, 425, 429})
WRONG_DIMENSION = re.compile(r"expecting embedding with dimension of (\d+), got (\d+)")
# Chroma's messages, with status 500, for an id with a row but without a vector in the index.
VECTOR_UNREADABLE = ("Error finding id", "Error getting embedding")

_loading = threading.Lock()


class VectorUnreadable(VectorStoreUnavailable):
    """The store has lost this record's vector."""


class ChromaStore:
    """A Chroma server over HTTP. The constructor does not connect; calls are independent and reconnect.

    Chroma Cloud has quotas, and another header for the token.
    """

    upsert_batch = UPSERT_BATCH
    id_batch = ID_BATCH

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float,
        token: str | None = None,
        tenant: str = "",
        database: str = "",
        is_cloud: bool = False,
    ) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._token, self._is_cloud = token, is_cloud
        self._tenant, self._database = tenant or "default_tenant", database or "default_database"
        self._limits = CLOUD if is_cloud else UNLIMITED
        self._connecting = threading.Lock()
        self._connected: ServerAPI | None = None
        self._others: dict[float, ChromaStore] = {}
        self._sizes: Cache[UUID, int] = Cache(1_000)

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        with self._api("create_collection") as api:
            model = api.create_collection(
                name,
                configuration={"hnsw": {"space": "cosine"}},
                metadata=self._limits.collection_metadata(metadata) or None,  # Chroma rejects an empty one
                get_or_create=False,
                tenant=self._tenant,
                database=self._database,
            )
        return CollectionRef(name=model.name, id=UUID(str(model.id)))

    def delete_collection(self, name: str) -> None:
        try:
            with self._api("delete_collection") as api:
                api.delete_collection(name, tenant=self._tenant, database=self._database)
        except CollectionMissing:
            return

    def collection_exists(self, ref: CollectionRef) -> bool:
        try:
            with self._api("collection_exists") as api:
                return bool(
                    api.get_collection_by_id(ref.id, tenant=self._tenant, database=self._database).name == ref.name
                )
        except CollectionMissing:
            return False

    def list_collections(self) -> list[StoredCollection]:
        found: dict[UUID, StoredCollection] = {}
        size = min(COLLECTION_PAGE, self._limits.records)
        while True:
            with self._api("list_collections") as api:
                page = api.list_collections(limit=size, offset=len(found), tenant=self._tenant, database=self._database)
            for model in page:
                ref = CollectionRef(name=model.name, id=UUID(str(model.id)))
                found[ref.id] = StoredCollection(ref, dict(model.metadata or {}))
            if len(page) < size:
                return list(found.values())

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        check_records(records)
        self._limits.check(records)
        for batch in batches(records, self.upsert_batch):
            vectors: list[Any] = [np.asarray(record.vector, dtype=np.float32) for record in batch]
            self._before_write()
            with self._collection(ref, "upsert") as collection:
                collection.upsert(
                    ids=[record.id for record in batch],
                    embeddings=vectors,
                    metadatas=[dict(record.metadata) for record in batch],
                    documents=[self._limits.document_of(record.text) for record in batch],
                )

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str], *, vectors: bool = True) -> set[str]:
        stored: set[str] = set()
        for batch in batches(list(dict.fromkeys(ids)), READ_BATCH if vectors else min(ID_BATCH, self._limits.records)):
            if vectors:
                stored |= self._readable(ref, batch, ["embeddings"]).keys()
                continue
            with self._collection(ref, "stored_ids") as collection:
                stored.update(collection.get(ids=batch, include=[])["ids"])
        return stored

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        reached: set[str] = set()
        for batch in batches(records, min(READ_BATCH, self._limits.records // TWINS)):  # results in all
            vectors: list[Any] = [np.asarray(record.vector, dtype=np.float32) for record in batch]
            try:
                with self._collection(ref, "reached_ids") as collection:
                    answer: Mapping[str, Any] = collection.query(
                        query_embeddings=vectors, n_results=TWINS, include=["distances"]
                    )
            except VectorUnreadable:  # a neighbor's: queries prove nothing here, and the index needs a rebuild anyway
                reached.update(record.id for record in batch)
                continue
            reached.update(
                record.id
                for record, ids, distances in zip(batch, answer["ids"], answer["distances"], strict=True)
                if record.id in ids or (len(ids) == TWINS and distances[-1] < SAME_DISTANCE)
            )
        return reached

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        include = ["embeddings", "documents"] if texts else ["embeddings"]
        found: dict[str, StoredVector] = {}
        for batch in batches(list(dict.fromkeys(ids)), READ_BATCH):
            found |= self._readable(ref, batch, include)
        return found

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        for batch in batches(ids, min(self.id_batch, self._limits.records)):
            self._before_write()
            with self._collection(ref, "delete") as collection:
                collection.delete(ids=batch)

    def purge(self, ref: CollectionRef) -> None:
        # Chroma has no call for it, but drops the saved part of its log, and saves after a number of writes. A deletion
        # of an id that is not there counts as one and costs nothing else. The last one returns once the log is dropped.
        if self._is_cloud:  # its service compacts by itself
            return
        self.delete(ref, [f"purge:{number}" for number in range(SYNC_THRESHOLD)])
        self.delete(ref, ["purge"])

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        # Chroma pages by offset, in order of insertion. A concurrent deletion shifts the rest to the left, so each page
        # starts one early: if its first id was not seen yet, ids were skipped, and we step back.
        where = None if session_id is None else {"session_id": session_id}
        seen, last = array("q"), None  # hashes: a million ids would take a hundred megabytes
        offset, size = 0, min(ID_PAGE, self._limits.records)
        while True:
            page = self._page_of_ids(ref, "iter_ids", offset, size, where)
            is_next = bool(page) and page[0] == last
            if offset and not is_next and (not page or hash(page[0]) not in seen):
                offset = max(0, offset - size)
                continue
            known = set() if is_next else set(np.intersect1d([hash(id_) for id_ in page], seen).tolist())
            fresh = page[1:] if is_next else [id_ for id_ in page if hash(id_) not in known]
            seen.extend(hash(id_) for id_ in fresh)
            if fresh:
                yield fresh
            last = page[-1] if page else None
            if len(page) < size:
                return
            offset += len(page) - 1

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        limit = min(limit, self._limits.records)
        with self._collection(ref, "newest_ids") as collection:
            offset = max(0, collection.count() - limit)  # in order of insertion
        return self._page_of_ids(ref, "newest_ids", offset, limit)

    def count(self, ref: CollectionRef) -> int:
        with self._collection(ref, "count") as collection:
            return collection.count()

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
        ids: Sequence[str] | None = None,
    ) -> list[VectorHit]:
        if limit < 1:
            return []
        self._limits.check_where(where)
        if not np.isfinite(vector).all():
            raise VectorRejected(operation="query", reason="the vector is not finite")
        vectors: list[Any] = [np.asarray(vector, dtype=np.float32)]
        with self._collection(ref, "query") as collection:
            answer: Mapping[str, Any] = collection.query(
                query_embeddings=vectors,
                ids=None if ids is None else list(ids),
                n_results=min(limit, self._limits.records),
                where=all_of(where),
                include=["documents", "metadatas", "distances"] if texts else ["distances"],
            )
            columns = [answer[name] and answer[name][0] for name in ("ids", "distances", "documents", "metadatas")]
            nothing = [None] * len(columns[0])
            return [
                VectorHit(id=id_, score=as_score(distance), text=text or "", metadata=dict(stored or {}))
                for id_, distance, text, stored in zip(*(column or nothing for column in columns), strict=True)
            ]

    def query_among(
        self, ref: CollectionRef, vector: NDArray[np.float32], ids: Sequence[str], limit: int
    ) -> list[VectorHit]:
        if not self._is_cloud and len(ids) > READ_BELOW + self._size(ref) / SEARCHED_PER_READ:
            try:
                return self.query(ref, vector, limit, texts=False, ids=ids)
            except VectorUnreadable:  # Chroma refuses a query if one of the ids is missing
                pass
        return nearest(self.fetch(ref, ids, texts=False), vector)

    def _size(self, ref: CollectionRef) -> int:
        """About how many records the collection has."""
        size = self._sizes.get(ref.id)
        if size is None:
            size = self.count(ref)
            self._sizes.put(ref.id, size, SIZE_SECONDS)
        return size

    def ping(self) -> None:
        # Not its heartbeat, which answers for hours while every other call hangs.
        try:
            self._checking().read_check_record("ping")
        except (CollectionMissing, VectorUnreadable):  # it answers; a damaged record fails `check_writes`
            return

    def check_writes(self) -> None:
        store = self._checking()
        record = VectorRecord(CHECK_ID, np.ones(1, dtype=np.float32), "", {"check": True})
        try:
            ref = store.read_check_record("check_writes")
        except CollectionMissing:
            # Only now: a collection that cannot be created, because the disk is full, makes Chroma hang.
            ref = store.create_collection(CHECK_COLLECTION, {})
        store.upsert(ref, [record])
        read_back(store, ref, [CHECK_ID])

    def read_check_record(self, operation: str) -> CollectionRef:
        """Read the record of the checks. Raises CollectionMissing, and VectorStoreUnavailable."""
        with self._api(operation) as api:
            model = api.get_collection(CHECK_COLLECTION, tenant=self._tenant, database=self._database)
        ref = CollectionRef(model.name, UUID(str(model.id)))
        with self._collection(ref, operation) as collection:
            collection.get(ids=[CHECK_ID], include=["embeddings"])
        return ref

    def _checking(self) -> ChromaStore:
        """The server with the deadline of checks, which must not wait as long as a job does."""
        return self._with_deadline(min(CHECK_SECONDS, self._timeout_seconds))

    def _with_deadline(self, seconds: float) -> ChromaStore:
        """The same server with another deadline of requests."""
        with self._connecting:
            if seconds not in self._others:
                self._others[seconds] = ChromaStore(
                    self._url,
                    timeout_seconds=seconds,
                    token=self._token,
                    tenant=self._tenant,
                    database=self._database,
                    is_cloud=self._is_cloud,
                )
            return self._others[seconds]

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._connecting:
            connected, self._connected = self._connected, None
            others, self._others = self._others, {}
        if connected is not None:
            self._disconnect(connected)
        for each in others.values():
            each.close()

    def _readable(self, ref: CollectionRef, ids: Sequence[str], include: Any) -> dict[str, StoredVector]:
        # With the vectors (14 ms for 256, without them 2 ms), because a damaged index still lists its ids. One lost
        # vector fails the whole request, so split it until each lost one is alone.
        try:
            with self._collection(ref, "stored_ids") as collection:
                answer: Mapping[str, Any] = collection.get(ids=list(ids), include=include)
                vectors = np.asarray(answer["embeddings"], dtype=np.float32)
                texts = answer["documents"] or [""] * len(vectors)
                rows = zip(answer["ids"], vectors, texts, strict=True)
                return {id_: StoredVector(vector, text or "") for id_, vector, text in rows}
        except VectorUnreadable:
            if len(ids) == 1:
                return {}
        found: dict[str, StoredVector] = {}
        for part in batches(ids, -(-len(ids) // DAMAGE_PARTS)):
            found |= self._readable(ref, part, include)
        return found

    def _page_of_ids(
        self, ref: CollectionRef, operation: str, offset: int, size: int, where: dict[str, Any] | None = None
    ) -> list[str]:
        patient = self if offset < LONG_LIST else self._with_deadline(max(LONG_LIST_SECONDS, self._timeout_seconds))
        with patient._collection(ref, operation) as collection:  # noqa: SLF001 - of this class
            return list(collection.get(where=where, limit=size, offset=offset, include=[])["ids"])

    @contextmanager
    def _api(self, operation: str) -> Iterator[ServerAPI]:
        """Chroma's API for one call; translates the errors of its libraries into ours."""
        try:
            yield self._connection()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise VectorStoreUnavailable(operation=operation, reason=type(error).__name__) from error
        except (orjson.JSONDecodeError, KeyError) as error:
            raise VectorStoreUnavailable(operation=operation, reason="not a Chroma server") from error
        except (TypeError, ValueError) as error:
            # The client's own checks before it sends anything. Their messages quote the data, so they are dropped.
            raise VectorRejected(operation=operation, reason=type(error).__name__) from None

    @contextmanager
    def _collection(self, ref: CollectionRef, operation: str) -> Iterator[Collection]:
        """The collection of this id, for one call; sends no request to get it."""
        load_client()
        from chromadb import Collection
        from chromadb.types import Collection as Model

        model = Model(ref.id, ref.name, {}, None, None, None, self._tenant, self._database)
        with self._api(operation) as api:
            yield Collection(client=api, model=model, embedding_function=None)

    def _before_write(self) -> None:
        """Called before each request that writes records."""

    def _connection(self) -> ServerAPI:
        connected = self._connected
        if connected is None:
            with self._connecting:
                connected = self._connected = self._connected or self._connect()
        return connected

    def _connect(self) -> ServerAPI:
        # chromadb.HttpClient would send three requests here, before a timeout can be set: a frozen server would block
        # the caller forever. That client wraps the API object below, whose constructor sends nothing.
        load_client()
        from chromadb.api.fastapi import FastAPI
        from chromadb.config import Settings, System

        settings = Settings(
            _env_file=None,  # ignore a .env of the host application
            chroma_server_host=self._url,
            chroma_server_http_port=0,  # the URL has it; Chroma only requires a value
            chroma_server_headers=_token_headers(self._token, is_cloud=self._is_cloud),
            anonymized_telemetry=False,
        )
        try:
            api = System(settings).instance(FastAPI)
        except ValueError as error:
            raise VectorStoreUnavailable(operation="connect", reason="not a URL") from error
        session = session_of(api)
        session.timeout = httpx.Timeout(self._timeout_seconds)  # the default waits forever
        session.event_hooks = {"response": [_raise_for_status]}
        return api

    def _disconnect(self, api: ServerAPI) -> None:
        session_of(api).close()


def _token_headers(token: str | None, *, is_cloud: bool) -> dict[str, str] | None:
    if not token:
        return None
    return {"X-Chroma-Token": token} if is_cloud else {"Authorization": f"Bearer {token}"}


def load_client() -> None:
    """Import chromadb, one thread at a time.

    Its imports are circular: two threads that import different parts at once would wait for each other, and Python ends
    such a deadlock with an error in one of them and in every later call until a new import succeeds.
    """
    with _loading:
        import chromadb.api.fastapi  # noqa: F401 - for the side effect


def session_of(api: ServerAPI) -> httpx.Client:
    """Chroma's private HTTP client, the only place to set a timeout."""
    session: httpx.Client = api._session  # type: ignore[attr-defined]  # noqa: SLF001
    return session


def all_of(where: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The filter in Chroma's form, which allows one key per level."""
    if not where:
        return None
    if len(where) == 1:
        return dict(where)
    return {"$and": [{key: value} for key, value in where.items()]}


def _raise_for_status(response: httpx.Response) -> None:
    """Raise our error for an error response; the client itself drops the status of errors that it does not know."""
    if response.is_success:
        return
    response.read()
    raise error_of(response.status_code, *_chroma_error(response.text))


def error_of(status: int, name: str, message: str) -> MemorybaseError:
    """Our error for one of Chroma's; its message may quote our data."""
    if status >= 500 and message.endswith(VECTOR_UNREADABLE):
        return VectorUnreadable(status=status)
    if status == 404 and name == "NotFoundError":
        return CollectionMissing()
    if dimensions := WRONG_DIMENSION.search(message):
        expected, got = map(int, dimensions.groups())
        return DimensionMismatch(expected=expected, got=got)
    if 400 <= status < 500 and status not in RETRYABLE_STATUSES and (name or status in {400, 413, 422}):
        return VectorRejected(status=status, reason=name)
    return VectorStoreUnavailable(status=status, reason=name)


def _chroma_error(body: str) -> tuple[str, str]:
    """Chroma's error name and message; empty if another server answered."""
    try:
        answer = orjson.loads(body)
        return str(answer["error"]), str(answer["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "", ""
