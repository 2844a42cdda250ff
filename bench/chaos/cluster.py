"""The processes of one run: Redis, Chroma, the database, the API, workers and sweepers; on a network, if wanted. Or the
one process that is all of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.chroma import ChromaServer
from harness.clock import SteppedClock
from harness.constants import constants
from harness.model import MODEL_DIR, export_model
from harness.one_process import OneProcess, beside
from harness.pieces import ApiServer, SweeperServer
from harness.postgres import PostgresServer
from harness.process import Server, running
from harness.redis import RedisServer
from harness.replication import Replicated
from harness.worker import BROKEN_MODEL, WorkerServer, sabotage
from network.network import Network
from soak.machine import small_disk

from memorybase import wiring
from memorybase.core.auth import api_keys
from memorybase.core.database import migrate
from memorybase.core.settings import Settings, embedded
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.store import VectorStore

KEY = "mb_key_of_the_chaos_run"
DatabaseKind = Literal["sqlite", "postgresql", "replicated"]
OBSERVER = "harness"  # the node of what checks and starts; its links are never broken
OPERATOR = "operator"
PROCESS = "process"  # the one
DISK_MEGABYTES = 700  # its data are a tenth of that after ten minutes
START_SECONDS = 120.0  # all of them start at once, and after a run some of them at once with everybody's backlog

# All timeouts are short, so that leases expire and notifications repeat within seconds.
QUICK = {"lease_seconds": 4.0, "embedding_threads": 1}
QUICK_CONSTANTS = {
    "memorybase.core.settings.Settings.sweep_seconds": 0.5,
    "memorybase.core.settings.Settings.backoff_max_seconds": 2.0,
    "memorybase.core.settings.Settings.redis_timeout_seconds": 1.0,
    "memorybase.core.deadlines.NOTIFY_AFTER_SECONDS": 3.0,
    "memorybase.core.deadlines.NOTIFY_MAX_SECONDS": 6.0,
    "memorybase.core.deadlines.BACKOFF_SECONDS": 0.3,
    "memorybase.core.deadlines.HEARTBEAT_SECONDS": 1.0,
    "memorybase.core.deadlines.HEARTBEAT_STALE_SECONDS": 5.0,
    "memorybase.core.memory_bases.deletion.DRAIN_SECONDS": 2.0,
    "memorybase.core.memory_bases.deletion.RETIRE_SECONDS": 2.0,
    "memorybase.core.ingestion.scheduler.JOB_MAX_MESSAGES": 48,  # many jobs, many advances
    "memorybase.features.retention.passes.INTERVAL": 1.0,
    "memorybase.features.webhooks.sender.TIMEOUT_SECONDS": 2.0,
    "memorybase.features.webhooks.sender.BACKOFF_SECONDS": 0.2,
    "memorybase.features.webhooks.sender.ATTEMPTS": 20,  # an endpoint that fails now and then never gets as far
    "memorybase.features.webhooks.sender.DISABLE_AFTER": 10.0**8,
    # Collections move all the time.
    "memorybase.core.vectors.pgvector.INDEX_ABOVE": 100,
    "memorybase.core.operations.vector_indexes.EVERY": 1.0,
    # Postings are packed as soon as nothing is captured into a session for a moment.
    "memorybase.core.keyword_index.packing.PAGE": 16,
    "memorybase.core.keyword_index.packing.IDLE_SECONDS": 1.0,
    "worker.queue.PAUSE_SECONDS": 0.5,
}


# What goes wrong with the model while a file says so.
MOODY_MODEL = """
import time
from pathlib import Path
from memorybase.core.errors import EmbeddingFailed

run_in_any_mood = OnnxEmbedder._run

def moody(self, batch, *, with_states):
    mood = Path(os.environ["CHAOS_MODEL"])
    found = mood.read_text() if mood.exists() else ""
    if found == "slow":
        time.sleep(0.5)
    if found == "failing":
        raise EmbeddingFailed("The embedding model failed on a batch (chaos).", model=self.model, texts=len(batch))
    return run_in_any_mood(self, batch, with_states=with_states)

OnnxEmbedder._run = moody
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run, with what, for how long; all that chance decides comes from the seed."""

    seed: int
    seconds: float
    database: DatabaseKind = "sqlite"
    vectors: VectorStoreName = "chroma"  # pgvector: in the database, which is PostgreSQL
    workers: int = 2
    sweepers: int = 2
    clients: int = 4
    flows: int = 2
    apis: int = 1
    one_process: bool = False  # all parts are one; on SQLite, with Chroma
    kills: int = 0  # nothing but so many kills, of any process
    network: bool = False  # every process in a network namespace of its own
    messages_per_second: float = 50.0  # what the clients together aim at
    fault_every_seconds: float = 1.8  # on average
    operator_every_seconds: float = 4.0  # flush, regenerate, create, delete
    quiet_seconds: float = 120.0  # after which it fails if nothing moves and something is left to do
    call_seconds: float = 10.0  # after which a client gives a call up, and repeats it

    def nodes(self) -> list[str]:
        """The names of what has a place on the network."""
        counts = {"api": self.apis, "worker": self.workers, "sweeper": self.sweepers, "client": self.clients}
        numbered = [f"{name}-{number}" for name, count in counts.items() for number in range(count)]
        stores = [
            "redis",
            *(["chroma"] if self.vectors == "chroma" else []),
            *(["postgres"] if self.database == "postgresql" else []),
        ]
        return [OBSERVER, OPERATOR, *stores, *numbered]


class Cluster:
    """Every process by name. Started, killed and started again by the main thread: they die with their parent."""

    def __init__(self, plan: Plan, directory: Path, cleanup: ExitStack) -> None:
        self.plan = plan
        self.directory = directory
        self.servers: dict[str, Server] = {}
        self.clocks: dict[str, SteppedClock] = {}
        self._cleanup = cleanup
        # Nothing of Celery is loaded by the one process.
        quick = {k: v for k, v in QUICK_CONSTANTS.items() if not (plan.one_process and k.startswith("worker."))}
        cleanup.enter_context(constants(quick))
        self.network = self._joined() if plan.network else None
        export_model()
        self.redis = None if plan.one_process else RedisServer(self._folder("redis"))
        has_chroma = plan.vectors == "chroma" and not plan.one_process
        self.chroma = ChromaServer(self._folder("chroma")) if has_chroma else None
        self.postgres = PostgresServer() if plan.database == "postgresql" else None
        self.replicated = self._replicated() if plan.database == "replicated" else None
        for server in (self.redis, self.chroma, self.postgres):
            if server is not None:
                self._add(server.name, server)
                server.start()
        self.disk = self._disk()  # that can be full
        self.settings = self._settings()
        self._prepare()
        services = wiring.build(self.settings, role="cli")
        cleanup.callback(wiring.close, services)
        self.services = beside(services) if plan.one_process else services
        self.apis = [self._one_process()] if plan.one_process else [self._api() for _ in range(plan.apis)]
        self._start_others()

    def _prepare(self) -> None:
        """The tables, and the user with the key."""
        migrate.upgrade(self.settings.resolved_database_url)
        services = wiring.build(self.settings, role="cli")
        api_keys.ensure_local_user(services, KEY)
        wiring.close(services)

    def _api(self) -> ApiServer | OneProcess:
        return ApiServer(self.settings)

    def _one_process(self) -> OneProcess:
        changes = sabotage(self.directory / "start of the process", BROKEN_MODEL + MOODY_MODEL)
        return OneProcess(self.settings, KEY, changes | {"CHAOS_MODEL": str(self.mood)})

    def _worker(self, number: int) -> WorkerServer:
        changes = sabotage(self.directory / f"start of worker-{number}", BROKEN_MODEL)
        return WorkerServer(self.settings, flags=("-n", f"chaos{number}@%h"), changes=changes)

    def _sweeper(self) -> SweeperServer:
        return SweeperServer(self.services)

    def _joined(self) -> Network:
        """The network. This thread, and every thread that it starts, is at the observer's node until the end."""
        network = Network(self.plan.nodes(), self.plan.seed)
        self._cleanup.callback(network.close)
        self._cleanup.enter_context(network.nodes[OBSERVER].inside())
        return network

    def _folder(self, name: str) -> Path:
        folder = self.directory / name
        folder.mkdir()
        return folder

    def _disk(self) -> Path | None:
        """Of the one process, if this user may mount one."""
        if not self.plan.one_process or os.getuid():
            return None
        return self._cleanup.enter_context(small_disk(self.directory / "disk", DISK_MEGABYTES))

    def _replicated(self) -> Replicated:
        """Not among the servers that are started again wherever they ended: one of both may be no primary any more."""
        replicated = Replicated(synchronous=True)
        self._cleanup.callback(replicated.close)
        replicated.start()
        return replicated

    def _settings(self) -> Settings:
        url = self.postgres.url(self.postgres.create_database()) if self.postgres else ""
        url = self.replicated.url(self.replicated.create_database()) if self.replicated else url
        if self.plan.one_process:
            data = (self.disk or self.directory) / "data"
            data.mkdir(mode=0o700)
            allowed = [f"{self.address}/32"]
            return embedded(data, one_process=True, model_dir=MODEL_DIR, webhook_allowed_networks=allowed, **QUICK)
        assert self.redis
        return embedded(
            self._folder("data"),
            redis_url=self.redis.url,
            database_url=url,
            model_dir=MODEL_DIR,
            chroma_url=self.chroma.url if self.chroma else "",
            vector_store=self.plan.vectors,
            webhook_allowed_networks=[f"{self.address}/32"],
            **QUICK,
        )

    def _start_others(self) -> None:
        if self.plan.one_process:
            self._add(PROCESS, self.apis[0])
        else:
            self._add_parts()
        started = [server for server in self.servers.values() if not server.running]
        for server in started:
            server.launch()
        for server in started:
            server.wait_until_it_answers()

    def _add_parts(self) -> None:
        for number, api in enumerate(self.apis):
            self._add(f"api-{number}", api)
        for number in range(self.plan.workers):
            self._add(f"worker-{number}", self._worker(number))
        for number in range(self.plan.sweepers):
            self._add(f"sweeper-{number}", self._sweeper())

    def _add(self, name: str, server: Server) -> None:
        server.name = name
        server.log = self.directory / f"{name}.log"
        server.start_seconds = START_SECONDS
        if self.network:
            self._place(server)
        self._cleanup.callback(_end, server)
        self.servers[name] = server

    def _place(self, server: Server) -> None:
        assert self.network
        namespace = self.network.nodes[server.name]
        if isinstance(server, PostgresServer):
            server.place(namespace)
        else:
            server.namespace = namespace
        # On SQLite all processes are of one machine, which has one clock; Chroma asks for none.
        if self.postgres and server is not self.chroma and shutil.which("cc"):
            folder = server.directory if server is self.postgres else self.directory
            self.clocks[server.name] = SteppedClock(folder, f"clock of {server.name}")
            server.preloaded = self.clocks[server.name].environment()

    @property
    def address(self) -> str:
        """Where this process listens to what it started."""
        return self.network.address(OBSERVER) if self.network else "127.0.0.1"

    def all_answer(self) -> bool:
        self.relaunch()
        return all(server.answers() for server in self.servers.values())

    def relaunch(self) -> None:
        """Start again what has ended, as its supervisor would."""
        for server in self.servers.values():
            if not server.running:
                server.launch()

    @contextmanager
    def chroma_at_rest(self) -> Iterator[tuple[str, VectorStore]]:
        """A server of Chroma with all that was stored, at its address. The one process is stopped, and a server has
        its files."""
        if self.chroma:
            yield self.chroma.url, self.services.vectors
            return
        self.servers[PROCESS].stop()
        with chroma_over(self.settings.data_dir) as found:
            yield found

    @property
    def mood(self) -> Path:
        """Of the one process's model."""
        return self.directory / "mood of the model"

    @property
    def sqlite_file(self) -> Path:
        return self.settings.data_dir / "memorybase.db"

    @property
    def urls(self) -> list[str]:
        return [api.url for api in self.apis]

    @property
    def stores(self) -> list[str]:
        """What readiness asks, by the names of nodes and of readiness."""
        return [name for name in ("postgres", "redis", "chroma") if name in self.servers]

    def names(self, prefix: str) -> list[str]:
        return [name for name in self.servers if name.startswith(prefix)]


class ChromaOfProcess(ChromaServer):
    """Where one process has it."""

    @property
    def data(self) -> Path:
        return self.directory / "chroma"


@contextmanager
def chroma_over(data_dir: Path) -> Iterator[tuple[str, VectorStore]]:
    """A server of Chroma over the files of one process that has ended, at its address."""
    with (
        running(ChromaOfProcess(data_dir)) as server,
        closing(ChromaStore(server.url, timeout_seconds=60)) as store,
    ):
        yield server.url, store


def _end(server: Server) -> None:
    """At once: whoever was killed all along may be killed now."""
    if server.running:
        server.kill()
    server.close()
