"""The promises, kept by real processes: what a user would see who breaks the stack, or the one process, on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from harness import ChromaServer, RedisServer, wait_until
from harness.constants import SWEEP
from harness.pieces import PATIENCE, Topology, sqlite_writer_blocked, topology

pytestmark = pytest.mark.timeout(300)  # a whole stack of processes starts, on whatever machine

# A capture waits half a second for a Redis that does not answer, and never for as long as Redis is frozen. The client
# gives up after this time, which no busy machine needs.
BOUND_SECONDS = 30.0


AS_PROCESSES = pytest.mark.parametrize("shared", ["processes"], indirect=True)
IN_BOTH_FORMS = pytest.mark.parametrize(
    "shared", ["processes", pytest.param("one process", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    """For all of these tests, each with a flow of its own."""
    given: dict[str, Any] = {"one_process": True}
    if request.param == "processes":
        given = {
            "redis": RedisServer(tmp_path_factory.mktemp("redis")),
            "chroma": ChromaServer(tmp_path_factory.mktemp("chroma")),
        }
    with topology(
        tmp_path_factory.mktemp("data"),
        **given,
        # Longer than any pause of a busy machine. What a killed worker held is taken over without waiting for it.
        lease_seconds=300.0,
        values={
            "memorybase.core.settings.Settings.chroma_timeout_seconds": 60.0,
            "memorybase.core.settings.Settings.redis_timeout_seconds": 30.0,
            SWEEP: 0.5,
            "memorybase.core.settings.Settings.backoff_max_seconds": 2.0,
        },
    ) as built:
        built.start(built.api, built.sweeper)
        yield built


@pytest.fixture
def stack(shared: Topology) -> Topology:
    """With a worker."""
    if not shared.worker.running:
        shared.worker.start()
    return shared


def numbered(count: int) -> list[str]:
    return [f"note number {n} is about the harbour" for n in range(count)]


@IN_BOTH_FORMS
def test_a_worker_killed_between_upsert_and_advance_loses_and_duplicates_nothing(stack: Topology) -> None:
    base = stack.base("killed", threshold=60)
    stack.capture(*numbered(60), flow="killed")
    stack.wait_until_embedding(base)
    # While the write lock is held, the worker can upsert and cannot advance.
    with sqlite_writer_blocked(stack.settings.data_dir / "memorybase.db"):
        wait_until(lambda: len(stack.stored(base)) == 60, PATIENCE, "the upsert")
        stack.worker.kill()
    assert stack.processed(base) == 0
    stack.worker.start()
    stack.wait_until_ingested(base, 60)
    stack.assert_exact(base, 60)
    (job,) = [job for job in stack.jobs(base) if job.kind == "ingest"]
    assert job.attempts == 2
    found = stack.call("POST", f"/memories/{base}/search", json={"query": "note number 17", "top_k": 60})["results"]
    assert sorted(each["content"] for each in found) == sorted(numbered(60))


@pytest.mark.slow
@IN_BOTH_FORMS
def test_fifty_flushes_at_once_start_one_job_and_leave_no_lock(stack: Topology) -> None:
    base = stack.base("flushed", threshold=1000)
    stack.capture(*numbered(20), flow="flushed")

    def flush(_: int) -> tuple[int, str]:
        answer = stack.client.post(f"/memories/{base}/flush", json={"session_id": "s"}, timeout=60)
        return answer.status_code, answer.headers.get("retry-after", "")

    # No worker yet: the job stays open.
    with ThreadPoolExecutor(50) as pool, stack.nothing_ingested():
        answers = list(pool.map(flush, range(50)))
    assert sorted(status for status, _ in answers) == [202] + [409] * 49
    assert all(retry_after for status, retry_after in answers if status == 409)
    assert len(stack.jobs(base)) == 1
    if not stack.worker.running:
        stack.worker.start()
    stack.wait_until_ingested(base, 20)
    stack.assert_exact(base, 20)
    if stack.one_process:  # its locks are in its memory
        return
    # The worker releases the lock after the job's end is committed; left alone it would last longer than this.
    memory_base_id = stack.jobs(base)[0].memory_base_id
    wait_until(lambda: not stack.services.locks.held(memory_base_id, "s"), PATIENCE, "the lock is released")


@pytest.mark.slow
@AS_PROCESSES
@pytest.mark.parametrize("outage", ["stopped", "frozen"])
def test_a_capture_without_redis_succeeds_and_is_ingested_later(stack: Topology, outage: str) -> None:
    base = stack.base(outage, threshold=5)
    stack.redis.freeze() if outage == "frozen" else stack.redis.stop()
    for _ in range(3):
        stack.capture(*numbered(5), flow=outage, timeout=BOUND_SECONDS)
    stack.redis.thaw() if outage == "frozen" else stack.redis.start()
    stack.wait_until_ingested(base, 15)
    stack.assert_exact(base, 15)


@pytest.mark.slow
@AS_PROCESSES
def test_without_chroma_nothing_is_lost_and_search_says_so(stack: Topology) -> None:
    base = stack.base("away", threshold=5)
    stack.capture("the harbour master is called Ines", *numbered(4), flow="away")
    stack.wait_until_ingested(base, 5)
    stack.chroma.stop()
    stack.capture(*numbered(5), session="t", flow="away")
    stack.capture("below the threshold", session="u", flow="away")
    flushed = stack.call("POST", f"/memories/{base}/flush", 202, json={"session_id": "u"})
    assert [job["session_id"] for job in flushed["jobs"]] == ["u"]
    question = {"query": "who is the harbour master?"}
    answer = stack.client.post(f"/memories/{base}/search", json=question)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "vector_store_unavailable")
    assert answer.json()["error"]["retryable"] is True
    assert stack.call("GET", f"/memories/{base}/mismatch")["state"] == "unavailable"
    stack.chroma.start()
    stack.wait_until_ingested(base, 11)
    stack.assert_exact(base, 11)

    def found() -> list[Any]:  # the API asks a server that was away again each second
        answer = stack.client.post(f"/memories/{base}/search", json=question)
        return answer.json()["results"] if answer.status_code == 200 else []

    wait_until(found, PATIENCE, "the search after the outage")
    assert "Ines" in found()[0]["content"]


@pytest.mark.slow
@IN_BOTH_FORMS
def test_a_base_deleted_while_a_job_runs_leaves_nothing(stack: Topology) -> None:
    base = stack.base("deleted", threshold=250)
    name = stack.ref(base).name
    stack.capture(*numbered(250), flow="deleted")
    wait_until(lambda: stack.running(base), PATIENCE, "the job runs")
    answer = stack.client.delete(f"/memories/{base}", timeout=60)
    assert answer.status_code in (202, 204)
    assert stack.client.get(f"/memories/{base}").status_code == 404
    wait_until(lambda: stack.jobs(base) == [], PATIENCE, "the rows are gone")
    assert name not in [each.ref.name for each in stack.services.vectors.list_collections()]
