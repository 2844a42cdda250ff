"""The whole topology in pieces: API, workers and sweeper as processes over a Redis, a Chroma and a database that a test
can take away one by one. Or as one process, which a test of the promises takes as API, worker and sweeper."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from redis import Redis

from harness.chroma import ChromaServer
from harness.constants import constants
from harness.gates import INGEST, NOTIFY, RELEASE, Change, FileGate, Gate, SqliteGate, gate, opened_at_the_end
from harness.model import MODEL_DIR
from harness.one_process import OneProcess, beside
from harness.postgres import PostgresServer
from harness.process import PortServer, Server
from harness.redis import RedisServer
from harness.waiting import wait_until
from harness.worker import ROOT, WorkerServer
from harness.world import World
from memorybase import wiring
from memorybase.core import ids
from memorybase.core.auth import api_keys
from memorybase.core.database import migrate
from memorybase.core.models import Heartbeat, IngestionJob, JobState
from memorybase.core.services import Services
from memorybase.core.settings import Settings, embedded
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef

KEY = "mb_key_of_the_test_topology"
PATIENCE = 120.0  # seconds, on a loaded machine

AnyServer = TypeVar("AnyServer", bound=Server)


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
    """The services of a process, the processes that a test starts, a user's view over HTTP, and the truth in SQL and
    Chroma. `redis`, `chroma` and `postgres`: the servers below, for tests that take them away."""

    def __init__(
        self,
        settings: Settings,
        cleanup: ExitStack,
        redis: RedisServer | None,
        chroma: ChromaServer | None,
        postgres: PostgresServer | None,
    ) -> None:
        self.settings, self.cleanup = settings, cleanup
        self.redis, self.chroma, self.postgres = redis, chroma, postgres
        migrate.upgrade(settings.resolved_database_url)
        services = wiring.build(settings, role="cli")
        cleanup.callback(wiring.close, services)
        if settings.one_process:
            services = beside(services)
        self.services = services
        parts: Any = (services.vectors, services.queue, services.locks, services.embedders)
        user_id = api_keys.ensure_local_user(services, KEY)
        self.world = World(services, *parts, user_id, ids.flow_id(user_id, "flow"))  # nothing in it is a double
        self.one_process = OneProcess(settings, KEY) if settings.one_process else None
        whole: Any = self.one_process
        self.api: ApiServer = whole or ApiServer(settings)
        self.worker: WorkerServer = whole or WorkerServer(settings)
        self.sweeper: SweeperServer = whole or SweeperServer(services)
        for server in (self.api, self.worker, self.sweeper):
            cleanup.callback(server.close)
        self.client = httpx.Client(
            base_url=self.api.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=PATIENCE
        )
        cleanup.callback(self.client.close)

    def start(self, *servers: Server) -> None:
        """At once."""
        for server in dict.fromkeys(servers):
            server.launch()
        for server in dict.fromkeys(servers):
            server.wait_until_it_answers()

    def add(self, server: AnyServer) -> AnyServer:
        """Start another process, which ends with the test."""
        self.cleanup.callback(server.close)
        server.start()
        return server

    def start_worker(self, **options: Any) -> WorkerServer:
        return self.add(WorkerServer(self.settings, **options))

    @property
    def dbname(self) -> str:
        return str(sa.make_url(self.settings.database_url).database)

    def gate(self, change: Change) -> AbstractContextManager[Gate]:
        if self.one_process:
            return opened_at_the_end(SqliteGate(self.one_process.gates, self.sqlite_file, change))
        assert self.postgres, "gates are triggers in PostgreSQL, or in the one process"
        return gate(self.postgres, self.dbname, change)

    @contextmanager
    def gate_before(self, function: str) -> Iterator[Gate]:
        """One of `gates.FUNCTIONS`, in the one process."""
        assert self.one_process
        with opened_at_the_end(FileGate(self.one_process.gates, function)) as held:
            yield held

    @contextmanager
    def lock_kept(self) -> Iterator[None]:
        """A worker that has committed the end of a job gets no further."""
        if self.one_process:
            with self.gate_before(RELEASE):
                yield
            return
        assert self.redis
        self.redis.freeze()
        yield
        self.redis.thaw()

    @contextmanager
    def notifications_lost(self) -> Iterator[None]:
        """Who notifies waits, and is to be killed meanwhile: what was on its way is lost."""
        if self.one_process:
            with self.gate_before(NOTIFY):
                yield
            return
        assert self.redis
        self.redis.freeze()
        yield
        self.redis.kill()
        self.redis.start()

    @contextmanager
    def nothing_ingested(self) -> Iterator[None]:
        """No worker runs, and afterwards only that of the one process goes on by itself."""
        if self.one_process:
            with self.gate_before(INGEST):
                yield
            return
        self.worker.stop()
        yield

    @property
    def sqlite_file(self) -> Path:
        return self.settings.data_dir / "memorybase.db"

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

    def is_ready(self, base: str) -> bool:
        """False too while no API answers."""
        try:
            return bool(self.status(base)["status"] == "ready")
        except httpx.TransportError:
            return False

    def wait_until_ingested(self, base: str, count: int) -> None:
        wait_until(
            lambda: self.status(base)["total_processed"] == count and self.status(base)["status"] == "ready",
            PATIENCE,
            f"{count} messages ingested",
        )

    # The truth.

    def jobs(self, base: str) -> list[IngestionJob]:
        return self.world.jobs(UUID(base))

    def ref(self, base: str) -> CollectionRef:
        return self.world.ref(UUID(base))

    def stored(self, base: str) -> set[str]:
        return self.world.stored(UUID(base))

    def processed(self, base: str) -> int:
        """What its API would say."""
        serving = self.world.base(UUID(base)).serving
        return sum(row.total_processed for row in self.world.rows(UUID(base)) if row.generation == serving)

    def running(self, base: str) -> bool:
        return any(job.state == JobState.RUNNING for job in self.jobs(base))

    def wait_until_embedding(self, base: str) -> None:
        wait_until(lambda: any(job.embedding_started for job in self.jobs(base)), PATIENCE, "embedding began")

    def wait_until_idle(self, base: str, *, sweeping: bool = False) -> None:
        """There were jobs, and all have ended. `sweeping`: without a sweeper's process."""

        def idle() -> bool:
            if sweeping:
                self.world.sweep()
            return bool(self.jobs(base)) and not self.world.active_jobs(UUID(base))

        wait_until(idle, PATIENCE, "all jobs have ended")

    def assert_exact(self, base: str, count: int) -> None:
        """Ledger, Chroma's ids and the counters agree, for so many messages."""
        serving = self.world.base(UUID(base)).serving
        held = [entry for entry in self.world.ledger(UUID(base)) if entry.generation == serving]
        assert len(held) == count
        expected = [
            chunk for e in held for chunk in chunk_ids.chunk_ids(e.memory_base_id, e.message_id, e.version, e.chunks)
        ]
        pages = self.services.vectors.iter_ids(self.ref(base))
        assert sorted(chunk for page in pages for chunk in page) == sorted(expected)
        assert self.processed(base) == count


@contextmanager
def topology(
    folder: Path,
    *,
    redis: RedisServer | None = None,
    chroma: ChromaServer | None = None,
    postgres: PostgresServer | None = None,
    values: Mapping[str, float] | None = None,
    **settings: Any,
) -> Iterator[Topology]:
    """No process of it runs yet. The data are on SQLite in the folder, or in a new database of `postgres`. A Redis or
    Chroma that does not answer is its own: it is started, and stopped in the end. Redis is emptied. `values`: of
    constants, by their paths. With `one_process=True` there is one, and no server below it."""
    with ExitStack() as cleanup:
        cleanup.enter_context(constants(values or {}))
        for server in (redis, chroma):
            if server and not server.answers():
                cleanup.callback(server.close)
                server.start()
        given: dict[str, Any] = {"model_dir": MODEL_DIR}
        if redis:
            given["redis_url"] = redis.url
            with Redis.from_url(redis.url) as client:
                client.flushdb()
        if chroma:
            given["chroma_url"] = chroma.url
        if postgres:
            name = postgres.create_database()
            cleanup.callback(postgres.drop_database, name)
            given["database_url"] = postgres.url(name)
        yield Topology(embedded(folder, **(given | settings)), cleanup, redis, chroma, postgres)


def pieces_of(request: pytest.FixtureRequest, own_redis: Path) -> dict[str, Any]:
    """What `topology` needs for a fixture's form: `processes`, with a Redis of its own that may be frozen and killed,
    or `one process`."""
    if request.param != "processes":
        return {"one_process": True, "lease_seconds": 300.0}
    servers = {name: request.getfixturevalue(f"{name}_server") for name in ("chroma", "postgres")}
    return {"redis": RedisServer(own_redis), **servers}


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
