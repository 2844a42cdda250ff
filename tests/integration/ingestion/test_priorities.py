"""Priorities: a higher one overtakes, and a lower one gets its share however much the higher one has to do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from uuid import UUID

import pytest
from harness.world import World

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.ingestion import fair_order
from memorybase.core.memory_bases import manage, regenerate
from memorybase.core.models import JobKind, Priority
from memorybase.core.operations import health
from memorybase.core.queries import jobs
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery
from memorybase.core.read_models import memory_bases

HIGH, NORMAL, LOW = Priority.HIGH, Priority.NORMAL, Priority.LOW
EIGHT = 8  # what a message costs, compared with one of the next higher priority


def new_base(world: World, priority: Priority) -> tuple[UUID, Callable[[], object]]:
    """A memory base over a flow of its own, and what gives it another job: one message in a new session."""
    flow_id = world.new_flow()
    base_id = world.new_base(threshold=1, flow_id=flow_id, priority=priority)
    numbers = count()

    def more() -> None:
        n = next(numbers)
        world.capture(f"s{n}", [world.message({"role": "user", "content": f"{base_id} {n}"})], flow_id=flow_id)

    return base_id, more


def waiting(world: World, limit: int = 200) -> list[JobRow]:
    with world.services.database.reading() as db:
        return jobs.waiting_jobs(db, clock.now(db), limit=limit)


def order(world: World) -> list[UUID]:
    return [job.memory_base_id for job in waiting(world)]


def set_priority(world: World, base_id: UUID, priority: Priority) -> None:
    manage.update_memory_base(world.services, world.user_id, base_id, {"priority": priority})


def times_of_rebuild(world: World) -> list[int]:
    return [job.virtual_time for job in waiting(world) if job.kind == JobKind.REGENERATE]


def test_a_high_priority_overtakes_those_that_wait(world: World) -> None:
    normal = [new_base(world, NORMAL) for _ in range(3)]
    for _, more in normal:
        more()
        more()
    high, one = new_base(world, HIGH)
    one()
    assert order(world).index(high) <= 1  # behind the one that is first in line


@pytest.mark.parametrize(("higher", "lower"), [(HIGH, NORMAL), (NORMAL, LOW)])
def test_a_higher_priority_that_always_has_work_starves_nobody(world: World, higher: Priority, lower: Priority) -> None:
    busy, more = new_base(world, higher)
    patient, once = new_base(world, lower)
    for _ in range(2):
        more()
        once()
    before = 0
    shares = []
    while len(shares) < 2:
        (job,) = waiting(world, limit=1)
        world.run(job.message())
        if job.memory_base_id == patient:
            shares.append(before)
            before = 0
        else:
            assert job.memory_base_id == busy
            before += 1
            more()
        # One message of the lower one for eight of the higher one, and at most a job of each beside that.
        assert before <= EIGHT + 1
    assert max(shares) >= EIGHT - 1  # the higher one does get its share


def test_waiting_jobs_get_their_new_places_with_the_priority(world: World) -> None:
    base, more = new_base(world, NORMAL)
    other, others = new_base(world, NORMAL)
    for _ in range(10):
        others()
    for _ in range(4):
        more()
    set_priority(world, base, HIGH)
    assert set(order(world)[1:5]) == {base}
    more()
    assert order(world)[5] == base  # a new job is behind the base's own, not behind their former places
    set_priority(world, base, LOW)
    assert base not in order(world)[:8]
    set_priority(world, base, NORMAL)
    assert order(world)[:6].count(base) in (2, 3)
    world.settle()
    assert {base, other} == {job.memory_base_id for each in (base, other) for job in world.jobs(each)}
    assert all(job.state == "done" for each in (base, other) for job in world.jobs(each))


def test_a_rebuild_stays_behind_new_messages_whatever_its_priority(world: World) -> None:
    base, more = new_base(world, HIGH)
    for _ in range(3):
        more()
    world.settle()
    regenerate.regenerate(world.services, world.user_id, base)
    other, one = new_base(world, LOW)
    one()
    assert order(world)[0] == other
    before = times_of_rebuild(world)
    assert len(before) == 3
    set_priority(world, base, LOW)
    assert all(fair_order.REBUILDS <= each <= fair_order.END for each in times_of_rebuild(world))
    assert order(world)[0] == other
    set_priority(world, base, HIGH)
    assert times_of_rebuild(world) == before
    world.settle()
    assert {job.state for job in world.jobs(base)} == {"done"}


def test_a_list_begins_with_the_highest_priority_and_continues_by_its_cursor(world: World) -> None:
    bases = {priority: world.new_base(priority=priority) for priority in (LOW, HIGH, NORMAL)}
    query, cursor, seen = MemoryBaseQuery(order="priority"), None, []
    while True:
        page = memory_bases.list_memory_bases(world.services, world.user_id, PageRequest(size=1, cursor=cursor), query)
        seen += [(view.id, view.priority) for view in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [(bases[each], each) for each in (HIGH, NORMAL, LOW)]


def test_another_word_is_refused(world: World) -> None:
    base = world.new_base()
    with pytest.raises(errors.InvalidRequest, match="priority must be one of low, normal, high"):
        manage.update_memory_base(world.services, world.user_id, base, {"priority": "urgent"})


def test_queued_jobs_are_counted_by_priority(world: World) -> None:
    for priority, number in ((HIGH, 1), (NORMAL, 2), (LOW, 3)):
        _, more = new_base(world, priority)
        for _ in range(number):
            more()
    vitals = health.read_vitals(world.services)
    assert (vitals.jobs_queued_high, vitals.jobs_queued_normal, vitals.jobs_queued_low) == (1, 2, 3)
    assert vitals.jobs_queued == 6
