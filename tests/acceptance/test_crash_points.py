"""A worker killed at a named point of the flow. A trigger in PostgreSQL stops it there: nothing is left to chance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.gates import Change, Gate, gate
from harness.pieces import PATIENCE, Topology, topology
from harness.worker import WorkerServer

from memorybase.models import JobState
from memorybase.settings import embedded

pytestmark = pytest.mark.slow

# The change that the worker is stopped in.
POINTS = {
    "claiming": Change("ingestion_jobs", "OLD.state = 'queued' AND NEW.state = 'running'"),
    "claimed": Change("ingestion_jobs", "NEW.embedding_started AND NOT OLD.embedding_started"),
    "upserted": Change("session_progress", "NEW.cursor_seq > OLD.cursor_seq"),
    "advanced and not committed": Change("ingestion_jobs", "NEW.state = 'done'"),
}


@dataclass
class Scene:
    """The topology, and what only these tests take away."""

    stack: Topology
    worker: WorkerServer
    redis: RedisServer
    postgres: PostgresServer
    dbname: str

    def gate(self, change: Change) -> AbstractContextManager[Gate]:
        return gate(self.postgres, self.dbname, change)


@pytest.fixture(scope="module")
def scene(
    tmp_path_factory: pytest.TempPathFactory,
    model_cache: Path,
    chroma_server: ChromaServer,
    postgres_server: PostgresServer,
) -> Iterator[Scene]:
    redis = RedisServer(tmp_path_factory.mktemp("own-redis"))
    name = postgres_server.create_database()
    settings = embedded(
        tmp_path_factory.mktemp("data"), redis_url=redis.url, chroma_url=chroma_server.url, model_dir=model_cache,
        sweep_seconds=0.5, database_url=postgres_server.url(name),
    )  # fmt: skip
    try:
        redis.start()
        with topology(settings) as built:
            yield Scene(built, built.start_worker(), redis, postgres_server, name)
    finally:
        redis.close()
        postgres_server.drop_database(name)


def test_a_worker_killed_at_a_named_point_loses_and_doubles_nothing(scene: Scene) -> None:
    built, worker = scene.stack, scene.worker
    for number, (point, change) in enumerate(POINTS.items()):
        flow = f"flow-{number}"
        base = built.base(flow, threshold=20)
        with scene.gate(change.of(base)) as held:
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
        assert (job.attempts, job.lost_workers) == (1 if point == "claiming" else 2, int(written)), point


def test_a_worker_killed_just_after_the_commit_of_the_advance_does_nothing_twice(scene: Scene) -> None:
    built, worker = scene.stack, scene.worker
    base = built.base(threshold=20)
    with scene.gate(POINTS["advanced and not committed"].of(base)) as held:
        built.capture(*(f"note number {n} is about the harbour" for n in range(20)))
        wait_until(held.reached, PATIENCE, "the worker has advanced")
        # After the commit it would let go of the lock in Redis: it hangs there.
        scene.redis.freeze()
        held.open()
        wait_until(lambda: built.jobs(base)[0].state == JobState.DONE, PATIENCE, "the commit")
        worker.kill()
        scene.redis.thaw()

    worker.start()
    built.capture(*(f"note number {n} is about the lighthouse" for n in range(20)))

    built.wait_until_ingested(base, 40)
    built.assert_exact(base, 40)
    assert [job.attempts for job in built.jobs(base) if job.kind == "ingest"] == [1, 1]
