"""Finds damage to a collection's index by reading every vector and asking for its neighbours.

Chroma keeps an index that it has read in memory: files that were damaged later show only after it has restarted. A
vector that was exchanged for another of length 1 shows only if a search for it does not find its own id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memorybase.core.errors import VectorStoreUnavailable
from memorybase.core.vectors.store import READ_BATCH, CollectionRef, VectorRecord, VectorStore, batches

T = TypeVar("T")

LENGTH_TOLERANCE = 1e-3  # every embedder's vectors have length 1
BACK_SECONDS = 20.0  # a damaged index may end the server, and its supervisor restarts it
BACK_POLL_SECONDS = 0.5


class IndexUnreadable(Exception):
    """The server answers, but not for this collection: twice a call failed or took longer than its deadline."""


@dataclass(slots=True)
class Damage:
    """Damaged chunks. `unreadable`: there is no vector, or one of another length than 1. `unreachable`: it is not among
    the nearest neighbours of its own vector. `altered`: its text is not in the text that it was cut from."""

    checked: int = 0
    unreadable: int = 0
    unreachable: int = 0
    altered: int = 0

    def __bool__(self) -> bool:
        return bool(self.unreadable or self.unreachable or self.altered)

    def add(self, other: Damage) -> None:
        self.checked += other.checked
        self.unreadable += other.unreadable
        self.unreachable += other.unreachable
        self.altered += other.altered


def find_damage(store: VectorStore, ref: CollectionRef, texts: Mapping[str, str | None]) -> Damage:
    """Check these chunks, each with the text that it was cut from; None: do not compare texts.

    Raises IndexUnreadable, VectorStoreUnavailable if the server is unreachable, and CollectionMissing.
    """
    found = Damage()
    for ids in batches(list(texts), READ_BATCH):
        stored = _answer(store, partial(store.fetch, ref, ids))
        readable = {id_: chunk for id_, chunk in stored.items() if has_length_one(chunk.vector)}
        records = [VectorRecord(id_, chunk.vector, "", {}) for id_, chunk in readable.items()]
        reached = _answer(store, partial(store.reached_ids, ref, records))
        altered = sum(chunk.text not in text for id_, chunk in stored.items() if (text := texts[id_]) is not None)
        found.add(Damage(len(ids), len(ids) - len(readable), len(readable.keys() - reached), altered))
    return found


def has_length_one(vector: NDArray[np.float32]) -> bool:
    """Whether an embedder can have made it; a vector with NaN or infinity has no length near 1."""
    with np.errstate(over="ignore", invalid="ignore"):  # random bytes read as numbers
        return bool(abs(np.linalg.norm(vector) - 1.0) < LENGTH_TOLERANCE)


def _answer(store: VectorStore, call: Callable[[], T]) -> T:
    try:
        return call()
    except VectorStoreUnavailable:
        _wait_until_it_answers(store)
    try:
        return call()
    except VectorStoreUnavailable as error:
        _wait_until_it_answers(store)
        raise IndexUnreadable from error


def _wait_until_it_answers(store: VectorStore) -> None:
    """Raises VectorStoreUnavailable if the server stays unreachable: an outage says nothing about the collection."""
    deadline = time.monotonic() + BACK_SECONDS
    while True:
        try:
            return store.ping()
        except VectorStoreUnavailable:
            if time.monotonic() >= deadline:
                raise
        time.sleep(BACK_POLL_SECONDS)
