"""Messages a second: in bulk, in tens over many sessions, and with a threshold of 1."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray

from ingesting.figures import Figures, compared, rate, share_of_limit
from ingesting.peers import Peers
from ingesting.target import Target, in_calls, new_base
from ingesting.texts import Corpus
from memorybase.core.embedding import Embedders
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chunk_ids import chunk_id
from memorybase.core.vectors.store import VectorRecord

SMALL_RUNS = 300
SMALL_SESSIONS = 100
CLIENTS = 4


@dataclass(frozen=True)
class Shape:
    """How messages arrive: `run` in one request, `threshold` in a session, `call` in one call of a peer; all at once
    where that is None."""

    name: str
    run: int
    threshold: int
    call: int | None


BULK = Shape("bulk", run=64, threshold=256, call=None)
TENS = Shape("tens", run=10, threshold=10, call=10)


class Limit:
    """Embed and upsert, nothing else: memorybase's own embedder and Chroma client, on the stack's Chroma server, in
    this process. What is measured against it is how much the guarantees around them cost."""

    def __init__(self, target: Target) -> None:
        self._embedder = Embedders(target.stack.settings).get()
        self._store = ChromaStore(target.stack.chroma_url, timeout_seconds=60)
        self._embedder.embed(["a model that has not run yet is slower"] * 32)

    def rate(self, texts: Sequence[str], size: int) -> float:
        base, ref = uuid4(), self._store.create_collection(f"bench-{uuid4()}", {"benchmark": True})
        began = time.perf_counter()
        for index, page in enumerate(in_calls(texts, size)):
            vectors = self._embedder.embed(page)
            pairs = enumerate(zip(page, vectors, strict=True))
            self._store.upsert(ref, [_record(base, f"session {index}", seq, *pair) for seq, pair in pairs])
        seconds = time.perf_counter() - began
        self._store.delete_collection(ref.name)
        return rate(len(texts), seconds)

    def close(self) -> None:
        self._store.close()


def _record(base: UUID, session_id: str, seq: int, text: str, vector: NDArray[np.float32]) -> VectorRecord:
    """A record as large as a worker's: a key less is a row less in Chroma's database."""
    message = uuid4()
    metadata: dict[str, str | int | float | bool] = {
        "message_id": str(message),
        "session_id": session_id,
        "run_id": str(uuid4()),
        "end_user_id": "",
        "role": "user",
        "seq": seq,
        "timestamp": time.time(),
        "chunk_index": 0,
    }
    return VectorRecord(chunk_id(base, message, 1, 0), vector, text, metadata)


def beside_others(
    target: Target, one: Target | None, corpus: Corpus, peers: Peers, shape: Shape, *, messages: int, repeat: int
) -> Figures:
    """Captured and ingested, beside the limit by turns, who is first changing each time, beside one process, and
    beside the peers."""
    whole = max(1, messages // shape.threshold) * shape.threshold
    slices = [corpus.take(whole) for _ in range(repeat)]
    limit = Limit(target)
    pairs, of_one = [], []
    try:
        for index, texts in enumerate(slices):
            if index % 2:
                bound = limit.rate(texts, shape.threshold)
                pairs.append((_reached(target, texts, shape), bound))
            else:
                reached = _reached(target, texts, shape)
                pairs.append((reached, limit.rate(texts, shape.threshold)))
            if one is not None:
                of_one.append((_reached(one, texts, shape), pairs[-1][0]))
    finally:
        limit.close()
    figures: Figures = {"messages": whole * repeat, "calls_of": shape.threshold} | share_of_limit(pairs)
    if of_one:
        figures["one_process"] = share_of_limit(of_one, "stack")
    measured = peers.measure(slices[0], shape.call)
    return figures | compared(figures["messages_per_second"], measured)


def _reached(target: Target, texts: Sequence[str], shape: Shape) -> float:
    """From the first request to the last advance."""
    base = new_base(target.client, shape.name, threshold=shape.threshold)
    began = time.perf_counter()
    for index, page in enumerate(in_calls(texts, shape.run)):
        base.capture(f"session {index * shape.run // shape.threshold}", page)
    base.wait_ingested(len(texts))
    return rate(len(texts), time.perf_counter() - began)


def small_runs(target: Target, corpus: Corpus) -> Figures:
    """Threshold 1, runs of two messages from several clients that wait for nothing but their acknowledgement."""
    base = new_base(target.client, "small", threshold=1)
    runs = list(enumerate(in_calls(corpus.take(2 * SMALL_RUNS), 2)))
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        for answer in [pool.submit(base.capture, f"session {n % SMALL_SESSIONS}", texts) for n, texts in runs]:
            answer.result()
    captured = time.perf_counter() - began
    base.wait_ingested(2 * SMALL_RUNS)
    total = time.perf_counter() - began
    return {
        "messages": 2 * SMALL_RUNS,
        "sessions": SMALL_SESSIONS,
        "clients": CLIENTS,
        "captured_per_second": rate(2 * SMALL_RUNS, captured),
        "messages_per_second": rate(2 * SMALL_RUNS, total),
        "failed_jobs": base.failed_jobs(),
    }
