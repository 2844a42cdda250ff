"""Sessions and memory bases that are deleted on the web page: hidden at once, deleted when the time to undo is over."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import deletion
from memorybase.core.models import PlannedBaseDeletion, PlannedDeletion
from memorybase.core.queries import planned_deletions
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import memory_bases, sessions
from memorybase.core.read_models.sessions import find_named
from memorybase.core.sessions import planned_deletion
from memorybase.core.sessions.bulk import Chosen
from memorybase.core.sessions.planned_deletion import UNDO


def listed_bases(world: World, *, without_planned: bool = True) -> list[UUID]:
    query = MemoryBaseQuery(without_planned=without_planned)
    return [
        each.id for each in memory_bases.list_memory_bases(world.services, world.user_id, PageRequest(), query).items
    ]


def listed(world: World, *, without_planned: bool = True) -> list[str]:
    wanted = SessionFilter(without_planned=without_planned)
    page = sessions.list_sessions(world.services, world.user_id, wanted, PageRequest())
    return [each.session_id for each in page.items]


def plan_bases(world: World, *base_ids: UUID) -> UUID:
    return planned_deletion.plan_bases(world.services, world.user_id, base_ids).batch_id


def plan(world: World, *session_ids: str, user_id: UUID | None = None) -> planned_deletion.PlannedSessions:
    chosen = [Chosen(world.flow_id, each) for each in session_ids]
    return planned_deletion.plan_sessions(world.services, user_id or world.user_id, chosen)


def undo(world: World, batch_id: UUID, user_id: UUID | None = None) -> int:
    return planned_deletion.undo(world.services, user_id or world.user_id, batch_id)


def let_time_pass(world: World) -> None:
    with world.services.database.transaction() as db:
        for row in (*db.scalars(sa.select(PlannedDeletion)), *db.scalars(sa.select(PlannedBaseDeletion))):
            row.due_at -= UNDO + timedelta(seconds=1)


class TestSessions:
    def test_what_is_planned_is_hidden_and_deleted_when_its_time_is_over(self, world: World) -> None:
        base = world.new_base(threshold=1)
        for name in ("a", "b", "c"):
            world.say(name, "x")
        world.settle()
        planned = plan(world, "a", "b", "none")
        assert {each.session_id for each in planned.sessions} == {"a", "b"}
        assert planned.missing == ["none"]
        assert (listed(world), listed(world, without_planned=False)) == (["c"], ["a", "b", "c"])
        assert world.sweep().done["planned_deletions"] == 0
        let_time_pass(world)
        assert world.sweep().done["planned_deletions"] == 2
        assert listed(world, without_planned=False) == ["c"]
        with pytest.raises(errors.NotFound):
            undo(world, planned.batch_id)
        world.settle()
        assert len(world.ledger(base)) == 1
        world.say("a", "a new session of this name")
        assert world.sweep().done["planned_deletions"] == 0
        assert "a" in listed(world)

    def test_an_undone_deletion_leaves_everything(self, world: World) -> None:
        world.say("a", "x")
        planned = plan(world, "a")
        assert undo(world, planned.batch_id) == 1
        let_time_pass(world)
        assert world.sweep().done["planned_deletions"] == 0
        assert listed(world) == ["a"]

    def test_only_its_user_plans_and_undoes(self, world: World) -> None:
        world.say("a", "x")
        stranger = world.new_user()
        assert plan(world, "a", user_id=stranger).sessions == []
        planned = plan(world, "a")
        with pytest.raises(errors.NotFound):
            undo(world, planned.batch_id, stranger)
        assert listed(world) == []

    def test_a_session_that_is_planned_twice_follows_the_last_plan(self, world: World) -> None:
        world.say("a", "x")
        first = plan(world, "a")
        let_time_pass(world)
        with world.services.database.reading() as db:
            now = clock.now(db)
            (due,) = planned_deletions.due(db, planned_deletions.SESSIONS, now, limit=10)
        second = plan(world, "a")
        with world.services.database.transaction() as db:  # a sweeper that found it due before
            assert planned_deletions.start(db, due, now) is None
        assert world.sweep().done["planned_deletions"] == 0
        with pytest.raises(errors.NotFound):
            undo(world, first.batch_id)
        assert undo(world, second.batch_id) == 1

    def test_a_deletion_that_has_started_cannot_be_undone_and_is_finished(self, world: World) -> None:
        world.say("a", "x")
        planned = plan(world, "a")
        let_time_pass(world)
        with world.services.database.transaction() as db:  # a sweeper that was killed here
            now = clock.now(db)
            (due,) = planned_deletions.due(db, planned_deletions.SESSIONS, now, limit=10)
            assert planned_deletions.start(db, due, now) == (world.user_id, world.flow_id, "a")
        with pytest.raises(errors.NotFound):
            undo(world, planned.batch_id)
        assert world.sweep().done["planned_deletions"] == 1
        assert listed(world) == []


class TestMemoryBases:
    def test_what_is_planned_is_hidden_and_deleted_when_its_time_is_over(self, world: World) -> None:
        first, second, third = world.new_base(), world.new_base(), world.new_base()
        name = memory_bases.get_memory_base(world.services, world.user_id, first).name
        batch = plan_bases(world, first, second, first)
        assert listed_bases(world) == [third]
        assert set(listed_bases(world, without_planned=False)) == {first, second, third}
        assert str(first) not in {each.id for each in find_named(world.services, world.user_id, name)}
        assert world.sweep().done["planned_deletions"] == 0
        let_time_pass(world)
        swept = world.sweep()
        assert (swept.done["planned_deletions"], swept.done["deletions"]) == (2, 2)
        assert listed_bases(world, without_planned=False) == [third]
        with pytest.raises(errors.NotFound):
            undo(world, batch)

    def test_an_undone_deletion_leaves_everything(self, world: World) -> None:
        base = world.new_base()
        world.say("a", "x")
        world.flush(base, "a")
        world.settle()
        batch = plan_bases(world, base)
        assert planned_deletion.is_base_planned(world.services, world.user_id, base)
        assert undo(world, batch) == 1
        let_time_pass(world)
        assert world.sweep().done["planned_deletions"] == 0
        assert (listed_bases(world), len(world.ledger(base))) == ([base], 1)
        assert not planned_deletion.is_base_planned(world.services, world.user_id, base)

    def test_only_its_user_plans_and_undoes(self, world: World) -> None:
        base, stranger = world.new_base(), world.new_user()
        with pytest.raises(errors.NotFound):
            planned_deletion.plan_bases(world.services, stranger, [base])
        batch = plan_bases(world, base)
        with pytest.raises(errors.NotFound):
            undo(world, batch, stranger)
        assert not planned_deletion.is_base_planned(world.services, stranger, base)
        assert listed_bases(world) == []

    def test_of_several_none_is_planned_if_one_does_not_exist(self, world: World) -> None:
        base = world.new_base()
        with pytest.raises(errors.NotFound):
            plan_bases(world, base, uuid4())
        assert listed_bases(world) == [base]

    def test_one_that_is_planned_twice_follows_the_last_plan(self, world: World) -> None:
        base = world.new_base()
        first = plan_bases(world, base)
        let_time_pass(world)
        second = plan_bases(world, base)
        assert world.sweep().done["planned_deletions"] == 0
        with pytest.raises(errors.NotFound):
            undo(world, first)
        assert undo(world, second) == 1

    def test_one_that_the_api_deletes_meanwhile_cannot_be_kept(self, world: World) -> None:
        base = world.new_base()
        batch = plan_bases(world, base)
        world.vectors.fail_next(errors.VectorStoreUnavailable(), on="delete_collection")
        deletion.delete_memory_base(world.services, world.user_id, base)
        with pytest.raises(errors.NotFound):
            undo(world, batch)
