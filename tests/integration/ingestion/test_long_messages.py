"""A long message: stored piece by piece, taken up where a worker left it, and behind others that wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from harness.world import WorkerKilled, World

from memorybase.core.ingestion import job_runner, lease, lost_worker, pipeline
from memorybase.core.ingestion.job_runner import JobOutcome
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import JobKind
from memorybase.core.sessions import edits

WORDS = [f"word{number}" for number in range(6_000)]
LONG = " ".join(WORDS)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "SLICE_CHUNKS", 8)
    monkeypatch.setattr(pipeline, "PIECE_CHUNKS", 4)
    monkeypatch.setattr(lease, "PROGRESS_SECONDS", 0.0)


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn is one slice."""
    monkeypatch.setattr(job_runner, "TURN_SECONDS", 0.0)


def chunks(world: World, base: UUID, session_id: str = "long") -> int:
    (message,) = world.messages(session_id)
    return next(entry.chunks for entry in world.ledger(base) if entry.message_id == message.id)


def shift(world: World, which: int = 0) -> JobOutcome:
    return world.run(world.queue.enqueued[which], may_continue=lambda: True)


def at_call(number: int, act: Callable[[], object]) -> Callable[..., None]:
    """A hook that acts at this call of it, counted from 1."""
    calls = [0]

    def hook(*_: object) -> None:
        calls[0] += 1
        if calls[0] == number:
            act()

    return hook


def kill() -> None:
    raise WorkerKilled


def job_of(world: World, base: UUID, session_id: str) -> Any:
    return next(job for job in world.jobs(base) if (job.session_id, job.kind) == (session_id, JobKind.INGEST))


@pytest.mark.usefixtures("short_turns")
def test_alone_it_is_done_in_one_go(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    assert shift(world) is JobOutcome.DONE
    world.assert_all_ingested(base)
    total = chunks(world, base)
    assert total > 20
    assert len(world.embedder.embedded) == total
    job = job_of(world, base, "long")
    assert (job.attempts, job.total_chunks) == (1, total)


@pytest.mark.both_databases
def test_after_a_kill_only_what_was_not_stored_is_embedded(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    world.vectors.after_upsert = at_call(4, kill)
    with pytest.raises(WorkerKilled):
        world.drain()
    stored = world.stored(base)
    assert len(stored) >= 12
    world.pass_time(61)
    assert world.sweep().done["requeued"] == 1
    (job,) = world.active_jobs(base)
    assert (job.lost_workers, job.run_alone) == (0, False)  # it got on before the worker was lost
    assert 0 < job.stored_chunks <= len(stored)
    before = len(world.embedder.embedded)
    world.assert_settled(base)
    # The first chunk twice: its token vectors were not stored yet.
    assert len(world.embedder.embedded) - before == chunks(world, base) - len(stored) + 1


@pytest.mark.usefixtures("short_turns")
@pytest.mark.both_databases
def test_a_job_that_waits_goes_first(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    world.embedder.before_embed = at_call(2, lambda: world.say("short", "hello"))
    assert shift(world) is JobOutcome.DONE
    long, short = job_of(world, base, "long"), job_of(world, base, "short")
    assert short.finished_at < long.finished_at
    assert (long.attempts, long.outages, long.lost_workers) == (1, 0, 0)
    total = chunks(world, base)
    assert len(world.embedder.embedded) == total + 1 + 1  # "hello", and the first chunk once more
    world.pass_time(61)
    world.assert_settled(base)


@pytest.mark.usefixtures("short_turns")
def test_a_job_that_is_claimed_ahead_goes_first(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    world.say("short", "hello")  # claimed while the first slice is embedded, so that no job is queued
    assert shift(world) is JobOutcome.DONE
    assert job_of(world, base, "short").finished_at < job_of(world, base, "long").finished_at
    world.pass_time(61)
    world.assert_settled(base)


@pytest.mark.usefixtures("short_turns")
def test_it_gives_way_once_the_task_is_over(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    turns = 0
    while world.queue.enqueued:
        assert world.run(world.queue.enqueued.pop(0)) in (JobOutcome.GAVE_WAY, JobOutcome.DONE)
        turns += 1
    assert turns > 3
    world.pass_time(61)
    world.assert_settled(base)
    assert len(world.embedder.embedded) == chunks(world, base) + turns - 1


@pytest.mark.usefixtures("short_turns")
def test_a_message_that_fails_in_the_middle_leaves_no_chunk(world: World) -> None:
    base = world.new_base(threshold=1)
    world.embedder.reject("word4000 ")
    world.say("long", LONG)
    world.drain()
    assert [letter.error_code for letter in world.dead_letters(base)] == ["text_rejected"]
    assert world.stored(base)
    world.pass_time(61)
    world.settle()
    assert world.stored(base) == set()
    world.assert_all_ingested(base)


def test_a_chunk_that_no_worker_survives_is_found(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    world.say("short", "hello")

    def die(texts: Sequence[str]) -> None:
        if any("word4000 " in text for text in texts):
            raise WorkerKilled

    world.embedder.before_embed = die
    world.locks.away = True
    deaths = 0
    for _ in range(2 * lost_worker.MAX_LOST_WORKERS):
        try:
            world.drain()
        except WorkerKilled:
            deaths += 1
        world.pass_time(61)
        world.sweep()
    assert deaths == 1 + lost_worker.MAX_LOST_WORKERS  # it got on before the first one
    assert [letter.error_code for letter in world.dead_letters(base)] == ["worker_lost"]
    world.assert_settled(base)
    assert len(world.stored(base)) == 1


def give_way(world: World) -> UUID:
    """A base whose long message has given way once, with some of its chunks stored."""
    base = world.new_base(threshold=1)
    world.say("long", LONG)
    assert world.run(world.queue.enqueued.pop(0)) is JobOutcome.GAVE_WAY
    assert world.stored(base)
    return base


@pytest.mark.usefixtures("short_turns")
def test_an_edit_while_others_go_first_is_ingested_alone(world: World) -> None:
    base = give_way(world)
    (message,) = world.messages("long")
    edits.edit_message(world.services, world.user_id, message.id, {"content": "short now"})
    for _ in range(2):
        world.settle()
        world.pass_time(61)
    world.assert_all_ingested(base)
    assert len(world.stored(base)) == 1


@pytest.mark.usefixtures("short_turns")
def test_a_cancelled_job_leaves_no_chunk_of_a_deleted_message(world: World) -> None:
    base = give_way(world)
    (job,) = world.active_jobs(base)
    regenerate.cancel_job(world.services, world.user_id, job.id)
    (message,) = world.messages("long")
    edits.delete_message(world.services, world.user_id, message.id)
    for _ in range(2):
        world.settle()
        world.pass_time(61)
    assert world.stored(base) == set()
    world.assert_exact(base)


@pytest.mark.usefixtures("short_turns")
def test_a_repair_gives_way_too(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", "short at first")
    world.settle()
    world.queue.enqueued.clear()
    (message,) = world.messages("long")
    edits.edit_message(world.services, world.user_id, message.id, {"content": LONG})
    outcomes = []
    while world.queue.enqueued:
        outcomes.append(world.run(world.queue.enqueued.pop(0)))
    assert outcomes[:2] == [JobOutcome.GAVE_WAY] * 2
    assert outcomes[-1] is JobOutcome.DONE
    world.pass_time(61)
    world.assert_settled(base)
    assert len(world.embedder.embedded) == 1 + chunks(world, base) + len(outcomes) - 1
