"""Many sessions at once: ingested with a result for each."""

from __future__ import annotations

from uuid import uuid4

import pytest
from harness.world import World

from memorybase.core import errors
from memorybase.core.queries.coverage import SearchState
from memorybase.core.read_models import sessions
from memorybase.core.sessions import bulk
from memorybase.core.sessions.bulk import Chosen, Outcome


def test_each_session_has_a_result(world: World) -> None:
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


def test_every_memory_base_of_the_flow_is_asked(world: World) -> None:
    world.new_base()
    world.new_base()
    world.say("s", "x")
    (result,) = bulk.sync_sessions(world.services, world.user_id, [Chosen(world.flow_id, "s")])
    assert (result.outcome, result.jobs) == (Outcome.QUEUED, 2)


def test_too_many_sessions_and_sessions_of_others_are_refused(world: World) -> None:
    world.new_base()
    world.say("s", "x")
    with pytest.raises(errors.InvalidRequest, match="At most 1000"):
        bulk.sync_sessions(world.services, world.user_id, [Chosen(world.flow_id, str(n)) for n in range(1001)])
    (result,) = bulk.sync_sessions(world.services, world.new_user(), [Chosen(world.flow_id, "s")])
    assert result.outcome == Outcome.NOT_FOUND
