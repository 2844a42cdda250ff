"""What a run's models were given: recorded, shown, and gone with what it was made of."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase import lifecycle
from memorybase.conversation import Record, View, build_view, uses
from memorybase.errors import NotFound
from memorybase.models import MemoryUse, MemoryUseMessage


def view_of(*message_ids: UUID, said: str = "a secret") -> View:
    return build_view([
        Record(id=str(each), seq=seq, role="user", content=f"{said} {seq}") for seq, each in enumerate(message_ids, 1)
    ])  # fmt: skip


def record(world: World, run_id: UUID | str, view: View, **fields: Any) -> None:
    named = {"node_id": "llm", "session_id": "s"} | fields
    uses.record_use(world.services, user_id=world.user_id, flow_id=world.flow_id, run_id=run_id, view=view, **named)


def shown(world: World, run_id: UUID) -> uses.RunMemory:
    return uses.run_memory(world.services, world.user_id, world.flow_id, run_id)


def rows_left(world: World) -> int:
    with world.services.database.reading() as session:
        tables = (MemoryUse, MemoryUseMessage)
        return sum(session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables)


def test_the_latest_use_of_a_node_is_shown_as_it_was_sent(world: World) -> None:
    run_id = world.say("s", "hello").run_id
    assert shown(world, run_id) == uses.RunMemory(run_id, "s", [])
    record(world, run_id, view_of(uuid4()))
    record(world, run_id, view_of(uuid4()), node_id="other", memory_use_summary={"summary": "", "chatMessages": []})
    last = view_of(uuid4(), uuid4(), said="again")
    record(world, run_id, last)

    other, llm = shown(world, run_id).nodes

    assert (llm.node_id, llm.messages, llm.memoryUseSummary) == ("llm", last.messages, None)
    assert (llm.sources[0]["kind"], llm.sources[0]["message_ids"]) == ("history", [last.sources[0].message_ids[0]])
    assert llm.report["tokens_after"] == last.report.tokens_after
    assert other.memoryUseSummary == {"summary": "", "chatMessages": []}


def test_a_run_may_be_captured_after_its_use_and_is_nobody_elses(world: World) -> None:
    run_id = uuid4()
    with pytest.raises(NotFound):
        shown(world, run_id)
    record(world, str(run_id), view_of(uuid4()), session_id="not there yet")
    assert (shown(world, run_id).session_id, len(shown(world, run_id).nodes)) == (None, 1)

    world.say("s", "hello", run_id=run_id)
    assert shown(world, run_id).session_id == "s"
    with pytest.raises(NotFound):
        uses.run_memory(world.services, world.new_user(), world.flow_id, run_id)
    with pytest.raises(NotFound):
        uses.run_memory(world.services, world.user_id, world.new_flow(), run_id)


def test_deleted_words_leave_the_uses_that_held_them(world: World) -> None:
    run = world.say("s", "one", "two")
    elsewhere = world.say("elsewhere", "hello").run_id
    first, second = (message.id for message in run.messages)
    given = view_of(first, second)
    record(world, run.run_id, given, memory_use_summary={"summary": "of the secret", "chatMessages": []})
    record(world, elsewhere, given, session_id="elsewhere")

    lifecycle.delete_message(world.services, world.user_id, first)
    for run_id in (run.run_id, elsewhere):
        (node,) = shown(world, run_id).nodes
        assert node.messages == [{"role": "user", "content": "[deleted]"}, given.messages[1]]
        assert node.memoryUseSummary is None

    lifecycle.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="renamed")
    assert shown(world, run.run_id).session_id == "renamed"
    lifecycle.delete_session(world.services, world.user_id, world.flow_id, "renamed")
    with pytest.raises(NotFound):
        shown(world, run.run_id)
    (node,) = shown(world, elsewhere).nodes
    assert [message["content"] for message in node.messages] == ["[deleted]", "[deleted]"]


def test_uses_go_with_their_flow(world: World) -> None:
    run = world.say("s", "one")
    record(world, run.run_id, view_of(run.messages[0].id))
    record(world, uuid4(), view_of(uuid4()), session_id=None)
    assert rows_left(world) == 4

    lifecycle.delete_flow(world.services, world.user_id, world.flow_id)

    assert rows_left(world) == 0
