"""A regenerate whose API, worker or sweeper is killed at a named point: it completes, and search never notices. In one
process all three are killed at once, and search answers in full as soon as it answers."""

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
from harness import wait_until
from harness.constants import SWEEP
from harness.gates import Change
from harness.pieces import PATIENCE, Topology, pieces_of, topology

from memorybase.core.models import Generation, IngestionJob, JobState, KnowledgeBase, LedgerEntry, MemoryBase

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
        self._may_be_away = stack.one_process is not None
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
                if not (self._may_be_away and isinstance(error, httpx.TransportError)):
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


@pytest.fixture(scope="module", params=["processes", "one process"])
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    values = {
        SWEEP: 0.3,
        "memorybase.core.memory_bases.deletion.RETIRE_SECONDS": 2.0,
        "memorybase.core.ingestion.scheduler.JOB_MAX_MESSAGES": JOB_MESSAGES,
    }
    with topology(
        tmp_path_factory.mktemp("data"), values=values, **pieces_of(request, tmp_path_factory.mktemp("own-redis"))
    ) as built:
        built.start(built.api, built.sweeper, built.worker)
        yield built


def ingested_base(stack: Topology, flow: str) -> str:
    base = stack.base(flow, threshold=MESSAGES)
    stack.capture(*(f"note number {n} is about the harbour" for n in range(MESSAGES)), flow=flow)
    stack.wait_until_ingested(base, MESSAGES)
    return base


def regenerate(stack: Topology, base: str) -> Any:
    return stack.call("POST", f"/memories/{base}/regenerate", 202)


def base_row(stack: Topology, base: str) -> MemoryBase:
    return stack.world.base(UUID(base))


def generation(stack: Topology, base: str, number: int) -> Generation:
    with stack.services.database.reading() as db:
        return db.get_one(Generation, (UUID(base), number))


def jobs_of_build(stack: Topology, base: str) -> list[IngestionJob]:
    return [job for job in stack.jobs(base) if job.generation == 2]


def finished(stack: Topology, base: str, *, jobs: int) -> bool:
    return sum(job.state == JobState.DONE for job in jobs_of_build(stack, base)) == jobs


def wait_until_serving(stack: Topology, base: str, number: int) -> None:
    wait_until(lambda: base_row(stack, base).serving == number, PATIENCE, f"generation {number} serves")
    wait_until(lambda: stack.status(base)["status"] == "ready", PATIENCE, "nothing is left to do")


def assert_still_serving_the_old(stack: Topology, base: str) -> None:
    row = base_row(stack, base)
    assert (row.serving, row.building) == (1, 2)
    assert stack.processed(base) == MESSAGES


def assert_whole(stack: Topology, base: str, *strays: str) -> None:
    """What serves is exact, and nothing else of the base is in the store once the old collection is dropped, but empty
    ones that were never used."""
    stack.assert_exact(base, MESSAGES)
    status = stack.status(base)
    assert (status["total_processed"], status["pending_messages"], status["dead_letters"]) == (MESSAGES, 0, 0)
    left = {stack.ref(base).name, *strays}
    wait_until(lambda: collections_of(stack, base) == left, PATIENCE, "the old collection is dropped")
    assert stack.call("GET", f"/memories/{base}/mismatch")["state"] == "ok"


def records_in(stack: Topology, name: str) -> int:
    (ref,) = [each.ref for each in stack.services.vectors.list_collections() if each.ref.name == name]
    return stack.services.vectors.count(ref)


def collections_of(stack: Topology, base: str) -> set[str]:
    listed = stack.services.vectors.list_collections()
    return {each.ref.name for each in listed if each.ref.name.startswith(f"mb-{base}-")}


def metadata_file(stack: Topology, base: str) -> Path:
    with stack.services.database.reading() as db:
        entry = db.scalars(sa.select(KnowledgeBase).where(KnowledgeBase.memory_base_id == UUID(base))).one()
    return stack.settings.knowledge_dir / str(entry.id) / "embedding_metadata.json"


def execute(stack: Topology, statement: str) -> None:
    stack.postgres.execute(statement, stack.dbname)


def test_a_worker_killed_at_a_named_point_of_a_build_costs_nothing(stack: Topology) -> None:
    bases = []
    for point, (change, stored, lost_workers) in POINTS.items():
        base = ingested_base(stack, f"worker {point}")
        bases.append(base)
        with Searcher(stack, base):
            with stack.gate(change.of(base)) as held:
                regenerate(stack, base)
                wait_until(held.reached, PATIENCE, f"the worker is {point}")
                assert records_in(stack, generation(stack, base, 2).collection_name) == stored, point
                stack.worker.kill()
            assert_still_serving_the_old(stack, base)

            stack.worker.start()

            wait_until_serving(stack, base, 2)
        assert sum(job.lost_workers for job in jobs_of_build(stack, base)) == lost_workers, point
        assert {job.state for job in jobs_of_build(stack, base)} == {JobState.DONE}, point
    for base in bases:
        assert_whole(stack, base)


def test_a_worker_killed_just_after_a_commit_of_a_build_does_nothing_twice(stack: Topology) -> None:
    for serving, change in ((1, FINISHES), (2, SERVES)):
        base = ingested_base(stack, f"committed {serving}")
        with Searcher(stack, base):
            with stack.gate(change.of(base)) as held:
                regenerate(stack, base)
                wait_until(held.reached, PATIENCE, "the worker is about to commit")
                metadata_file(stack, base).unlink()
                with stack.lock_kept():
                    held.open()
                    wait_until(partial(finished, stack, base, jobs=serving), PATIENCE, "the commit")
                    stack.worker.kill()
            assert base_row(stack, base).serving == serving

            stack.worker.start()

            wait_until_serving(stack, base, 2)
        assert [(job.attempts, job.lost_workers) for job in jobs_of_build(stack, base)] == [(1, 0), (1, 0)]
        assert_whole(stack, base)
        # The worker that let it serve may have died before it could write what people read there.
        wait_until(metadata_file(stack, base).exists, PATIENCE, "the metadata file is back")


def test_an_api_killed_before_the_commit_leaves_a_collection_that_is_never_used(stack: Topology) -> None:
    base = ingested_base(stack, "api before")
    inserted = Change("generations", "NEW.state = 'building'", event="INSERT")
    with ThreadPoolExecutor(1) as caller, stack.gate(inserted.of(base)) as held:
        call = caller.submit(regenerate, stack, base)
        wait_until(held.reached, PATIENCE, "the API has made the collection")
        stack.api.kill()
        assert isinstance(call.exception(PATIENCE), httpx.TransportError)
    (stray,) = collections_of(stack, base) - {stack.ref(base).name}

    stack.api.start()

    row = base_row(stack, base)
    assert (row.serving, row.building, stack.status(base)["status"]) == (1, None, "ready")
    assert collections_of(stack, base) == {stack.ref(base).name, stray}
    with Searcher(stack, base):
        assert regenerate(stack, base)["generation"] == 2
        wait_until_serving(stack, base, 2)
    assert stray in collections_of(stack, base)
    assert records_in(stack, stray) == 0
    assert_whole(stack, base, stray)


def test_the_sweeper_notifies_a_build_whose_api_was_killed_between_commit_and_notification(stack: Topology) -> None:
    base = ingested_base(stack, "api after")
    with ThreadPoolExecutor(1) as caller, stack.notifications_lost():
        caller.submit(regenerate, stack, base)
        wait_until(lambda: base_row(stack, base).building == 2, PATIENCE, "the regenerate is committed")
        stack.api.kill()
    stack.api.start()

    wait_until_serving(stack, base, 2)

    assert_whole(stack, base)


def test_another_sweeper_completes_what_a_killed_one_began_at_the_end_of_a_build(stack: Topology) -> None:
    if stack.one_process:
        pytest.skip("no sweeper works without its worker")
    base = ingested_base(stack, "sweeper")
    build_without_its_last_step(stack, base)
    with Searcher(stack, base):
        with stack.gate(SERVES.of(base)) as held:
            execute(stack, f"UPDATE session_progress SET dirty = repaired WHERE memory_base_id = '{base}'")
            wait_until(held.reached, PATIENCE, "the sweeper lets the build serve")
            stack.sweeper.kill()
        assert_still_serving_the_old(stack, base)
        dropped = Change("ledger", f"OLD.memory_base_id = '{base}' AND OLD.generation = 1", event="DELETE")
        with stack.gate(dropped) as held:
            stack.sweeper.start()
            wait_until(held.reached, PATIENCE, "the sweeper has dropped the collection, not the rows")
            assert base_row(stack, base).serving == 2
            assert collections_of(stack, base) == {stack.ref(base).name}
            stack.sweeper.kill()
        assert generation(stack, base, 1).retired_at is not None

        stack.sweeper.start()

        wait_until(lambda: generation(stack, base, 1).retired_at is None, PATIENCE, "the old generation is emptied")
    with stack.services.database.reading() as db:
        entries = sa.select(sa.func.count()).where(
            LedgerEntry.memory_base_id == UUID(base), LedgerEntry.generation == 1
        )
        assert db.scalar(entries) == 0
    stack.worker.start()
    assert_whole(stack, base)


def build_without_its_last_step(stack: Topology, base: str) -> None:
    """A build that has reached its target while an edit waited; the edit is taken back by the test, the worker gone."""
    last_job = Change("ingestion_jobs", "NEW.embedding_started AND NOT OLD.embedding_started AND NEW.from_seq > 0")
    repair = Change("ingestion_jobs", "NEW.kind = 'repair' AND NEW.state = 'running'")
    with stack.gate(repair.of(base)) as mending:
        with stack.gate(last_job.of(base)) as embedding:
            regenerate(stack, base)
            wait_until(embedding.reached, PATIENCE, "the worker is at the last job")
            execute(
                stack,
                f"UPDATE session_progress SET dirty = dirty + 1 WHERE memory_base_id = '{base}' AND generation = 2",
            )
        wait_until(mending.reached, PATIENCE, "only the repair is left")
        stack.worker.kill()
    execute(
        stack, f"UPDATE ingestion_jobs SET state = 'cancelled' WHERE memory_base_id = '{base}' AND state = 'queued'"
    )
