"""A worker killed at a named point of the flow. A trigger in PostgreSQL stops it there: nothing is left to chance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import PostgresServer, RedisServer, wait_until
from harness.gates import Change, gate
from harness.pieces import PATIENCE, Topology, topology

from memorybase.models import JobState
from memorybase.settings import embedded

# The change that the worker is stopped in.
POINTS = {
    "claiming": Change("ingestion_jobs", "OLD.state = 'queued' AND NEW.state = 'running'"),
    "claimed": Change("ingestion_jobs", "NEW.embedding_began AND NOT OLD.embedding_began"),
    "upserted": Change("memory_base_sessions", "NEW.cursor_seq > OLD.cursor_seq"),
    "advanced and not committed": Change("ingestion_jobs", "NEW.state = 'done'"),
}


@pytest.fixture
def stack(
    tmp_path: Path, model_cache: Path, own_redis: RedisServer, chroma_url: str, own_postgres: PostgresServer
) -> Iterator[tuple[Topology, str]]:
    name = own_postgres.create_database()
    settings = embedded(
        tmp_path, redis_url=own_redis.url, chroma_url=chroma_url, model_dir=model_cache, sweep_seconds=0.5,
        database_url=own_postgres.url(name),
    )  # fmt: skip
    with topology(settings) as built:
        yield built, name


def test_a_worker_killed_at_a_named_point_loses_and_doubles_nothing(
    stack: tuple[Topology, str], own_postgres: PostgresServer
) -> None:
    built, dbname = stack
    worker = built.start_worker()
    for number, (point, change) in enumerate(POINTS.items()):
        flow = f"flow-{number}"
        base = built.base(flow, threshold=20)
        with gate(own_postgres, dbname, change.of(base)) as held:
            built.capture(*(f"note number {n} is about the harbour" for n in range(20)), flow=flow)
            wait_until(held.reached, PATIENCE, f"the worker is {point}")
            stored = len(built.stored(base))
            worker.kill()
            held.open()
        written = point in {"upserted", "advanced and not committed"}
        assert stored == (20 if written else 0), point
        assert built.status(base)["total_processed"] == 0, point

        worker.start()

        built.wait_until_ingested(base, 20)
        built.assert_exact(base, 20)
        (job,) = (job for job in built.jobs(base) if job.kind == "ingest")
        # A claim that never committed is no attempt; a worker lost once embedding began is a death.
        assert (job.attempts, job.deaths) == (1 if point == "claiming" else 2, int(written)), point


def test_a_worker_killed_just_after_the_commit_of_the_advance_does_nothing_twice(
    stack: tuple[Topology, str], own_postgres: PostgresServer, own_redis: RedisServer
) -> None:
    built, dbname = stack
    base = built.base(threshold=20)
    worker = built.start_worker()
    with gate(own_postgres, dbname, POINTS["advanced and not committed"].of(base)) as held:
        built.capture(*(f"note number {n} is about the harbour" for n in range(20)))
        wait_until(held.reached, PATIENCE, "the worker has advanced")
        # After the commit it would let go of the lock in Redis: it hangs there.
        own_redis.freeze()
        held.open()
        wait_until(lambda: built.jobs(base)[0].state == JobState.DONE, PATIENCE, "the commit")
        worker.kill()
        own_redis.thaw()

    worker.start()
    built.capture(*(f"note number {n} is about the lighthouse" for n in range(20)))

    built.wait_until_ingested(base, 40)
    built.assert_exact(base, 40)
    assert [job.attempts for job in built.jobs(base) if job.kind == "ingest"] == [1, 1]
