"""AgentMemory on a real stack that goes away and comes back: it holds nobody up, and loses nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from memorybase_client import AgentMemory, AsyncAgentMemory, Client, errors
from stack import Stack, deliver, turns

BERTH = [{"id": "m1", "role": "user", "content": "My boat lies at berth 12."}]
# Of a call whose deadline is two seconds; a hung connection would take minutes.
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end


def test_a_capture_is_read_and_recalled_at_once(memory: AgentMemory) -> None:
    memory.capture("anna", BERTH)
    found = memory.messages("anna")
    assert found is not None
    assert [message.content for message in found] == ["My boat lies at berth 12."]
    hits = memory.recall("Where is the boat?")
    assert memory.recall("Where is the boat?", top_k=0) == []
    assert memory.recall("hi") == memory.recall("What is the capital of France?") == []
    assert hits is not None
    assert hits[0].content == "My boat lies at berth 12."


@pytest.mark.anyio
async def test_the_async_memory_does_the_same(async_memory: AsyncAgentMemory) -> None:
    await async_memory.capture("anna", BERTH)
    found = await async_memory.messages("anna")
    assert found is not None
    assert [message.content for message in found] == ["My boat lies at berth 12."]
    hits = await async_memory.recall("Where is the boat?")
    assert hits is not None
    assert hits[0].content == "My boat lies at berth 12."


def test_a_flow_that_does_not_exist_yet_has_nothing_and_is_no_failure(memory: AgentMemory) -> None:
    assert memory.messages("anna") == []
    assert memory.recall("Where is the boat?") == []
    assert memory.context("anna") is None
    assert memory.failure is None


def test_only_the_latest_messages_are_read_oldest_first(memory: AgentMemory) -> None:
    memory.capture("anna", [{"role": "user", "content": f"text {number}"} for number in range(5)])
    found = memory.messages("anna", limit=2)
    assert found is not None
    assert [message.content for message in found] == ["text 3", "text 4"]
    assert memory.messages("anna", limit=0) == []


def test_the_same_messages_captured_twice_are_stored_once(memory: AgentMemory) -> None:
    memory.capture("anna", BERTH)
    memory.capture("anna", BERTH)
    found = memory.messages("anna")
    assert found is not None
    assert len(found) == 1


def test_without_a_server_reads_are_none_and_captures_wait(stack: Stack, memory: AgentMemory, client: Client) -> None:
    memory.capture("anna", BERTH)
    assert memory.messages("anna") is not None
    stack.kill()
    memory.capture("anna", [{"id": "m2", "role": "assistant", "content": "Noted: berth 12."}])
    assert memory.recall("Where is the boat?") is None
    assert memory.messages("anna") is None
    assert isinstance(memory.failure, errors.ConnectionFailed)
    stack.restart()
    outbox = memory.client.outbox
    assert outbox is not None
    assert outbox.flush(30) == 0
    stored = client.list_messages(flow_id=memory.flow_id, session_id="anna")
    assert [message.content for message in stored] == ["My boat lies at berth 12.", "Noted: berth 12."]


def test_what_a_model_was_given_is_recorded_when_the_server_is_back(
    stack: Stack, memory: AgentMemory, client: Client
) -> None:
    memory.capture("anna", BERTH)
    hits = memory.recall("Where is the boat?")
    assert hits
    stack.kill()
    memory.record_memory("ben", run_id="r", node_id="one", query="Where?", hits=hits)
    memory.record_memory("ben", run_id="r", node_id="two", query="Where?", hits=hits, text="quoted: berth 12")
    memory.record_memory("ben", run_id="r", node_id="three", query="Who?", hits=[])
    memory.capture("ben", [{"role": "user", "content": "Where?"}], run_id="r")
    stack.restart()
    given = {"one": "My boat lies at berth 12.", "two": "quoted: berth 12", "three": ""}
    assert turns(memory, client, "ben") == [(["Where?"], given)]


def test_a_server_that_does_not_answer_holds_nobody_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        stack.freeze()
        begin = time.monotonic()
        for _ in range(20):
            memory.capture("anna", BERTH)
            assert memory.recall("Where is the boat?") is None
            assert memory.messages("anna") is None
        assert time.monotonic() - begin < PATIENCE_SECONDS


@pytest.mark.anyio
async def test_a_server_that_does_not_answer_holds_no_task_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    options = {"url": stack.url, "key": stack.key, "outbox": tmp_path / "outbox"}
    async with AsyncAgentMemory(flow, timeout_seconds=0.5, **options) as memory:
        stack.freeze()
        begin = time.monotonic()
        for _ in range(20):
            await memory.capture("anna", BERTH)
            assert await memory.recall("Where is the boat?") is None
        assert time.monotonic() - begin < PATIENCE_SECONDS


def test_a_refused_key_is_a_failure_with_its_reason(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key="wrong", outbox=tmp_path / "outbox") as memory:
        assert memory.recall("Where is the boat?") is None
        assert isinstance(memory.failure, errors.Unauthorized)


def test_a_long_prompt_is_recalled_by_its_end(memory: AgentMemory) -> None:
    memory.capture("anna", BERTH)
    assert memory.messages("anna") is not None
    hits = memory.recall("word " * 10_000 + "Where is the boat?", min_score=0)
    assert hits is not None
    assert [hit.content for hit in hits][:1] == ["My boat lies at berth 12."]


def test_what_was_captured_a_moment_ago_is_recalled(memory: AgentMemory) -> None:
    memory.capture("anna", BERTH)
    hits = memory.recall("Where is the boat?")
    assert hits is not None
    assert [hit.content for hit in hits] == ["My boat lies at berth 12."]


def test_a_recall_finds_only_messages_with_the_metadata(memory: AgentMemory) -> None:
    memory.capture("anna", [message | {"id": app, "metadata": {"app": app}} for message in BERTH for app in ("a", "b")])
    hits = memory.recall("Where is the boat?", metadata={"app": "b"})
    assert hits is not None
    assert [hit.metadata for hit in hits] == [{"app": "b"}]


def test_a_session_of_another_end_user_is_neither_read_nor_deleted(memory: AgentMemory) -> None:
    memory.capture("s1", BERTH, end_user_id="anna")
    assert memory.messages("s1", end_user_id="ben") == []
    memory.delete_session("s1", end_user_id="ben")
    found = memory.messages("s1", end_user_id="anna")
    assert found is not None
    assert len(found) == 1
    memory.delete_session("s1", end_user_id="anna")
    assert memory.messages("s1") == []


def test_a_deletion_without_a_server_raises(stack: Stack, memory: AgentMemory) -> None:
    memory.delete_session("anna")  # nothing was captured
    memory.capture("anna", BERTH)
    assert memory.messages("anna") is not None
    stack.kill()
    with pytest.raises(errors.ConnectionFailed):
        memory.delete_session("anna")


def test_a_deletion_before_all_was_sent_raises_since_it_would_come_back(stack: Stack, memory: AgentMemory) -> None:
    stack.freeze()
    memory.capture("anna", BERTH)
    with pytest.raises(errors.ConnectionFailed, match="1 captures wait"):
        memory.delete_session("anna")


def test_an_outbox_stays_where_it_was_when_the_process_changes_its_directory(
    stack: Stack, flow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox="outbox") as memory:
        monkeypatch.chdir(tmp_path / "other")
        memory.capture("anna", BERTH)
        deliver(memory)
    assert {path.name for path in tmp_path.iterdir()} == {"other", "outbox"}
    assert list((tmp_path / "other").iterdir()) == []
