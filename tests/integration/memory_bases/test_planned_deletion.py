"""A memory base that is deleted on the web page: hidden at once, deleted when the time to undo is over."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase import errors
from memorybase.database.paging import PageRequest
from memorybase.memory_bases import deletion, planned_deletion
from memorybase.memory_bases.planned_deletion import UNDO
from memorybase.models import PlannedBaseDeletion
from memorybase.queries.memory_base_lists import MemoryBaseQuery
from memorybase.read_models import memory_bases
from memorybase.read_models.sessions import find_named


def listed(world: World, *, without_planned: bool = True) -> list[UUID]:
    query = MemoryBaseQuery(without_planned=without_planned)
    return [
        each.id for each in memory_bases.list_memory_bases(world.services, world.user_id, PageRequest(), query).items
    ]


def plan(world: World, *base_ids: UUID) -> UUID:
    return planned_deletion.plan_deletion(world.services, world.user_id, base_ids).batch_id


def undo(world: World, batch_id: UUID) -> int:
    return planned_deletion.undo_deletion(world.services, world.user_id, batch_id)


def let_time_pass(world: World) -> None:
    with world.services.database.transaction() as db:
        for row in db.scalars(sa.select(PlannedBaseDeletion)):
            row.due_at -= UNDO + timedelta(seconds=1)


def test_what_is_planned_is_hidden_and_deleted_when_its_time_is_over(world: World) -> None:
    first, second, third = world.new_base(), world.new_base(), world.new_base()
    name = memory_bases.get_memory_base(world.services, world.user_id, first).name
    batch = plan(world, first, second, first)
    assert (listed(world), set(listed(world, without_planned=False))) == ([third], {first, second, third})
    assert str(first) not in {each.id for each in find_named(world.services, world.user_id, name)}
    assert world.sweep().done["memories_deleted"] == 0
    let_time_pass(world)
    swept = world.sweep()
    assert (swept.done["memories_deleted"], swept.done["deletions"]) == (2, 2)
    assert listed(world, without_planned=False) == [third]
    with pytest.raises(errors.NotFound):
        undo(world, batch)


def test_an_undone_deletion_leaves_everything(world: World) -> None:
    base = world.new_base()
    world.say("a", "x")
    world.flush(base, "a")
    world.settle()
    batch = plan(world, base)
    assert planned_deletion.is_planned(world.services, world.user_id, base)
    assert undo(world, batch) == 1
    let_time_pass(world)
    assert world.sweep().done["memories_deleted"] == 0
    assert (listed(world), len(world.ledger(base))) == ([base], 1)
    assert not planned_deletion.is_planned(world.services, world.user_id, base)


def test_only_its_user_plans_and_undoes(world: World) -> None:
    base, stranger = world.new_base(), world.new_user()
    with pytest.raises(errors.NotFound):
        planned_deletion.plan_deletion(world.services, stranger, [base])
    batch = plan(world, base)
    with pytest.raises(errors.NotFound):
        planned_deletion.undo_deletion(world.services, stranger, batch)
    assert not planned_deletion.is_planned(world.services, stranger, base)
    assert listed(world) == []


def test_of_several_none_is_planned_if_one_does_not_exist(world: World) -> None:
    base = world.new_base()
    with pytest.raises(errors.NotFound):
        plan(world, base, uuid4())
    assert listed(world) == [base]


def test_one_that_is_planned_twice_follows_the_last_plan(world: World) -> None:
    base = world.new_base()
    first = plan(world, base)
    let_time_pass(world)
    second = plan(world, base)
    assert world.sweep().done["memories_deleted"] == 0
    with pytest.raises(errors.NotFound):
        undo(world, first)
    assert undo(world, second) == 1


def test_one_that_the_api_deletes_meanwhile_cannot_be_kept(world: World) -> None:
    base = world.new_base()
    batch = plan(world, base)
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="delete_collection")
    deletion.delete_memory_base(world.services, world.user_id, base)
    with pytest.raises(errors.NotFound):
        undo(world, batch)
