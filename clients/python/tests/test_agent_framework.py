"""Agent Framework's providers: what a run said comes back, once, and no run fails or waits for memorybase."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Content, Message
from guides import run_example, run_guide, set_environment
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.agent_framework import MemorybaseContextProvider, MemorybaseHistoryProvider
from shown import reply
from stack import Stack, deliver, turns

pytestmark = pytest.mark.anyio

# Of a turn whose reads have deadlines of a fifth of a second; a hung connection would take minutes.
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end
EVERY_KIND = [
    Message("system", ["Be brief."]),
    Message("user", ["Where is the boat?"], author_name="anna", additional_properties={"mood": "calm"}),
    Message("assistant", [Content.from_function_call("call-1", "find", arguments={"what": "boat"})]),
    Message("tool", [Content.from_function_result("call-1", result="berth 12")]),
    Message("tool", [Content.from_function_result("call-1", result=[Content.from_text("a"), Content.from_text("b")])]),
    Message("assistant", ["Berth", "12."], message_id="m1"),
    Message("user", ["See", Content.from_uri("https://example.org/boat.png", media_type="image/png")]),
]


class Spy(BaseChatClient):
    """A client that keeps what it was asked. By default it says "Noted."."""

    def __init__(self, before_answering: Any = None, answer: Callable[[str], str] = lambda _: "Noted.") -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self.instructions: list[str] = []
        self._before_answering = before_answering
        self._answer = answer

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse]:
        del stream, kwargs

        async def answer() -> ChatResponse:
            self.asked.append([message.text for message in messages if message.role != "system"])
            said = [message.text for message in messages if message.role == "system"]
            self.instructions.append("\n".join([str(options.get("instructions") or ""), *said]))
            if self._before_answering is not None:
                self._before_answering()
            said = self._answer("\n".join([self.instructions[-1], *self.asked[-1]]))
            return ChatResponse(messages=[Message("assistant", [said])])

        return answer()


def agent_of(client: Spy, memory: AgentMemory) -> Agent:
    return Agent(
        client=client, context_providers=[MemorybaseHistoryProvider(memory), MemorybaseContextProvider(memory)]
    )


def dumped(messages: Sequence[Message]) -> list[Any]:
    return [message.to_dict() for message in messages]


def stored_texts(client: Client, flow: str, session_id: str = "anna") -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow, session_id=session_id)]


# Messages


async def test_messages_come_back_as_they_were_saved(memory: AgentMemory) -> None:
    provider = MemorybaseHistoryProvider(memory)
    await provider.save_messages("anna", EVERY_KIND)
    deliver(memory)
    assert dumped(await provider.get_messages("anna")) == dumped(EVERY_KIND)
    assert dumped(await MemorybaseHistoryProvider(memory, limit=3).get_messages("anna")) == dumped(EVERY_KIND[-2:])
    assert await provider.get_messages(None) == []


async def test_the_same_messages_saved_twice_are_stored_once(memory: AgentMemory, client: Client) -> None:
    said = [Message("user", ["Yes."]), Message("assistant", ["Noted."])]
    for messages in (said, said, [Message("user", ["Yes."])]):
        await MemorybaseHistoryProvider(memory).save_messages("anna", messages)
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Yes.", "Noted.", "Yes."]


async def test_messages_copied_to_another_session_are_stored_there_too(memory: AgentMemory) -> None:
    provider = MemorybaseHistoryProvider(memory)
    for session_id in ("anna", "bob", "x" * 300):
        await provider.save_messages(session_id, EVERY_KIND)
    deliver(memory)
    for session_id in ("anna", "bob", "x" * 300):
        assert dumped(await provider.get_messages(session_id)) == dumped(EVERY_KIND)


async def test_an_edit_in_memorybase_is_read(memory: AgentMemory, client: Client) -> None:
    provider = MemorybaseHistoryProvider(memory)
    await provider.save_messages("anna", [*EVERY_KIND[2:4], EVERY_KIND[5]])
    deliver(memory)
    for message in client.list_messages(flow_id=memory.flow_id):
        if message.content:
            client.edit_message(message.id, content="[removed]")
    call, result, answer = await provider.get_messages("anna")
    assert call.contents[0].name == "find"
    assert (result.contents[0].result, answer.text.strip()) == ("[removed]", "[removed]")
    (stored,) = [message for message in client.list_messages(flow_id=memory.flow_id) if message.role == "tool"]
    assert "berth" not in stored.model_dump_json()


async def test_calls_of_tools_are_stored_in_openais_format(memory: AgentMemory, client: Client) -> None:
    await MemorybaseHistoryProvider(memory).save_messages("anna", EVERY_KIND[2:4])
    deliver(memory)
    call, result = client.list_messages(flow_id=memory.flow_id)
    function = {"name": "find", "arguments": '{"what": "boat"}'}
    assert call.tool_calls == [{"id": "call-1", "type": "function", "function": function}]
    assert (result.tool_call_id, result.content) == ("call-1", "berth 12")


# Agents


async def test_the_second_run_of_a_session_reads_the_first_which_is_stored_once(
    memory: AgentMemory, client: Client
) -> None:
    spy = Spy()
    for said in ("My boat lies at berth 12.", "Where is the boat?"):
        await agent_of(spy, memory).run(said, session=AgentSession(session_id="anna"))
        deliver(memory)
    assert spy.asked == [
        ["My boat lies at berth 12."],
        ["My boat lies at berth 12.", "Noted.", "Where is the boat?"],
    ]
    assert stored_texts(client, memory.flow_id) == [*spy.asked[1], "Noted."]


async def test_a_second_session_recalls_what_the_first_one_said(memory: AgentMemory) -> None:
    spy = Spy()
    await agent_of(spy, memory).run("My boat lies at berth 12.", session=AgentSession(session_id="anna"))
    deliver(memory)
    await agent_of(spy, memory).run("Where is the boat?", session=AgentSession(session_id="bob"))
    await agent_of(spy, memory).run("Where is the boat?", session=AgentSession(session_id="anna"))
    assert "My boat lies at berth 12." not in spy.instructions[0]
    assert "My boat lies at berth 12." in spy.instructions[1]
    assert "My boat lies at berth 12." not in spy.instructions[2]


async def test_a_run_shows_what_its_agent_was_given(memory: AgentMemory, client: Client) -> None:
    memory.capture("first", [{"role": "user", "content": "My boat Aurora lies at berth 12."}])
    spy = Spy()
    providers = [MemorybaseHistoryProvider(memory), MemorybaseContextProvider(memory)]
    agent = Agent(client=spy, name="harbour master", context_providers=providers)
    for question in ("Where does Aurora lie?", "What is the capital of France?"):
        await agent.run(question, session=AgentSession(session_id="second"))
    (said, shown), (_, nothing) = turns(memory, client, "second")
    assert said == ["Where does Aurora lie?", "Noted."]
    assert "My boat Aurora lies at berth 12." in shown["harbour master"]
    assert shown["harbour master"] in spy.instructions[0]
    assert nothing == {"harbour master": ""}


# While memorybase is away


async def test_a_server_killed_in_the_middle_of_a_run_fails_nothing_and_loses_nothing(
    memory: AgentMemory, client: Client, stack: Stack
) -> None:
    kills = [stack.kill]
    spy = Spy(lambda: kills and kills.pop()())
    for said in ("My boat lies at berth 12.", "Where is the boat?"):
        answer = await agent_of(spy, memory).run(said, session=AgentSession(session_id="anna"))
        assert answer.text == "Noted."
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == [
        "My boat lies at berth 12.",
        "Noted.",
        "Where is the boat?",
        "Noted.",
    ]


async def test_a_server_that_does_not_answer_holds_no_run_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        stack.freeze()
        begin = time.monotonic()
        for _ in range(5):
            await agent_of(Spy(), memory).run("Where is the boat?", session=AgentSession(session_id="anna"))
        assert time.monotonic() - begin < PATIENCE_SECONDS


def test_the_guide_and_the_example_run(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="agent_framework", OpenAIChatClient=lambda **_: Spy(answer=reply))
    assert "- [" in run_example("agent_framework_chat.py", stack, tmp_path)
