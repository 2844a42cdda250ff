"""A database, a Redis and workers for the benchmarks of the queue."""

from __future__ import annotations

import os
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

import sqlalchemy as sa
from harness.doubles import FakeEmbedders
from harness.redis import RedisServer
from ingesting.postgresql import running_postgresql

from memorybase import wiring
from memorybase.core.database import migrate
from memorybase.core.ingestion import capture as ingestion
from memorybase.core.ingestion.capture import CaptureRequest
from memorybase.core.memory_bases.manage import NewMemoryBase, create_memory_base
from memorybase.core.messages import normalise
from memorybase.core.models import Heartbeat, LedgerEntry, Message, User
from memorybase.core.services import Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def staged(text_seconds: float) -> Iterator[Stage]:
    """A PostgreSQL and a Redis of its own, in a directory that goes with them."""
    with ExitStack() as started:
        directory = Path(started.enter_context(tempfile.TemporaryDirectory()))
        redis = RedisServer(directory)
        started.callback(redis.close)
        redis.start()
        stage = Stage(started.enter_context(running_postgresql()), redis.url, directory, text_seconds)
        started.callback(wiring.close, stage.services)
        yield stage


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

    def new_base(self, threshold: int) -> tuple[UUID, UUID]:
        """(flow, memory base)"""
        flow = flows.create_flow(self.services, self.user_id, name="bench")
        new = NewMemoryBase(name=f"base {uuid4()}", flow_id=flow.id, threshold=threshold)
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

    def waited(self, base: UUID) -> list[float]:
        """Seconds from the capture of each job's last message until it was searchable."""
        captured = sa.func.max(Message.captured_at)
        with self.services.database.reading() as db:
            times = db.execute(
                sa.select(LedgerEntry.ingested_at, captured)
                .join(Message, Message.id == LedgerEntry.message_id)
                .where(LedgerEntry.memory_base_id == base, LedgerEntry.ingested_at.is_not(None))
                .group_by(Message.session_uuid, LedgerEntry.ingested_at)
            )
            return [(ingested - last).total_seconds() for ingested, last in times if ingested is not None]

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

    @contextmanager
    def sweeper(self) -> Iterator[None]:
        """One in a process of its own."""
        process = subprocess.Popen([sys.executable, "-m", "memorybase", "sweep"], env=self._environment, cwd=ROOT)
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def _alive(self) -> int:
        with self.services.database.reading() as db:
            return db.scalar(sa.select(sa.func.count()).where(Heartbeat.kind == "worker")) or 0
