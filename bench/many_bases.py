"""Measures what many small memory bases cost in pgvector and in Chroma, and what an index does for a large one.

    python bench/many_bases.py [--bases 10,1000,10000] [--chroma 10,300] [--chunks 20] [--large 20000] [--json FILE]

Each store has a server of its own, without its durability switched off. `*_ms` is processor time: `server` that of all
processes of the server that still run (not the helpers of a parallel build), `own` this process's. `p50` and `p95` are
wall-clock times of a search, which other work on the machine delays. `memory_mb` is what a process has more of its own
than before: of pgvector the connection that touched every collection, of Chroma the server. It reads /proc, and so runs
on Linux. The vectors are made: 200 topics of unequal size, 384 dimensions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psutil
import sqlalchemy as sa
from harness.chroma import ChromaServer
from harness.process import Server
from ingesting.postgresql import DurablePostgres
from numpy.typing import NDArray
from runs import machine

from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.store import CollectionRef, VectorRecord

DIMENSION = 384
TOPICS = 200
SEARCHES = 500
TOP = 10
MB = 1_000_000
UNINDEXED = 10**9  # more than any collection has
Figures = dict[str, float]


class Vectors:
    """Made vectors: a topic, a part of its own, unit length."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._topics = self._normal(TOPICS)
        weights = 1 / np.arange(1, TOPICS + 1)
        self._weights = weights / weights.sum()

    def some(self, count: int) -> NDArray[np.float32]:
        topics = self._topics[self._random.choice(TOPICS, size=count, p=self._weights)]
        vectors = 0.6 * topics + 0.8 * self._normal(count)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def records(self, count: int, *, start: int = 0) -> list[VectorRecord]:
        texts = [f"message {n} says what was agreed about the harbour and when it is due" for n in range(count)]
        return [
            VectorRecord(
                f"{uuid4()}:{start + n}", vector, text, {"session_id": f"session {n % 5}", "message_id": str(n)}
            )
            for n, (vector, text) in enumerate(zip(self.some(count), texts, strict=True))
        ]

    def _normal(self, count: int) -> NDArray[np.float32]:
        # Real embeddings vary more in some directions than in others.
        spread = np.arange(1, DIMENSION + 1) ** -0.45
        drawn = self._random.normal(size=(count, DIMENSION)) * spread
        return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


class Meter:
    """Processor time of this process and of a server with its children."""

    def __init__(self, server: Server) -> None:
        self._root = psutil.Process(server.pid)

    def cost(self, step: Callable[[int], object], count: int) -> Figures:
        """What each of so many calls costs, in milliseconds of processor time."""
        server, own = self._seconds(), time.process_time()
        for number in range(count):
            step(number)
        own = time.process_time() - own
        return {
            "server_ms": round(1_000 * (self._seconds() - server) / count, 3),
            "own_ms": round(1_000 * own / count, 3),
        }

    def memory(self) -> float:
        """What the server has for itself, without what is mapped from files and shared: of PostgreSQL the largest
        connection, which is the store's."""
        connections = [each for each in self._root.children() if "postgres: memorybase" in " ".join(each.cmdline())]
        return max(anonymous(each) for each in connections or [self._root]) / MB

    def open_files(self) -> int:
        return int(self._root.num_fds())

    def _seconds(self) -> float:
        processes = [self._root, *self._root.children(recursive=True)]
        return sum(sum(each.cpu_times()[:2]) for each in processes)


def measured(store: Any, meter: Meter, vectors: Vectors, bases: int, chunks: int) -> dict[str, Any]:
    """Create so many collections, fill each, and search in those that chance chooses."""
    refs: list[CollectionRef] = []
    filled = vectors.records(chunks)  # the same for all: making vectors is not what is measured
    memory = meter.memory()
    create = meter.cost(lambda _: refs.append(store.create_collection(f"mb-{uuid4()}-g1", {"generation": 1})), bases)
    upsert = meter.cost(lambda number: store.upsert(refs[number], filled), bases)
    touch = meter.cost(lambda number: store.query(refs[number], filled[0].vector, TOP), bases)
    chosen = np.random.default_rng(1).integers(0, bases, size=SEARCHES)
    return {
        "bases": bases,
        "create": create,
        "upsert": upsert,
        "first_search": touch,
        "search": searched(store, meter, [refs[number] for number in chosen], vectors),
        "memory_mb": round(meter.memory() - memory, 1),
    }


def searched(store: Any, meter: Meter, refs: Sequence[CollectionRef], vectors: Vectors) -> Figures:
    """The cost of a search in each of these collections, and how long it takes."""
    queries = vectors.some(len(refs))
    taken: list[float] = []

    def search(number: int) -> None:
        began = time.perf_counter()
        store.query(refs[number], queries[number], TOP)
        taken.append(1_000 * (time.perf_counter() - began))

    cost = meter.cost(search, len(refs))
    p50, p95 = (round(float(each), 2) for each in np.percentile(taken, (50, 95)))
    return cost | {"p50": p50, "p95": p95}


@contextmanager
def pgvector(**settings: int) -> Iterator[tuple[PgVectorStore, Meter, sa.Engine]]:
    """A store with one connection on an empty server, and a connection to look with."""
    server = DurablePostgres()
    try:
        server.start()
        url = server.url(server.create_database())
        engine = sa.create_engine(url)
        with closing(PgVectorStore(url, pool_size=1, **settings)) as store:
            store.list_collections()
            yield store, Meter(server), engine
        engine.dispose()
    finally:
        server.close()


def in_pgvector(bases: int, chunks: int) -> dict[str, Any]:
    with pgvector(index_above=UNINDEXED) as (store, meter, engine):
        vectors = Vectors()
        store.upsert(store.create_collection("first", {}), vectors.records(1))
        before = disk(engine)
        figures = measured(store, meter, vectors, bases, chunks)
        return figures | {"disk_kb_each": round((disk(engine) - before) / bases / 1_000, 1)}


def in_chroma(bases: int, chunks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        server = ChromaServer(Path(directory))
        try:
            server.start()
            with closing(ChromaStore(server.url, timeout_seconds=60)) as store:
                meter, vectors = Meter(server), Vectors()
                store.upsert(store.create_collection("first", {}), vectors.records(1))
                before, files = used(server.data), meter.open_files()
                figures = measured(store, meter, vectors, bases, chunks)
                return figures | {
                    "disk_kb_each": round((used(server.data) - before) / bases / 1_000, 1),
                    "open_files": meter.open_files() - files,
                }
        finally:
            server.close()


def large(chunks: int) -> dict[str, Any]:
    """One collection of so many chunks, searched exactly and then by its index."""
    with pgvector(index_above=1) as (store, meter, _):
        vectors = Vectors()
        ref = store.create_collection("large", {})
        for start in range(0, chunks, 1_000):
            store.upsert(ref, vectors.records(min(1_000, chunks - start), start=start))
        refs, queries = [ref] * 100, vectors.some(100)
        exact = searched(store, meter, refs, vectors)
        wanted = [{hit.id for hit in store.query(ref, query, TOP)} for query in queries]
        build = meter.cost(lambda _: store.index(ref), 1)
        found = [{hit.id for hit in store.query(ref, query, TOP)} for query in queries]
        recall = float(np.mean([len(a & b) / len(a) for a, b in zip(wanted, found, strict=True)]))
        return {
            "chunks": chunks,
            "exact": exact,
            "by_index": searched(store, meter, refs, vectors),
            "recall_at_10": round(recall, 3),
            "build": build,
            "upsert_by_index": meter.cost(lambda _: store.upsert(ref, vectors.records(20)), 10),
        }


def anonymous(process: psutil.Process) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (kilobytes,) = [int(line.split()[1]) for line in lines if line.startswith("RssAnon:")]
    return kilobytes * 1024


def disk(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())


def used(directory: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())


def versions() -> dict[str, str]:
    with pgvector() as (store, _, engine):
        store.create_collection("first", {})
        with engine.connect() as connection:
            extension = connection.execute(sa.text("SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
            server = connection.execute(sa.text("SHOW server_version"))
            return {"postgresql": str(server.scalar_one()), "pgvector": str(extension.scalar_one())}


def counts(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bases", type=counts, default=[10, 1_000, 10_000], help="in pgvector")
    parser.add_argument("--chroma", type=counts, default=[10, 300], help="in Chroma")
    parser.add_argument("--chunks", type=int, default=20, help="in each memory base")
    parser.add_argument("--large", type=counts, default=[20_000], help="chunks of one memory base with an index")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report: dict[str, Any] = {
        "machine": machine(),
        "servers": versions(),
        "dimension": DIMENSION,
        "chunks": options.chunks,
    }
    print(json.dumps(report), flush=True)
    for store, measure, sizes in (
        ("pgvector", lambda bases: in_pgvector(bases, options.chunks), options.bases),
        ("chroma", lambda bases: in_chroma(bases, options.chunks), options.chroma),
        ("pgvector, large", large, options.large),
    ):
        report[store] = []
        for size in sizes:
            report[store].append(measure(size))
            print(json.dumps({"store": store} | report[store][-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
