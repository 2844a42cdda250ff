"""A worker killed at a named point of the flow. A trigger in PostgreSQL stops it there: nothing is left to chance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.constants import SWEEP
from harness.gates import Change
from harness.pieces import PATIENCE, Topology, topology

from memorybase.models import JobState

pytestmark = pytest.mark.slow

# The change that the worker is stopped in.
POINTS = {
    "claiming": Change("ingestion_jobs", "OLD.state = 'queued' AND NEW.state = 'running'"),
    "claimed": Change("ingestion_jobs", "NEW.embedding_started AND NOT OLD.embedding_started"),
    "upserted": Change("session_progress", "NEW.cursor_seq > OLD.cursor_seq"),
    "advanced and not committed": Change("ingestion_jobs", "NEW.state = 'done'"),
}


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, chroma_server: ChromaServer, postgres_server: PostgresServer
) -> Iterator[Topology]:
    with topology(
        tmp_path_factory.mktemp("data"), redis=RedisServer(tmp_path_factory.mktemp("own-redis")), chroma=chroma_server,
        postgres=postgres_server, values={SWEEP: 0.5},
    ) as built:  # fmt: skip
        built.start(built.api, built.sweeper, built.worker)
        yield built


def test_a_worker_killed_at_a_named_point_loses_and_doubles_nothing(stack: Topology) -> None:
    for number, (point, change) in enumerate(POINTS.items()):
        flow = f"flow-{number}"
        base = stack.base(flow, threshold=20)
        with stack.gate(change.of(base)) as held:
            stack.capture(*(f"note number {n} is about the harbour" for n in range(20)), flow=flow)
            wait_until(held.reached, PATIENCE, f"the worker is {point}")
            stored = len(stack.stored(base))
            stack.worker.kill()
            held.open()
        written = point in {"upserted", "advanced and not committed"}
        assert stored == (20 if written else 0), point
        assert stack.status(base)["total_processed"] == 0, point

        stack.worker.start()

        stack.wait_until_ingested(base, 20)
        stack.assert_exact(base, 20)
        (job,) = (job for job in stack.jobs(base) if job.kind == "ingest")
        # A claim that never committed is no attempt; a worker lost once embedding began is a death.
        assert (job.attempts, job.lost_workers) == (1 if point == "claiming" else 2, int(written)), point


def test_a_worker_killed_just_after_the_commit_of_the_advance_does_nothing_twice(stack: Topology) -> None:
    base = stack.base(threshold=20)
    with stack.gate(POINTS["advanced and not committed"].of(base)) as held:
        stack.capture(*(f"note number {n} is about the harbour" for n in range(20)))
        wait_until(held.reached, PATIENCE, "the worker has advanced")
        # After the commit it would let go of the lock in Redis: it hangs there.
        stack.redis.freeze()
        held.open()
        wait_until(lambda: stack.jobs(base)[0].state == JobState.DONE, PATIENCE, "the commit")
        stack.worker.kill()
        stack.redis.thaw()

    stack.worker.start()
    stack.capture(*(f"note number {n} is about the lighthouse" for n in range(20)))

    stack.wait_until_ingested(base, 40)
    stack.assert_exact(base, 40)
    assert [job.attempts for job in stack.jobs(base) if job.kind == "ingest"] == [1, 1]
