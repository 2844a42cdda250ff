"""The worker as a process: a real celery command, a real Redis and Chroma, and their failures."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.constants import LOCK
from harness.pieces import PATIENCE, Topology, topology

from memorybase.core.conversation.session_memory import summaries
from memorybase.core.conversation.session_memory.summaries import SummaryKey
from memorybase.core.conversation.summarizers.llm import EXTRACTIVE
from memorybase.core.embedding.background import NICENESS
from memorybase.core.models import Capture, JobState
from memorybase.core.services import INGEST
from worker.queue import QUEUE

pytestmark = pytest.mark.slow  # processes are started and stopped

SECRET_WORD = "ornithopter"  # part of every message's text, so that a log that quotes one is found
SAID = [f"{SECRET_WORD} number {index}" for index in range(3)]


Furnished = tuple[Topology, str]  # with a memory base that is ingested after three outputs


@pytest.fixture
def furnish(tmp_path: Path) -> Iterator[Callable[..., Furnished]]:
    with ExitStack() as cleanup:

        def made(**given: Any) -> Furnished:
            stack = cleanup.enter_context(topology(tmp_path, **given))
            stack.world.flow_id = stack.world.new_flow()
            return stack, str(stack.world.new_base(threshold=len(SAID), capture=Capture.OUTPUTS))

        yield made


@pytest.fixture
def furnished(furnish: Callable[..., Furnished], own_redis: RedisServer, chroma_server: ChromaServer) -> Furnished:
    return furnish(redis=own_redis, chroma=chroma_server, values={"worker.queue.PAUSE_SECONDS": 0})


@pytest.fixture
def stack(furnished: Furnished) -> Topology:
    return furnished[0]


@pytest.fixture
def base(furnished: Furnished) -> str:
    return furnished[1]


def summary_of(stack: Topology, session_id: str) -> str:
    """Asked for, and made by a worker."""
    world = stack.world
    wanted = SummaryKey(flow_id=world.flow_id, session_id=session_id, preset="token_buffer", summarizer=EXTRACTIVE)
    summaries.refresh_summary(world.services, world.user_id, wanted)
    made = partial(summaries.get_summary, world.services, world.user_id, wanted)
    return str(wait_until(lambda: made().summary, PATIENCE, "the summary is made"))


def niceness_of_session(pid: int) -> int:
    """What Linux weighs the process's whole session with; as it should be, where the kernel has no such thing."""
    try:
        return int(Path(f"/proc/{pid}/autogroup").read_text().rpartition(" ")[2])
    except FileNotFoundError:
        return NICENESS


def test_a_captured_session_is_ingested_and_no_text_is_logged(stack: Topology, base: str) -> None:
    strangers = {"CELERY_BROKER_URL": "redis://127.0.0.1:1/0", "CELERY_RESULT_BACKEND": "redis://127.0.0.1:1/0"}
    worker = stack.start_worker(changes={**strangers, "MEMORYBASE_LOG_LEVEL": "DEBUG"})

    stack.world.say("s", *SAID)

    stack.wait_until_idle(base)
    assert [job.state for job in stack.jobs(base)] == [JobState.DONE]
    stack.assert_exact(base, 3)
    talk = [{"role": role, "content": SAID[0]} for role in ("user", "assistant") * 5]
    stack.world.say("talk", *talk)
    priorities = [os.getpriority(os.PRIO_PROCESS, thread.id) for thread in psutil.Process(worker.pid).threads()]
    assert min(priorities) < NICENESS <= max(priorities)  # the model gives way to captures, the transactions do not
    assert niceness_of_session(worker.pid) == NICENESS
    assert SECRET_WORD in summary_of(stack, "talk")
    log = worker.log.read_text()
    assert "job_ended" in log
    assert SECRET_WORD not in log


def test_two_workers_on_one_session_do_each_job_once_and_one_at_a_time(stack: Topology, base: str) -> None:
    stack.start_worker(flags=("-n", "one@%h"))
    stack.start_worker(flags=("-n", "two@%h"))

    for _ in range(10):
        stack.world.say("s", *SAID)

    stack.wait_until_idle(base, sweeping=True)
    stack.assert_exact(base, 30)
    jobs = sorted(stack.jobs(base), key=lambda job: job.from_seq)
    assert [(job.state, job.attempts) for job in jobs] == [(JobState.DONE, 1)] * len(jobs)
    for earlier, later in pairwise(jobs):
        assert earlier.finished_at is not None
        assert later.started_at is not None
        assert earlier.to_seq == later.from_seq
        assert earlier.finished_at <= later.started_at


def test_a_worker_survives_redis_being_killed_and_takes_jobs_again(stack: Topology, base: str) -> None:
    worker = stack.start_worker()
    for round_number in range(1, 4):
        stack.world.say("s", *SAID)  # the kill meets the worker taking this or working on it
        stack.redis.kill()
        stack.world.say("s", *SAID)  # no worker receives the notification
        stack.redis.start()

        stack.wait_until_idle(base, sweeping=True)

        assert worker.running
        stack.assert_exact(base, 6 * round_number)


def test_a_worker_survives_redis_being_frozen(stack: Topology, base: str) -> None:
    worker = stack.start_worker()
    stack.redis.freeze()
    stack.world.say("s", *SAID)  # no worker receives the notification
    wait_until(lambda: "dropping stale connection" in worker.log.read_text(), PATIENCE, "the worker notices")

    stack.redis.thaw()

    stack.wait_until_idle(base, sweeping=True)
    assert worker.running
    stack.assert_exact(base, 3)


def test_a_worker_that_starts_before_redis_waits_for_it(stack: Topology, base: str) -> None:
    stack.redis.kill()
    stack.world.say("s", *SAID)
    worker = stack.worker
    worker.answers = lambda: "Cannot connect to" in worker.log.read_text()  # type: ignore[method-assign]
    worker.start()
    assert worker.heartbeat() is None  # it is not ready: it takes no tasks

    stack.redis.start()

    stack.wait_until_idle(base, sweeping=True)
    stack.assert_exact(base, 3)
    wait_until(worker.heartbeat, PATIENCE, "the worker signs life")


def test_a_killed_workers_job_is_taken_over_long_before_its_lease_ends(
    own_redis: RedisServer, own_chroma: ChromaServer, furnish: Callable[..., Furnished]
) -> None:
    lease_seconds = 500.0
    stack, base = furnish(redis=own_redis, chroma=own_chroma, lease_seconds=lease_seconds, values={LOCK: 4})
    worker = stack.start_worker()
    stack.chroma.freeze()  # the job stops in the middle
    stack.world.say("s", *SAID)
    wait_until(lambda: stack.running(base), PATIENCE, "the job is claimed")
    worker.kill()
    stack.chroma.thaw()
    began = time.monotonic()

    stack.start_worker()

    stack.wait_until_idle(base, sweeping=True)
    assert time.monotonic() - began < lease_seconds / 2
    stack.assert_exact(base, 3)


def test_a_stopped_worker_ends_its_job_first_and_removes_its_heartbeat(
    own_redis: RedisServer, own_chroma: ChromaServer, furnish: Callable[..., Furnished]
) -> None:
    stack, base = furnish(redis=own_redis, chroma=own_chroma)
    worker = stack.start_worker()
    stack.chroma.freeze()
    stack.world.say("s", *SAID)
    wait_until(lambda: stack.running(base), PATIENCE, "the job is claimed")

    worker._signal(signal.SIGTERM)
    stack.chroma.thaw()

    assert worker._process is not None
    assert worker._process.wait(PATIENCE) == 0
    assert [job.state for job in stack.jobs(base)] == [JobState.DONE]
    assert worker.heartbeat() is None


def test_a_worker_without_its_default_model_serves_other_models(stack: Topology, base: str, tmp_path: Path) -> None:
    worker = stack.start_worker(changes={"MEMORYBASE_EMBEDDING_MODEL": str(tmp_path / "no-such-model")})
    assert "model_unavailable_at_start" in worker.log.read_text()

    stack.world.say("s", *SAID)

    stack.wait_until_idle(base, sweeping=True)
    assert worker.running
    stack.assert_exact(base, 3)


def test_the_heartbeat_survives_an_outage_of_the_database(
    redis_server: RedisServer,
    chroma_server: ChromaServer,
    own_postgres: PostgresServer,
    furnish: Callable[..., Furnished],
) -> None:
    stack, base = furnish(redis=redis_server, chroma=chroma_server, postgres=own_postgres)
    worker = stack.start_worker()
    stack.postgres.crash()
    wait_until(lambda: "heartbeat_failed" in worker.log.read_text(), PATIENCE, "the outage is noticed")

    stack.postgres.start()

    wait_until(lambda: "heartbeat_resumed" in worker.log.read_text(), PATIENCE, "the heartbeat is back")
    assert worker.running
    stack.world.say("s", *SAID)
    stack.wait_until_idle(base, sweeping=True)
    stack.assert_exact(base, 3)


def test_other_pools_are_refused_with_the_reason(stack: Topology) -> None:
    stack.worker.flags = ("--pool", "threads")

    with pytest.raises(AssertionError, match="--pool=solo"):
        stack.worker.start()

    assert not stack.worker.running


def test_a_worker_outlives_a_redis_that_refuses_writes(stack: Topology, base: str) -> None:
    """As with a full disk. The jobs that waited meanwhile run afterwards."""
    worker = stack.start_worker()
    with redis.Redis.from_url(stack.redis.url) as client:
        stack.world.say("s", *SAID)
        stack.wait_until_idle(base)
        job = stack.jobs(base)[0]
        client.config_set("min-replicas-to-write", 1)
        wait_until(lambda: "NOREPLICAS" in worker.log.read_text(), PATIENCE, "the worker meets the refusal")
        stack.world.say("other", *SAID)
        client.config_set("min-replicas-to-write", 0)
    assert job.state == JobState.DONE
    stack.wait_until_idle(base, sweeping=True)
    assert worker.running
    stack.assert_exact(base, 6)


def test_a_worker_drops_malformed_queue_messages_and_goes_on(stack: Topology, base: str) -> None:
    """Each is popped once, logged and gone: no worker dies of it, and a restarted one does not meet it again."""
    worker = stack.start_worker()
    malformed = [*malformed_envelopes(), b"null", b"1", b'"text"', b"[]", b"{}", b"{", b"\xff\xfe"]
    with redis.Redis.from_url(stack.redis.url) as client:
        client.lpush(QUEUE, *malformed)
        stack.world.say("s", *SAID)
        stack.wait_until_idle(base)
        # Celery acknowledges the last notification after its job has ended; what is not acknowledged then stays.
        wait_until(lambda: client.llen(QUEUE) == client.hlen("unacked") == 0, PATIENCE, "all are acknowledged")
    assert worker.running
    stack.assert_exact(base, 3)
    # Celery itself logs and rejects a task that it does not know.
    assert worker.log.read_text().count("queue_message_dropped") == len(malformed) - 1


def malformed_envelopes() -> Iterator[bytes]:
    """A task message with one part damaged each."""

    def encoded(body: Any) -> str:
        return base64.b64encode(json.dumps(body).encode()).decode()

    information = {"routing_key": QUEUE, "exchange": ""}
    properties = {"delivery_tag": "t", "delivery_info": information, "body_encoding": "base64"}
    headers = {"task": INGEST.name, "id": "1"}
    message = {
        "body": encoded([[], {}, {}]),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": headers,
        "properties": properties,
    }
    bodies = ["?", "abc", "/w==", None, 7, *map(encoded, (None, 1, "x", [], [1, 2, 3], [{}, [], {}]))]
    damages: list[dict[str, Any]] = [
        *({"body": body} for body in bodies),
        *({"headers": each} for each in (None, {}, [], {"task": INGEST.name}, headers | {"task": "nobody.knows"})),
        *({"properties": each} for each in (None, {}, properties | {"body_encoding": "x"})),
        {"content-type": "application/x-python-serialize"},
    ]
    for number, damage in enumerate(damages):
        tag = {"delivery_tag": f"t{number}"}
        yield json.dumps({**message, "properties": properties | tag, **damage}).encode()
