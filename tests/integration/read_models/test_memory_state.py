"""The state of a memory base: one word everywhere, and every filter finds what is called so."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from api.web.badges import Badge
from api.web.memory_state import MemoryState, filter_of, state_labels, state_of
from memorybase.core.database.paging import PageRequest
from memorybase.core.models import Capture, DeadLetter, IngestionJob, MemoryBase
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery
from memorybase.core.read_models import memory_bases


def shown(world: World, base_id: Any) -> MemoryState:
    (listed,) = (
        base
        for base in memory_bases.list_memory_bases(world.services, world.user_id, PageRequest()).items
        if base.id == base_id
    )
    one = memory_bases.get_memory_base(world.services, world.user_id, base_id)
    state = state_of(one)
    assert state_of(listed) == state
    assert [name for name in state_labels() if base_id in listed_in(world, name)] == [state.name]
    return state


def listed_in(world: World, name: str) -> list[UUID]:
    query = MemoryBaseQuery(**filter_of(name))
    page = memory_bases.list_memory_bases(world.services, world.user_id, PageRequest(), query)
    assert page.total == len(page.items)
    return [base.id for base in page.items]


def test_a_memory_base_passes_through_its_conditions(world: World) -> None:
    base = world.new_base(threshold=5)
    assert shown(world, base) == MemoryState("ready", Badge("none", "Empty"))
    world.say("s", "one")
    assert shown(world, base) == MemoryState("pending", Badge("waiting", "Waiting"), "1 wait")
    world.say("s", "two", "three", "four", "five")
    assert shown(world, base).badge.text == "Ingesting"
    world.settle()
    assert shown(world, base) == MemoryState("ready", Badge("ok", "Ingested"))
    change(world, MemoryBase, auto_capture=False)
    assert shown(world, base) == MemoryState("ready", Badge("off", "Off"))
    world.say("s", *"678901")
    assert (shown(world, base).badge.text, shown(world, base).detail) == ("Waiting", "6 wait")
    change(world, MemoryBase, building=2)
    assert shown(world, base).badge.text == "Rebuilding"
    change(world, MemoryBase, mismatch=True)
    assert shown(world, base).badge.text == "Lost its vectors"


def test_dead_letters_are_counted_in_the_words(world: World) -> None:
    base = world.new_base(threshold=2)
    world.embedder.reject("bad")
    world.say("s", "bad", "good")
    world.settle()
    assert shown(world, base) == MemoryState("failed", Badge("failed", "Not searchable: 1"))
    change(world, DeadLetter, state="discarded")
    assert shown(world, base).badge.text == "Ingested"


def test_a_postponed_job_shows_that_the_store_is_unreachable(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one")
    change(world, IngestionJob, outages=1, error="no answer")
    assert shown(world, base).badge.text == "Unreachable"


@pytest.mark.parametrize("capture", list(Capture))
def test_pending_is_said_in_sessions_near_their_threshold_and_never_as_a_sum(world: World, capture: Capture) -> None:
    base = world.new_base(threshold=5, capture=capture)
    world.say("far", "one")
    world.say("near", "one", "two", "three", "four")
    world.say("questions", *({"role": "user", "content": text} for text in "abcd"))
    near = 1 if capture is Capture.OUTPUTS else 2
    assert shown(world, base).detail == f"{near} of 3 sessions near 5"
    world.flush(base)
    world.settle()
    assert shown(world, base).detail is None
    world.say("near", "one", "two", "three")
    assert shown(world, base).detail == "3 wait"


def change(world: World, table: Any, **values: Any) -> None:
    world.execute(sa.update(table).values(**values))
