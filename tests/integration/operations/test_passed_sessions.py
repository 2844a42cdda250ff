"""The sweeper marks sessions that every memory base has passed. The numbers of a memory base stay exact."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Session
from memorybase.core.operations import sweeper
from memorybase.core.queries import flows
from memorybase.core.read_models import memory_bases


def marked(world: World) -> dict[str, bool]:
    """Each session, and whether it is marked."""
    with world.services.database.reading() as db:
        rows = db.execute(sa.select(Session.session_id, Session.last_seq == Session.passed_seq))
        return {session_id: bool(is_marked) for session_id, is_marked in rows}


def mark(world: World) -> int:
    return sweeper.mark_passed(world.services)


def pending(world: World) -> list[int]:
    """Of the memory bases, oldest first."""
    page = memory_bases.list_memory_bases(world.services, world.user_id, PageRequest())
    return [base.pending_messages for base in page.items]


def test_a_session_is_marked_once_every_memory_base_has_passed_it(world: World) -> None:
    eager = world.new_base(threshold=1)
    world.new_base(threshold=3)
    world.say("s", "one")
    world.drain()
    assert mark(world) == 0
    assert (marked(world), pending(world)) == ({"s": False}, [0, 1])
    world.say("s", "two", "three")
    world.drain()
    assert mark(world) == 1
    assert (marked(world), pending(world)) == ({"s": True}, [0, 0])
    assert world.row(eager, "s").cursor_seq == 3


def test_a_capture_is_pending_in_a_marked_session(world: World) -> None:
    world.new_base(threshold=2)
    world.say("s", "one", "two")
    world.settle()
    assert marked(world) == {"s": True}
    world.say("s", "three")
    assert (marked(world), pending(world)) == ({"s": False}, [1])
    assert mark(world) == 0


@pytest.mark.parametrize("start", ["beginning", "all"])
def test_a_new_memory_base_has_every_marked_session_pending(world: World, start: str) -> None:
    world.new_base(threshold=1)
    world.say("s", "one", "two")
    world.say("t", "three")
    world.settle()
    assert marked(world) == {"s": True, "t": True}
    world.new_base(start=start)
    assert pending(world) == [0, 3]
    assert mark(world) == 0


def test_a_new_memory_base_that_skips_the_history_leaves_the_marks(world: World) -> None:
    world.new_base(threshold=1)
    world.say("s", "one")
    world.settle()
    world.new_base(start="now")
    assert (marked(world), pending(world)) == ({"s": True}, [0, 0])


def test_a_rebuilt_memory_base_has_nothing_pending(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one")
    world.settle()
    regenerate.regenerate(world.services, world.user_id, base)
    world.say("s", "two")
    assert pending(world) == [1]
    world.settle()
    assert (world.base(base).serving, marked(world), pending(world)) == (2, {"s": True}, [0])


def test_a_pass_goes_on_after_the_sessions_of_the_last_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeper, "LIMIT", 2)
    world.new_base(threshold=2)
    for number in range(5):
        world.say(f"s{number}", "one")
    passes = 0
    for number in range(5):
        world.say(f"s{number}", "two")
        world.drain()
        while not mark(world):
            passes += 1
            assert passes < 20
    assert set(marked(world).values()) == {True}


@pytest.mark.both_databases
@pytest.mark.parametrize("world", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_nothing_is_marked_while_a_memory_base_is_created(world: World) -> None:
    world.new_base(threshold=1)
    world.say("s", "one")
    world.drain()
    with world.services.database.transaction() as db:
        flows.lock_flow(db, world.flow_id)  # as a creation does
        assert mark(world) == 0
    assert mark(world) == 1
