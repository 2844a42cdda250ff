"""The job that computes a map, in a worker.

A worker claims the map's row, reads the vectors in pages while no transaction is open, and stores the map if no other
worker has claimed it since. The row holds the work: the sweeper notifies again if a notification or a worker is lost.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.core import deadlines, errors
from memorybase.core.database import clock
from memorybase.core.models import Generation
from memorybase.core.queries import leased_work, memory_bases
from memorybase.core.queries.leased_work import Claim, Work
from memorybase.core.services import Services, Task
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.chunk_ids import chunk_id
from memorybase.core.vectors.store import READ_BATCH, CollectionRef, batches
from memorybase.features.memory_map import clusters, projection, queries
from memorybase.features.memory_map.models import MemoryMap
from memorybase.features.memory_map.projection import Projection
from memorybase.features.memory_map.queries import Entry

MAP = Task("memorybase.map", "memory_base_id")
MAX_POINTS = 5_000


class Sample:
    """Keeps up to `limit` of the entries that it is given, whatever their order.

    A session's chance grows with the square root of its length: a long session has more points than a short one, but
    does not push the others off the map. The seed and the ids decide, so an unchanged memory base gives the same map.
    """

    def __init__(self, seed: UUID, lengths: Mapping[UUID, int], *, limit: int = MAX_POINTS) -> None:
        self._seed = seed.bytes
        self._lengths = lengths
        self._limit = limit
        self._kept: list[tuple[float, Entry]] = []  # a heap: the entry that leaves next comes first

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            key = (-self._rank(entry), entry)
            if len(self._kept) < self._limit:
                heapq.heappush(self._kept, key)
            elif key > self._kept[0]:
                heapq.heapreplace(self._kept, key)

    @property
    def entries(self) -> list[Entry]:
        """Sorted by id."""
        return sorted(entry for _, entry in self._kept)

    def _rank(self, entry: Entry) -> float:
        """An exponential variable whose rate is the entry's weight (Efraimidis and Spirakis, 2006): the lowest stay."""
        digest = hashlib.blake2b(entry.message_id.bytes, digest_size=8, key=self._seed).digest()
        uniform = (int.from_bytes(digest) + 1) / (2**64 + 1)
        return -math.log(uniform) * math.sqrt(max(1, self._lengths.get(entry.progress_id, 1)))


log = get_logger(__name__)

MIN_MESSAGES = 20
ENTRY_PAGE = 5_000
# Between two pages a worker may ingest for others; this is added to what a page may take.
BETWEEN_PAGES = timedelta(seconds=15)
# Percent of the whole that is done once every vector is read.
READING = 80


class _Outdated(Exception):
    """Another worker has claimed this map, or its memory base is deleted."""


class _TooFew(Exception):
    """So many messages were deleted since the request that there is nothing to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    leased: Claim[MemoryMap]
    base_id: UUID
    generation: Generation
    messages: int
    as_of: datetime


@dataclass(frozen=True, slots=True)
class _Computed:
    entries: Sequence[Entry]
    projection: Projection
    places: NDArray[np.float32]
    clusters: NDArray[np.intp]
    distances: NDArray[np.float32]


def compute_map(services: Services, base_id: UUID, before_page: Callable[[], object] = lambda: None) -> bool:
    """Compute a pending map; False if none is, another worker has claimed it, or the job failed.

    `before_page` is called before each page of vectors is read.
    """
    claim = _claim(services, base_id)
    if claim is None:
        return False
    try:
        computed = _compute(services, claim, before_page)
    except errors.DatabaseUnavailable:
        raise  # the backoff cannot be stored; the lease expires
    except errors.EnvironmentFailure as error:
        _put_off(services, claim, error)
        return False
    except _Outdated:
        return False
    except _TooFew:
        with services.database.transaction() as db:
            leased_work.finish(db, claim.leased)
        return False
    return _store(services, claim, computed)


def lease(services: Services) -> timedelta:
    return timedelta(seconds=services.settings.lease_seconds) + BETWEEN_PAGES


WORK = Work(MemoryMap, MAP, lease, only=(queries.IS_OF_A_BASE,))


def _claim(services: Services, base_id: UUID) -> _Claim | None:
    with services.database.transaction() as db:
        row = queries.fetch(db, base_id)
        base = memory_bases.fetch_any_base(db, base_id)
        if row is None or base is None or base.deleting_at is not None:
            return None
        now, lease_time = clock.now(db), lease(services)
        # Should this worker be lost, and the next ones too, the sweeper waits longer each time.
        again = min(lease_time * 2 ** min(row.attempts, 16), timedelta(seconds=deadlines.NOTIFY_MAX_SECONDS))
        leased = leased_work.claim(db, row, now, lease_time, progress=0, notify_at=now + again)
        if leased is None:
            return None
        return _Claim(
            leased=leased,
            base_id=base_id,
            generation=memory_bases.fetch_generation(db, base_id, base.serving),
            messages=queries.held_messages(db, base_id, base.serving),
            as_of=now,
        )


def _compute(services: Services, claim: _Claim, before_page: Callable[[], object]) -> _Computed:
    entries = _choose(services, claim, before_page)
    found, vectors = _read_vectors(services, claim, entries, before_page)
    if len(found) < MIN_MESSAGES <= len(entries):
        raise errors.VectorStoreUnavailable("The vector store lacks vectors of this memory base")
    if len(found) < MIN_MESSAGES:
        raise _TooFew
    # By their vectors, so that equal texts give equal maps whatever the ids are.
    order = sorted(range(len(found)), key=lambda index: vectors[index].tobytes())
    found, vectors = [found[index] for index in order], vectors[order]
    fitted = projection.fit(vectors)
    groups, distances = clusters.group(vectors)
    return _Computed(found, fitted, fitted.place(vectors), groups, distances)


def _choose(services: Services, claim: _Claim, before_page: Callable[[], object]) -> list[Entry]:
    """The messages that are on the map."""
    generation = claim.generation.generation
    with services.database.reading() as db:
        sample = Sample(claim.base_id, queries.lengths(db, claim.base_id, generation))
    after = None
    while True:
        with services.database.reading() as db:
            page = queries.entries_after(db, claim.base_id, generation, after, limit=ENTRY_PAGE)
        sample.add(page)
        if len(page) < ENTRY_PAGE:
            return sample.entries
        after = page[-1].message_id
        before_page()
        _keep(services, claim, 0)


def _read_vectors(
    services: Services, claim: _Claim, entries: Sequence[Entry], before_page: Callable[[], object]
) -> tuple[list[Entry], NDArray[np.float32]]:
    """The entries whose first chunk can be read, and its vectors."""
    ref = CollectionRef(claim.generation.collection_name, claim.generation.collection_id)
    found: list[Entry] = []
    vectors: list[NDArray[np.float32]] = []
    read = 0
    for page in batches(entries, READ_BATCH):
        before_page()
        _keep(services, claim, READING * read // len(entries))
        ids = {chunk_id(claim.base_id, entry.message_id, entry.version, 0): entry for entry in page}
        stored = services.vectors.fetch(ref, list(ids), texts=False)
        for id_, entry in ids.items():
            vector = stored[id_].vector if id_ in stored else None
            if vector is not None and vector.size == claim.generation.dimension and np.isfinite(vector).all():
                found.append(entry)
                vectors.append(vector)
        read += len(page)
    _keep(services, claim, READING)
    return found, np.stack(vectors) if vectors else np.zeros((0, claim.generation.dimension), dtype=np.float32)


def _keep(services: Services, claim: _Claim, progress: int) -> None:
    """Store the progress and renew the lease; raises _Outdated."""
    with services.database.transaction(durable=False) as db:
        until = clock.now(db) + lease(services)
        if not leased_work.write(db, claim.leased, progress=progress, lease_until=until):
            raise _Outdated


def _store(services: Services, claim: _Claim, computed: _Computed) -> bool:
    """Replace the map, unless another worker has claimed it; without messages that were deleted meanwhile."""
    order = np.lexsort((computed.distances, computed.clusters))
    with services.database.transaction() as db:
        values = {
            "generation": claim.generation.generation,
            "projection": computed.projection.to_bytes(),
            "explained": computed.projection.explained,
            "messages": claim.messages,
            "as_of": claim.as_of,
            "computed_at": clock.now(db),
            "progress": 100,
            "error_code": None,
            "failing_since": None,
        }
        if not leased_work.finish(db, claim.leased, **values):
            return False
        held = queries.share_entries(db, computed.entries)
        points = [
            {
                "memory_base_id": claim.base_id,
                "position": position,
                "generation": claim.generation.generation,
                "progress_id": entry.progress_id,
                "message_id": entry.message_id,
                "x": float(computed.places[index, 0]),
                "y": float(computed.places[index, 1]),
                "cluster": int(computed.clusters[index]),
            }
            for position, index in enumerate(order.tolist())
            if ((entry := computed.entries[index]).progress_id, entry.message_id) in held
        ]
        queries.replace_points(db, claim.base_id, points)
    log.info("map_stored", memory_base_id=str(claim.base_id), points=len(points), messages=claim.messages)
    return True


def _put_off(services: Services, claim: _Claim, error: errors.MemorybaseError) -> None:
    """Back off; the sweeper notifies again."""
    leased = claim.leased
    with services.database.transaction() as db:
        now = clock.now(db)
        until = now + leased_work.backoff(leased.attempts)
        values = {"error_code": error.code, "failing_since": leased.row.failing_since or now}
        leased_work.put_off(db, leased, until, **values)
    log.warning("map_put_off", memory_base_id=str(claim.base_id), error_code=error.code, attempts=leased.attempts)
