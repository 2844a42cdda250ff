"""Sessions of a memory base: filters, orders, pages; and a flush of chosen ones with a result for each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.ingestion import flush
from memorybase.core.models import IngestionJob, JobState
from memorybase.core.queries.base_sessions import BaseSessionQuery, SessionState
from memorybase.core.read_models import memory_bases, titles
from memorybase.core.sessions import edits


@pytest.fixture
def base(world: World) -> UUID:
    """Sessions in each state: synced, waiting, failed by a dead letter, failed by a job, ingesting, untracked."""
    world.say("untracked", "before the memory base")
    base = world.new_base(threshold=2, start="now")
    world.embedder.reject("poison")
    world.say("synced", "one", "two", end_user_id="ann")
    world.say("waits", "one", end_user_id="bob")
    world.say("dead", "one", "poison", end_user_id="ann_b")
    world.say("broken", "one", "two")
    world.settle()
    with world.services.database.transaction() as db:
        (job,) = db.scalars(sa.select(IngestionJob).where(IngestionJob.session_id == "broken"))
        job.state = JobState.FAILED
    world.say("busy", "one", "two", end_user_id="bob")
    return base


def listed(world: World, base: UUID, page: PageRequest | None = None, **query: Any) -> list[str]:
    found = memory_bases.list_base_sessions(
        world.services, world.user_id, base, page or PageRequest(), BaseSessionQuery(**query)
    )
    return [session.session_id for session in found.items]


def test_each_state_lists_the_sessions_that_show_it(world: World, base: UUID) -> None:
    whole = memory_bases.list_base_sessions(world.services, world.user_id, base, PageRequest())
    shown = {session.session_id: session.state for session in whole.items}
    assert shown == {
        "untracked": "synced",
        "synced": "synced",
        "waits": "pending",
        "dead": "failed",
        "broken": "failed",
        "busy": "ingesting",
    }
    for state in SessionState:
        page = memory_bases.list_base_sessions(
            world.services, world.user_id, base, PageRequest(), BaseSessionQuery(state=state)
        )
        assert [session.session_id for session in page.items] == [name for name, has in shown.items() if has == state]
        assert page.total == len(page.items)


def test_a_session_that_failed_and_then_succeeded_is_not_failed(world: World, base: UUID) -> None:
    world.say("broken", "three", "four")
    world.settle()
    assert "broken" not in listed(world, base, state=SessionState.FAILED)
    assert "broken" in listed(world, base, state=SessionState.SYNCED)


def test_text_is_part_of_an_id_and_no_pattern(world: World, base: UUID) -> None:
    assert listed(world, base, text="AN") == ["synced", "dead"]
    assert listed(world, base, text="_b") == ["dead"]
    assert listed(world, base, text="%") == []
    assert listed(world, base, end_user_id="ann") == ["synced"]
    assert listed(world, base, end_user_id="bob", state=SessionState.PENDING) == ["waits"]


@each_row("order", ["created", "recent"])
def test_every_order_is_walked_by_cursor_and_by_page(world: World, base: UUID, order: str) -> None:
    world.say("waits", {"role": "user", "content": "again"})
    whole = listed(world, base, order=order)
    assert whole[0] == ("waits" if order == "recent" else "untracked")
    by_page = [each for page in (1, 2, 3, 4) for each in listed(world, base, PageRequest(page, 2), order=order)]
    by_cursor: list[str] = []
    cursor: str | None = None
    while True:
        page = memory_bases.list_base_sessions(
            world.services, world.user_id, base, PageRequest(size=2, cursor=cursor), BaseSessionQuery(order=order)
        )
        by_cursor += [session.session_id for session in page.items]
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert by_page == by_cursor == whole


def test_chosen_sessions_are_flushed_with_a_result_for_each(world: World, base: UUID) -> None:
    wanted = ["waits", "busy", "synced", "nowhere", "waits"]
    world.say("busy", "three")
    result = flush.flush_sessions(world.services, world.user_id, base, wanted)
    assert [job.session_id for job in result.jobs] == ["waits"]
    assert [conflict.session_id for conflict in result.conflicts] == ["busy"]
    assert {each.session_id: each.reason for each in result.skipped} == {
        "synced": "nothing_pending",
        "nowhere": "not_found",
    }
    world.settle()
    assert listed(world, base, state=SessionState.PENDING) == ["busy"]  # below its threshold
    with pytest.raises(errors.NotFound):
        flush.flush_sessions(world.services, world.new_user(), base, ["waits"])
    with pytest.raises(errors.NotFound):
        flush.flush_sessions(world.services, world.user_id, uuid4(), ["waits"])


def test_a_title_is_that_of_the_metadata_else_the_first_question_as_one_line(world: World) -> None:
    world.say("asked", "Welcome", {"role": "user", "content": "Which\n  berth?"}, {"role": "user", "content": "When?"})
    world.say("named", {"role": "user", "content": "Hi", "timestamp": "2025-06-01T12:00:00Z"})
    edits.update_session(world.services, world.user_id, world.flow_id, "named", metadata={"title": "Sourdough"})
    world.say("answers", "only this")
    keys = [(world.flow_id, each) for each in ("asked", "named", "answers", "nowhere")]
    found = titles.session_titles(world.services, world.user_id, keys)
    assert {key[1]: titled.title for key, titled in found.items()} == {
        "asked": "Which berth?",
        "named": "Sourdough",
        "answers": None,
    }
    assert found[keys[1]].written_at == datetime(2025, 6, 1, 12, tzinfo=UTC)
    assert titles.session_titles(world.services, world.new_user(), keys) == {}
