"""LangChain's history and retriever: what was added comes back, once, and no chain fails or waits for memorybase."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from guides import run_example, run_guide, set_environment
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from memorybase_client import AgentMemory, Client, errors
from memorybase_client.integrations.langchain import (
    MemorybaseChatMemory,
    MemorybaseChatMessageHistory,
    MemorybaseRetriever,
)
from shown import reply
from stack import Stack, Stored, deliver, turns

SESSION = {"configurable": {"session_id": "anna"}}
# Of a turn whose reads have deadlines of a fifth of a second; a hung connection would take minutes.
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end
CALL = {"name": "find", "args": {"what": "boat", "deep": [1, {"x": None}]}, "id": "call-1", "type": "tool_call"}
EVERY_KIND: list[BaseMessage] = [
    SystemMessage("Be brief.", id="s1"),
    HumanMessage("Where is the boat?", id="h1", name="anna", additional_kwargs={"mood": "calm"}),
    AIMessage(
        "",
        id="a1",
        tool_calls=[CALL],
        response_metadata={"model": "m", "logprobs": [0.5]},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    ToolMessage("berth 12", id="t1", tool_call_id="call-1", artifact={"rows": [1]}, status="error"),
    AIMessage([{"type": "text", "text": "Berth"}, {"type": "text", "text": "12."}], id="a2"),
    HumanMessage(["plain", {"type": "image_url", "image_url": {"url": "data:,x"}}], id="h2"),
    HumanMessage([{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "data:,x"}}], id="h3"),
    ChatMessage("Ahoy.", role="captain", id="c1"),
    FunctionMessage("12", name="find", id="f1"),
    AIMessage(
        "Done.",
        id="a3",
        invalid_tool_calls=[
            {"name": "find", "args": "{", "id": "call-2", "error": "no JSON", "type": "invalid_tool_call"},
        ],
    ),
]


class Spy(FakeListChatModel):
    """A model that says what it is told to, and keeps what it was asked."""

    asked: list[list[str]]
    before_answering: Any = None

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.asked.append([message.text for message in messages])
        if self.before_answering is not None:
            self.before_answering()
        return super()._call(messages, *args, **kwargs)


class Reading(FakeListChatModel):
    """A model that knows what it has read."""

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        return reply("\n".join(message.text for message in messages))


def chain_of(model: Runnable[Any, Any], memory: AgentMemory) -> RunnableWithMessageHistory:
    return RunnableWithMessageHistory(model, lambda session_id: MemorybaseChatMessageHistory(memory, session_id))


def stored_texts(client: Client, flow: str, session_id: str = "anna") -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow, session_id=session_id)]


# Messages


def test_messages_come_back_as_they_were_added(memory: AgentMemory) -> None:
    history = MemorybaseChatMessageHistory(memory, "anna")
    history.add_messages(EVERY_KIND)
    deliver(memory)
    assert history.messages == EVERY_KIND
    assert MemorybaseChatMessageHistory(memory, "anna").messages == EVERY_KIND


def test_what_no_database_can_store_comes_back_too(memory: AgentMemory) -> None:
    history = MemorybaseChatMessageHistory(memory, "anna")
    odd = HumanMessage("a\x00b \ud800", additional_kwargs={"infinite": float("inf")})
    history.add_messages([odd, AIMessage("Noted.", additional_kwargs={"set": {1}, "kind": int})])
    deliver(memory)
    first, second = history.messages
    assert first == odd
    assert second.additional_kwargs == {"set": [1], "kind": "<class 'int'>"}


def test_an_edit_in_memorybase_is_read(memory: AgentMemory, client: Client) -> None:
    history = MemorybaseChatMessageHistory(memory, "anna")
    history.add_messages([HumanMessage(["My boat is at berth 12."]), AIMessage("Noted.", name="bot")])
    deliver(memory)
    for message in client.list_messages(flow_id=memory.flow_id):
        client.edit_message(message.id, content="[removed]")
    first, second = history.messages
    assert (first.content, second.content, second.name) == ("[removed]", "[removed]", "bot")


def test_the_same_turn_twice_is_stored_once(memory: AgentMemory, client: Client) -> None:
    history = MemorybaseChatMessageHistory(memory, "anna")
    for _ in range(2):
        history.add_messages([HumanMessage("Yes."), AIMessage("Noted.", id="lc_run--1")])
    history.add_messages([HumanMessage("Yes."), AIMessage("Noted.", id="lc_run--2")])
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Yes.", "Noted.", "Yes.", "Noted."]


def test_messages_copied_to_another_session_are_stored_there_too(memory: AgentMemory) -> None:
    for session_id in ("anna", "bob", "x" * 300):
        MemorybaseChatMessageHistory(memory, session_id).add_messages(EVERY_KIND)
    deliver(memory)
    for session_id in ("anna", "bob", "x" * 300):
        assert MemorybaseChatMessageHistory(memory, session_id).messages == EVERY_KIND


def test_only_the_latest_messages_are_read_and_no_answer_of_a_tool_without_its_call(memory: AgentMemory) -> None:
    MemorybaseChatMessageHistory(memory, "anna").add_messages(EVERY_KIND)
    deliver(memory)
    assert MemorybaseChatMessageHistory(memory, "anna", limit=8).messages == EVERY_KIND[-8:]
    assert MemorybaseChatMessageHistory(memory, "anna", limit=7).messages == EVERY_KIND[-6:]


def test_clear_deletes_the_session_and_raises_if_it_cannot(memory: AgentMemory, client: Client, stack: Stack) -> None:
    history = MemorybaseChatMessageHistory(memory, "anna")
    history.clear()
    history.add_messages(EVERY_KIND)
    deliver(memory)
    history.clear()
    assert history.messages == []
    assert stored_texts(client, memory.flow_id) == []
    history.add_messages(EVERY_KIND)
    stack.kill()
    with pytest.raises(errors.ConnectionFailed):
        history.clear()


# Chains


def test_the_second_turn_reads_the_first(memory: AgentMemory) -> None:
    model = Spy(responses=["Noted.", "Berth 12."], asked=[])
    for said in ("My boat lies at berth 12.", "Where is the boat?"):
        chain_of(model, memory).invoke([HumanMessage(said)], SESSION)
        deliver(memory)
    assert model.asked == [
        ["My boat lies at berth 12."],
        ["My boat lies at berth 12.", "Noted.", "Where is the boat?"],
    ]


@pytest.mark.anyio
async def test_an_async_chain_does_the_same(memory: AgentMemory) -> None:
    model = Spy(responses=["Noted.", "Berth 12."], asked=[])
    for said in ("My boat lies at berth 12.", "Where is the boat?"):
        await chain_of(model, memory).ainvoke([HumanMessage(said)], SESSION)
        deliver(memory)
    assert model.asked[1] == ["My boat lies at berth 12.", "Noted.", "Where is the boat?"]


def test_a_second_session_recalls_what_the_first_one_said(memory: AgentMemory) -> None:
    chain_of(Spy(responses=["Noted."], asked=[]), memory).invoke([HumanMessage("My boat lies at berth 12.")], SESSION)
    deliver(memory)
    model = Spy(responses=["Berth 12."], asked=[])
    recalling = MemorybaseRetriever(memory=memory, top_k=1) | RunnableLambda(
        lambda documents: [HumanMessage(documents[0].page_content)]
    )
    (recalling | model).invoke("Where is the boat?")
    assert model.asked == [["My boat lies at berth 12."]]


def test_a_turn_is_one_run_that_shows_what_its_model_was_given(memory: AgentMemory, client: Client) -> None:
    memory.capture("first", [{"role": "user", "content": "My boat lies at berth 12."}])
    retriever = MemorybaseRetriever(memory=memory, top_k=1)

    def prompt(messages: list[BaseMessage], config: RunnableConfig) -> list[BaseMessage]:
        found = retriever.invoke(messages[-1].text, config)
        return [SystemMessage("\n".join(each.page_content for each in found)), *messages]

    model = Spy(responses=["Berth 12.", "Paris."], asked=[])
    for said in ("Where is the boat?", "What is the capital of France?"):
        chain_of(RunnableLambda(prompt) | model, memory).invoke([HumanMessage(said)], SESSION)
    history = MemorybaseChatMessageHistory(memory, "anna")
    history.add_user_message("And now?")
    history.add_ai_message("Here.")
    assert turns(memory, client, "anna") == [
        (["Where is the boat?", "Berth 12."], {"agent": "My boat lies at berth 12."}),
        (["What is the capital of France?", "Paris."], {"agent": ""}),
        (["And now?", "Here."], {}),
    ]


def test_a_retriever_searches_the_session_or_the_end_user_that_it_names(memory: AgentMemory) -> None:
    for user in ("anna", "bob"):
        history = MemorybaseChatMessageHistory(memory, f"session of {user}", end_user_id=user)
        history.add_messages([HumanMessage(f"The boat of {user} lies in the harbour.")])
    deliver(memory)
    of_session = MemorybaseRetriever(memory=memory, session_id="session of anna").invoke("boat")
    of_user = MemorybaseRetriever(memory=memory, end_user_id="bob").invoke("boat")
    assert [each.metadata["session_id"] for each in of_session] == ["session of anna"]
    assert [each.page_content for each in of_user] == ["The boat of bob lies in the harbour."]


# While memorybase is away


def test_a_server_killed_in_the_middle_of_a_turn_fails_nothing_and_loses_nothing(
    memory: AgentMemory, client: Client, stack: Stack
) -> None:
    chain_of(Spy(responses=["Noted."], asked=[]), memory).invoke([HumanMessage("My boat lies at berth 12.")], SESSION)
    deliver(memory)
    model = Spy(responses=["Berth 12."], asked=[], before_answering=stack.kill)
    answer = chain_of(model, memory).invoke([HumanMessage("Where is the boat?")], SESSION)
    assert answer.text == "Berth 12."
    assert MemorybaseRetriever(memory=memory).invoke("boat") == []
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == [
        "My boat lies at berth 12.",
        "Noted.",
        "Where is the boat?",
        "Berth 12.",
    ]


def test_a_server_back_in_the_middle_of_a_turn_does_not_cost_the_question(
    memory: AgentMemory, client: Client, stack: Stack
) -> None:
    """The chain cuts as many messages off its input as the history has at its end."""
    MemorybaseChatMessageHistory(memory, "anna").add_messages([HumanMessage("Ahoy."), AIMessage("Ahoy, Anna.")])
    deliver(memory)
    stack.kill()

    def wait_until_reads_are_tried_again() -> None:
        stack.restart()
        memory._away_until = 0.0

    model = Spy(responses=["Berth 12."], asked=[], before_answering=wait_until_reads_are_tried_again)
    chain_of(model, memory).invoke([HumanMessage("Where is the boat?")], SESSION)
    deliver(memory)
    assert model.asked == [["Where is the boat?"]]
    assert stored_texts(client, memory.flow_id) == ["Ahoy.", "Ahoy, Anna.", "Where is the boat?", "Berth 12."]


def test_a_server_that_does_not_answer_holds_no_turn_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        stack.freeze()
        begin = time.monotonic()
        model = Spy(responses=["Noted."], asked=[])
        for _ in range(5):
            chain_of(model, memory).invoke([HumanMessage("Where is the boat?")], SESSION)
            assert MemorybaseRetriever(memory=memory).invoke("boat") == []
        assert time.monotonic() - begin < PATIENCE_SECONDS


def test_the_history_of_a_chat_memory_node_is_limited_by_it_and_waits_while_memorybase_is_away(
    memory: AgentMemory, stack: Stack, stored: Stored
) -> None:
    history = MemorybaseChatMemory(memory, "chat", "c1", max_messages=2)
    history.add_messages([HumanMessage("One."), AIMessage("Two.", id="a"), HumanMessage(["Three."])])
    assert [(one.type, one.text) for one in history.messages] == [("ai", "Two."), ("human", "Three.")]
    stack.kill()
    history.add_messages([AIMessage("Four.")])
    assert history.messages == []
    stack.restart()
    assert stored.chat("c1") == ["One.", "Two.", "Three.", "Four."]
    history.clear()
    assert stored.chat("c1") == []
    with pytest.raises(TypeError, match="max_message"):
        MemorybaseChatMemory(memory, "chat", "c1", max_message=2)


def test_the_guide_and_the_example_run(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="langchain", ChatOpenAI=lambda **_: Reading(responses=["Noted."]))
    assert "another session recalls: My boat lies at berth 12." in run_example("langchain_chat.py", stack, tmp_path)
