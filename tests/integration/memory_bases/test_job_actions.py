"""Jobs retried and cancelled in bulk: by memory base, flow, session, error and age; counted first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.world import World, message_of

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion import claim
from memorybase.core.memory_bases import job_actions, regenerate, session_batches
from memorybase.core.memory_bases.job_actions import JobResults
from memorybase.core.models import IngestionJob, JobState
from memorybase.core.queries.job_lists import JobAction, JobFilter, JobSkipReason
from memorybase.core.sessions import edits

RETRY, CANCEL = JobAction.RETRY, JobAction.CANCEL


@pytest.fixture
def bases(world: World) -> tuple[UUID, UUID]:
    """Two memory bases over one flow; an outage has postponed their jobs of the sessions a, b and c."""
    found = world.new_base(threshold=1), world.new_base(threshold=1)
    world.embedder.fail_with(errors.ModelUnavailable())
    for session_id in "abc":
        world.say(session_id, "one", "two")
    world.drain()
    world.embedder.fail_with(None)
    return found


def act(world: World, action: JobAction, *, limit: int = 1000, dry_run: bool = False, **wanted: Any) -> JobResults:
    return job_actions.act_on_jobs(
        world.services, world.user_id, action, JobFilter(**wanted), limit=limit, dry_run=dry_run
    )


def states(world: World, base: UUID) -> list[JobState]:
    return [JobState(job.state) for job in world.jobs(base)]


def test_what_an_outage_postponed_runs_at_once(world: World, bases: tuple[UUID, UUID]) -> None:
    assert world.drain() == 0
    done = act(world, RETRY)
    assert (done.taken, done.remaining, done.skipped) == (6, 0, {})
    assert {result.reason for result in done.results} == {None}
    assert act(world, RETRY).skipped == {JobSkipReason.DUE: 6}
    world.drain()
    for base in bases:
        world.assert_all_ingested(base)


def test_a_dry_run_counts_and_changes_nothing(world: World, bases: tuple[UUID, UUID]) -> None:
    before = [(job.id, job.state, job.available_at, job.notify_at) for job in world.jobs(bases[0])]
    for action in (RETRY, CANCEL):
        counted = act(world, action, memory_base_id=bases[0], limit=1, dry_run=True)
        assert (counted.taken, counted.remaining, counted.results, counted.dry_run) == (3, 3, [], True)
    ids = [before[0][0], uuid4()]
    named = act(world, CANCEL, ids=ids, dry_run=True)
    assert (named.taken, named.skipped) == (1, {JobSkipReason.NOT_FOUND: 1})
    assert before == [(job.id, job.state, job.available_at, job.notify_at) for job in world.jobs(bases[0])]


@pytest.mark.usefixtures("bases")
def test_a_filter_takes_what_matches_every_field(world: World, bases: tuple[UUID, UUID]) -> None:
    with world.services.database.reading() as db:
        now = clock.now(db)
    assert act(world, RETRY, dry_run=True, session_id="a").taken == 2
    assert act(world, RETRY, dry_run=True, session_id="a", memory_base_id=bases[0]).taken == 1
    assert act(world, RETRY, dry_run=True, flow_id=world.flow_id).taken == 6
    assert act(world, RETRY, dry_run=True, flow_id=world.new_flow()).taken == 0
    assert act(world, RETRY, dry_run=True, error_code="model_unavailable").taken == 6
    assert act(world, RETRY, dry_run=True, error_code="vector_store_unavailable").taken == 0
    assert act(world, RETRY, dry_run=True, until=now - timedelta(hours=1)).taken == 0
    assert act(world, RETRY, dry_run=True, since=now - timedelta(hours=1)).taken == 6


def test_an_action_is_bounded_and_says_what_remains(world: World, bases: tuple[UUID, UUID]) -> None:
    seen: list[UUID] = []
    for remaining in (2, 0):
        done = act(world, CANCEL, limit=4)
        assert done.remaining == remaining
        seen += [result.id for result in done.results]
    assert len(seen) == len(set(seen)) == 6
    assert states(world, bases[0]) == states(world, bases[1]) == 3 * [JobState.CANCELLED]


def test_few_sessions_are_locked(world: World, bases: tuple[UUID, UUID], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_batches, "SESSIONS_AT_ONCE", 2)
    sizes: list[int] = []
    act_in = job_actions._act_in_sessions
    monkeypatch.setattr(
        job_actions,
        "_act_in_sessions",
        lambda *given: sizes.append(len(given[-1])) or act_in(*given),  # type: ignore[func-returns-value]
    )
    assert act(world, CANCEL, memory_base_id=bases[0]).taken == 3
    assert sizes == [2, 1]


def test_cancelled_messages_stay_and_a_flush_ingests_them(world: World, bases: tuple[UUID, UUID]) -> None:
    act(world, CANCEL, flow_id=world.flow_id)
    world.pass_time(300)
    world.settle()
    assert world.stored(bases[0]) == set()
    assert len(world.messages()) == 6
    world.flush(bases[0])
    world.settle()
    world.assert_all_ingested(bases[0])


def test_what_a_worker_holds_is_cancelled_and_its_late_result_is_dropped(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one")
    (job,) = world.jobs(base)
    message = message_of(job)
    world.vectors.before_upsert = lambda *_: act(world, CANCEL, memory_base_id=base) and None
    world.run(message)
    world.vectors.before_upsert = None
    assert states(world, base)[0] == JobState.CANCELLED
    world.pass_time(300)
    world.settle()
    world.assert_exact(base)


def test_each_job_that_is_left_alone_has_its_reason(world: World) -> None:
    base = world.new_base(threshold=1)
    captured = world.say("done", "one")
    world.settle()
    (done,) = world.jobs(base)
    world.say("due", "one")
    world.say("running", "one")
    due, running = world.active_jobs(base)
    assert claim.claim_job(world.services, message_of(running), "worker") is not None
    failed = done.id
    reasons = {JobSkipReason.DUE: 1, JobSkipReason.RUNNING: 1}
    assert act(world, RETRY, memory_base_id=base).skipped == reasons
    with world.services.database.transaction() as db:
        db.get_one(IngestionJob, failed).state = JobState.FAILED
    assert act(world, RETRY, memory_base_id=base).skipped == {**reasons, JobSkipReason.REPLACED: 1}
    edits.edit_message(world.services, world.user_id, captured.messages[0].id, {"content": "another"})
    cancelled = act(world, CANCEL, memory_base_id=base)
    assert (cancelled.taken, cancelled.skipped) == (2, {JobSkipReason.REPAIR: 1})
    again = act(world, CANCEL, ids=[due.id, failed, uuid4()])
    assert (again.taken, again.skipped) == (
        0,
        {JobSkipReason.ENDED: 1, JobSkipReason.REPLACED: 1, JobSkipReason.NOT_FOUND: 1},
    )


def test_a_regenerate_is_not_abandoned_in_passing(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one")
    world.settle()
    regenerate.regenerate(world.services, world.user_id, base)
    done = act(world, CANCEL, memory_base_id=base)
    assert (done.taken, done.skipped) == (0, {JobSkipReason.BUILD: 1})
    assert world.base(base).building is not None
    world.assert_settled(base)


def test_what_others_have_is_not_found(world: World, bases: tuple[UUID, UUID]) -> None:
    other = world.new_user()
    ids = [job.id for job in world.jobs(bases[0])]
    found = job_actions.act_on_jobs(world.services, other, CANCEL, JobFilter(ids=ids))
    assert (found.taken, found.skipped) == (0, {JobSkipReason.NOT_FOUND: 3})
    for wanted in (JobFilter(memory_base_id=bases[0]), JobFilter(flow_id=world.flow_id)):
        with pytest.raises(errors.NotFound):
            job_actions.act_on_jobs(world.services, other, CANCEL, wanted)
    assert job_actions.act_on_jobs(world.services, other, RETRY, JobFilter()).taken == 0
    assert set(states(world, bases[0])) == {JobState.QUEUED}
