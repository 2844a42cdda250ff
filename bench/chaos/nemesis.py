"""Who breaks things: a fault every few seconds, chosen by the seed, undone a while later. Runs in the main thread."""

from __future__ import annotations

import heapq
import itertools
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import IO

import psycopg
import redis
import sqlalchemy as sa
from harness.pieces import sqlite_writer_blocked
from harness.process import Server
from harness.waiting import wait_until
from harness.world import message_of

from chaos.cluster import PROCESS, START_SECONDS, Cluster
from chaos.machine import Machine
from chaos.partitions import NetworkFault, Partitions
from memorybase.core import errors
from memorybase.core.models import ACTIVE_STATES, Generation, IngestionJob, JobState, Message, SessionProgress
from memorybase.core.vectors.chunk_ids import chunk_id
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.store import CollectionRef
from memorybase.core.vectors.stores import store_named
from worker.queue import QUEUE

AIM_SECONDS = 1.5  # how long a named point of the flow is waited for
TICK_SECONDS = 0.02
CUT_INDEX = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state <> 'idle'
    AND xact_start < clock_timestamp() - random() * interval '200 milliseconds'
    AND (query LIKE '%INTO memorybase_vectors.collection_%' OR query LIKE '%USING hnsw%')
"""
STOP_SECONDS = 20.0  # SIGTERM: then kill -9
KILL_WITHIN_SECONDS = 6.0  # of a run of kills alone
KILLED_WHILE_IT_WORKS = 0.6


class Nemesis:
    """`faults` counts what was done, by kind; `exits` the processes that ended unasked; `down` says since when a
    process has not run."""

    def __init__(self, cluster: Cluster, log: IO[str]) -> None:
        self.cluster = cluster
        self._worker = PROCESS if cluster.plan.one_process else "worker"
        self.faults: Counter[str] = Counter()
        self.exits: Counter[str] = Counter()
        self._log = log
        self._rng = random.Random(f"{cluster.plan.seed}/nemesis")
        self._began = time.monotonic()
        self._hurt: set[str] = set()  # under a fault now: left alone until it is undone
        self._ending: set[str] = set()  # asked to stop
        self._skewed: set[str] = set()  # their clocks are wrong
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.down: dict[str, float] = {}
        self._detail = ""  # of the fault that is being done
        self._partitions = Partitions(cluster, self._rng) if cluster.network else None
        self._kinds = self._all_kinds()

    def _all_kinds(self) -> dict[str, tuple[Callable[[], bool], int]]:
        of_workers = {kind.__name__.strip("_"): (kind, weight) for kind, weight in self._process_kinds().items()}
        named = {name.replace("worker", self._worker): kind for name, kind in of_workers.items()}
        if self._partitions is None:
            return named
        # Half of all faults are of the network.
        total = sum(weight for _, weight in named.values())
        of_network = {
            name: (partial(self._break_links, make), weight) for name, (make, weight) in self._partitions.kinds.items()
        }
        factor = total / sum(weight for _, weight in of_network.values())
        named |= {name: (kind, round(weight * factor)) for name, (kind, weight) in of_network.items()}
        return named | ({"skew_clock": (self._skew_clock, 8)} if self.cluster.clocks else {})

    def _process_kinds(self) -> dict[Callable[[], bool], int]:
        kinds: dict[Callable[[], bool], int] = {
            self._kill_worker: 6,
            self._kill_holder_claimed: 3,
            self._kill_holder_embedding: 4,
            self._kill_holder_writing: 6,
            self._kill_holder_advanced: 4,
            self._freeze_holder: 8,
            self._restart_worker: 4,
        }
        if self.cluster.plan.one_process:
            machine = Machine(self.cluster, self._rng, self._hurt, self._later)
            return kinds | {self._block_database: 5, self._kill_holder_before_commit: 5} | machine.kinds
        return kinds | self._kinds_of_parts()

    def _kinds_of_parts(self) -> dict[Callable[[], bool], int]:
        kinds: dict[Callable[[], bool], int] = {
            self._kill_sweeper: 4,
            self._freeze_sweeper: 4,
            self._kill_api: 3,
            self._freeze_api: 3,
            self._restart_api: 2,
            self._kill_redis: 5,
            self._freeze_redis: 4,
            self._flush_redis: 4,
            self._ring_again: 6,
            self._double_the_queue: 4,
        }
        if self.cluster.chroma:
            kinds |= {self._kill_chroma: 6, self._freeze_chroma: 5}
        else:
            kinds |= {self._cut_index: 8, self._index: 5}
        if self.cluster.postgres:
            more = {self._crash_database: 3, self._kill_database: 2, self._freeze_database: 3, self._cut_database: 4}
        elif self.cluster.replicated:
            more = {self._fail_over: 25, self._cut_database: 4}
        else:
            more = {self._block_database: 5, self._kill_holder_before_commit: 5}
        return kinds | more

    def run(self) -> None:
        """Until the plan's time is over, or its kills are done."""
        plan = self.cluster.plan
        end = time.monotonic() + plan.seconds
        if plan.kills:
            self._only_kill(plan.kills, end)
            return
        next_fault = time.monotonic() + plan.fault_every_seconds
        while (now := time.monotonic()) < end:
            self._tick(now)
            if now >= next_fault:
                self._strike()
                next_fault = time.monotonic() + self._rng.uniform(0.3, 1.7) * plan.fault_every_seconds
            time.sleep(TICK_SECONDS)

    def _only_kill(self, count: int, end: float) -> None:
        """Any process, at a moment that chance chooses: once it answers, or while it starts."""
        while self.faults["kill"] < count and time.monotonic() < end:
            name = self._rng.choice(list(self.cluster.servers))
            server = self.cluster.servers[name]
            if self._rng.random() < KILLED_WHILE_IT_WORKS:
                server.wait_until_it_answers()
            time.sleep(self._rng.uniform(0, KILL_WITHIN_SECONDS))
            server.kill()
            self.faults["kill"] += 1
            self._note(f"kill {name}")
            server.launch()

    def heal(self) -> None:
        """Undo everything at once, and return when every process answers."""
        self._note("everything heals")
        for _, _, undo in sorted(self._due, key=lambda entry: entry[:2]):
            undo()
        self._due.clear()
        if self.cluster.network:
            self.cluster.network.heal()
        for name, server in self.cluster.servers.items():
            if server.running and name in self._ending:
                server.kill()
            if server.running:
                server.thaw()
            else:
                server.launch()
        wait_until(self.cluster.all_answer, START_SECONDS, "every process answers")
        self.down.clear()

    def _strike(self) -> None:
        weights = [weight for _, weight in self._kinds.values()]
        for _ in range(50):
            (name,) = self._rng.choices(list(self._kinds), weights)
            self._detail = ""
            # Nothing to break there now: something else. What cannot be reached is broken already.
            with suppress(errors.EnvironmentFailure, redis.RedisError, psycopg.OperationalError):
                if self._kinds[name][0]():
                    self.faults[name] += 1
                    self._note(f"{name} {self._detail}(under a fault: {sorted(self._hurt)})")
                    return

    def _note(self, text: str) -> None:
        self._log.write(f"{time.monotonic() - self._began:8.2f} {text}\n")
        self._log.flush()

    def _tick(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()
        for name, server in self.cluster.servers.items():
            if name not in self._hurt and not server.running:
                self.exits[name] += 1
                self._note(f"{name} ended by itself")
                server.launch()

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), undo))

    # What can be done to a process.

    def _pick(self, prefix: str) -> str | None:
        well = [name for name in self.cluster.names(prefix) if name not in self._hurt]
        return self._rng.choice(well) if well else None

    def _kill(self, name: str | None, how: Callable[[Server], None] = lambda server: server.kill()) -> bool:
        """kill -9, and started again a while later."""
        if name is None:
            return False
        server = self.cluster.servers[name]
        if not server.running:
            return False
        self._hurt.add(name)
        how(server)
        self._is_down(name)
        self._later(self._rng.uniform(0.0, 2.5), lambda: self._relaunch(name))
        return True

    def _relaunch(self, name: str) -> None:
        self._hurt.discard(name)
        self._is_up(name)
        if not self.cluster.servers[name].running:
            self.cluster.servers[name].launch()

    def _freeze(self, name: str | None, seconds: float) -> bool:
        if name is None or not self.cluster.servers[name].running:
            return False
        self._hurt.add(name)
        self.cluster.servers[name].freeze()
        self._is_down(name)
        self._later(seconds, lambda: self._thaw(name))
        return True

    def _is_down(self, name: str) -> None:
        self._detail = f"{name} "
        self.down[name] = time.monotonic()

    def _is_up(self, name: str) -> None:
        if self.down.pop(name, None) is not None:
            self._note(f"{name} goes on")

    def _thaw(self, name: str) -> None:
        self._hurt.discard(name)
        self._is_up(name)
        if self.cluster.servers[name].running:
            self.cluster.servers[name].thaw()

    def _restart(self, name: str | None) -> bool:
        """SIGTERM, which lets it finish what it has begun."""
        if name is None or not self.cluster.servers[name].running:
            return False
        self._hurt.add(name)
        self._ending.add(name)
        self.cluster.servers[name]._signal(signal.SIGTERM)
        self._later(0.2, lambda: self._await_end(name, time.monotonic() + STOP_SECONDS))
        return True

    def _await_end(self, name: str, kill_at: float) -> None:
        server = self.cluster.servers[name]
        if server.running and time.monotonic() < kill_at:
            self._later(0.2, lambda: self._await_end(name, kill_at))
            return
        if server.running:
            server.kill()
        self._ending.discard(name)
        self._relaunch(name)

    # What can be done to the network.

    def _break_links(self, make: Callable[[], NetworkFault]) -> bool:
        assert self.cluster.network
        fault = make()
        number = self.cluster.network.start(fault.links, fault.rule)
        self._detail = f"{fault.text} for {fault.seconds:.1f} s "
        self._later(fault.seconds, lambda: self._heal_links(number, fault.text))
        return True

    def _heal_links(self, number: int, text: str) -> None:
        assert self.cluster.network
        self.cluster.network.end(number)
        self._note(f"healed: {text}")

    def _skew_clock(self) -> bool:
        """The clock of one process goes wrong for a while."""
        assert self._partitions
        right = [name for name in self.cluster.clocks if name not in self._skewed]
        if not right:
            return False
        name, seconds = self._rng.choice(right), self._partitions.skew()
        self._skewed.add(name)
        self.cluster.clocks[name].step(seconds)
        self._detail = f"{name} by {seconds} s "
        self._later(self._rng.uniform(1, 12), lambda: self._set_clock_right(name))
        return True

    def _set_clock_right(self, name: str) -> None:
        self._skewed.discard(name)
        self.cluster.clocks[name].step(0)
        self._note(f"the clock of {name} is right again")

    # The processes.

    def _kill_worker(self) -> bool:
        return self._kill(self._pick(self._worker))

    def _restart_worker(self) -> bool:
        return self._restart(self._pick(self._worker))

    def _kill_sweeper(self) -> bool:
        return self._kill(self._pick("sweeper"))

    def _freeze_sweeper(self) -> bool:
        return self._freeze(self._pick("sweeper"), self._rng.uniform(1, 6))

    def _kill_api(self) -> bool:
        return self._kill(self._pick("api"))

    def _freeze_api(self) -> bool:
        return self._freeze(self._pick("api"), self._rng.uniform(0.5, 3))

    def _restart_api(self) -> bool:
        return self._restart(self._pick("api"))

    def _kill_redis(self) -> bool:
        return self._kill(self._pick("redis"))

    def _freeze_redis(self) -> bool:
        return self._freeze(self._pick("redis"), self._rng.uniform(0.5, 4))

    def _kill_chroma(self) -> bool:
        return self._kill(self._pick("chroma"))

    def _freeze_chroma(self) -> bool:
        return self._freeze(self._pick("chroma"), self._rng.uniform(0.5, 5))

    # The database.

    def _crash_database(self) -> bool:
        assert self.cluster.postgres
        crash = self.cluster.postgres.crash
        return self._kill(self._pick("postgres"), lambda _: crash())

    def _kill_database(self) -> bool:
        return self._kill(self._pick("postgres"))

    def _freeze_database(self) -> bool:
        return self._freeze(self._pick("postgres"), self._rng.uniform(0.5, 5))

    def _cut_database(self) -> bool:
        """End every connection, so that some never learn whether their commit was one."""
        if self._database_hurt():
            return False
        server = self.cluster.replicated.primary if self.cluster.replicated else self.cluster.postgres
        assert server
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname LIKE 'test_%'"
        )
        return True

    def _fail_over(self) -> bool:
        """Kill the primary, promote its standby a while later, and later let the killed one follow."""
        replicated = self.cluster.replicated
        if self._database_hurt() or replicated is None:
            return False
        self._hurt.add("database")
        replicated.primary.kill_all()
        promotion = self._rng.uniform(0.0, 2.0)
        self._later(promotion, replicated.promote)
        self._later(promotion + self._rng.uniform(0.5, 2.0), self._rejoin)
        return True

    def _rejoin(self) -> None:
        assert self.cluster.replicated
        self.cluster.replicated.rejoin()
        self._hurt.discard("database")

    def _cut_index(self) -> bool:
        """End the connection that moves a collection, at any step of the move."""
        if self.cluster.postgres is None or self._pick("postgres") is None:
            return False
        moving = threading.Thread(target=self._index, daemon=True)
        moving.start()
        while moving.is_alive():
            if self.cluster.postgres.execute(CUT_INDEX):
                return True
        return False

    def _index(self) -> bool:
        """Move a collection that any generation has, however small, while everything goes on."""
        if self._database_hurt():
            return False
        store = store_named(self.cluster.services.vectors, "pgvector")
        assert isinstance(store, PgVectorStore)
        with suppress(errors.EnvironmentFailure):
            with self.cluster.services.database.reading() as db:
                collections = db.scalars(sa.select(Generation.collection_id)).all()
            if collections:
                return store._indexes.index(self._rng.choice(collections), anew=True)
        return False

    def _block_database(self) -> bool:
        """Hold SQLite's one write lock for a while."""
        if "database" in self._hurt:
            return False
        blocked = ExitStack()
        try:
            blocked.enter_context(sqlite_writer_blocked(self.cluster.sqlite_file))
        except sqlite3.OperationalError:  # a frozen process holds it
            return False
        self._hurt.add("database")

        def unblock() -> None:
            self._hurt.discard("database")
            blocked.close()

        self._later(self._rng.uniform(0.5, 3), unblock)
        return True

    # Deliveries.

    def _flush_redis(self) -> bool:
        with self._redis() as client:
            client.flushall()
        return True

    def _double_the_queue(self) -> bool:
        """Every waiting delivery twice more."""
        with self._redis() as client:
            waiting = client.lrange(QUEUE, 0, 50)
            for _ in range(2 if waiting else 0):
                client.rpush(QUEUE, *waiting)
            return bool(waiting)

    def _ring_again(self) -> bool:
        """Active jobs, and some that ended long ago, delivered three times more."""
        if self._pick("redis") is None or self._database_hurt():
            return False
        with self.cluster.services.database.reading() as db:
            jobs = db.scalars(sa.select(IngestionJob).order_by(IngestionJob.created_at.desc()).limit(20)).all()
            frozen = [message_of(job) for job in jobs]
        return sum(self.cluster.services.queue.enqueue(frozen) for _ in range(3)) > 0

    @contextmanager
    def _redis(self) -> Iterator[redis.Redis]:
        assert self.cluster.redis
        with redis.Redis.from_url(
            self.cluster.redis.url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=None
        ) as client:
            yield client

    # Named points of the flow. Whoever holds a job there is killed or frozen.

    def _kill_holder_claimed(self) -> bool:
        return self._kill(self._aim(lambda job: not job.embedding_started))

    def _kill_holder_embedding(self) -> bool:
        return self._kill(self._aim(lambda job: job.embedding_started))

    def _kill_holder_writing(self) -> bool:
        """The store has something of the job, the ledger nothing yet."""
        return "chroma" not in self._hurt and self._kill(self._aim(self._written))

    def _kill_holder_before_commit(self) -> bool:
        """Everything is in the store, and SQLite's write lock keeps the worker from advancing."""
        if self._hurt & {"chroma", "database"}:
            return False
        with suppress(sqlite3.OperationalError), sqlite_writer_blocked(self.cluster.sqlite_file):
            return self._kill(self._aim(self._written))
        return False

    def _kill_holder_advanced(self) -> bool:
        """Just after the commit that ended a job, before the worker has let go of anything else."""
        seen: dict[str, str] = {}

        def ended(job: IngestionJob) -> bool:
            return False if job.state in ACTIVE_STATES else str(job.id) in seen

        if self._database_hurt():
            return False
        end = time.monotonic() + AIM_SECONDS
        while time.monotonic() < end:
            for job, owner in self._running_jobs():
                seen[str(job.id)] = owner
            with self.cluster.services.database.reading() as db:
                found = db.scalars(
                    sa.select(IngestionJob)
                    .where(IngestionJob.state == JobState.DONE)
                    .order_by(IngestionJob.finished_at.desc())
                    .limit(5)
                )
                holder = next((seen[str(job.id)] for job in found if ended(job)), None)
            if holder is not None:
                return self._kill(self._name_of(holder))
        return False

    def _freeze_holder(self) -> bool:
        """Past its lease: it wakes as one who has been replaced."""
        lease = self.cluster.settings.lease_seconds
        name = self._aim(lambda _: True) if self._rng.random() < 0.8 else None
        return self._freeze(name or self._pick(self._worker), lease + self._rng.uniform(0.3, 3))

    def _aim(self, at_the_point: Callable[[IngestionJob], bool]) -> str | None:
        """The worker that holds a job which is at this point; None when none was seen in time."""
        if self._database_hurt():
            return None
        end = time.monotonic() + AIM_SECONDS
        while time.monotonic() < end:
            for job, owner in self._running_jobs():
                name = self._name_of(owner)
                if name is not None and at_the_point(job):
                    return name
            time.sleep(0.005)
        return None

    def _database_hurt(self) -> bool:
        return bool(self._hurt & {"postgres", "database"})

    def _running_jobs(self) -> list[tuple[IngestionJob, str]]:
        with self.cluster.services.database.reading() as db:
            found = db.execute(
                sa.select(IngestionJob, SessionProgress.lease_owner)
                .join(SessionProgress, SessionProgress.id == IngestionJob.progress_id)
                .where(IngestionJob.state == JobState.RUNNING, SessionProgress.lease_owner.is_not(None))
            ).all()
            return [(job, owner) for job, owner in found if owner]

    def _name_of(self, owner: str) -> str | None:
        """The worker behind the name on a lease, unless it is under a fault."""
        for name in self.cluster.names(self._worker):
            server = self.cluster.servers[name]
            if name not in self._hurt and server.running and f":{server.pid}:" in owner:
                return name
        return None

    def _written(self, job: IngestionJob) -> bool:
        if not job.embedding_started or job.to_seq == job.from_seq:
            return False
        with self.cluster.services.database.reading() as db:
            generation = db.get(Generation, (job.memory_base_id, job.generation))
            row = db.get(SessionProgress, job.progress_id)
            if generation is None or row is None:
                return False
            range_of_job = db.execute(
                sa.select(Message.id, Message.version).where(
                    Message.flow_id == row.flow_id,
                    Message.session_id == row.session_id,
                    Message.seq > job.from_seq,
                    Message.seq <= job.to_seq,
                )
            ).all()
            ref = CollectionRef(generation.collection_name, generation.collection_id)
        ids = [chunk_id(job.memory_base_id, message_id, version, 0) for message_id, version in range_of_job]
        return bool(ids) and bool(self.cluster.services.vectors.stored_ids(ref, ids))
