"""Many sessions at once: ingested with a result for each, deleted unless that is undone in time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase import errors
from memorybase.database import clock
from memorybase.database.paging import PageRequest
from memorybase.memory_bases.planned_deletion import UNDO
from memorybase.models import PlannedDeletion
from memorybase.queries import planned_deletions
from memorybase.queries.coverage import SearchState
from memorybase.queries.session_lists import SessionFilter
from memorybase.read_models import sessions
from memorybase.sessions import bulk
from memorybase.sessions.bulk import Chosen, Outcome


def listed(world: World, *, without_planned: bool = True) -> list[str]:
    wanted = SessionFilter(without_planned=without_planned)
    page = sessions.list_sessions(world.services, world.user_id, wanted, PageRequest())
    return [each.session_id for each in page.items]


def plan(world: World, *session_ids: str, user_id: UUID | None = None) -> bulk.DeletionPlan:
    chosen = [Chosen(world.flow_id, each) for each in session_ids]
    return bulk.plan_deletion(world.services, user_id or world.user_id, chosen)


def let_time_pass(world: World) -> None:
    with world.services.database.transaction() as db:
        for row in db.scalars(sa.select(PlannedDeletion)):
            row.due_at -= UNDO + timedelta(seconds=1)


class TestSync:
    def test_each_session_has_a_result(self, world: World) -> None:
        base = world.new_base()
        bare = world.new_flow()
        for name in ("waits", "works", "done"):
            world.say(name, "x")
        world.say("bare", "x", flow_id=bare)
        world.flush(base, "done")
        world.settle()
        world.flush(base, "works")
        chosen = [Chosen(world.flow_id, each) for each in ("waits", "works", "done", "none")]
        chosen += [Chosen(bare, "bare"), Chosen(uuid4(), "waits"), Chosen(world.flow_id, "waits")]
        results = bulk.sync_sessions(world.services, world.user_id, chosen)
        assert [(each.session.session_id, each.outcome, each.jobs) for each in results] == [
            ("waits", Outcome.QUEUED, 1),
            ("works", Outcome.ACTIVE, 0),
            ("done", Outcome.NOTHING_PENDING, 0),
            ("none", Outcome.NOT_FOUND, 0),
            ("bare", Outcome.NO_MEMORY, 0),
            ("waits", Outcome.NOT_FOUND, 0),
        ]
        world.settle()
        states = sessions.states_of(world.services, world.user_id, chosen[:4])
        assert [state for _, _, state in states] == [*[SearchState.SEARCHABLE] * 3, None]

    def test_every_memory_base_of_the_flow_is_asked(self, world: World) -> None:
        world.new_base()
        world.new_base()
        world.say("s", "x")
        (result,) = bulk.sync_sessions(world.services, world.user_id, [Chosen(world.flow_id, "s")])
        assert (result.outcome, result.jobs) == (Outcome.QUEUED, 2)

    def test_too_many_sessions_and_sessions_of_others_are_refused(self, world: World) -> None:
        world.new_base()
        world.say("s", "x")
        with pytest.raises(errors.InvalidRequest, match="At most 1000"):
            bulk.sync_sessions(world.services, world.user_id, [Chosen(world.flow_id, str(n)) for n in range(1001)])
        (result,) = bulk.sync_sessions(world.services, world.new_user(), [Chosen(world.flow_id, "s")])
        assert result.outcome == Outcome.NOT_FOUND


class TestDeletion:
    def test_what_is_planned_is_hidden_and_deleted_when_its_time_is_over(self, world: World) -> None:
        base = world.new_base(threshold=1)
        for name in ("a", "b", "c"):
            world.say(name, "x")
        world.settle()
        planned = plan(world, "a", "b", "none")
        assert {each.session_id for each in planned.sessions} == {"a", "b"}
        assert planned.missing == ["none"]
        assert (listed(world), listed(world, without_planned=False)) == (["c"], ["a", "b", "c"])
        assert world.sweep().done["sessions_deleted"] == 0
        let_time_pass(world)
        assert world.sweep().done["sessions_deleted"] == 2
        assert listed(world, without_planned=False) == ["c"]
        with pytest.raises(errors.NotFound):
            bulk.undo_deletion(world.services, world.user_id, planned.batch_id)
        world.settle()
        assert len(world.ledger(base)) == 1
        world.say("a", "a new session of this name")
        assert world.sweep().done["sessions_deleted"] == 0
        assert "a" in listed(world)

    def test_an_undone_deletion_leaves_everything(self, world: World) -> None:
        world.say("a", "x")
        planned = plan(world, "a")
        assert bulk.undo_deletion(world.services, world.user_id, planned.batch_id) == 1
        let_time_pass(world)
        assert world.sweep().done["sessions_deleted"] == 0
        assert listed(world) == ["a"]

    def test_only_its_user_plans_and_undoes(self, world: World) -> None:
        world.say("a", "x")
        stranger = world.new_user()
        assert plan(world, "a", user_id=stranger).sessions == []
        planned = plan(world, "a")
        with pytest.raises(errors.NotFound):
            bulk.undo_deletion(world.services, stranger, planned.batch_id)
        assert listed(world) == []

    def test_a_session_that_is_planned_twice_follows_the_last_plan(self, world: World) -> None:
        world.say("a", "x")
        first, second = plan(world, "a"), plan(world, "a")
        with pytest.raises(errors.NotFound):
            bulk.undo_deletion(world.services, world.user_id, first.batch_id)
        assert bulk.undo_deletion(world.services, world.user_id, second.batch_id) == 1

    def test_a_deletion_that_has_started_cannot_be_undone_and_is_finished(self, world: World) -> None:
        world.say("a", "x")
        planned = plan(world, "a")
        let_time_pass(world)
        with world.services.database.transaction() as db:  # a sweeper that was killed here
            (due,) = planned_deletions.due(db, clock.now(db), limit=10)
            assert planned_deletions.start(db, due.session_uuid)
        with pytest.raises(errors.NotFound):
            bulk.undo_deletion(world.services, world.user_id, planned.batch_id)
        assert world.sweep().done["sessions_deleted"] == 1
        assert listed(world) == []
