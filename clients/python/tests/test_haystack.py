"""Haystack's components: what was written comes back, once, and no pipeline fails or waits for memorybase."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guides import run_example, run_guide, set_environment
from haystack import Pipeline, component
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.utils import Secret
from memorybase_client import Client
from memorybase_client.integrations.haystack import (
    MemorybaseChatMessageRetriever,
    MemorybaseChatMessageWriter,
    MemorybaseRetriever,
)
from stack import Stack, deliver, turns

# Of a run whose reads have deadlines of a fifth of a second; a hung connection would take minutes.
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end
CALL = ToolCall(tool_name="find", arguments={"what": "boat"}, id="call-1")
EVERY_KIND = [
    ChatMessage.from_system("Be brief."),
    ChatMessage.from_user("Where is the boat?", name="anna", meta={"mood": "calm"}),
    ChatMessage.from_assistant(tool_calls=[CALL], meta={"usage": {"tokens": 3}}),
    ChatMessage.from_tool("berth 12", origin=CALL, error=True),
    ChatMessage.from_assistant("Berth 12."),
]

before_answering: list[Any] = []
opened: list[Any] = []


@component
class Scripted:
    """A model that says "Noted.", and shows what it was asked."""

    @component.output_types(replies=list[ChatMessage], asked=list[str])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        while before_answering:
            before_answering.pop()()
        return {"replies": [ChatMessage.from_assistant("Noted.")], "asked": [message.text for message in messages]}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, stack: Stack, tmp_path: Path) -> Iterator[None]:
    set_environment(monkeypatch, stack, tmp_path)
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "memorybase_client.*,test_haystack.*,haystack.*")
    yield
    before_answering.clear()
    while opened:
        opened.pop().close()


def opened_as(kind: Any, flow: str, **options: Any) -> Any:
    """A component, which the end of the test closes."""
    opened.append(kind(flow, outbox="outbox", **options))
    return opened[-1]


def chat_of(flow: str, **options: Any) -> Pipeline:
    """The session's messages and the new one go to the model; the new one and the answer are written."""
    made = Pipeline()
    made.add_component("history", opened_as(MemorybaseChatMessageRetriever, flow, **options))
    made.add_component("model", Scripted())
    made.add_component("writer", opened_as(MemorybaseChatMessageWriter, flow, **options))
    made.connect("history.messages", "model.messages")
    made.connect("history.messages", "writer.messages")
    made.connect("model.replies", "writer.replies")
    return made


def run(pipeline: Pipeline, said: str, session_id: str = "anna", run_id: str | None = None) -> dict[str, Any]:
    data = {
        "history": {"session_id": session_id, "messages": [ChatMessage.from_user(said)]},
        "writer": {"session_id": session_id, "run_id": run_id},
    }
    result: dict[str, Any] = pipeline.run(data, include_outputs_from={"history", "model", "writer"})
    return result


def stored_texts(client: Client, flow: str, session_id: str = "anna") -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow, session_id=session_id)]


def writer_of(flow: str) -> Any:
    return opened_as(MemorybaseChatMessageWriter, flow)


def read(flow: str, session_id: str = "anna", **options: Any) -> list[ChatMessage]:
    messages: list[ChatMessage] = opened_as(MemorybaseChatMessageRetriever, flow).run(session_id, **options)["messages"]
    return messages


def plain(messages: list[ChatMessage]) -> list[dict[str, Any]]:
    """Without the session that a read message has in its meta."""
    dumps = [message.to_dict() for message in messages]
    return [
        {**dump, "meta": {key: value for key, value in dump["meta"].items() if key != "memorybase_session"}}
        for dump in dumps
    ]


# Messages


def test_messages_come_back_as_they_were_written(flow: str) -> None:
    writer = writer_of(flow)
    writer.run(EVERY_KIND, "anna")
    deliver(writer.memory)
    assert plain(read(flow)) == plain(EVERY_KIND)
    assert plain(read(flow, limit=2)) == plain(EVERY_KIND[-1:])


def test_the_same_run_twice_is_stored_once_and_read_messages_are_not_written_again(flow: str, client: Client) -> None:
    writer = writer_of(flow)
    said = [ChatMessage.from_user("Yes."), ChatMessage.from_assistant("Noted.")]
    for run_id in ("run-1", "run-1", "run-2"):
        assert writer.run(said, "anna", run_id=run_id) == {"messages_written": 2}
    deliver(writer.memory)
    history = read(flow)
    assert writer.run([*history, ChatMessage.from_user("Yes.")], "anna") == {"messages_written": 1}
    assert writer.run(history, "bob") == {"messages_written": 4}
    deliver(writer.memory)
    assert stored_texts(client, flow) == ["Yes.", "Noted.", "Yes.", "Noted.", "Yes."]
    assert stored_texts(client, flow, "bob") == ["Yes.", "Noted.", "Yes.", "Noted."]


def test_an_edit_in_memorybase_is_read(flow: str, client: Client) -> None:
    writer = writer_of(flow)
    writer.run(EVERY_KIND[2:], "anna")
    deliver(writer.memory)
    for message in client.list_messages(flow_id=flow):
        if message.content:
            client.edit_message(message.id, content="[removed]")
    call, result, answer = read(flow)
    assert call.tool_calls == [CALL]
    assert (result.tool_call_results[0].result, answer.text) == ("[removed]", "[removed]")
    assert all("berth" not in message.model_dump_json() for message in client.list_messages(flow_id=flow))


# Pipelines


def test_the_second_run_of_a_session_reads_the_first(flow: str) -> None:
    pipeline = chat_of(flow)
    run(pipeline, "My boat lies at berth 12.")
    deliver(pipeline.get_component("writer").memory)
    result = run(pipeline, "Where is the boat?")
    assert result["model"]["asked"] == ["My boat lies at berth 12.", "Noted.", "Where is the boat?"]
    assert result["writer"] == {"messages_written": 2}


def test_a_second_session_recalls_what_the_first_one_said(flow: str) -> None:
    writer = writer_of(flow)
    writer.run([ChatMessage.from_user("My boat lies at berth 12.")], "anna", end_user_id="anna")
    writer.run([ChatMessage.from_user("My boat lies at berth 40.")], "bob", end_user_id="bob")
    deliver(writer.memory)
    recall = opened_as(MemorybaseRetriever, flow)
    found = recall.run("Where is the boat?", end_user_id="anna")
    assert ([each.content for each in found["documents"]], found["is_available"]) == (
        ["My boat lies at berth 12."],
        True,
    )
    assert len(recall.run("Where is the boat?")["documents"]) == 2
    assert [each.meta["session_id"] for each in recall.run("boat", session_id="bob")["documents"]] == ["bob"]


def test_a_run_shows_the_documents_that_its_prompt_had(flow: str, client: Client) -> None:
    pipeline = chat_of(flow)
    memory = pipeline.get_component("writer").memory
    memory.capture("first", [{"role": "user", "content": "My boat lies at berth 12."}])
    pipeline.add_component("recall", opened_as(MemorybaseRetriever, flow))
    pipeline.connect("recall.documents", "writer.documents")
    for said in ("Where is the boat?", "What is the capital of France?"):
        said_now = {"session_id": "anna", "messages": [ChatMessage.from_user(said)]}
        pipeline.run({"history": said_now, "recall": {"query": said}, "writer": {"session_id": "anna"}})
    assert turns(memory, client, "anna") == [
        (["Where is the boat?", "Noted."], {"agent": "My boat lies at berth 12."}),
        (["What is the capital of France?", "Noted."], {"agent": ""}),
    ]


def test_a_pipeline_is_serialisable_without_its_key(flow: str, stack: Stack) -> None:
    pipeline = chat_of(flow, url=stack.url, timeout_seconds=5.0)
    run(pipeline, "My boat lies at berth 12.")
    deliver(pipeline.get_component("writer").memory)
    dumped = pipeline.dumps()
    assert stack.key not in dumped
    loaded = Pipeline.loads(dumped)
    opened.extend(loaded.get_component(name) for name in ("history", "writer"))
    assert loaded.dumps() == dumped
    assert "My boat lies at berth 12." in run(loaded, "Where is the boat?")["model"]["asked"]
    with pytest.raises(ValueError, match=r"[Tt]oken"):
        opened_as(MemorybaseChatMessageWriter, flow, api_key=Secret.from_token(stack.key)).to_dict()


# While memorybase is away


def test_a_server_killed_in_the_middle_of_a_run_fails_nothing_and_loses_nothing(
    flow: str, client: Client, stack: Stack
) -> None:
    pipeline = chat_of(flow)
    before_answering.append(stack.kill)
    assert run(pipeline, "My boat lies at berth 12.")["history"]["is_available"]
    result = run(pipeline, "Where is the boat?")
    assert not result["history"]["is_available"]
    assert result["model"]["asked"] == ["Where is the boat?"]
    away = opened_as(MemorybaseRetriever, flow).run("boat")
    assert away == {"documents": [], "is_available": False}
    stack.restart()
    writer = pipeline.get_component("writer")
    deliver(writer.memory)
    assert stored_texts(client, flow) == ["My boat lies at berth 12.", "Noted.", "Where is the boat?", "Noted."]


def test_a_server_that_does_not_answer_holds_no_run_up(flow: str, stack: Stack) -> None:
    pipeline = chat_of(flow, timeout_seconds=0.5)
    stack.freeze()
    begin = time.monotonic()
    for _ in range(5):
        run(pipeline, "Where is the boat?")
    assert time.monotonic() - begin < PATIENCE_SECONDS


def test_the_guide_and_the_example_run(stack: Stack, tmp_path: Path) -> None:
    run_guide("python-frameworks.md", mark="haystack", OpenAIChatGenerator=lambda **_: Scripted())
    assert "another session recalls: My boat lies at berth 12." in run_example("haystack_chat.py", stack, tmp_path)
