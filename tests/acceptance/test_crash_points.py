"""A worker killed at a named point of the flow, alone or with the one process that it is a thread of. A trigger stops
it there: nothing is left to chance."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from harness import wait_until
from harness.constants import SWEEP
from harness.gates import Change
from harness.pieces import PATIENCE, Topology, pieces_of, topology

from memorybase.core import ids
from memorybase.core.memory_bases import preparation
from memorybase.core.models import JobState, Message, Preparation
from memorybase.core.sessions import erasure

pytestmark = pytest.mark.slow

# The change that the worker is stopped in.
POINTS = {
    "claiming": Change("ingestion_jobs", "OLD.state = 'queued' AND NEW.state = 'running'"),
    "claimed": Change("ingestion_jobs", "NEW.embedding_started AND NOT OLD.embedding_started"),
    "upserted": Change("session_progress", "NEW.cursor_seq > OLD.cursor_seq"),
    "advanced and not committed": Change("ingestion_jobs", "NEW.state = 'done'"),
}


# Slices of a long message are small, and each writes progress; short messages are one slice.
PIECES = {
    "memorybase.core.ingestion.pipeline.SLICE_CHUNKS": 20,
    "memorybase.core.ingestion.pipeline.PIECE_CHUNKS": 4,
    "memorybase.core.ingestion.lease.PROGRESS_SECONDS": 0,
}


@pytest.fixture(scope="module", params=["processes", "one process"])
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    with topology(
        tmp_path_factory.mktemp("data"),
        values={SWEEP: 0.5, **PIECES},
        **pieces_of(request, tmp_path_factory.mktemp("own-redis")),
    ) as built:
        built.start(built.api, built.sweeper, built.worker)
        yield built


def messages_of(stack: Topology, flow: str) -> int:
    rows = sa.select(sa.func.count()).where(Message.flow_id == ids.flow_id(stack.world.user_id, flow))
    with stack.services.database.reading() as db:
        return db.scalar(rows) or 0


def test_a_worker_killed_at_a_named_point_loses_and_doubles_nothing(stack: Topology) -> None:
    for number, (point, change) in enumerate(POINTS.items()):
        flow = f"flow-{number}"
        base = stack.base(flow, threshold=20)
        with stack.gate(change.of(base)) as held:
            stack.capture(*(f"note number {n} is about the harbour" for n in range(20)), flow=flow)
            wait_until(held.reached, PATIENCE, f"the worker is {point}")
            stored = len(stack.stored(base))
            stack.worker.kill()
        written = point in {"upserted", "advanced and not committed"}
        assert stored == (20 if written else 0), point
        assert stack.processed(base) == 0, point

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
        with stack.lock_kept():
            held.open()
            wait_until(lambda: stack.jobs(base)[0].state == JobState.DONE, PATIENCE, "the commit")
            stack.worker.kill()

    stack.worker.start()
    stack.capture(*(f"note number {n} is about the lighthouse" for n in range(20)))

    stack.wait_until_ingested(base, 40)
    stack.assert_exact(base, 40)
    assert [job.attempts for job in stack.jobs(base) if job.kind == "ingest"] == [1, 1]


@pytest.mark.timeout(180)
def test_a_worker_killed_inside_of_a_long_message_goes_on_behind_what_it_stored(stack: Topology) -> None:
    base = stack.base("long", threshold=1)
    # The second one: the first is committed.
    progress = Change("ingestion_jobs", "NEW.stored_chunks > OLD.stored_chunks AND OLD.stored_chunks > 0")
    with stack.gate(progress.of(base)) as held:
        stack.capture(" ".join(f"note {number} is about the harbour." for number in range(1_600)), flow="long")
        wait_until(held.reached, PATIENCE, "the worker has stored some of it")
        stored = stack.stored(base)
        stack.worker.kill()
        held.open()
    assert stored

    stack.worker.start()

    stack.wait_until_ingested(base, 1)
    stack.assert_exact(base, 1)
    assert stored <= stack.stored(base)
    (job,) = (job for job in stack.jobs(base) if job.kind == "ingest")
    assert job.attempts == 2


def run_of(texts: int) -> dict[str, Any]:
    """What a runtime sends again until it is answered."""
    messages = [
        {"id": f"m{n}", "role": "user", "content": f"note number {n} is about the harbour"} for n in range(texts)
    ]
    return {"run_id": "run", "session_id": "s", "messages": messages}


def test_a_capture_whose_api_is_killed_before_its_commit_stores_nothing(stack: Topology) -> None:
    base = stack.base("captured", threshold=20)
    last = Change("messages", "NEW.seq = 20", event="INSERT")
    with ThreadPoolExecutor(1) as caller, stack.gate(last) as held:
        call = caller.submit(stack.call, "POST", "/flows/captured/runs", 201, json=run_of(20))
        wait_until(held.reached, PATIENCE, "the capture stores its last message")
        stack.api.kill()
        assert isinstance(call.exception(PATIENCE), httpx.TransportError)
    assert messages_of(stack, "captured") == 0

    stack.api.start()

    stack.call("POST", "/flows/captured/runs", 201, json=run_of(20))
    stack.wait_until_ingested(base, 20)
    stack.assert_exact(base, 20)


def test_a_capture_repeated_after_a_kill_between_commit_and_notification_is_stored_once(stack: Topology) -> None:
    base = stack.base("repeated", threshold=20)
    with ThreadPoolExecutor(1) as caller, stack.notifications_lost():
        call = caller.submit(stack.call, "POST", "/flows/repeated/runs", 201, json=run_of(20))
        wait_until(lambda: messages_of(stack, "repeated"), PATIENCE, "the commit")
        stack.api.kill()
        call.exception(PATIENCE)  # it may have been answered
    assert messages_of(stack, "repeated") == 20

    stack.api.start()

    stack.call("POST", "/flows/repeated/runs", 200, json=run_of(20))
    stack.wait_until_ingested(base, 20)
    stack.assert_exact(base, 20)
    assert len([job for job in stack.jobs(base) if job.kind == "ingest"]) == 1


def test_an_answered_capture_survives_a_kill_right_after_the_answer(stack: Topology) -> None:
    stack.base("answered", threshold=1_000)
    stack.call("POST", "/flows/answered/runs", 201, json=run_of(20))
    stack.api.kill()
    assert messages_of(stack, "answered") == 20

    stack.api.start()

    stack.call("POST", "/flows/answered/runs", 200, json=run_of(20))


def test_a_flush_whose_api_is_killed_before_its_commit_starts_nothing(stack: Topology) -> None:
    base = stack.base("flushed", threshold=1_000)
    stack.capture(*(f"note number {n} is about the harbour" for n in range(20)), flow="flushed")
    started = Change("ingestion_jobs", "NEW.kind = 'ingest'", event="INSERT")
    with ThreadPoolExecutor(1) as caller, stack.gate(started.of(base)) as held:
        call = caller.submit(stack.call, "POST", f"/memories/{base}/flush", 202)
        wait_until(held.reached, PATIENCE, "the flush starts a job")
        stack.api.kill()
        assert isinstance(call.exception(PATIENCE), httpx.TransportError)
    assert stack.jobs(base) == []

    stack.api.start()

    assert stack.status(base)["pending_messages"] == 20
    stack.call("POST", f"/memories/{base}/flush", 202)
    stack.wait_until_ingested(base, 20)
    stack.assert_exact(base, 20)


def test_a_deletion_killed_between_two_pages_is_finished_by_the_sweeper(stack: Topology) -> None:
    count = erasure.PAGE + 20
    base = stack.base("deleted", threshold=count)
    stack.capture(*(f"note {n} is about the harbour" for n in range(count)), flow="deleted")
    stack.wait_until_ingested(base, count)
    second_page = Change("messages", f"OLD.seq = {count}", event="DELETE")
    with ThreadPoolExecutor(1) as caller, stack.gate(second_page) as held:
        call = caller.submit(stack.call, "DELETE", "/sessions?flow_id=deleted&session_id=s")
        wait_until(held.reached, PATIENCE, "the second page is being deleted")
        stack.sweeper.kill()
        stack.api.kill()
        assert isinstance(call.exception(PATIENCE), httpx.TransportError)
    assert 0 < messages_of(stack, "deleted") < count

    stack.start(stack.api, stack.sweeper)

    wait_until(lambda: not messages_of(stack, "deleted"), PATIENCE, "the sweeper has deleted the rest")
    wait_until(lambda: not stack.stored(base), PATIENCE, "the repair has removed the chunks")
    stack.capture("a note after the deletion", flow="deleted")
    assert messages_of(stack, "deleted") == 1


def test_a_preparation_killed_in_its_second_page_does_each_session_once(stack: Topology) -> None:
    count = preparation.PAGE + 20
    stack.call("PUT", "/flows/prepared", 201, json={"name": "prepared"})
    for number in range(count):
        stack.capture("a note about the harbour", session=f"s{number}", flow="prepared")
    with stack.gate(Change("preparations", "OLD.after_id IS NOT NULL", event="DELETE")) as held:
        base = stack.base("prepared", start="all")
        wait_until(held.reached, PATIENCE, "the sweeper does the second page")
        assert stack.status(base)["status"] == "preparing"
        stack.sweeper.kill()
    assert stack.world.scalars(sa.select(Preparation.memory_base_id)) == [UUID(base)]

    stack.sweeper.start()

    stack.wait_until_ingested(base, count)
    stack.assert_exact(base, count)
