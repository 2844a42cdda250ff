"""A new version is rolled out under load: every process in turn is asked to end and followed by another one."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from harness import ChromaServer, PostgresServer, RedisServer, Server, wait_until
from harness.constants import LOCK, SWEEP
from harness.gates import Change
from harness.pieces import KEY, PATIENCE, SweeperServer, Topology, topology
from harness.worker import WorkerServer, sabotage

from memorybase.core.models import JobState, Message, SessionProgress
from memorybase.core.operations import workers
from worker.process import EXIT_SOFTWARE

pytestmark = pytest.mark.slow

WORKERS = 2
LEASE_SECONDS = 400.0  # a job that is left to its lease is not done before the test has failed
SESSIONS = 6
RUN_MESSAGES = 5

# Its jobs take for ever, and it does not wait so long.
ENDLESS_MODEL = """
import time
from memorybase.core.embedding.onnx import OnnxEmbedder
from worker import process

OnnxEmbedder._run = lambda self, batch, *, with_states: time.sleep(600)
process.DRAIN_SECONDS = 1.0
"""


class Client(threading.Thread):
    """Captures all the time; a run whose call was not answered is posted again, under the same ids."""

    def __init__(self, url: str) -> None:
        super().__init__(name="client", daemon=True)
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self._url = url
        self._ended = threading.Event()

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=self._url, headers=headers, trust_env=False, timeout=30) as http:
            for number in count():
                if self._ended.wait(0.05):
                    return
                self._capture(http, number)

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def _capture(self, http: httpx.Client, number: int) -> None:
        ids = [f"run-{number}-{position}" for position in range(RUN_MESSAGES)]
        said = [{"id": each, "role": "user", "content": f"note {each} is about the harbour"} for each in ids]
        body = {"run_id": f"run-{number}", "session_id": f"s{number % SESSIONS}", "messages": said}
        while True:
            try:
                answer = http.post("/flows/flow/runs", json=body)
            except httpx.TransportError:
                if self._ended.wait(0.05):
                    return
                continue
            if answer.status_code in (200, 201):
                self.acknowledged += ids
            else:
                self.refused.append(f"{answer.status_code} {answer.text}")
            return


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory,
    redis_server: RedisServer,
    chroma_server: ChromaServer,
    postgres_server: PostgresServer,
) -> Iterator[Topology]:
    with topology(
        tmp_path_factory.mktemp("data"),
        redis=redis_server,
        chroma=chroma_server,
        postgres=postgres_server,
        lease_seconds=LEASE_SECONDS,
        embedding_threads=1,
        values={
            SWEEP: 0.5,
            LOCK: 4.0,
            # A busy machine is no outage, and no job that hangs.
            "memorybase.core.settings.Settings.chroma_timeout_seconds": 60.0,
            "worker.process.DRAIN_SECONDS": PATIENCE,
        },
    ) as built:
        built.start(built.api, built.sweeper)
        yield built


def leases_of(stack: Topology, pid: int) -> list[UUID]:
    with stack.services.database.reading() as db:
        held = sa.select(SessionProgress.id).where(SessionProgress.lease_owner.contains(f":{pid}:"))
        return list(db.scalars(held))


def ask_to_end(server: Server) -> subprocess.Popen[bytes]:
    assert server._process is not None
    server._process.send_signal(signal.SIGTERM)
    return server._process


def test_an_api_that_is_asked_to_end_answers_what_it_has_begun(stack: Topology) -> None:
    base = stack.base("held", threshold=100)
    captured = Change("messages", "NEW.role = 'user'", event="INSERT")

    def post() -> Any:
        return stack.capture("the harbour is closed", flow="held")

    def wait_for_a_job() -> httpx.Response:
        return stack.client.get(f"/jobs/{job_id}", params={"wait": 60})

    with ThreadPoolExecutor(2) as callers:
        # No worker: the job waits, and whoever waits for it.
        stack.capture("the harbour is open", flow="held")
        job_id = stack.call("POST", f"/memories/{base}/flush", 202)["jobs"][0]["id"]
        with stack.gate(captured) as held:
            waiting = callers.submit(wait_for_a_job)
            posting = callers.submit(post)
            wait_until(held.reached, PATIENCE, "the capture is in the middle of its transaction")
            ended = ask_to_end(stack.api)
            wait_until(lambda: not stack.api.answers(), PATIENCE, "no new connection is taken")
            assert not posting.done()
        assert posting.result(PATIENCE)["messages"][0]["created"] is True
        answer = waiting.result(PATIENCE)
        assert (answer.status_code, answer.json()["state"]) == (200, "queued")
        assert ended.wait(PATIENCE) == -signal.SIGTERM  # uvicorn ends in order, then by the signal that it was sent

    stack.api.start()

    assert stack.status(base)["pending_messages"] == 2
    stack.call("DELETE", f"/memories/{base}", 202, 204)


def test_an_api_that_cannot_finish_in_time_asks_to_send_it_again(stack: Topology) -> None:
    base = stack.base("hanging", threshold=100)
    captured = Change("messages", "NEW.role = 'user'", event="INSERT")
    body = {"session_id": "s", "run_id": "hanging", "messages": [{"id": "m", "role": "user", "content": "a note"}]}

    def post() -> httpx.Response:
        return stack.client.post("/flows/hanging/runs", json=body)

    with ThreadPoolExecutor(1) as callers:
        with stack.gate(captured) as held:
            posting = callers.submit(post)
            wait_until(held.reached, PATIENCE, "the capture is in the middle of its transaction")
            ended = ask_to_end(stack.api)
            answer = posting.result(PATIENCE)
        assert ended.wait(PATIENCE) is not None

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["retryable"]) == (503, "unavailable", True)
    assert answer.headers["retry-after"]
    stack.api.start()
    again = post()
    assert again.status_code in (200, 201)
    assert stack.status(base)["pending_messages"] == 1
    stack.call("DELETE", f"/memories/{base}", 202, 204)


def capture_until_embedding(stack: Topology, base: str, flow: str) -> None:
    stack.capture(*(f"note number {n} is about the harbour" for n in range(RUN_MESSAGES)), flow=flow)
    stack.wait_until_embedding(base)


def assert_handed_back(stack: Topology, base: str, worker: Server) -> None:
    (job,) = stack.jobs(base)
    assert (job.state, job.lost_workers) == (JobState.QUEUED, 0)
    assert leases_of(stack, worker.pid) == []


def assert_done_by_the_next(stack: Topology, base: str) -> None:
    next_one = stack.start_worker()
    stack.wait_until_ingested(base, RUN_MESSAGES)
    stack.assert_exact(base, RUN_MESSAGES)
    next_one.stop()


def test_a_worker_that_cannot_end_its_job_in_time_hands_it_back(stack: Topology, tmp_path: Path) -> None:
    base = stack.base("endless", threshold=RUN_MESSAGES)
    worker = stack.add(WorkerServer(stack.settings, changes=sabotage(tmp_path / "endless", ENDLESS_MODEL)))
    capture_until_embedding(stack, base, "endless")

    assert ask_to_end(worker).wait(PATIENCE) == EXIT_SOFTWARE

    assert_handed_back(stack, base, worker)
    assert_done_by_the_next(stack, base)


def test_a_worker_drained_over_the_database_hands_its_job_back(stack: Topology, tmp_path: Path) -> None:
    base = stack.base("drained", threshold=RUN_MESSAGES)
    idle = stack.start_worker(flags=("-n", "idle@%h"))
    workers.request_drain(stack.services, f":{idle.pid}:")
    assert idle._process is not None
    assert idle._process.wait(PATIENCE) == 0
    busy = stack.add(WorkerServer(stack.settings, changes=sabotage(tmp_path / "busy", ENDLESS_MODEL)))
    capture_until_embedding(stack, base, "drained")

    name = workers.request_drain(stack.services, f":{busy.pid}:")

    assert busy._process is not None
    assert busy._process.wait(PATIENCE) == EXIT_SOFTWARE
    assert_handed_back(stack, base, busy)
    assert workers.find_worker(stack.services, name) is None
    assert_done_by_the_next(stack, base)


def test_a_worker_that_is_killed_while_it_drains_loses_nothing(stack: Topology, tmp_path: Path) -> None:
    base = stack.base("killed", threshold=RUN_MESSAGES)
    worker = stack.add(
        WorkerServer(stack.settings, changes=sabotage(tmp_path / "killed", ENDLESS_MODEL.replace("= 1.0", "= 600.0")))
    )
    capture_until_embedding(stack, base, "killed")
    name = workers.request_drain(stack.services, f":{worker.pid}:")

    def drains() -> bool:
        found = workers.find_worker(stack.services, name)
        return found is not None and found.state is workers.WorkerState.DRAINING

    wait_until(drains, PATIENCE, "it drains")
    draining = workers.find_worker(stack.services, name)
    assert draining is not None
    assert (draining.jobs, draining.messages) == (1, RUN_MESSAGES)

    worker.kill()

    assert_done_by_the_next(stack, base)


def test_processes_that_are_replaced_under_load_lose_nothing_and_hand_over_at_once(
    stack: Topology, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    base = stack.base(threshold=RUN_MESSAGES)
    numbers = count()

    def launch(make: Callable[[], Server]) -> Server:
        server = make()
        server.log = tmp_path / f"{server.name}-{next(numbers)}.log"
        stack.cleanup.callback(server.close)
        server.launch()
        return server

    def worker() -> Server:
        return WorkerServer(stack.settings, flags=("-n", f"rolling{next(numbers)}@%h"))

    running = [launch(worker) for _ in range(WORKERS)]
    sweepers = [stack.sweeper, launch(lambda: SweeperServer(stack.services))]
    for server in (*running, *sweepers):
        server.wait_until_it_answers()
    client = Client(str(stack.client.base_url))
    request.addfinalizer(client.stop)
    client.start()

    for old in running:
        wait_until(lambda old=old: leases_of(stack, old.pid), PATIENCE, "it works on a job")  # type: ignore[misc]
        ended = ask_to_end(old)
        new = launch(worker)
        assert ended.wait(PATIENCE) == 0
        assert leases_of(stack, old.pid) == []
        new.wait_until_it_answers()
    for old in sweepers:
        ended = ask_to_end(old)
        new = launch(lambda: SweeperServer(stack.services))
        assert ended.wait(PATIENCE) == 0
        new.wait_until_it_answers()
    ask_to_end(stack.api).wait(PATIENCE)
    stack.api.start()
    answered = len(client.acknowledged)
    wait_until(lambda: len(client.acknowledged) > answered, PATIENCE, "the client goes on")
    client.stop()

    assert client.refused == []
    stack.wait_until_ingested(base, len(client.acknowledged))
    assert_everything_once(stack, base, client.acknowledged)
    assert all("Traceback" not in log.read_text() for log in tmp_path.glob("*.log"))


def assert_everything_once(stack: Topology, base: str, acknowledged: list[str]) -> None:
    stack.assert_exact(base, len(acknowledged))
    with stack.services.database.reading() as db:
        of_flow = Message.flow_id == stack.world.flow_id
        stored = db.scalars(sa.select(Message.external_id).where(of_flow, Message.external_id.is_not(None)))
        assert sorted(str(each) for each in stored) == sorted(acknowledged)
    jobs = stack.jobs(base)
    assert len(jobs) > WORKERS
    assert {(job.state, job.attempts, job.lost_workers, job.outages) for job in jobs} == {(JobState.DONE, 1, 0, 0)}
    assert stack.status(base)["dead_letters"] == 0
