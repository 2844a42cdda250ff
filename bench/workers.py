"""Measures how workers add up, and how long a quiet memory base waits beside a long backlog.

    python bench/workers.py [--workers 1,2,4,8,16,32] [--milliseconds 50] [--backlog 20000]

Real workers, Redis and a PostgreSQL of its own with pgvector; the embedder sleeps for each text instead of computing,
so that the processors are not the limit before many workers run. Sessions of 20 messages are captured while the workers
wait. `per_second`: messages in the ledger, between the tenth and the ninetieth hundredth of them. `linear`: how much of
what so many workers would embed without doing anything else. `busy`: the share of all processors.

Then one flow has a backlog, and ten messages are captured in another: `quiet_seconds` until they are searchable.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import psutil
import sqlalchemy as sa
from harness.redis import RedisServer
from ingesting.postgresql import running_postgresql

from memorybase import wiring
from memorybase.database import migrate
from memorybase.ingestion import capture as ingestion
from memorybase.ingestion.capture import CaptureRequest
from memorybase.memory_bases.manage import NewMemoryBase, create_memory_base
from memorybase.messages import normalise
from memorybase.models import Heartbeat, LedgerEntry, User
from memorybase.services import Services
from memorybase.sessions import flows
from memorybase.settings import Settings
from memorybase.testing import FakeEmbedders

ROOT = Path(__file__).resolve().parents[1]
SESSION = 20  # messages
SECONDS = 10  # of ideal work for each worker
QUIET = 10  # messages of the quiet flow
TRIES = 5


class Stage:
    """A database and a Redis, and workers that come and go."""

    def __init__(self, database_url: str, redis_url: str, directory: Path, text_seconds: float) -> None:
        settings = Settings(
            database_url=database_url, redis_url=redis_url, data_dir=directory, vector_store="pgvector", api_key=None
        )
        migrate.upgrade(database_url)
        self.services: Services = replace(wiring.build(settings), embedders=FakeEmbedders())
        self.user_id = uuid4()
        with self.services.database.transaction() as db:
            db.add(User(id=self.user_id, name="bench", created_at=datetime.now(UTC)))
        self._environment = os.environ | {
            "MEMORYBASE_DATABASE_URL": database_url,
            "MEMORYBASE_REDIS_URL": redis_url,
            "MEMORYBASE_DATA_DIR": str(directory),
            "MEMORYBASE_VECTOR_STORE": "pgvector",
            "BENCH_TEXT_SECONDS": str(text_seconds),
            "OMP_NUM_THREADS": "1",
            "MEMORYBASE_LOG_LEVEL": "WARNING",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "bench", ROOT / "clients/python/src"))),
        }

    def new_base(self) -> tuple[UUID, UUID]:
        """(flow, memory base): a session is due with its last message."""
        flow = flows.create_flow(self.services, self.user_id, name="bench")
        new = NewMemoryBase(name=f"base {uuid4()}", flow_id=flow.id, threshold=SESSION)
        return flow.id, create_memory_base(self.services, self.user_id, new)

    def capture(self, flow_id: UUID, session_id: str, messages: int) -> None:
        raw = [{"role": "assistant", "content": f"message {n} of {session_id}"} for n in range(messages)]
        new = [normalise(each, user_id=self.user_id, where="messages") for each in raw]
        request = CaptureRequest(session_id=session_id, messages=new)
        ingestion.capture(self.services, self.user_id, flow_id, request)

    def ingested(self, base: UUID) -> int:
        with self.services.database.reading() as db:
            counted = sa.select(sa.func.count()).select_from(LedgerEntry).where(LedgerEntry.memory_base_id == base)
            return db.scalar(counted) or 0

    def ingestion_times(self, base: UUID) -> list[float]:
        with self.services.database.reading() as db:
            times = sa.select(LedgerEntry.ingested_at).where(LedgerEntry.memory_base_id == base)
            return sorted(each.timestamp() for each in db.scalars(times) if each is not None)

    @contextmanager
    def workers(self, count: int) -> Iterator[None]:
        """So many that are ready."""
        command = [sys.executable, "-m", "celery", "--quiet", "-A", "sleeping_worker", "worker", "--loglevel=ERROR"]
        with ExitStack() as running:
            for number in range(count):
                process = subprocess.Popen([*command, "-n", f"w{number}@bench"], env=self._environment, cwd=ROOT)
                running.callback(process.wait)
                running.callback(process.kill)
            while self._alive() < count:
                time.sleep(0.2)
            yield
        with self.services.database.transaction() as db:
            db.execute(sa.delete(Heartbeat))

    def _alive(self) -> int:
        with self.services.database.reading() as db:
            return db.scalar(sa.select(sa.func.count()).where(Heartbeat.kind == "worker")) or 0


def added_up(stage: Stage, workers: int, text_seconds: float) -> dict[str, float]:
    """The steady rate of so many workers."""
    flow, base = stage.new_base()
    sessions = max(round(workers * SECONDS / text_seconds / SESSION), 10)
    with stage.workers(workers):
        psutil.cpu_percent()
        for number in range(sessions):
            stage.capture(flow, f"session {number}", SESSION)
        while stage.ingested(base) < sessions * SESSION:
            time.sleep(0.1)
        busy = psutil.cpu_percent()
    times = stage.ingestion_times(base)
    first, last = (times[int(len(times) * share)] for share in (0.1, 0.9))
    rate = 0.8 * len(times) / max(last - first, 0.001)
    linear = rate * text_seconds / workers
    return {"per_second": round(rate, 1), "linear": round(linear, 2), "busy": round(busy / 100, 2)}


def quiet_beside_noisy(stage: Stage, workers: int, backlog: int) -> dict[str, float]:
    """How long ten messages of one flow wait while another has a backlog."""
    noisy, _ = stage.new_base()
    for number in range(backlog // SESSION):
        stage.capture(noisy, f"session {number}", SESSION)
    waited = []
    with stage.workers(workers):
        for _ in range(TRIES):
            flow, base = stage.new_base()
            stage.capture(flow, "talk", SESSION - QUIET)
            began = time.monotonic()
            stage.capture(flow, "talk", QUIET)
            while stage.ingested(base) < SESSION:
                time.sleep(0.02)
            waited.append(time.monotonic() - began)
    return {"median": round(statistics.median(waited), 2), "most": round(max(waited), 2), "workers": workers}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", default="1,2,4,8,16,32", help="numbers of workers")
    parser.add_argument("--milliseconds", type=float, default=50.0, help="for a text")
    parser.add_argument("--backlog", type=int, default=20_000, help="messages of the noisy flow; 0: without that part")
    options = parser.parse_args()
    text_seconds = options.milliseconds / 1_000
    with ExitStack() as started:
        directory = Path(started.enter_context(tempfile.TemporaryDirectory()))
        redis = RedisServer(directory)
        started.callback(redis.close)
        redis.start()
        stage = Stage(started.enter_context(running_postgresql()), redis.url, directory, text_seconds)
        started.callback(wiring.close, stage.services)
        print(json.dumps({"cores": psutil.cpu_count(), "milliseconds_per_text": options.milliseconds}))
        for count in map(int, options.workers.split(",")):
            print(json.dumps({"workers": count} | added_up(stage, count, text_seconds)), flush=True)
        if options.backlog:
            print(json.dumps({"quiet_seconds": quiet_beside_noisy(stage, 2, options.backlog)}), flush=True)


if __name__ == "__main__":
    main()
