"""The whole topology in pieces: API, workers and sweeper as processes over a Redis, a Chroma and a database that a test
can take away one by one."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import sqlalchemy as sa

from harness.model import MODEL_DIR
from harness.process import PortServer, Server
from harness.waiting import wait_until
from harness.worker import ROOT, WorkerServer
from memorybase import wiring
from memorybase.auth import api_keys
from memorybase.database import migrate
from memorybase.models import Generation, Heartbeat, IngestionJob, LedgerEntry, MemoryBase, SessionProgress
from memorybase.services import Services
from memorybase.settings import Settings
from memorybase.vectors import chunk_ids
from memorybase.vectors.store import CollectionRef

KEY = "mb_key_of_the_test_topology"
PATIENCE = 90.0  # seconds, on a loaded machine


class ApiServer(PortServer):
    """The API, as docker-compose.yml starts it."""

    name = "api"
    settings: Settings

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.data_dir)
        self.settings = settings

    def command(self) -> list[str]:
        return [sys.executable, "-m", "api", "--host", self.host, "--port", str(self.port)]

    def environment(self) -> dict[str, str]:
        # Pages are tried against whole stacks; to load them takes half a second of processor each time. The model is
        # that of all tests, unless a test is about its preparation: each API would export its own, for many seconds.
        models = str(self.settings.model_dir or MODEL_DIR)
        return self.settings.child_environment() | {"MEMORYBASE_WEB": "false", "MEMORYBASE_MODEL_DIR": models}

    def popen_options(self) -> dict[str, Any]:
        return {"cwd": ROOT}

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/v1"

    def answers(self) -> bool:
        try:
            return (
                httpx.get(f"http://{self.host}:{self.port}/health/live", trust_env=False, timeout=60).status_code == 200
            )
        except httpx.TransportError:
            return False

    def has_model(self) -> bool:
        """Whether its model is prepared, whatever else is missing."""
        answer = httpx.get(f"{self.url}/health/ready", timeout=30, trust_env=False)
        return answer.status_code == 200 or "model" not in answer.json()["error"]["details"]["failing"]


class SweeperServer(Server):
    name = "sweeper"

    def __init__(self, services: Services) -> None:
        super().__init__(services.settings.data_dir)
        self.services = services

    def command(self) -> list[str]:
        return [sys.executable, "-m", "memorybase", "sweep"]

    def environment(self) -> dict[str, str]:
        return self.services.settings.child_environment()

    def popen_options(self) -> dict[str, Any]:
        return {"cwd": ROOT}

    def answers(self) -> bool:
        with self.services.database.reading() as db:
            own = sa.select(Heartbeat.name).where(Heartbeat.kind == "sweeper", Heartbeat.name.endswith(f":{self.pid}"))
            return db.scalar(own) is not None


class Topology:
    """A user's view over HTTP, the processes behind it, and the truth in SQL and Chroma."""

    def __init__(self, settings: Settings, cleanup: ExitStack) -> None:
        self.settings = settings
        migrate.upgrade(settings.resolved_database_url)
        self.services = wiring.build(settings, role="cli")
        cleanup.callback(wiring.close, self.services)
        api_keys.ensure_local_user(self.services, KEY)
        self.api = ApiServer(settings)
        self.sweeper = SweeperServer(self.services)
        self.cleanup = cleanup
        for server in (self.api, self.sweeper):
            cleanup.callback(server.close)
            server.start()
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.api.port}/v1",
            headers={"Authorization": f"Bearer {KEY}"},
            trust_env=False,
            timeout=PATIENCE,
        )
        cleanup.callback(self.client.close)

    def start_worker(self) -> WorkerServer:
        worker = WorkerServer(self.settings)
        self.cleanup.callback(worker.close)
        worker.start()
        return worker

    # What a user does.

    def call(self, method: str, path: str, *expected: int, **options: Any) -> Any:
        answer = self.client.request(method, path, **options)
        assert answer.status_code in (expected or (200,)), f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def base(self, flow: str = "flow", **fields: Any) -> str:
        self.call("PUT", f"/flows/{flow}", 200, 201, json={"name": flow})
        body = {"name": f"memory of {flow}", "flow_id": flow, "capture": "all"} | fields
        made: dict[str, str] = self.call("POST", "/memories", 201, json=body)
        return made["id"]

    def capture(self, *texts: str, session: str = "s", flow: str = "flow", timeout: float = PATIENCE) -> Any:
        body = {"session_id": session, "messages": [{"role": "user", "content": text} for text in texts]}
        return self.call("POST", f"/flows/{flow}/runs", 201, json=body, timeout=timeout)

    def status(self, base: str) -> Any:
        return self.call("GET", f"/memories/{base}")

    def wait_until_ingested(self, base: str, count: int) -> None:
        wait_until(
            lambda: self.status(base)["total_processed"] == count and self.status(base)["status"] == "ready",
            PATIENCE,
            f"{count} messages ingested",
        )

    # The truth.

    def jobs(self, base: str) -> list[IngestionJob]:
        with self.services.database.reading() as db:
            found = db.scalars(sa.select(IngestionJob).order_by(IngestionJob.created_at)).all()
            return [job for job in found if str(job.memory_base_id) == base]

    def ref(self, base: str) -> CollectionRef:
        with self.services.database.reading() as db:
            serving = db.get_one(MemoryBase, UUID(base)).serving
            generation = db.get_one(Generation, (UUID(base), serving))
        return CollectionRef(generation.collection_name, generation.collection_id)

    def stored(self, base: str) -> list[str]:
        return [chunk for page in self.services.vectors.iter_ids(self.ref(base)) for chunk in page]

    def assert_exact(self, base: str, count: int) -> None:
        """Ledger, Chroma's ids and the counters agree, for so many messages."""
        with self.services.database.reading() as db:
            serving = db.get_one(MemoryBase, UUID(base)).serving
            held, rows = (
                db.scalars(
                    sa.select(table).where(table.memory_base_id == UUID(base), table.generation == serving)
                ).all()
                for table in (LedgerEntry, SessionProgress)
            )
        expected = [
            chunk for e in held for chunk in chunk_ids.chunk_ids(e.memory_base_id, e.message_id, e.version, e.chunks)
        ]
        assert len(held) == count
        assert sorted(self.stored(base)) == sorted(expected)
        assert sum(row.total_processed for row in rows) == count


@contextmanager
def topology(settings: Settings) -> Iterator[Topology]:
    with ExitStack() as cleanup:
        yield Topology(settings, cleanup)


@contextmanager
def sqlite_writer_blocked(path: Path) -> Iterator[None]:
    """Hold SQLite's one write lock: whoever wants to write waits, readers go on."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()
