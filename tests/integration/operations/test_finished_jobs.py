"""The rows of ended jobs go after 90 days; what is read from them meanwhile stays true."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.models import IngestionJob, JobState
from memorybase.core.operations import sweeper
from memorybase.core.queries.coverage import SearchState
from memorybase.core.read_models import ingestion


def age(world: World, base: UUID, days: float, **changes: Any) -> None:
    """Every job of the base has been there for so many days more."""
    with world.services.database.transaction() as db:
        for job in db.scalars(sa.select(IngestionJob).where(IngestionJob.memory_base_id == base)):
            for name in ("created_at", "started_at", "finished_at"):
                if (at := getattr(job, name)) is not None:
                    setattr(job, name, at - timedelta(days=days))
            for name, value in changes.items():
                setattr(job, name, value)


@pytest.fixture
def base(world: World) -> UUID:
    """A memory base with three done jobs and one that waits."""
    base_id = world.new_base(threshold=1)
    for n in range(3):
        world.say(f"s{n}", "one")
    world.settle()
    world.say("waits", "one")
    return base_id


def test_ended_jobs_are_deleted_after_their_days_and_active_ones_never(world: World, base: UUID) -> None:
    age(world, base, 89)
    assert sweeper.delete_old(world.services) == 0
    age(world, base, 2)
    assert sweeper.delete_old(world.services) == 3
    assert [job.state for job in world.jobs(base)] == [JobState.QUEUED]
    world.assert_settled(base)


def test_cancelled_jobs_go_and_a_failed_one_stays_until_the_session_has_a_later_one(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("failed", "one")
    world.say("cancelled", "one")
    world.settle()
    age(world, base, 91)
    failed, cancelled = world.jobs(base)
    with world.services.database.transaction() as db:
        db.get_one(IngestionJob, failed.id).state = JobState.FAILED
        db.get_one(IngestionJob, cancelled.id).state = JobState.CANCELLED
    assert sweeper.delete_old(world.services) == 1
    assert [job.id for job in world.jobs(base)] == [failed.id]  # why the session's state is failed
    world.say("failed", "two")
    world.settle()
    sweeper.delete_old(world.services)
    assert [job.state for job in world.jobs(base)] == [JobState.DONE]


def test_a_pass_is_bounded_and_the_next_follows(world: World, base: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeper, "DELETE_LIMIT", 2)
    age(world, base, 91)
    first = sweeper.sweep(world.services)
    assert (first.done["jobs_deleted"], first.is_behind) == (2, True)
    second = sweeper.sweep(world.services)
    assert (second.done["jobs_deleted"], second.is_behind) == (1, False)


def test_a_message_is_searchable_and_says_since_when_without_its_job(world: World) -> None:
    base = world.new_base(threshold=1)
    captured = world.say("s", "one")
    world.settle()
    message = captured.messages[0].id

    def seen() -> Any:
        (memory,) = ingestion.message_ingestion(world.services, world.user_id, message).memories
        return memory

    before = seen()
    age(world, base, 91)
    assert sweeper.delete_old(world.services) == 1
    after = seen()
    assert before.job_id is not None
    assert (after.job_id, after.state, after.searchable_at) == (None, SearchState.SEARCHABLE, before.searchable_at)
