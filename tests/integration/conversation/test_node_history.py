"""History of a node: its latest context on the thread, whatever other nodes and branches did."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
from harness.records import Flat
from harness.world import World

from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.read import history_of
from memorybase.core.conversation.history.request import Conversation, History, HistoryRequest
from memorybase.core.errors import InvalidRequest, NotFound, RunConflict
from memorybase.core.sessions import edits


def run(world: World, name: str, parent: str | None = None, *nodes: str, **context: Any) -> UUID:
    """A captured turn, and executions of nodes in it: "n1", "n1:failed", "n1#2" for the third of its executions."""
    message = uuid5(world.user_id, f"message:{name}")
    asked = {
        "id": str(message),
        "role": "user",
        "content": name,
        "parent_message_id": None if parent is None else str(uuid5(world.user_id, f"message:{parent}")),
    }
    run_id = uuid5(world.user_id, f"run:{name}")
    world.say("s", asked, f"flow's answer to {name}", run_id=run_id)
    for node in nodes:
        execute(world, run_id, node, **context)
    return run_id


def execute(world: World, run_id: UUID, node: str, **changes: Any) -> UUID:
    node_id, _, status = node.partition(":")
    node_id, _, index = node_id.partition("#")
    said = [{"role": "user", "content": f"to {node} in {run_id}"}, {"role": "assistant", "content": "answer"}]
    raw = {
        "node_id": node_id,
        "index": int(index or 0),
        "status": status or "succeeded",
        "outputs": {"text": "answer", "context": said},
    } | changes
    new = node_executions.new_execution(world.user_id, raw)
    stored, _ = node_executions.put_execution(world.services, world.user_id, world.flow_id, "s", run_id, new)
    return stored.id


def history(world: World, node_id: str | None = "n1", *, session_id: str = "s", **asked: Any) -> History:
    where = Conversation(world.services, world.user_id, world.flow_id, session_id)
    return history_of(where, HistoryRequest(mode="node", node_id=node_id, **asked), counter=Flat())


def first(world: World, node_id: str | None = "n1", **asked: Any) -> Any:
    """The first message of the history, which names its execution."""
    found = history(world, node_id, **asked).view.messages
    return found[0]["content"] if found else None


def test_a_node_that_failed_or_was_skipped_keeps_its_memory(world: World) -> None:
    r1 = run(world, "r1", None, "n1", "n2")
    r2 = run(world, "r2", "r1", "n1", "n2:failed")
    r3 = run(world, "r3", "r2")
    assert first(world, "n1", run_id=r3) == f"to n1 in {r2}"
    assert first(world, "n2", run_id=r3) == f"to n2 in {r1}"
    assert first(world, "n3") is None


def test_each_thread_has_its_own_memory(world: World) -> None:
    r1 = run(world, "r1", None, "n1")
    r2 = run(world, "r2", "r1", "n1")
    run(world, "r3", "r1")
    assert first(world) == f"to n1 in {r1}"
    leaf = uuid5(world.user_id, "message:r2")
    assert first(world, leaf_id=leaf) == f"to n1 in {r2}"
    with pytest.raises(NotFound):
        first(world, leaf_id=uuid4())


def test_a_retried_execution_is_not_in_its_own_history(world: World) -> None:
    r1 = run(world, "r1", None, "n1")
    r2 = run(world, "r2", "r1")
    tries = [execute(world, r2, f"n1#{index}") for index in (1, 2, 3)]
    assert first(world, run_id=r2) == f"to n1#3 in {r2}"
    for named in ({"execution_id": tries[1]}, {"index": 2}, {"index": 3, "execution_id": tries[1]}):
        assert first(world, run_id=r2, **named) == f"to n1#1 in {r2}"
    for named in ({"execution_id": tries[0]}, {"index": 0}):
        assert first(world, run_id=r2, **named) == f"to n1 in {r1}"
    assert first(world, run_id=r2, execution_id=uuid4()) == f"to n1#3 in {r2}", "a new round"


def test_a_retried_execution_before_anything_is_captured(world: World) -> None:
    one = execute(world, uuid4(), "n1")
    run_id = uuid4()
    two = execute(world, run_id, "n1")
    assert history(world, run_id=run_id).execution_id == two
    assert history(world, run_id=run_id, execution_id=two).execution_id == one


def test_each_round_of_a_loop_has_the_one_before_in_its_history(world: World) -> None:
    r1 = run(world, "r1", None, "n1#1", "n1#2", "n1")
    assert first(world) == f"to n1#2 in {r1}"
    under_way = uuid4()
    execute(world, under_way, "n1")
    execute(world, under_way, "n1#1:running")
    assert first(world, run_id=under_way) == f"to n1 in {under_way}"
    assert first(world) == f"to n1#2 in {r1}"


def test_executions_without_captured_messages_have_a_history(world: World) -> None:
    execute(world, uuid4(), "n1")
    last = uuid4()
    execute(world, last, "n1")
    assert first(world) == f"to n1 in {last}"


def test_few_shots_are_not_sent_twice_and_files_are_resolved(world: World) -> None:
    shots = [{"role": "user", "content": "example"}, {"role": "assistant", "content": "shown"}]
    picture = {"type": "image", "base64_data": "", "url": "", "filename": "cat.png"}
    parts = [
        picture | {"file_ref": "remote:https://h/cat.png"},
        picture | {"file_ref": "local:gone"},
        picture | {"base64_data": "AAAA...[TRUNCATED]...BBBB"},
        {"type": "text", "data": "look"},
    ]
    call = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    context = [
        {"role": "system", "content": "prompt"},
        *shots,
        *shots,
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "42", "tool_call_id": "t1"},
        {"role": "assistant", "content": "a cat"},
    ]
    run(world, "r1", None, "n1", outputs={"text": "a cat", "context": context, "usage": 3}, few_shots=shots)

    view = history(world).view

    asked, *others = view.messages
    stub = {"type": "text", "text": "[image: cat.png]"}
    assert asked["content"][0] == {"type": "image_url", "image_url": {"url": "https://h/cat.png", "detail": "high"}}
    assert asked["content"][1:] == [stub, stub, {"type": "text", "text": "look"}]
    assert [message["role"] for message in others] == ["assistant", "tool", "assistant"]
    assert view.report.degraded == ("files",)
    assert history(world, max_tokens=30).view.messages == []  # a turn, and a call, stay whole


def test_without_a_node_or_session_there_is_no_history_or_an_error(world: World) -> None:
    world.say("s", "hello")
    missing: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"node_id": None}, InvalidRequest, "node_id"),
        ({"session_id": ""}, InvalidRequest, "conversation_id"),
        ({"session_id": "unknown"}, NotFound, "session_id"),
        ({"node_id": "never ran"}, NotFound, "node_id"),
    ]
    for asked, kind, field in missing:
        assert first(world, **asked) is None
        with pytest.raises(kind) as caught:
            history(world, **asked, on_missing="error")
        assert caught.value.field == field
    stranger = Conversation(world.services, world.new_user(), world.flow_id, "s")
    with pytest.raises(NotFound):
        history_of(stranger, HistoryRequest(mode="node", node_id="n1"))


def test_executions_are_replaced_refused_renamed_and_deleted(world: World) -> None:
    run_id = run(world, "r1", None, "n1")
    same = execute(world, run_id, "n1", outputs={"text": "again", "context": []})
    assert node_executions.get_execution(world.services, world.user_id, same).outputs["text"] == "again"
    assert first(world) is None

    new = node_executions.new_execution(world.user_id, {"node_id": "n", "index": 0, "status": "running", "outputs": {}})
    with pytest.raises(RunConflict):
        node_executions.put_execution(world.services, world.user_id, world.flow_id, "other", run_id, new)
    stranger = world.new_user()
    with pytest.raises(NotFound):
        node_executions.put_execution(world.services, stranger, world.flow_id, "s", run_id, new)
    theirs, _ = node_executions.put_execution(world.services, stranger, world.new_flow(stranger), "s", run_id, new)
    assert theirs.created_at is not None  # the same run id in another flow is another run
    with pytest.raises(NotFound):
        node_executions.get_execution(world.services, stranger, same)

    kept = execute(world, run_id, "n2")
    edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="renamed")
    assert first(world, "n2", session_id="renamed") == f"to n2 in {run_id}"
    node_executions.delete_execution(world.services, world.user_id, same)
    receipt = edits.delete_session(world.services, world.user_id, world.flow_id, "renamed")
    assert receipt.node_executions == 1
    for gone in (same, kept):
        with pytest.raises(NotFound):
            node_executions.get_execution(world.services, world.user_id, gone)


def test_an_invalid_context_is_refused_with_its_field(world: World) -> None:
    for raw, field in [
        ({"outputs": {"context": "text"}}, "outputs.context"),
        ({"outputs": {"context": [{"content": "x"}]}}, "outputs.context[0].role"),
        ({"outputs": {"text": 1}}, "outputs.text"),
        ({"outputs": {}, "few_shots": [1]}, "few_shots[0]"),
        ({"outputs": {"other": "x" * 5_000_000}}, "outputs"),
    ]:
        with pytest.raises(InvalidRequest) as caught:
            execute(world, uuid4(), "n1", **raw)
        assert caught.value.field == field
