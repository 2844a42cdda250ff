"""Work on every session of a flow: page by page, with captures between two pages, and cut off after each."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.memory_bases import deletion, manage, preparation
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.models import Preparation, Session
from memorybase.core.operations import sweeper
from memorybase.core.read_models import memory_bases as views

SESSIONS = 7
OLD, NEW = "captured before", "captured between two pages"


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "PAGE", 2)
    monkeypatch.setattr(preparation, "PAGES_A_PASS", 1)


def with_history(world: World) -> None:
    for number in range(SESSIONS):
        world.say(f"s{number}", f"{OLD} {number}")


def left(world: World) -> int:
    """How many preparations are not done."""
    return world.scalar(sa.select(sa.func.count()).select_from(Preparation)) or 0


def finish(world: World, between: Callable[[int], object] = lambda _: None) -> int:
    """Prepare to the end, one page in a pass, as after kills between all of them; how many pages."""
    pages = 0
    while left(world):
        between(pages)
        assert preparation.go_on(world.services) == 1
        pages += 1
    return pages


def status(world: World, base: UUID) -> str:
    return views.get_memory_base(world.services, world.user_id, base).status


def texts_in(world: World, base: UUID) -> list[str]:
    """What the knowledge base holds, each message as often as it does."""
    held = [entry.message_id for entry in world.ledger(base) if entry.generation == world.base(base).serving]
    by_id = {message.id: message.content for message in world.messages()}
    return sorted(by_id[message_id] for message_id in held)


def settle(world: World) -> None:
    for _ in range(SESSIONS):
        world.sweep()
        world.settle()


@pytest.mark.parametrize(("start", "before"), [("all", True), ("now", False)])
def test_a_new_memory_base_loses_and_doubles_nothing(world: World, start: str, before: bool) -> None:
    with_history(world)
    base = world.new_base(threshold=1, start=start)
    assert status(world, base) in ("preparing", "unavailable")
    captured = []

    def between(page: int) -> None:
        name = f"s{SESSIONS - 1 - page}"  # from the end, where no page has been yet
        captured.append(f"{NEW} {page}")
        world.say(name, captured[-1])

    assert finish(world, between) == 3
    assert status(world, base) != "preparing"
    settle(world)
    world.assert_all_ingested(base)
    old = [f"{OLD} {number}" for number in range(SESSIONS)] if before else []
    assert texts_in(world, base) == sorted([*old, *captured])


def test_a_flush_between_two_pages_skips_what_the_memory_base_skips(world: World) -> None:
    with_history(world)
    base = world.new_base(threshold=100, start="now")
    world.say("s6", NEW)
    assert {job.session_id for job in world.flush(base).jobs} == {"s6"}
    finish(world)
    settle(world)
    assert texts_in(world, base) == [NEW]


def test_lists_look_again_at_sessions_that_were_passed(world: World) -> None:
    with_history(world)
    first = world.new_base(threshold=1)
    world.flush(first)
    finish(world)
    settle(world)
    sweeper.mark_passed(world.services)
    assert all(session.passed_seq == 1 for session in world.scalars(sa.select(Session)))
    second = world.new_base(threshold=100)
    finish(world)
    view = views.get_memory_base(world.services, world.user_id, second)
    assert (view.pending_messages, view.status) == (SESSIONS, "pending")


def test_a_regenerate_serves_only_with_every_session(world: World) -> None:
    with_history(world)
    base = world.new_base(threshold=1, start="now")
    finish(world)
    for number in range(SESSIONS):
        world.say(f"s{number}", f"kept {number}")
    world.settle()
    regeneration.regenerate(world.services, world.user_id, base)
    while world.drain():  # every job of the first page's sessions
        pass
    assert world.base(base).serving == 1
    # Each stands where no page has been: its row must start after what is skipped, and cover what was covered.
    finish(world, lambda page: world.say(f"s{SESSIONS - 1 - page}", f"{NEW} {page}"))
    settle(world)
    assert world.base(base).serving == 2
    world.assert_all_ingested(base)
    assert texts_in(world, base) == sorted(
        [*(f"kept {number}" for number in range(SESSIONS)), *(f"{NEW} {page}" for page in range(3))]
    )


@pytest.mark.parametrize("again", [False, True])
def test_an_abandoned_build_leaves_its_pending_work(world: World, again: bool) -> None:
    with_history(world)
    base = world.new_base(threshold=1)
    world.flush(base)
    finish(world)
    settle(world)
    regeneration.regenerate(world.services, world.user_id, base)
    finish(world)
    for number in range(SESSIONS):
        world.say(f"s{number}", f"{NEW} {number}")  # due in the build alone
    regeneration.abandon_build(world.services, base)
    world.pass_time(3_600)  # the build's rows would be deleted if nothing had to be moved from them
    assert deletion.delete_retired_collections(world.services) == 0
    if again:
        regeneration.regenerate(world.services, world.user_id, base)
    finish(world)
    settle(world)
    world.assert_all_ingested(base)
    assert len(texts_in(world, base)) == 2 * SESSIONS
    assert world.base(base).serving == (3 if again else 1)


def test_a_shorter_idle_time_reaches_every_session_with_pending_messages(world: World) -> None:
    base = world.new_base(threshold=100, idle_after=0)
    with_history(world)
    manage.update_memory_base(world.services, world.user_id, base, {"idle_after": 60})
    finish(world)
    world.pass_time(61)
    settle(world)
    world.assert_all_ingested(base)


def test_an_idle_session_that_no_page_has_reached_is_ingested_into_the_build(world: World) -> None:
    with_history(world)
    base = world.new_base(threshold=2, idle_after=60)
    world.flush(base)
    finish(world)
    settle(world)
    for number in range(SESSIONS):
        world.say(f"s{number}", f"{NEW} {number}")
    regeneration.regenerate(world.services, world.user_id, base)
    world.pass_time(61)
    settle(world)
    assert world.base(base).serving == 2
    world.assert_all_ingested(base)
