"""The servers of one store, the services over them, and the processor time that each process takes."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid5

import psutil
import sqlalchemy as sa
from harness.chroma import ChromaServer
from harness.doubles import InMemoryLocks, InMemoryQueue
from harness.process import Server
from ingesting.postgresql import DurablePostgres

from memorybase import wiring
from memorybase.core import collector
from memorybase.core.auth import api_keys
from memorybase.core.database import migrate
from memorybase.core.embedding import Embedders, chunking
from memorybase.core.memory_bases import consistency
from memorybase.core.memory_bases.manage import NewMemoryBase, put_memory_base
from memorybase.core.models import Capture, Flow, Generation, MemoryBase, Message, Session
from memorybase.core.operations import vector_indexes
from memorybase.core.services import EmbedderRegistry, Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings
from memorybase.core.vectors import chroma_saves
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.store import CollectionRef, VectorStore
from scaling.bulk import loading
from scaling.embedder import MadeEmbedders
from scaling.rows import LEAVING_MESSAGES, LEAVING_SESSIONS, Batch, RowMaker, Target
from scaling.texts import Vocabulary

StoreName = Literal["sqlite-chroma", "postgresql-chroma", "postgresql-pgvector"]
STORES: tuple[StoreName, ...] = ("sqlite-chroma", "postgresql-chroma", "postgresql-pgvector")
COUNTED_STEPS = 1_000  # at a time: counting each would cost more than the steps
KEY = "the-key-of-the-benchmark"
THRESHOLD = 10
FILL_SECONDS = 600.0  # for one request to Chroma
OTHER_FLOWS = 19  # each with a memory base and a few messages


@dataclass(frozen=True, slots=True)
class Size:
    """How many messages the large flow has, in how many sessions."""

    messages: int
    sessions: int


OTHER_SIZE = Size(100, 10)


@dataclass
class Stage:
    """One store, filled to a size."""

    name: StoreName
    size: Size
    services: Services
    vocabulary: Vocabulary
    servers: dict[str, Server]
    directory: Path
    user_id: UUID
    flow_id: UUID
    base_id: UUID
    filled_seconds: float = 0.0
    sqlite_steps: int = 0  # of its virtual machine so far: the same in every run, on any machine

    @property
    def messages(self) -> int:
        """Of all flows, as they were filled."""
        return self.size.messages + OTHER_FLOWS * OTHER_SIZE.messages + LEAVING_SESSIONS * LEAVING_MESSAGES

    @property
    def chroma(self) -> ChromaServer | None:
        server = self.servers.get("chroma")
        return server if isinstance(server, ChromaServer) else None

    def server_seconds(self) -> float:
        """The processor time that the servers have taken so far."""
        return sum(sum(_times(process)) for process in self.server_processes())

    def count_steps(self) -> None:
        """Count SQLite's steps from now on."""
        database = self.services.database
        database.dispose()  # the connections that are open do not count

        def count() -> int:
            self.sqlite_steps += COUNTED_STEPS
            return 0

        if database.is_sqlite:
            sa.event.listen(
                database.engine, "connect", lambda opened, _: opened.set_progress_handler(count, COUNTED_STEPS)
            )

    def server_processes(self) -> list[psutil.Process]:
        parents = [psutil.Process(server.pid) for server in self.servers.values()]
        return [each for parent in parents for each in (parent, *parent.children(recursive=True))]

    def target(self) -> Target:
        embedder = self.services.embedders.get()
        chunker = chunking.chunker_for(self.services.settings, embedder)
        return Target(self.user_id, self.flow_id, self.base_id, embedder, chunker)

    def collection(self, base_id: UUID) -> CollectionRef:
        with self.services.database.reading() as db:
            base = db.get_one(MemoryBase, base_id)
            generation = db.get_one(Generation, (base_id, base.serving))
        return CollectionRef(generation.collection_name, generation.collection_id)


@dataclass
class Progress:
    """Says on stderr how far a fill is."""

    total: int
    done: int
    first: int = field(init=False)
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.first, self.began = self.done, time.perf_counter()

    def add(self, messages: int) -> None:
        self.done += messages
        rate = (self.done - self.first) / (time.perf_counter() - self.began)
        left = timedelta(seconds=round((self.total - self.done) / rate))
        said = f"{self.done:,} of {self.total:,} messages, {rate:.0f} a second, {left} left"
        print(said, file=sys.stderr, flush=True)


def _times(process: psutil.Process) -> tuple[float, float]:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # its parent has counted it
        return 0.0, 0.0
    return times.user + times.children_user, times.system + times.children_system


@contextmanager
def filled(
    name: StoreName,
    size: Size,
    *,
    embed: bool,
    postgresql: Mapping[str, str] | None = None,
    embedders: Callable[[Settings, Vocabulary], EmbedderRegistry] | None = None,
    directory: Path | None = None,
) -> Iterator[Stage]:
    """The servers of a store, filled with made conversations; consistent by the product's own comparison.

    `postgresql` has settings of that server other than a deployment has. `embed`: by the model of the settings.
    `directory` keeps SQLite and Chroma; a fill that was cut off goes on there.
    """
    with ExitStack() as started:
        make = embedders or ((lambda settings, _: Embedders(settings)) if embed else (lambda _, v: MadeEmbedders(v)))
        where = directory or Path(started.enter_context(tempfile.TemporaryDirectory(prefix="memorybase-scale-")))
        stage = _started(started, name, size, make, postgresql or {}, where)
        began = time.perf_counter()
        if not _is_filled(stage):
            _fill(stage)
        stage.filled_seconds = time.perf_counter() - began
        found = consistency.check_mismatch(stage.services, stage.user_id, stage.base_id)
        if found.state == "unavailable":  # a million chunks, of which nothing was in memory yet
            found = consistency.check_mismatch(stage.services, stage.user_id, stage.base_id)
        if found.state != "ok" or not found.expected:
            raise AssertionError(f"the filled store is not consistent: {found}")
        stage.count_steps()
        collector.spare_loaded()
        yield stage


def _started(
    started: ExitStack,
    name: StoreName,
    size: Size,
    make: Callable[[Settings, Vocabulary], EmbedderRegistry],
    settings_of_postgresql: Mapping[str, str],
    directory: Path,
) -> Stage:
    servers: dict[str, Server] = {}
    url = f"sqlite:///{directory / 'memorybase.db'}"
    if name != "sqlite-chroma":
        postgresql = DurablePostgres(**settings_of_postgresql)
        started.callback(postgresql.close)
        postgresql.start()
        servers["postgresql"] = postgresql
        url = postgresql.url(postgresql.create_database())
    chroma_url = ""
    if name != "postgresql-pgvector":
        chroma = ChromaServer(directory)
        chroma_saves.repair(chroma.data, print)
        started.callback(chroma.close)
        chroma.start()
        servers["chroma"] = chroma
        chroma_url = chroma.url
    migrate.upgrade(url)
    settings = Settings(
        data_dir=directory,
        database_url=url,
        chroma_url=chroma_url,
        api_key=KEY,
        vector_store="pgvector" if not chroma_url else "chroma",
        rate_limit_per_second=0,
    )
    vocabulary = Vocabulary()
    embedders = make(settings, vocabulary)
    built = wiring.build(settings, role="api")
    started.callback(wiring.close, built)
    services = replace(built, embedders=embedders, locks=InMemoryLocks(), queue=InMemoryQueue())
    user_id = api_keys.ensure_local_user(services, KEY)
    return Stage(name, size, services, vocabulary, servers, directory, user_id, *_flow(services, user_id, "large"))


def _flow(services: Services, user_id: UUID, name: str) -> tuple[UUID, UUID]:
    """(flow, memory base), created unless they are there."""
    flow_id = uuid5(user_id, name)
    flows.put_flow(services, user_id, name=name, flow_id=flow_id)
    new = NewMemoryBase(name=name, flow_id=flow_id, capture=Capture.ALL, threshold=THRESHOLD)
    return flow_id, put_memory_base(services, user_id, new).id


def _is_filled(stage: Stage) -> bool:
    """What the end of a fill sets."""
    with stage.services.database.reading() as db:
        return db.get_one(MemoryBase, stage.base_id).mismatch_checked_at is not None


def _fill(stage: Stage) -> None:
    """Everything that is not there yet."""
    services = stage.services
    others = [_flow(services, stage.user_id, f"flow {number}") for number in range(OTHER_FLOWS)]
    with services.database.reading() as db:
        progress = Progress(stage.messages, db.scalar(sa.select(sa.func.sum(Session.last_seq))) or 0)
    with _writing(stage) as vectors, loading(services.database.url) as loader:
        for seed, (flow_id, base_id) in enumerate([(stage.flow_id, stage.base_id), *others]):
            ref = stage.collection(base_id)
            for batch in _made_ahead(_missing(stage, flow_id, base_id, seed)):
                # Before the rows, whose number says where a fill goes on: what is written again has the same ids.
                vectors.upsert(ref, batch.records)
                loader.load(batch)
                progress.add(len(batch.rows[Message]))
                if stage.chroma is not None:
                    chroma_saves.keep_maps(stage.chroma.data)  # between two of its saves, as a stack does
    vector_indexes.build_indexes(services)  # as the sweeper does
    with services.database.transaction() as db:
        now = datetime.now(UTC)
        db.execute(
            sa.update(MemoryBase).values(mismatch=False, mismatch_checked_at=now, compare_at=now + timedelta(minutes=1))
        )


@contextmanager
def _writing(stage: Stage) -> Iterator[VectorStore]:
    """The vector store, with patience: one request to Chroma takes minutes where a fill gets little of the machine."""
    if stage.chroma is None:
        yield stage.services.vectors
        return
    with closing(ChromaStore(stage.chroma.url, timeout_seconds=FILL_SECONDS)) as store:
        yield store


def _missing(stage: Stage, flow_id: UUID, base_id: UUID, seed: int) -> Iterator[Batch]:
    """The rows of a flow after those of its last session."""
    is_large = base_id == stage.base_id
    size = stage.size if is_large else OTHER_SIZE
    with stage.services.database.reading() as db:
        now = db.get_one(Flow, stage.flow_id).created_at  # the same whenever the fill goes on
        after = db.scalar(sa.select(sa.func.count()).where(Session.flow_id == flow_id)) or 0
    target = replace(stage.target(), flow_id=flow_id, base_id=base_id)
    maker = RowMaker(target, stage.vocabulary, seed=seed, now=now)
    return maker.batches(size.messages, size.sessions, leaving=is_large, after=after)


def _made_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches; the next one is made while the last one is written."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
