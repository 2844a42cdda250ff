from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest
import redis
from harness import RedisServer, wait_until

from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.services import INGEST, JobMessage
from memorybase.core.settings import Settings
from memorybase.features.dify.deletion import CLEAN_UP_TASK
from worker.queue import (
    PAUSE_SECONDS,
    QUEUE,
    TIMEOUT_SECONDS,
    CeleryQueue,
)

MakeQueue = Callable[..., CeleryQueue]
# The longest that enqueue() may take: one timeout of half a second, and a busy machine. Not one for each job.
BOUND_SECONDS = 30.0


def make_job(session_id: str = "s") -> JobMessage:
    return JobMessage(
        job_id=uuid4(),
        memory_base_id=uuid4(),
        session_id=session_id,
        kind="ingest",
        generation=1,
        from_seq=0,
        to_seq=3,
        cursor_id=None,
        embedder="onnx-fp32/model/rev",
        chunker="sentence-tokens/254/32",
    )


@pytest.fixture
def make_queue(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeQueue]:
    with ExitStack() as cleanup:

        def make(
            url: str,
            *,
            now: Callable[[], float] = time.monotonic,
            pause_seconds: float = PAUSE_SECONDS,
            timeout_seconds: float = 30.0 if "redis_url" in request.fixturenames else TIMEOUT_SECONDS,
        ) -> CeleryQueue:
            monkeypatch.setattr("worker.queue.PAUSE_SECONDS", pause_seconds)
            monkeypatch.setattr("worker.queue.TIMEOUT_SECONDS", timeout_seconds)
            queue = CeleryQueue(Settings(redis_url=url), now=now)
            cleanup.callback(queue.close)
            return queue

        yield make


@contextmanager
def bounded(seconds: float = BOUND_SECONDS) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


def test_a_notification_carries_the_job_as_json(make_queue: MakeQueue, redis_url: str, client: redis.Redis) -> None:
    job = make_job("Ünïcode/session")

    assert make_queue(redis_url).enqueue([job]) == 1

    message = json.loads(client.lindex(QUEUE, 0))
    assert message["content-type"] == "application/json"
    assert message["headers"]["task"] == INGEST.name


def test_one_for_a_summary_carries_its_id(make_queue: MakeQueue, redis_url: str, client: redis.Redis) -> None:
    summary_id = uuid4()

    assert make_queue(redis_url).notify(SUMMARIZE, [summary_id]) == 1

    message = json.loads(client.lindex(QUEUE, 0))
    assert message["headers"]["task"] == SUMMARIZE.name
    assert json.loads(base64.b64decode(message["body"]))[1] == {"summary_id": str(summary_id)}


def test_one_for_the_clean_up_has_no_arguments(make_queue: MakeQueue, redis_url: str, client: redis.Redis) -> None:
    assert make_queue(redis_url).notify(CLEAN_UP_TASK) == 1

    message = json.loads(client.lindex(QUEUE, 0))
    assert message["headers"]["task"] == CLEAN_UP_TASK.name
    assert json.loads(base64.b64decode(message["body"]))[1] == {}


def test_a_job_message_survives_json() -> None:
    job = make_job("Ünïcode/session")

    assert JobMessage.from_message(json.loads(json.dumps(job.to_message()))) == job


def test_each_notification_has_its_own_task_id(make_queue: MakeQueue, redis_url: str, client: redis.Redis) -> None:
    job = make_job()

    assert make_queue(redis_url).enqueue([job, job]) == 2

    ids = [json.loads(raw)["headers"]["id"] for raw in client.lrange(QUEUE, 0, -1)]
    assert len(set(ids)) == 2


def test_the_backlog_counts_waiting_notifications(make_queue: MakeQueue, redis_url: str) -> None:
    queue = make_queue(redis_url)
    assert queue.backlog() == 0

    queue.enqueue([make_job(), make_job(), make_job()])

    assert queue.backlog() == 3


def test_the_environment_does_not_redirect_notifications(
    make_queue: MakeQueue, redis_url: str, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("CELERY_RESULT_BACKEND", "redis://127.0.0.1:1/0")

    assert make_queue(redis_url).enqueue([make_job()]) == 1

    assert client.llen(QUEUE) == 1


def test_no_jobs_publish_nothing(make_queue: MakeQueue) -> None:
    assert make_queue("redis://127.0.0.1:1/0").enqueue([]) == 0


def test_a_refused_connection_ends_the_attempt_and_raises_nothing(make_queue: MakeQueue) -> None:
    queue = make_queue("redis://127.0.0.1:1/0", pause_seconds=0)

    assert queue.enqueue([make_job() for _ in range(50)]) == 0
    assert queue.backlog() is None


def test_publishing_resumes_once_redis_is_back(make_queue: MakeQueue, own_redis: RedisServer) -> None:
    queue = make_queue(own_redis.url, pause_seconds=0, timeout_seconds=30.0)
    assert queue.enqueue([make_job()]) == 1
    own_redis.stop()  # which flushes the append-only file, as a kill may not
    assert queue.enqueue([make_job(), make_job()]) == 0

    own_redis.start()

    wait_until(lambda: queue.enqueue([make_job()]) == 1, what="the restarted Redis takes notifications")
    assert queue.backlog() == 2  # the one from before was in the append-only file


class Silent:
    """A Redis that does not answer: connections stay open and nothing comes back."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._accepted: list[socket.socket] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"redis://{self.address}/0"

    def new_connections(self) -> int:
        """How many clients have connected since the last look. Each of them waits for one timeout."""
        before = len(self._accepted)
        with suppress(BlockingIOError):
            while True:
                self._accepted.append(self._server.accept()[0])
        return len(self._accepted) - before

    def close(self) -> None:
        for each in self._accepted:
            each.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        server.setblocking(False)
        redis_that_hangs = Silent(server)
        yield redis_that_hangs
        redis_that_hangs.close()


@pytest.mark.parametrize("form", ["redis://{}/0", "redis+sentinel://{}/memory/0"])
def test_a_silent_redis_costs_one_timeout_however_many_jobs(make_queue: MakeQueue, silent: Silent, form: str) -> None:
    queue = make_queue(form.format(silent.address), pause_seconds=0, timeout_seconds=0.05)
    assert queue.enqueue([make_job()]) == 0
    assert silent.new_connections() == 1

    assert queue.enqueue([make_job() for _ in range(500)]) == 0
    assert silent.new_connections() == 1
    assert queue.backlog() is None
    assert silent.new_connections() == 1


def test_after_a_failure_publishing_pauses(make_queue: MakeQueue, silent: Silent) -> None:
    now = 1_000.0
    queue = make_queue(silent.url, now=lambda: now, pause_seconds=10, timeout_seconds=0.05)
    assert queue.enqueue([make_job()]) == 0
    assert silent.new_connections() == 1

    now += 9.9
    assert queue.enqueue([make_job()]) == 0
    assert queue.backlog() is None
    assert silent.new_connections() == 0

    now += 0.1
    assert queue.enqueue([make_job()]) == 0
    assert silent.new_connections() == 1


def test_many_threads_on_a_silent_redis_wait_for_one_timeout(make_queue: MakeQueue, silent: Silent) -> None:
    queue = make_queue(silent.url, now=lambda: 0.0, timeout_seconds=0.05)
    together = threading.Barrier(20)

    def message(_: int) -> int:
        together.wait()
        return queue.enqueue([make_job()])

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(message, range(20))) == [0] * 20

    assert silent.new_connections() == 1


def test_a_slow_redis_is_left_after_the_timeout(
    make_queue: MakeQueue, redis_url: str, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    queue = make_queue(redis_url, now=lambda: now, timeout_seconds=30.0)
    publish = queue._publish

    def slow(task: str, message: dict[str, Any]) -> None:
        nonlocal now
        now += 20.0
        publish(task, message)

    monkeypatch.setattr(queue, "_publish", slow)

    assert queue.enqueue([make_job() for _ in range(5)]) == 2

    assert client.llen(QUEUE) == 2


@pytest.mark.slow  # it freezes a process
def test_a_frozen_redis_fails_a_notification_and_takes_the_next_once_it_is_thawed(
    make_queue: MakeQueue, own_redis: RedisServer
) -> None:
    queue = make_queue(own_redis.url, pause_seconds=0)
    wait_until(lambda: queue.enqueue([make_job()]) == 1, what="Redis takes notifications")
    own_redis.freeze()

    with bounded():
        assert queue.enqueue([make_job() for _ in range(500)]) == 0
    with bounded():
        assert queue.backlog() is None
    with bounded():
        assert make_queue(own_redis.url).enqueue([make_job()]) == 0  # its first one

    own_redis.thaw()
    wait_until(lambda: queue.enqueue([make_job()]) == 1, what="the thawed Redis takes notifications")


def test_a_flushed_redis_takes_notifications(make_queue: MakeQueue, redis_url: str, client: redis.Redis) -> None:
    """Messages go straight to the queue's list and need no binding, which a flush would delete."""
    queue = make_queue(redis_url)
    queue.enqueue([make_job()])
    client.flushall()

    assert queue.enqueue([make_job()]) == 1

    assert client.llen(QUEUE) == 1
