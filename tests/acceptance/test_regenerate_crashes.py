"""A regenerate whose API, worker or sweeper is killed at a named point: it completes, and search never notices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.gates import Change, gate
from harness.pieces import PATIENCE, Topology, topology

from memorybase.models import Generation, IngestionJob, JobState, KnowledgeBase, LedgerEntry, MemoryBase
from memorybase.settings import embedded
from memorybase.vectors.store import CollectionRef

pytestmark = pytest.mark.slow

MESSAGES = 20
JOB_MESSAGES = 12  # a build of two jobs
SERVES = Change("memory_bases", "NEW.serving > OLD.serving")
FINISHES = Change("ingestion_jobs", "NEW.state = 'done'")

# Where the worker is stopped, how many messages are in the new collection then, and the deaths that its jobs count.
POINTS = {
    "claimed": (Change("ingestion_jobs", "NEW.embedding_started AND NOT OLD.embedding_started"), 0, 0),
    "upserted": (Change("session_progress", "NEW.cursor_seq > OLD.cursor_seq"), JOB_MESSAGES, 1),
    "advanced and not committed": (FINISHES, JOB_MESSAGES, 1),
    "letting it serve": (SERVES, MESSAGES, 1),
}


class Searcher(threading.Thread):
    """A user who searches a base all the time: every answer must be of all that it holds.

    Chroma searches approximately, and may miss one or another of the messages; of a generation that served too early
    all of a job would be missing.
    """

    def __init__(self, stack: Topology, base: str) -> None:
        super().__init__(name="searcher", daemon=True)
        self.answers = 0
        self.wrong: list[str] = []
        self._base = base
        with stack.services.database.reading() as db:
            held = sa.select(LedgerEntry.message_id).where(LedgerEntry.memory_base_id == UUID(base))
            self._expected = {str(message_id) for message_id in db.scalars(held)}
        self._client = httpx.Client(
            base_url=stack.client.base_url, headers=stack.client.headers, trust_env=False, timeout=60
        )
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.1):
            try:
                found = search(self._client, self._base)
            except (AssertionError, httpx.HTTPError) as error:
                self.wrong.append(repr(error))
            else:
                self.answers += 1
                if len(found) <= JOB_MESSAGES or not found <= self._expected:
                    self.wrong.append(f"{len(found)} messages found, {len(found - self._expected)} of them others")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self.join()
        self._client.close()
        assert self.wrong == []
        assert self.answers > 0


def search(client: httpx.Client, base: str) -> set[str]:
    body = {"query": "the harbour", "mode": "dense", "top_k": 2 * MESSAGES, "include_pending": False}
    answer = client.post(f"/memories/{base}/search", json=body)
    assert answer.status_code == 200, answer.text
    return {held["message_id"] for held in answer.json()["results"]}


class Scene:
    """The topology, and what only these tests look at and touch."""

    def __init__(self, stack: Topology, postgres: PostgresServer, redis: RedisServer, dbname: str) -> None:
        self.stack, self.postgres, self.redis, self.dbname = stack, postgres, redis, dbname
        self.worker = stack.start_worker()

    def ingested_base(self, flow: str) -> str:
        base = self.stack.base(flow, threshold=MESSAGES)
        self.stack.capture(*(f"note number {n} is about the harbour" for n in range(MESSAGES)), flow=flow)
        self.stack.wait_until_ingested(base, MESSAGES)
        return base

    def regenerate(self, base: str) -> Any:
        return self.stack.call("POST", f"/memories/{base}/regenerate", 202)

    def base_row(self, base: str) -> MemoryBase:
        with self.stack.services.database.reading() as db:
            return db.get_one(MemoryBase, UUID(base))

    def generation(self, base: str, number: int) -> Generation:
        with self.stack.services.database.reading() as db:
            return db.get_one(Generation, (UUID(base), number))

    def stored(self, base: str, number: int) -> int:
        generation = self.generation(base, number)
        ref = CollectionRef(generation.collection_name, generation.collection_id)
        return self.stack.services.vectors.count(ref)

    def jobs(self, base: str, number: int) -> list[IngestionJob]:
        return [job for job in self.stack.jobs(base) if job.generation == number]

    def finished(self, base: str, *, jobs: int) -> bool:
        return sum(job.state == JobState.DONE for job in self.jobs(base, 2)) == jobs

    def wait_until_serving(self, base: str, number: int) -> None:
        wait_until(lambda: self.base_row(base).serving == number, PATIENCE, f"generation {number} serves")
        wait_until(lambda: self.stack.status(base)["status"] == "ready", PATIENCE, "nothing is left to do")

    def assert_still_serving_the_old(self, base: str) -> None:
        row = self.base_row(base)
        assert (row.serving, row.building) == (1, 2)
        assert self.stack.status(base)["total_processed"] == MESSAGES

    def assert_whole(self, base: str) -> None:
        """What serves is exact, and nothing else of the base is in the store once the old collection is dropped."""
        self.stack.assert_exact(base, MESSAGES)
        status = self.stack.status(base)
        assert (status["total_processed"], status["pending_messages"], status["dead_letters"]) == (MESSAGES, 0, 0)
        wait_until(
            lambda: self.collections_of(base) == {self.stack.ref(base).name}, PATIENCE, "the old collection is dropped"
        )
        assert self.stack.call("GET", f"/memories/{base}/mismatch")["state"] == "ok"

    def collection(self, name: str) -> CollectionRef:
        (ref,) = [each.ref for each in self.stack.services.vectors.list_collections() if each.ref.name == name]
        return ref

    def collections_of(self, base: str) -> set[str]:
        listed = self.stack.services.vectors.list_collections()
        return {each.ref.name for each in listed if each.ref.name.startswith(f"mb-{base}-")}

    def metadata_file(self, base: str) -> Path:
        with self.stack.services.database.reading() as db:
            entry = db.scalars(sa.select(KnowledgeBase).where(KnowledgeBase.memory_base_id == UUID(base))).one()
        return self.stack.settings.knowledge_dir / str(entry.id) / "embedding_metadata.json"

    def execute(self, statement: str) -> None:
        self.postgres.execute(statement, self.dbname)


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
        database_url=postgres_server.url(name), sweep_seconds=0.3, retire_seconds=2.0, job_max_messages=JOB_MESSAGES,
    )  # fmt: skip
    try:
        redis.start()
        with topology(settings) as built:
            yield Scene(built, postgres_server, redis, name)
    finally:
        redis.close()
        postgres_server.drop_database(name)


def test_a_worker_killed_at_a_named_point_of_a_build_costs_nothing(scene: Scene) -> None:
    bases = []
    for point, (change, stored, lost_workers) in POINTS.items():
        base = scene.ingested_base(f"worker {point}")
        bases.append(base)
        with Searcher(scene.stack, base):
            with gate(scene.postgres, scene.dbname, change.of(base)) as held:
                scene.regenerate(base)
                wait_until(held.reached, PATIENCE, f"the worker is {point}")
                assert scene.stored(base, 2) == stored, point
                scene.worker.kill()
            scene.assert_still_serving_the_old(base)

            scene.worker.start()

            scene.wait_until_serving(base, 2)
        assert sum(job.lost_workers for job in scene.jobs(base, 2)) == lost_workers, point
        assert {job.state for job in scene.jobs(base, 2)} == {JobState.DONE}, point
    for base in bases:
        scene.assert_whole(base)


def test_a_worker_killed_just_after_a_commit_of_a_build_does_nothing_twice(scene: Scene) -> None:
    for serving, change in ((1, FINISHES), (2, SERVES)):
        base = scene.ingested_base(f"committed {serving}")
        with Searcher(scene.stack, base):
            with gate(scene.postgres, scene.dbname, change.of(base)) as held:
                scene.regenerate(base)
                wait_until(held.reached, PATIENCE, "the worker is about to commit")
                scene.metadata_file(base).unlink()
                # After the commit it would let go of the lock in Redis: it hangs there.
                scene.redis.freeze()
                held.open()
                wait_until(partial(scene.finished, base, jobs=serving), PATIENCE, "the commit")
                scene.worker.kill()
                scene.redis.thaw()
            assert scene.base_row(base).serving == serving

            scene.worker.start()

            scene.wait_until_serving(base, 2)
        assert [(job.attempts, job.lost_workers) for job in scene.jobs(base, 2)] == [(1, 0), (1, 0)]
        scene.assert_whole(base)
        # The worker that let it serve may have died before it could write what people read there.
        wait_until(scene.metadata_file(base).exists, PATIENCE, "the metadata file is back")


def test_an_api_killed_before_the_commit_of_a_regenerate_leaves_an_empty_collection_that_no_later_one_uses(
    scene: Scene,
) -> None:
    base = scene.ingested_base("api before")
    inserted = Change("generations", "NEW.state = 'building'", event="INSERT")
    with ThreadPoolExecutor(1) as caller, gate(scene.postgres, scene.dbname, inserted.of(base)) as held:
        call = caller.submit(scene.regenerate, base)
        wait_until(held.reached, PATIENCE, "the API has made the collection")
        scene.stack.api.kill()
        assert isinstance(call.exception(PATIENCE), httpx.TransportError)
    (stray,) = scene.collections_of(base) - {scene.stack.ref(base).name}

    scene.stack.api.start()

    row = scene.base_row(base)
    assert (row.serving, row.building, scene.stack.status(base)["status"]) == (1, None, "ready")
    assert scene.collections_of(base) == {scene.stack.ref(base).name, stray}
    with Searcher(scene.stack, base):
        assert scene.regenerate(base)["generation"] == 2
        scene.wait_until_serving(base, 2)
    assert stray in scene.collections_of(base)
    assert scene.stack.services.vectors.count(scene.collection(stray)) == 0
    scene.stack.services.vectors.delete_collection(stray)
    scene.assert_whole(base)


def test_the_sweeper_notifies_a_build_whose_api_was_killed_between_commit_and_notification(scene: Scene) -> None:
    base = scene.ingested_base("api after")
    with ThreadPoolExecutor(1) as caller:
        scene.redis.freeze()
        caller.submit(scene.regenerate, base)
        wait_until(lambda: scene.base_row(base).building == 2, PATIENCE, "the regenerate is committed")
        scene.stack.api.kill()
        scene.redis.kill()  # with it what was on its way
    scene.redis.start()
    scene.stack.api.start()

    scene.wait_until_serving(base, 2)

    scene.assert_whole(base)


def test_another_sweeper_completes_what_a_killed_one_began_at_the_end_of_a_build(
    scene: Scene,
) -> None:
    base = scene.ingested_base("sweeper")
    build_without_its_last_step(scene, base)
    with Searcher(scene.stack, base):
        with gate(scene.postgres, scene.dbname, SERVES.of(base)) as held:
            scene.execute(f"UPDATE session_progress SET dirty = repaired WHERE memory_base_id = '{base}'")
            wait_until(held.reached, PATIENCE, "the sweeper lets the build serve")
            scene.stack.sweeper.kill()
        scene.assert_still_serving_the_old(base)
        dropped = Change("ledger", f"OLD.memory_base_id = '{base}' AND OLD.generation = 1", event="DELETE")
        with gate(scene.postgres, scene.dbname, dropped) as held:
            scene.stack.sweeper.start()
            wait_until(held.reached, PATIENCE, "the sweeper has dropped the collection, not the rows")
            assert scene.base_row(base).serving == 2
            assert scene.collections_of(base) == {scene.stack.ref(base).name}
            scene.stack.sweeper.kill()
        assert scene.generation(base, 1).retired_at is not None

        scene.stack.sweeper.start()

        wait_until(lambda: scene.generation(base, 1).retired_at is None, PATIENCE, "the old generation is emptied")
    with scene.stack.services.database.reading() as db:
        entries = sa.select(sa.func.count()).where(
            LedgerEntry.memory_base_id == UUID(base), LedgerEntry.generation == 1
        )
        assert db.scalar(entries) == 0
    scene.worker.start()
    scene.assert_whole(base)


def build_without_its_last_step(scene: Scene, base: str) -> None:
    """A build that has reached its target while an edit waited; the edit is taken back by the test, the worker gone."""
    last_job = Change("ingestion_jobs", "NEW.embedding_started AND NOT OLD.embedding_started AND NEW.from_seq > 0")
    repair = Change("ingestion_jobs", "NEW.kind = 'repair' AND NEW.state = 'running'")
    with gate(scene.postgres, scene.dbname, repair.of(base)) as mending:
        with gate(scene.postgres, scene.dbname, last_job.of(base)) as embedding:
            scene.regenerate(base)
            wait_until(embedding.reached, PATIENCE, "the worker is at the last job")
            scene.execute(
                f"UPDATE session_progress SET dirty = dirty + 1 WHERE memory_base_id = '{base}' AND generation = 2"
            )
        wait_until(mending.reached, PATIENCE, "only the repair is left")
        scene.worker.kill()
    scene.execute(f"UPDATE ingestion_jobs SET state = 'cancelled' WHERE memory_base_id = '{base}' AND state = 'queued'")
