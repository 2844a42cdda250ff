"""The promises, kept by real processes: what a user would see who breaks the stack on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from harness import ChromaServer, RedisServer, wait_until
from harness.pieces import PATIENCE, Topology, sqlite_writer_blocked, topology

from memorybase.settings import embedded

ONE_SECOND = 1.0  # the longest that a capture may take while Redis is away; the client gives up after it


@pytest.fixture
def stack(tmp_path: Path, model_cache: Path, own_redis: RedisServer, own_chroma: ChromaServer) -> Iterator[Topology]:
    settings = embedded(
        tmp_path, redis_url=own_redis.url, chroma_url=own_chroma.url, model_dir=model_cache, sweep_seconds=0.5,
        chroma_timeout_seconds=2.0, backoff_max_seconds=2.0,
    )  # fmt: skip
    with topology(settings) as built:
        yield built


def numbered(count: int) -> list[str]:
    return [f"note number {n} is about the harbour" for n in range(count)]


def test_a_worker_killed_between_upsert_and_advance_loses_and_doubles_nothing(stack: Topology) -> None:
    worker = stack.start_worker()
    base = stack.base(threshold=200)
    stack.capture(*numbered(200))
    wait_until(lambda: any(job.embedding_began for job in stack.jobs(base)), PATIENCE, "embedding began")
    # While the write lock is held, the worker can upsert and cannot advance.
    with sqlite_writer_blocked(stack.settings.data_dir / "memorybase.db"):
        wait_until(lambda: len(stack.stored(base)) == 200, PATIENCE, "the upsert")
        worker.kill()
    assert stack.status(base)["total_processed"] == 0
    worker.start()
    stack.wait_until_ingested(base, 200)
    stack.assert_exact(base, 200)
    (job,) = [job for job in stack.jobs(base) if job.kind == "ingest"]
    assert job.attempts == 2


def test_fifty_flushes_at_once_start_one_job_and_leave_no_lock(stack: Topology) -> None:
    base = stack.base(threshold=1000)
    stack.capture(*numbered(20))

    def flush(_: int) -> tuple[int, str]:
        answer = stack.client.post(f"/memories/{base}/flush", json={"session_id": "s"}, timeout=60)
        return answer.status_code, answer.headers.get("retry-after", "")

    # No worker yet: the job stays open.
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(flush, range(50)))
    assert sorted(status for status, _ in answers) == [202] + [409] * 49
    assert all(retry_after for status, retry_after in answers if status == 409)
    assert len(stack.jobs(base)) == 1
    stack.start_worker()
    stack.wait_until_ingested(base, 20)
    stack.assert_exact(base, 20)
    assert not stack.services.locks.held(stack.jobs(base)[0].memory_base_id, "s")


@pytest.mark.parametrize("outage", ["stopped", "frozen"])
def test_a_capture_without_redis_succeeds_at_once_and_is_ingested_later(
    stack: Topology, own_redis: RedisServer, outage: str
) -> None:
    stack.start_worker()
    base = stack.base(threshold=5)
    own_redis.freeze() if outage == "frozen" else own_redis.stop()
    for _ in range(3):
        stack.capture(*numbered(5), timeout=ONE_SECOND)
    own_redis.thaw() if outage == "frozen" else own_redis.start()
    stack.wait_until_ingested(base, 15)
    stack.assert_exact(base, 15)


def test_without_chroma_nothing_is_lost_and_search_says_so(stack: Topology, own_chroma: ChromaServer) -> None:
    stack.start_worker()
    base = stack.base(threshold=5)
    stack.capture("the harbour master is called Ines", *numbered(4))
    stack.wait_until_ingested(base, 5)
    own_chroma.stop()
    stack.capture(*numbered(5), session="t")
    stack.capture("below the threshold", session="u")
    flushed = stack.call("POST", f"/memories/{base}/flush", 202, json={"session_id": "u"})
    assert [job["session_id"] for job in flushed["jobs"]] == ["u"]
    question = {"query": "who is the harbour master?"}
    answer = stack.client.post(f"/memories/{base}/search", json=question)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "vector_store_unavailable")
    assert answer.json()["error"]["retryable"] is True
    assert stack.call("GET", f"/memories/{base}/mismatch")["state"] == "unavailable"
    own_chroma.start()
    stack.wait_until_ingested(base, 11)
    stack.assert_exact(base, 11)
    found = stack.call("POST", f"/memories/{base}/search", json=question)["results"]
    assert "Ines" in found[0]["content"]


def test_a_collection_deleted_behind_our_back_is_restored_by_regenerate(stack: Topology) -> None:
    stack.start_worker()
    base = stack.base(threshold=5)
    stack.capture(*numbered(5))
    stack.wait_until_ingested(base, 5)
    before = sorted(stack.stored(base))
    stack.services.vectors.delete_collection(stack.ref(base).name)
    found = stack.call("GET", f"/memories/{base}/mismatch")
    assert (found["mismatch"], found["expected"], found["found"], found["missing"]) == (True, 5, 0, 5)
    assert stack.status(base)["mismatch"] is True
    stack.call("POST", f"/memories/{base}/regenerate", 202)
    wait_until(lambda: stack.status(base)["status"] == "ready", PATIENCE, "the new generation serves")
    assert sorted(stack.stored(base)) == before
    stack.assert_exact(base, 5)
    assert stack.call("GET", f"/memories/{base}/mismatch")["state"] == "ok"


def test_search_answers_throughout_a_regenerate_of_a_healthy_base(stack: Topology) -> None:
    stack.start_worker()
    base = stack.base(threshold=300)
    stack.capture("the harbour master is called Ines", *numbered(299))
    stack.wait_until_ingested(base, 300)
    stack.call("POST", f"/memories/{base}/regenerate", 202)
    answers = []
    while (status := stack.status(base))["status"] == "regenerating":
        assert status["total_processed"] == 300
        found = stack.call("POST", f"/memories/{base}/search", json={"query": "who is the harbour master?"})
        answers.append(found["results"][0]["content"])
    assert answers
    assert all("Ines" in answer for answer in answers)
    stack.assert_exact(base, 300)


def test_a_base_deleted_while_a_job_runs_leaves_nothing(stack: Topology) -> None:
    stack.start_worker()
    base = stack.base(threshold=250)
    name = stack.ref(base).name
    stack.capture(*numbered(250))
    wait_until(lambda: any(job.state == "running" for job in stack.jobs(base)), PATIENCE, "the job runs")
    answer = stack.client.delete(f"/memories/{base}", timeout=60)
    assert answer.status_code in (202, 204)
    assert stack.client.get(f"/memories/{base}").status_code == 404
    wait_until(lambda: stack.jobs(base) == [], PATIENCE, "the rows are gone")
    assert name not in chroma_collections(stack)


def chroma_collections(stack: Topology) -> list[str]:
    url = f"{stack.settings.chroma_url}/api/v2/tenants/default_tenant/databases/default_database/collections"
    return [collection["name"] for collection in httpx.get(url, trust_env=False).json()]
