"""Measures a map of many messages: the worker's computation, and what a reader waits for.

    python bench/memory_map.py [--messages 100000] [--sessions 5000] [--calls 10] [--database URL]

It writes messages of a hundred topics with random vectors into an empty database, by default SQLite in a temporary
directory, and a store in memory, so the worker's figure is without Chroma: it reads 5,000 vectors in 20 calls. The
reader's figures are without HTTP: the map, the same as its page gets it, the state alone, and a question.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import sqlalchemy as sa
from ingesting.doubles import FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors
from numpy.typing import NDArray

from memorybase import features
from memorybase.core.auth import api_keys
from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.ingestion import capture
from memorybase.core.ingestion.capture import CaptureRequest
from memorybase.core.memory_bases import manage
from memorybase.core.memory_bases.manage import NewMemoryBase
from memorybase.core.messages import normalise
from memorybase.core.models import Capture, Generation, LedgerEntry, Message, Session, SessionProgress
from memorybase.core.services import Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings
from memorybase.core.vectors.chunk_ids import chunk_id
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.features.memory_map import job, page_data, read

TOPICS = 100
RUN = 20  # messages


def services_in(folder: Path, url: str | None) -> Services:
    settings = Settings(data_dir=folder, database_url=url or "", api_key="the-key-of-the-benchmark")
    database = Database(settings.resolved_database_url)
    migrate.upgrade(settings.resolved_database_url)
    return Services(
        settings, database, InMemoryVectors(), FakeEmbedders(), InMemoryLocks(), InMemoryQueue(), features.hooks()
    )


def fill(services: Services, user_id: UUID, messages: int, sessions: int) -> UUID:
    """Capture the messages, and write the ledger and the vectors as if they were ingested; the memory base."""
    flow_id = flows.create_flow(services, user_id, name="flow").id
    random, start = np.random.default_rng(1), datetime(2026, 1, 1, tzinfo=UTC)
    for run in range(messages // RUN):
        topic = int(random.integers(TOPICS))
        said = [
            {
                "role": ("user", "assistant")[each % 2],
                "content": f"topic{topic} word{topic} message {run} {each}",
                "timestamp": (start + timedelta(minutes=run)).isoformat(),
            }
            for each in range(RUN)
        ]
        new = [normalise(each, user_id=user_id, where="messages[0]") for each in said]
        request = CaptureRequest(session_id=f"session-{run % sessions}", messages=new)
        capture.capture(services, user_id, flow_id, request)
    base_id = manage.create_memory_base(
        services,
        user_id,
        NewMemoryBase(name="memory", flow_id=flow_id, threshold=10_000, capture=Capture.ALL, start="beginning"),
    )
    _ingest(services, base_id, flow_id, random)
    return base_id


def _ingest(services: Services, base_id: UUID, flow_id: UUID, random: np.random.Generator) -> None:
    with services.database.transaction() as db:
        generation = db.scalars(sa.select(Generation).where(Generation.memory_base_id == base_id)).one()
        names = db.execute(
            sa.select(Session.session_id, Session.id, sa.func.count(), sa.func.max(Message.seq))
            .join(Message, Message.session_uuid == Session.id)
            .where(Session.flow_id == flow_id)
            .group_by(Session.session_id, Session.id)
        ).all()
        db.execute(sa.delete(SessionProgress).where(SessionProgress.memory_base_id == base_id))
        rows = {name: uuid4() for name, *_ in names}
        db.execute(
            sa.insert(SessionProgress),
            [
                {
                    "id": rows[name],
                    "memory_base_id": base_id,
                    "generation": generation.generation,
                    "flow_id": flow_id,
                    "session_id": name,
                    "session_uuid": session,
                    "cursor_seq": last,
                    "target_seq": last,
                    "total_processed": count,
                }
                for name, session, count, last in names
            ],
        )
        found = db.execute(sa.select(Message.id, Message.session_id, Message.content)).all()
        now = datetime.now(UTC)
        db.execute(
            sa.insert(LedgerEntry),
            [
                {
                    "progress_id": rows[name],
                    "message_id": id_,
                    "memory_base_id": base_id,
                    "generation": generation.generation,
                    "version": 1,
                    "chunks": 1,
                    "ingested_at": now,
                }
                for id_, name, _ in found
            ],
        )
    middles = random.standard_normal((TOPICS, generation.dimension)).astype(np.float32)
    ref = CollectionRef(generation.collection_name, generation.collection_id)

    def near(content: str) -> NDArray[np.float32]:
        return _unit(middles[_topic(content)], random)

    for start in range(0, len(found), 1_000):
        services.vectors.upsert(
            ref,
            [
                VectorRecord(chunk_id(base_id, id_, 1, 0), near(content), "", {"session_id": name})
                for id_, name, content in found[start : start + 1_000]
            ],
        )


def _topic(content: str) -> int:
    return int(content.split(maxsplit=1)[0].removeprefix("topic"))


def _unit(middle: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = middle + random.standard_normal(middle.shape).astype(np.float32) * 0.5
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def measured(call: Callable[[], object], calls: int) -> str:
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return f"median {statistics.median(taken) * 1_000:7.0f} ms   longest {max(taken) * 1_000:7.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--database")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        services = services_in(Path(folder), options.database)
        user_id = api_keys.ensure_local_user(services, services.settings.api_key or "")
        base_id = fill(services, user_id, options.messages, options.sessions)
        read.request_map(services, user_id, base_id)
        began = time.perf_counter()
        assert job.compute_map(services, base_id)
        print(f"compute                {time.perf_counter() - began:.1f} s")
        view = read.get_map(services, user_id, base_id)
        page = json.dumps(page_data.drawn(view), separators=(",", ":"))
        print(f"points                 {view.shown:,} of {view.messages:,}, {len(page) / 1_000:.0f} kB for the page")
        for name, call in (
            ("map", lambda: read.get_map(services, user_id, base_id)),
            ("map for the page", lambda: json.dumps(page_data.drawn(read.get_map(services, user_id, base_id)))),
            ("state", lambda: read.get_map(services, user_id, base_id, with_points=False)),
            ("question", lambda: read.get_map(services, user_id, base_id, question="topic7", with_points=False)),
        ):
            print(f"{name:<22} {measured(call, options.calls)}")


if __name__ == "__main__":
    main()
