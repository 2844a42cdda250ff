"""What a message costs as the store grows: our own part alone, and Chroma's beside it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import numpy as np
from harness.doubles import FakeEmbedder, FakeEmbedders, InMemoryVectors
from harness.world import World, build_world
from numpy.typing import NDArray

from ingesting.figures import Figures, growth
from ingesting.target import Target, in_calls
from ingesting.texts import Corpus
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.store import CollectionRef, VectorRecord

STEP = 1_000
SESSION = 50  # messages a session, and the threshold
DIMENSION = 384
UPSERT = 250


class InstantEmbedder(FakeEmbedder):
    """One vector for every text."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        vectors[:, 0] = 1.0
        return vectors


class InstantEmbedders(FakeEmbedders):
    def get(self, model: str | None = None) -> FakeEmbedder:
        name = model or self.default
        return self._loaded.setdefault(name, InstantEmbedder(name))


class NullVectors(InMemoryVectors):
    """It knows which ids it was given, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._given: set[str] = set()

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:  # noqa: ARG002 - the protocol's
        self._given.update(record.id for record in records)

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str], *, vectors: bool = True) -> set[str]:  # noqa: ARG002
        return self._given.intersection(ids)


def own_part(corpus: Corpus, *, messages: int, step: int = STEP) -> Figures:
    """Capture, claim, read, chunk, advance, on SQLite in this process, with embedding and vector store at no cost.
    Counted in seconds of the processor, which a busy neighbour does not change."""
    with tempfile.TemporaryDirectory(prefix="memorybase-bench-") as directory:
        world = _world(Path(directory))
        try:
            base = world.new_base(threshold=SESSION)
            steps = [_step(world, number, corpus.take(step)) for number in range(messages // step)]
            ingested = sum(row.total_processed for row in world.rows(base))
        finally:
            world.services.database.dispose()
    if ingested != len(steps) * step:
        raise AssertionError(f"{ingested} of {len(steps) * step} messages were ingested")
    return _figures(steps, step)


def _world(directory: Path) -> World:
    world = build_world(f"sqlite:///{directory / 'memorybase.db'}", directory)
    vectors, embedders = NullVectors(), InstantEmbedders()
    services = replace(world.services, vectors=vectors, embedders=embedders)
    return replace(world, services=services, vectors=vectors, embedders=embedders)


def _step(world: World, number: int, texts: Sequence[str]) -> float:
    sessions = in_calls(texts, SESSION)
    began = time.process_time()
    for index, said in enumerate(sessions):
        for run in in_calls(said, 2):
            world.say(f"session {number}.{index}", *run)
        world.drain()
    return time.process_time() - began


def chroma_part(target: Target, *, messages: int) -> Figures:
    """Ready vectors into one collection of the stack's Chroma: its index grows, whoever fills it. By the clock, since
    the server is another process."""
    dice = np.random.default_rng(17)
    store = ChromaStore(target.stack.chroma_url, timeout_seconds=60)
    ref = store.create_collection(f"bench-{uuid4()}", {"benchmark": True})
    steps = []
    for number in range(messages // STEP):
        vectors = dice.standard_normal((STEP, DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        records = [VectorRecord(f"{number}:{n}", vector, f"text {n}", {"n": n}) for n, vector in enumerate(vectors)]
        began = time.perf_counter()
        for page in range(0, STEP, UPSERT):
            store.upsert(ref, records[page : page + UPSERT])
        steps.append(time.perf_counter() - began)
    store.delete_collection(ref.name)
    store.close()
    return _figures(steps, STEP)


def _figures(steps: Sequence[float], step: int) -> Figures:
    return {
        "messages": len(steps) * step,
        "messages_a_step": step,
        "first_ms_a_message": round(1000 * steps[0] / step, 3),
        "last_ms_a_message": round(1000 * steps[-1] / step, 3),
        "last_to_first": growth(steps),
        "seconds_a_step": [round(seconds, 3) for seconds in steps],
    }
