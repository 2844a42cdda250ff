"""The worker as a process: a real celery command, a real Redis and Chroma, and their failures."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
import redis
import sqlalchemy as sa
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.worker import WorkerServer

from memorybase import messages, wiring
from memorybase.auth import api_keys
from memorybase.conversation.session_memory import summaries
from memorybase.conversation.session_memory.summaries import SummaryKey
from memorybase.conversation.summarizers.llm import EXTRACTIVE
from memorybase.database import migrate
from memorybase.embedding.background import NICENESS
from memorybase.ingestion import capture as ingestion
from memorybase.ingestion.capture import CaptureRequest
from memorybase.memory_bases import manage
from memorybase.memory_bases.manage import NewMemoryBase
from memorybase.models import ACTIVE_STATES, IngestionJob, JobState, SessionProgress
from memorybase.operations import sweeper
from memorybase.services import Services
from memorybase.sessions import flows
from memorybase.settings import Settings, embedded
from memorybase.vectors.store import CollectionRef
from worker.queue import INGEST_TASK, QUEUE

pytestmark = pytest.mark.slow  # processes are started and stopped

SECRET_WORD = "ornithopter"  # part of every message's text, so that a log that quotes one is found
WORK_SECONDS = 120.0  # on a loaded machine


class Stack:
    """What one test works with: the services as the API has them, a flow with one memory base, and its workers."""

    def __init__(self, settings: Settings, cleanup: ExitStack) -> None:
        self.settings = settings
        self._cleanup = cleanup
        migrate.upgrade(settings.resolved_database_url)
        self.services: Services = wiring.build(settings, role="api")
        cleanup.callback(wiring.close, self.services)
        self.user_id = api_keys.ensure_local_user(self.services, "mb_test")
        self.flow_id = flows.create_flow(self.services, self.user_id, name="flow").id
        self.base_id = manage.create_memory_base(
            self.services, self.user_id, NewMemoryBase(name="base", flow_id=self.flow_id, threshold=3)
        )

    def start_worker(self, **options: object) -> WorkerServer:
        worker = WorkerServer(self.settings, **options)  # type: ignore[arg-type]
        self._cleanup.callback(worker.close)
        worker.start()
        return worker

    def capture(self, session_id: str = "s", count: int = 3, roles: Sequence[str] = ("assistant",)) -> None:
        raw = [
            {"role": roles[index % len(roles)], "content": f"{SECRET_WORD} number {index}"} for index in range(count)
        ]
        new = [messages.normalise(message, user_id=self.user_id, where="messages") for message in raw]
        ingestion.capture(
            self.services, self.user_id, self.flow_id, CaptureRequest(session_id=session_id, messages=new)
        )

    def summary_of(self, session_id: str) -> str:
        """Asked for, and made by a worker."""
        wanted = SummaryKey(flow_id=self.flow_id, session_id=session_id, preset="token_buffer", summarizer=EXTRACTIVE)
        summaries.refresh_summary(self.services, self.user_id, wanted)
        return (
            wait_until(
                lambda: summaries.get_summary(self.services, self.user_id, wanted).summary,
                WORK_SECONDS,
                "the summary is made",
            )
            or ""
        )

    def jobs(self) -> list[IngestionJob]:
        with self.services.database.reading() as db:
            return list(db.scalars(sa.select(IngestionJob).order_by(IngestionJob.from_seq)))

    def running(self) -> bool:
        return any(job.state == JobState.RUNNING for job in self.jobs())

    def idle(self) -> bool:
        return bool(self.jobs()) and not any(job.state in ACTIVE_STATES for job in self.jobs())

    def idle_after_sweep(self) -> bool:
        sweeper.sweep(self.services)
        return self.idle()

    def processed(self) -> int:
        with self.services.database.reading() as db:
            return db.scalar(sa.select(sa.func.sum(SessionProgress.total_processed))) or 0

    def stored(self) -> int:
        with self.services.database.reading() as db:
            name, collection_id = db.execute(sa.text("SELECT collection_name, collection_id FROM generations")).one()
        return self.services.vectors.count(CollectionRef(name, UUID(str(collection_id))))


@pytest.fixture
def data_dir(tmp_path: Path, model_cache: Path) -> Path:
    (tmp_path / "models").symlink_to(model_cache)
    return tmp_path


@pytest.fixture
def make_stack() -> Iterator[Callable[[Settings], Stack]]:
    with ExitStack() as cleanup:
        yield lambda settings: Stack(settings, cleanup)


@pytest.fixture
def settings(data_dir: Path, own_redis: RedisServer, chroma_url: str) -> Settings:
    return embedded(data_dir, redis_url=own_redis.url, chroma_url=chroma_url, enqueue_pause_seconds=0)


@pytest.fixture
def stack(settings: Settings, make_stack: Callable[[Settings], Stack]) -> Stack:
    return make_stack(settings)


def niceness_of_session(pid: int) -> int:
    """What Linux weighs the process's whole session with; as it should be, where the kernel has no such thing."""
    try:
        return int(Path(f"/proc/{pid}/autogroup").read_text().rpartition(" ")[2])
    except FileNotFoundError:
        return NICENESS


def test_a_captured_session_is_ingested_and_no_text_is_logged(stack: Stack) -> None:
    strangers = {"CELERY_BROKER_URL": "redis://127.0.0.1:1/0", "CELERY_RESULT_BACKEND": "redis://127.0.0.1:1/0"}
    worker = stack.start_worker(changes={**strangers, "MEMORYBASE_LOG_LEVEL": "DEBUG"})

    stack.capture()

    wait_until(stack.idle, WORK_SECONDS, "the job has ended")
    assert [job.state for job in stack.jobs()] == [JobState.DONE]
    assert (stack.processed(), stack.stored()) == (3, 3)
    stack.capture("talk", count=10, roles=("user", "assistant"))
    priorities = [os.getpriority(os.PRIO_PROCESS, thread.id) for thread in psutil.Process(worker.pid).threads()]
    assert min(priorities) < NICENESS <= max(priorities)  # the model gives way to captures, the transactions do not
    assert niceness_of_session(worker.pid) == NICENESS
    assert SECRET_WORD in stack.summary_of("talk")
    log = worker.log.read_text()
    assert "job_ended" in log
    assert SECRET_WORD not in log


def test_two_workers_on_one_session_do_each_job_once_and_one_at_a_time(stack: Stack) -> None:
    stack.start_worker(flags=("-n", "one@%h"))
    stack.start_worker(flags=("-n", "two@%h"))

    for _ in range(10):
        stack.capture()

    wait_until(stack.idle_after_sweep, WORK_SECONDS, "all jobs have ended")
    assert (stack.processed(), stack.stored()) == (30, 30)
    jobs = stack.jobs()
    assert [(job.state, job.attempts) for job in jobs] == [(JobState.DONE, 1)] * len(jobs)
    for earlier, later in pairwise(jobs):
        assert earlier.finished_at is not None
        assert later.started_at is not None
        assert earlier.to_seq == later.from_seq
        assert earlier.finished_at <= later.started_at


@pytest.mark.slow
def test_a_worker_survives_redis_being_killed_and_takes_jobs_again(stack: Stack, own_redis: RedisServer) -> None:
    worker = stack.start_worker()
    for round_number in range(1, 4):
        stack.capture()  # the kill meets the worker taking this or working on it
        own_redis.kill()
        stack.capture()  # no worker receives the notification
        own_redis.start()

        wait_until(stack.idle_after_sweep, WORK_SECONDS, "the jobs of the round have ended")

        assert worker.running
        assert stack.processed() == 6 * round_number
    assert stack.stored() == 18


@pytest.mark.slow
def test_a_worker_survives_redis_being_frozen(stack: Stack, own_redis: RedisServer) -> None:
    worker = stack.start_worker()
    own_redis.freeze()
    stack.capture()  # no worker receives the notification
    wait_until(lambda: "dropping stale connection" in worker.log.read_text(), WORK_SECONDS, "the worker notices")

    own_redis.thaw()

    wait_until(stack.idle_after_sweep, WORK_SECONDS, "the job has ended")
    assert worker.running
    assert stack.processed() == 3


@pytest.mark.slow
def test_a_worker_that_starts_before_redis_waits_for_it(stack: Stack, own_redis: RedisServer) -> None:
    own_redis.kill()
    stack.capture()
    worker = WorkerServer(stack.settings)
    worker.answers = lambda: "Cannot connect to" in worker.log.read_text()  # type: ignore[method-assign]
    with ExitStack() as cleanup:
        cleanup.callback(worker.close)
        worker.start()
        assert worker.heartbeat() is None  # it is not ready: it takes no tasks

        own_redis.start()

        wait_until(stack.idle_after_sweep, WORK_SECONDS, "the job has ended")
        assert stack.processed() == 3
        wait_until(worker.heartbeat, WORK_SECONDS, "the worker signs life")


@pytest.mark.slow
def test_a_killed_workers_job_is_taken_over_long_before_its_lease_ends(
    data_dir: Path, own_redis: RedisServer, own_chroma: ChromaServer, make_stack: Callable[[Settings], Stack]
) -> None:
    lease_seconds = 500.0
    stack = make_stack(
        embedded(
            data_dir, redis_url=own_redis.url, chroma_url=own_chroma.url, lock_seconds=4, lease_seconds=lease_seconds
        )
    )
    worker = stack.start_worker()
    own_chroma.freeze()  # the job stops in the middle
    stack.capture()
    wait_until(stack.running, WORK_SECONDS, "the job is claimed")
    worker.kill()
    own_chroma.thaw()
    began = time.monotonic()

    stack.start_worker()

    wait_until(stack.idle_after_sweep, WORK_SECONDS, "the job has ended")
    assert time.monotonic() - began < lease_seconds / 2
    assert (stack.processed(), stack.stored()) == (3, 3)


def test_a_stopped_worker_ends_its_job_first_and_removes_its_heartbeat(
    data_dir: Path, own_redis: RedisServer, own_chroma: ChromaServer, make_stack: Callable[[Settings], Stack]
) -> None:
    stack = make_stack(embedded(data_dir, redis_url=own_redis.url, chroma_url=own_chroma.url))
    worker = stack.start_worker()
    own_chroma.freeze()
    stack.capture()
    wait_until(stack.running, WORK_SECONDS, "the job is claimed")

    worker._signal(signal.SIGTERM)
    own_chroma.thaw()

    assert worker._process is not None
    assert worker._process.wait(WORK_SECONDS) == 0
    assert [job.state for job in stack.jobs()] == [JobState.DONE]
    assert worker.heartbeat() is None


def test_a_worker_without_its_default_model_runs_on_and_serves_bases_of_other_models(
    stack: Stack, data_dir: Path
) -> None:
    worker = stack.start_worker(changes={"MEMORYBASE_EMBEDDING_MODEL": str(data_dir / "no-such-model")})
    assert "model_unavailable_at_start" in worker.log.read_text()

    stack.capture()

    wait_until(stack.idle_after_sweep, WORK_SECONDS, "the job has ended")
    assert worker.running
    assert stack.processed() == 3


@pytest.mark.slow
def test_the_heartbeat_survives_an_outage_of_the_database(
    data_dir: Path,
    redis_url: str,
    chroma_url: str,
    own_postgres: PostgresServer,
    make_stack: Callable[[Settings], Stack],
) -> None:
    stack = make_stack(
        embedded(
            data_dir,
            redis_url=redis_url,
            chroma_url=chroma_url,
            database_url=own_postgres.url(own_postgres.create_database()),
        )
    )
    worker = stack.start_worker()
    own_postgres.crash()
    wait_until(lambda: "heartbeat_failed" in worker.log.read_text(), WORK_SECONDS, "the outage is noticed")

    own_postgres.start()

    wait_until(lambda: "heartbeat_resumed" in worker.log.read_text(), WORK_SECONDS, "the heartbeat is back")
    assert worker.running
    stack.capture()
    wait_until(stack.idle_after_sweep, WORK_SECONDS, "the job has ended")
    assert stack.processed() == 3


def test_other_pools_are_refused_with_the_reason(stack: Stack) -> None:
    worker = WorkerServer(stack.settings, flags=("--pool", "threads"))
    with ExitStack() as cleanup:
        cleanup.callback(worker.close)

        with pytest.raises(AssertionError, match="--pool=solo"):
            worker.start()

    assert not worker.running


@pytest.mark.slow
def test_a_worker_outlives_a_redis_that_refuses_writes(stack: Stack, own_redis: RedisServer) -> None:
    """As with a full disk. The jobs that waited meanwhile run afterwards."""
    worker = stack.start_worker()
    with redis.Redis.from_url(own_redis.url) as client:
        stack.capture()
        wait_until(stack.idle, WORK_SECONDS, "the session is ingested")
        job = stack.jobs()[0]
        client.config_set("min-replicas-to-write", 1)
        wait_until(lambda: "NOREPLICAS" in worker.log.read_text(), WORK_SECONDS, "the worker meets the refusal")
        stack.capture("other")
        client.config_set("min-replicas-to-write", 0)
    assert job.state == JobState.DONE
    wait_until(stack.idle_after_sweep, WORK_SECONDS, "the other session is ingested too")
    assert worker.running
    assert stack.processed() == 6


def test_a_worker_drops_malformed_queue_messages_and_goes_on(stack: Stack, own_redis: RedisServer) -> None:
    """Each is popped once, logged and gone: no worker dies of it, and a restarted one does not meet it again."""
    worker = stack.start_worker()
    malformed = [*malformed_envelopes(), b"null", b"1", b'"text"', b"[]", b"{}", b"{", b"\xff\xfe"]
    with redis.Redis.from_url(own_redis.url) as client:
        client.lpush(QUEUE, *malformed)
        stack.capture()
        wait_until(stack.idle, WORK_SECONDS, "the session is ingested after them")
        # Celery acknowledges the last notification after its job has ended; what is not acknowledged then stays.
        wait_until(lambda: client.llen(QUEUE) == client.hlen("unacked") == 0, WORK_SECONDS, "all are acknowledged")
    assert worker.running
    assert stack.processed() == 3
    # Celery itself logs and rejects a task that it does not know.
    assert worker.log.read_text().count("queue_message_dropped") == len(malformed) - 1


def malformed_envelopes() -> Iterator[bytes]:
    """A task message with one part damaged each."""

    def encoded(body: Any) -> str:
        return base64.b64encode(json.dumps(body).encode()).decode()

    information = {"routing_key": QUEUE, "exchange": ""}
    properties = {"delivery_tag": "t", "delivery_info": information, "body_encoding": "base64"}
    headers = {"task": INGEST_TASK, "id": "1"}
    message = {
        "body": encoded([[], {}, {}]), "content-type": "application/json", "content-encoding": "utf-8",
        "headers": headers, "properties": properties,
    }  # fmt: skip
    bodies = ["?", "abc", "/w==", None, 7, *map(encoded, (None, 1, "x", [], [1, 2, 3], [{}, [], {}]))]
    damages: list[dict[str, Any]] = [
        *({"body": body} for body in bodies),
        *({"headers": each} for each in (None, {}, [], {"task": INGEST_TASK}, headers | {"task": "nobody.knows"})),
        *({"properties": each} for each in (None, {}, properties | {"body_encoding": "x"})),
        {"content-type": "application/x-python-serialize"},
    ]  # fmt: skip
    for number, damage in enumerate(damages):
        tag = {"delivery_tag": f"t{number}"}
        yield json.dumps({**message, "properties": properties | tag, **damage}).encode()
