"""Which messages are on the map, if there are too many: a seeded sample that is spread over sessions. Pure."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterable, Mapping
from uuid import UUID

from memorybase.queries.memory_maps import Entry

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
