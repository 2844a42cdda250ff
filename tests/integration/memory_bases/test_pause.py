"""A paused memory base: captures go on, jobs do not, and nothing is lost or called stalled."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from harness.world import World

from api.web.memory_state import state_of
from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import manage, regenerate
from memorybase.core.models import JobKind, JobState
from memorybase.core.operations import health, problems
from memorybase.core.operations.problems import FixAction, ProblemKind
from memorybase.core.queries import cursors, jobs
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery, MemoryBaseStatus
from memorybase.core.read_models import memory_bases
from memorybase.core.sessions import edits


@pytest.fixture
def base(world: World) -> UUID:
    return world.new_base(threshold=2)


def pause(world: World, base: UUID) -> None:
    manage.update_memory_base(world.services, world.user_id, base, {"paused": True})


def resume(world: World, base: UUID) -> None:
    manage.update_memory_base(world.services, world.user_id, base, {"paused": False})


def test_captures_move_the_target_and_no_job_is_made(world: World, base: UUID) -> None:
    pause(world, base)
    captured = world.say("s", "one", "two", "three")
    assert captured.ingestion[0].job_id is None
    world.settle()
    assert world.jobs(base) == []
    assert (world.row(base, "s").cursor_seq, world.row(base, "s").target_seq) == (0, 3)
    resume(world, base)
    world.assert_settled(base)


def test_queued_jobs_are_cancelled_and_their_messages_come_later(world: World, base: UUID) -> None:
    world.say("s", "one", "two")
    (job,) = world.active_jobs(base)
    pause(world, base)
    (ended,) = world.jobs(base)
    assert (ended.id, ended.state, ended.error) == (job.id, JobState.CANCELLED, "the memory base is paused")
    world.settle()
    assert world.stored(base) == set()
    resume(world, base)
    world.assert_settled(base)


def test_a_running_job_ends_and_has_no_successor(world: World, base: UUID) -> None:
    def pause_once(*_: object) -> None:
        world.embedder.before_embed = None
        pause(world, base)
        world.say("s", "three", "four")

    world.say("s", "one", "two")
    world.embedder.before_embed = pause_once
    world.settle()
    (job,) = world.jobs(base)
    assert job.state == JobState.DONE
    assert world.row(base, "s").cursor_seq == 2
    resume(world, base)
    world.assert_settled(base)


def test_a_job_that_is_requeued_after_the_pause_does_not_run(world: World, base: UUID) -> None:
    """Its worker was lost, or the store was away."""

    def pause_and_fail(*_: object) -> None:
        pause(world, base)
        world.vectors.away = True

    world.say("s", "one", "two")
    world.vectors.before_upsert = pause_and_fail
    world.drain()
    (job,) = world.jobs(base)
    assert (job.state, job.outages) == (JobState.QUEUED, 1)
    world.vectors.away, world.vectors.before_upsert = False, None
    world.pass_time(3600)
    world.settle()
    assert world.jobs(base)[0].state == JobState.CANCELLED
    assert {job.kind for job in world.jobs(base)[1:]} <= {JobKind.REPAIR}
    assert world.stored(base) == set()
    resume(world, base)
    world.pass_time(3600)
    world.assert_settled(base)


def test_edits_and_deletions_still_reach_the_store(world: World, base: UUID) -> None:
    world.say("s", "one", "two")
    world.settle()
    pause(world, base)
    first, second = world.messages()
    edits.edit_message(world.services, world.user_id, first.id, {"content": "the train is green"})
    edits.delete_message(world.services, world.user_id, second.id)
    world.settle()
    assert [job.kind for job in world.jobs(base)[1:]] == [JobKind.REPAIR] * (len(world.jobs(base)) - 1)
    world.assert_exact(base)
    assert len(world.stored(base)) == 1


def test_another_memory_base_is_not_held_back(world: World, base: UUID) -> None:
    flow_id = world.new_flow()
    other = world.new_base(threshold=2, flow_id=flow_id)
    pause(world, base)
    for number in range(5):
        world.say(f"s{number}", "one", "two")
    world.say("s", "one", "two", flow_id=flow_id)
    with world.services.database.transaction() as db:  # its job is lost: the sweeper has to find the session
        jobs.cancel_jobs_of_base(db, other, world.base(other).created_at, "lost")
    # A pass takes a bounded number of sessions: paused ones would take the place of others.
    with world.services.database.reading() as db:
        found = cursors.sessions_with_pending_work(db, clock.now(db), limit=100)
    assert found == [(other, "s")]
    world.settle()
    assert len(world.stored(other)) == 2


def test_idle_sessions_become_due_but_wait(world: World, base: UUID) -> None:
    pause(world, base)
    world.say("s", "one")
    world.pass_time(3600)
    world.settle()
    assert (world.row(base, "s").target_seq, world.jobs(base)) == (1, [])
    resume(world, base)
    world.assert_settled(base)


def test_a_flush_is_refused_and_says_what_to_do(world: World, base: UUID) -> None:
    world.say("s", "one")
    pause(world, base)
    with pytest.raises(errors.MemoryBasePaused, match="Resume it"):
        world.flush(base)


def test_a_rebuild_waits_too(world: World, base: UUID) -> None:
    world.say("s", "one", "two")
    world.settle()
    pause(world, base)
    regenerate.regenerate(world.services, world.user_id, base)
    world.settle()
    assert world.base(base).building is not None
    resume(world, base)
    world.assert_settled(base)


def test_it_is_shown_and_not_called_stalled(world: World, base: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    world.say("s", "one", "two")
    pause(world, base)
    monkeypatch.setattr(problems, "OVERDUE", timedelta(0))
    vitals = health.read_vitals(world.services)
    assert (vitals.pending_messages, vitals.queue_stalled, vitals.oldest_pending_seconds) == (0, False, None)
    view = memory_bases.get_memory_base(world.services, world.user_id, base)
    assert (view.status, view.pending_messages) == ("paused", 2)
    assert view.paused_at is not None
    assert state_of(view).badge.text == "Paused"
    listed = memory_bases.list_memory_bases(
        world.services, world.user_id, PageRequest(), MemoryBaseQuery(status=MemoryBaseStatus.PAUSED)
    )
    assert [each.id for each in listed.items] == [base]
    found = problems.problems(world.services, world.user_id).problems
    (problem,) = [each for each in found if each.kind is not ProblemKind.PART]
    assert (problem.kind, problem.messages) == (ProblemKind.PAUSED, 2)
    (fix,) = problem.fixes
    assert (fix.action, fix.method, fix.body) == (FixAction.RESUME, "PATCH", {"paused": False})


def test_pausing_twice_keeps_the_time(world: World, base: UUID) -> None:
    pause(world, base)
    since = world.base(base).paused_at
    pause(world, base)
    assert world.base(base).paused_at == since
    resume(world, base)
    assert world.base(base).paused_at is None
