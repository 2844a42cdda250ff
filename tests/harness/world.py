"""The whole domain on a real database, with the other parts in memory: what a test of the flow needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.sql.selectable import TypedReturnsRows

from harness.doubles import AtOnce, FakeEmbedder, FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors
from harness.tables import LentDatabase, give_back, lend
from memorybase import features
from memorybase.core import deadlines, ids
from memorybase.core.database.engine import Database
from memorybase.core.ingestion import capture as ingestion
from memorybase.core.ingestion import flush as flushing
from memorybase.core.ingestion import job_runner
from memorybase.core.ingestion.capture import CaptureRequest, CaptureResult
from memorybase.core.memory_bases import deletion, manage
from memorybase.core.memory_bases.manage import NewMemoryBase
from memorybase.core.messages import NewMessage, normalise
from memorybase.core.models import (
    Capture,
    DeadLetter,
    DeletedMessage,
    Generation,
    IdempotencyKey,
    IngestionJob,
    LedgerEntry,
    MemoryBase,
    MemoryUse,
    Message,
    Receipt,
    RestorableMessage,
    Session,
    SessionProgress,
    User,
    WebTicket,
)
from memorybase.core.operations import sweeper
from memorybase.core.queries import token_vectors
from memorybase.core.queries.jobs import JobRow
from memorybase.core.services import JobMessage, Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef
from memorybase.features.facts.models import Distillation
from memorybase.features.memory_map.models import MemoryMap

WORKER = "test-worker"
T = TypeVar("T")

# No test waits for a deletion, and no pause of a busy machine reaches the next attempt of a job: tests pass this time
# by what is stored.
deletion.DRAIN_SECONDS = 0.0
deadlines.BACKOFF_SECONDS = 60.0


@dataclass
class World:
    """Services, a user, a flow; short words for what tests do and look at."""

    services: Services
    vectors: InMemoryVectors
    queue: InMemoryQueue
    locks: InMemoryLocks
    embedders: FakeEmbedders
    user_id: UUID
    flow_id: UUID

    @property
    def embedder(self) -> FakeEmbedder:
        return self.embedders.get()

    def close(self) -> None:
        if isinstance(self.services.database, LentDatabase):
            give_back(self.services.database)
        else:
            self.services.database.dispose()

    def new_flow(self, user_id: UUID | None = None) -> UUID:
        return flows.create_flow(self.services, user_id or self.user_id, name="flow").id

    def new_user(self, name: str = "") -> UUID:
        user_id = uuid4()
        with self.services.database.transaction() as db:
            db.add(User(id=user_id, name=name or str(user_id), created_at=datetime.now(UTC)))
        return user_id

    def for_new_user(self) -> World:
        """The same world for a user and a flow of its own."""
        world = self.of_user(self.new_user())
        world.flow_id = world.new_flow()
        return world

    def of_user(self, user_id: UUID, flow: str = "support") -> World:
        """The same world for this user and the flow that a runtime calls so, which may be created later."""
        return replace(self, user_id=user_id, flow_id=ids.flow_id(user_id, flow))

    def new_base(self, **changes: Any) -> UUID:
        new = {"name": f"base {uuid4()}", "flow_id": self.flow_id, "threshold": 1000, "capture": Capture.ALL} | changes
        return manage.create_memory_base(self.services, self.user_id, NewMemoryBase(**new))

    def say(self, session_id: str, *texts: str | dict[str, Any], **request: Any) -> CaptureResult:
        """Capture one run: the texts are the assistant's, or message dicts."""
        raw = [{"role": "assistant", "content": t} if isinstance(t, str) else t for t in texts]
        return self.capture(session_id, [self.message(r) for r in raw], **request)

    def message(self, raw: dict[str, Any]) -> NewMessage:
        return normalise(raw, user_id=self.user_id, where="messages[0]")

    def capture(self, session_id: str, messages: list[NewMessage], **request: Any) -> CaptureResult:
        flow_id = request.pop("flow_id", self.flow_id)
        return ingestion.capture(
            self.services, self.user_id, flow_id, CaptureRequest(session_id=session_id, messages=messages, **request)
        )

    def flush(self, base_id: UUID, session_id: str | None = None) -> flushing.FlushResult:
        return flushing.flush(self.services, self.user_id, base_id, session_id)

    def run(
        self, frozen: JobMessage, owner: str = WORKER, may_continue: Callable[[], bool] = lambda: False
    ) -> job_runner.JobOutcome:
        """Run one job and, while `may_continue()`, other waiting jobs, one after the other in this thread."""
        return job_runner.run_jobs(self.services, frozen, owner=owner, may_continue=may_continue, new_thread=AtOnce)

    def drain(self) -> int:
        """Run every waiting notification, as one worker does."""
        return self.queue.drain(self.run)

    def sweep(self) -> sweeper.SweepReport:
        """A whole pass. Its first step with work must be one that a pass of the process would not have left out."""
        due = sweeper.due_now(self.services)
        report = sweeper.sweep(self.services)
        first = next(iter(report.done), None)
        left_out = sweeper.Agenda(0).leave(sweeper.steps_of(self.services), due, 1)
        assert first not in left_out, f"no condition finds the work of {first}"
        return report

    def settle(self) -> None:
        """Sweep and work until nothing is left to do."""
        for _ in range(50):
            while self.drain():
                pass
            report = self.sweep()
            if not any(report.done[name] for name in ("notified", "planned", "requeued")):
                return
        raise AssertionError("never at rest")

    # Time passes by moving what is stored, since the clock is the database's.

    def pass_time(self, seconds: float) -> None:
        """Let time pass for leases, backoffs, notifications, and what is idle, retired or expires."""
        columns = {
            SessionProgress: ("lease_until", "idle_due_at", "audit_at"),
            IngestionJob: ("available_at", "notify_at", "notified_at"),
            Generation: ("retired_at",),
            Session: ("last_captured_at",),
            DeletedMessage: ("expires_at",),
            RestorableMessage: ("deleted_at",),
            Receipt: ("started_at",),
            MemoryUse: ("run_due_at", "recorded_at"),
            WebTicket: ("expires_at",),
            IdempotencyKey: ("lease_until", "expires_at"),
            MemoryMap: ("lease_until", "notify_at"),
            Distillation: ("lease_until", "notify_at"),
        }
        gone = timedelta(seconds=seconds)
        with self.services.database.transaction() as db:
            for table, names in columns.items():
                for row in db.scalars(sa.select(table)):
                    for name in names:
                        moment = getattr(row, name)
                        setattr(row, name, moment and moment - gone)

    # Looking.

    def base(self, base_id: UUID) -> MemoryBase:
        with self.services.database.reading() as db:
            return db.get_one(MemoryBase, base_id)

    def row(self, base_id: UUID, session_id: str) -> SessionProgress:
        base = self.base(base_id)
        generation = base.serving if base.building is None else base.building
        (row,) = [r for r in self.rows(base_id) if r.session_id == session_id and r.generation == generation]
        return row

    def rows(self, base_id: UUID) -> list[SessionProgress]:
        return self._all(SessionProgress, base_id)

    def jobs(self, base_id: UUID) -> list[IngestionJob]:
        return sorted(self._all(IngestionJob, base_id), key=lambda job: job.created_at)

    def active_jobs(self, base_id: UUID) -> list[IngestionJob]:
        return [job for job in self.jobs(base_id) if job.state in ("queued", "running")]

    def ledger(self, base_id: UUID) -> list[LedgerEntry]:
        return self._all(LedgerEntry, base_id)

    def dead_letters(self, base_id: UUID) -> list[DeadLetter]:
        return self._all(DeadLetter, base_id)

    def messages(self, session_id: str | None = None) -> list[Message]:
        with self.services.database.reading() as db:
            found = db.scalars(sa.select(Message).where(Message.flow_id == self.flow_id).order_by(Message.seq))
            return [m for m in found if session_id in (None, m.session_id)]

    def ref(self, base_id: UUID) -> CollectionRef:
        base = self.base(base_id)
        with self.services.database.reading() as db:
            generation = db.get_one(Generation, (base_id, base.serving))
            return CollectionRef(generation.collection_name, generation.collection_id)

    def stored(self, base_id: UUID) -> set[str]:
        return {i for page in self.services.vectors.iter_ids(self.ref(base_id)) for i in page}

    def _all(self, table: type[Any], base_id: UUID) -> list[Any]:
        return self.scalars(sa.select(table).where(table.memory_base_id == base_id))

    def scalar(self, statement: TypedReturnsRows[T]) -> T | None:
        with self.services.database.reading() as db:
            return db.scalar(statement)

    def scalars(self, statement: TypedReturnsRows[T]) -> list[T]:
        with self.services.database.reading() as db:
            return list(db.scalars(statement))

    def execute(self, statement: sa.Executable) -> None:
        """Change what is stored, in a transaction of its own."""
        with self.services.database.transaction() as db:
            db.execute(statement)

    def assert_exact(self, base_id: UUID) -> None:
        """At rest: messages, ledger, store and counters agree, id by id."""
        base = self.base(base_id)
        assert base.building is None
        assert self.active_jobs(base_id) == []
        with self.services.database.reading() as db:
            capture = db.get_one(Generation, (base_id, base.serving)).capture
        dead = {letter.message_id for letter in self.dead_letters(base_id) if letter.generation == base.serving}
        rows = {row.session_id: row for row in self.rows(base_id) if row.generation == base.serving}
        expected = {
            m.id: m.version
            for m in self.messages()
            if (m.is_output if capture == "outputs" else m.is_dialogue)
            and m.session_id in rows
            and rows[m.session_id].start_seq < m.seq <= rows[m.session_id].cursor_seq
            and m.id not in dead
        }
        entries = [e for e in self.ledger(base_id) if e.generation == base.serving]
        assert {e.message_id: e.version for e in entries} == expected
        chunks = {c for e in entries for c in chunk_ids.chunk_ids(base_id, e.message_id, e.version, e.chunks)}
        assert self.stored(base_id) == chunks
        for row in rows.values():
            own = [e for e in entries if e.progress_id == row.id]
            assert row.total_processed == len(own)
            assert row.total_chunks == sum(e.chunks for e in own)
        with self.services.database.reading() as db:
            assert token_vectors.count_missing_by_session(db, [row.id for row in rows.values()]) == {}

    def rest(self, times: int = 4) -> None:
        """Work until nothing is left, through leases, backoffs and audits."""
        for _ in range(times):
            self.settle()
            self.pass_time(121)
        self.settle()

    def assert_settled(self, base_id: UUID, *, serving: int | None = None) -> None:
        """Settle; then everything is ingested, by this generation."""
        self.settle()
        assert serving in (None, self.base(base_id).serving)
        self.assert_all_ingested(base_id)

    def assert_all_ingested(self, base_id: UUID) -> None:
        """Exact, and nothing waits."""
        self.assert_exact(base_id)
        serving = self.base(base_id).serving
        for row in self.rows(base_id):
            if row.generation == serving:
                assert row.cursor_seq == max(m.seq for m in self.messages(row.session_id))


@cache
def message_of(job: IngestionJob) -> JobMessage:
    """The notification of a job."""
    return JobRow(*(getattr(job, name) for name in JobRow._fields)).message()


def _quick(**settings: Any) -> Settings:
    # Settings look every field up in the environment twice, which takes longer than all else of a test's set-up.
    quick: dict[str, Any] = {"lease_seconds": 60.0, "idle_after": 600, "allowed_embedding_models": ["other"]}
    return Settings(embedding_model="fake", **(quick | settings))


def build_world(database_url: str, data_dir: Path, *, database: Database | None = None, **settings: Any) -> World:
    """`database`: one of the test's own, which has the tables, instead of one that tests lend each other."""
    changes = {"data_dir": data_dir, "database_url": database_url}
    return empty_world(_quick(**settings).model_copy(update=changes), database=database).for_new_user()


def empty_world(settings: Settings, *, database: Database | None = None, embedders: Any = None) -> World:
    """Nothing is stored: neither the user nor the flow exists."""
    vectors, queue, locks, embedders = InMemoryVectors(), InMemoryQueue(), InMemoryLocks(), embedders or FakeEmbedders()
    database = lend(settings.resolved_database_url) if database is None else database
    return World(
        Services(settings, database, vectors, embedders, locks, queue, features.hooks()),
        vectors,
        queue,
        locks,
        embedders,
        user_id=uuid4(),
        flow_id=uuid4(),
    )


def crash_after(times: int = 1) -> Callable[..., None]:
    """A hook that ends the worker like a kill would: nothing above it may catch it."""
    left = [times]

    def crash(*_args: object) -> None:
        if left[0] > 0:
            left[0] -= 1
            raise WorkerKilled

    return crash


class WorkerKilled(BaseException):
    """No `except Exception` sees it, as none sees a kill -9."""
