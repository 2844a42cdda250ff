"""Memory for Pydantic AI on a real stack: what runs say is kept as it was, and recalled in other conversations."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from guides import run_example, run_guide, set_environment
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.pydantic_ai import MemorybaseCapability, dump_of
from pydantic_ai import Agent, BinaryContent, RunContext
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from shown import reply
from stack import Stack, deliver, turns, until

PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end

EVERY_KIND: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief.")]),
    ModelRequest(parts=[SystemPromptPart("Be kind."), UserPromptPart("My boat lies at berth 12.")]),
    ModelRequest(parts=[UserPromptPart(["What", ImageUrl("https://example.org/boat.png"), "is this?"])]),
    ModelRequest(parts=[UserPromptPart([BinaryContent(b"\x00\xff", media_type="image/png")])]),
    ModelRequest(parts=[UserPromptPart("")]),
    ModelResponse(
        parts=[
            ThinkingPart("Hm."),
            TextPart("A "),
            TextPart("boat."),
            ToolCallPart("find", {"a": 1}, "c1"),
            ToolCallPart("find", "{}", "c2"),
        ]
    ),
    ModelRequest(parts=[ToolReturnPart("find", {"berth": [12, None]}, "c1"), ToolReturnPart("find", None, "c2")]),
    ModelResponse(parts=[ToolCallPart("find", None, "c3")]),
    ModelRequest(parts=[ToolReturnPart("find", "12", "c3"), ToolReturnPart("find", "13", "c4")]),
    ModelRequest(parts=[ToolReturnPart("find", "Once more.", "c" * 300, outcome="retried")]),
    ModelRequest(parts=[RetryFeedbackPart("Once more.", retry=RetryInfo("no_output"))]),
    ModelResponse(parts=[]),
    ModelRequest(parts=[UserPromptPart("a NUL \0 and \\u0000"), ToolReturnPart("find", float("nan"), "c5")]),
    ModelResponse(parts=[TextPart("binary \0")]),
]


class Scripted:
    """Gives the answers in order, then those of who has read what it was asked, which it keeps. A callable is called
    first."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[list[ModelMessage]] = []
        self.instructions: list[str] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(list(messages))
        self.instructions.append(info.instructions or "")
        read = "\n".join([self.instructions[-1], *map(str, texts(messages))])
        answer = self.answers.pop(0) if self.answers else reply(read)
        if callable(answer):
            answer = answer()
        return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])


def agent_of(model: Scripted, memory: MemorybaseCapability) -> Agent[Any, str]:
    return Agent(FunctionModel(model), instructions="You know every boat.", capabilities=[memory])


async def ask(model: Scripted, memory: MemorybaseCapability, question: str, session_id: str) -> str:
    history = await memory.message_history(session_id)
    agent = agent_of(model, memory)
    return (await agent.run(question, conversation_id=session_id, message_history=history)).output


def texts(messages: list[ModelMessage]) -> list[Any]:
    return [
        part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart | TextPart)
    ]


def stored_texts(client: Client, flow: str, session_id: str = "anna") -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow, session_id=session_id)]


def as_json(messages: list[ModelMessage]) -> Any:
    return ModelMessagesTypeAdapter.dump_json(messages)


async def captured(memory: MemorybaseCapability, messages: list[ModelMessage], session_id: str = "anna") -> None:
    """As after a run that added these messages."""

    class Result:
        def new_messages(self) -> list[ModelMessage]:
            return messages

    class Context:
        run_id, conversation_id = "run-1", session_id

    await memory.after_run(Context(), result=Result())  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_messages_of_every_kind_come_back_as_they_were(memory: AgentMemory) -> None:
    capability = MemorybaseCapability(memory)
    await captured(capability, EVERY_KIND)
    assert as_json(await capability.message_history("anna")) == as_json(EVERY_KIND)
    assert memory.client.outbox is not None
    assert memory.client.outbox.refused() == []


@pytest.mark.anyio
async def test_a_tools_answer_that_has_no_json_does_not_fail_the_run(memory: AgentMemory) -> None:
    capability = MemorybaseCapability(memory)
    await captured(capability, [ModelRequest(parts=[ToolReturnPart("find", object(), "c1")])])
    assert len(await capability.message_history("anna")) == 1


@pytest.mark.anyio
async def test_a_run_continues_the_conversation_with_its_tool_calls(memory: AgentMemory) -> None:
    capability = MemorybaseCapability(memory)
    model = Scripted(ToolCallPart("berth_of", {"boat": "Aurora"}, "c1"), "Berth 12.", "Yes.")
    agent = agent_of(model, capability)

    @agent.tool_plain
    def berth_of(boat: str) -> str:
        return f"{boat}: 12"

    first = await agent.run("Where is Aurora?", conversation_id="anna")
    history = await capability.message_history("anna")
    kept = list(first.all_messages())
    for message in kept:
        if isinstance(message, ModelRequest):
            message.instructions = None
    assert as_json(history) == as_json(kept)
    assert (await agent.run("Sure?", conversation_id="anna", message_history=history)).output == "Yes."
    assert texts(model.asked[-1]) == ["Where is Aurora?", "Berth 12.", "Sure?"]
    assert len(await capability.message_history("anna")) == 6


@pytest.mark.anyio
async def test_texts_tool_calls_and_outputs_are_where_memorybase_reads_them(
    memory: AgentMemory, client: Client
) -> None:
    await captured(MemorybaseCapability(memory), EVERY_KIND[5:7])
    deliver(memory)
    answer, results = client.list_messages(flow_id=memory.flow_id).page().items
    assert answer.tool_calls is not None
    assert [call["function"]["name"] for call in answer.tool_calls] == ["find", "find"]
    assert answer.content == [{"type": "text", "text": "A "}, {"type": "text", "text": "boat."}]
    assert (results.role, results.tool_call_id) == ("tool", "c1")


@pytest.mark.anyio
async def test_another_conversation_recalls_what_the_first_said(memory: AgentMemory) -> None:
    capability = MemorybaseCapability(memory)
    await ask(Scripted("Noted."), capability, "My boat Aurora lies at berth 12.", "first")
    model = Scripted("Berth 12.", "You asked where it lies.")
    await ask(model, capability, "Where does Aurora lie?", "second")
    assert model.instructions[0].startswith("You know every boat.")
    assert "My boat Aurora lies at berth 12." in model.instructions[0]
    await ask(model, capability, "What did I ask about Aurora?", "second")
    assert "Where does Aurora lie?" not in model.instructions[1]  # its own: the model reads it as history
    kept = await capability.message_history("second")
    assert texts(kept)[:2] == ["Where does Aurora lie?", "Berth 12."]
    assert "berth 12" not in as_json(kept[:1]).decode()


@pytest.mark.anyio
async def test_a_run_shows_what_its_agent_was_given(memory: AgentMemory, client: Client) -> None:
    memory.capture("first", [{"role": "user", "content": "My boat Aurora lies at berth 12."}])
    model, capability = Scripted("Berth 12.", "I do not know."), MemorybaseCapability(memory)
    agent = Agent(FunctionModel(model), name="harbour master", capabilities=[capability])
    for question in ("Where does Aurora lie?", "What is the capital of France?"):
        await agent.run(question, conversation_id="second")
    (said, shown), (_, nothing) = turns(memory, client, "second")
    assert said == ["Where does Aurora lie?", "Berth 12."]
    assert shown == {"harbour master": model.instructions[0]}
    assert "My boat Aurora lies at berth 12." in model.instructions[0]
    assert nothing == {"harbour master": ""}


@pytest.mark.anyio
async def test_nothing_is_recalled_if_nothing_is_wanted(memory: AgentMemory) -> None:
    await ask(Scripted("Noted."), MemorybaseCapability(memory), "My boat lies at berth 12.", "first")
    model = Scripted("I do not know.")
    await ask(model, MemorybaseCapability(memory, top_k=0), "Where does my boat lie?", "second")
    assert model.instructions == ["You know every boat."]


@pytest.mark.anyio
async def test_nothing_of_another_end_user_is_shown_or_recalled(memory: AgentMemory) -> None:
    def user_of(ctx: RunContext[Any]) -> str:
        return str(ctx.deps)

    capability = MemorybaseCapability(memory, end_user_id=user_of)
    model = Scripted("Noted.", "I do not know.", "I do not know.")
    agent = agent_of(model, capability)
    await agent.run("My boat Aurora lies at berth 12.", conversation_id="s1", deps="anna")
    for session_id in ("s1", "s2"):
        assert await capability.message_history(session_id, end_user_id="ben") == []
        await agent.run("Where does Aurora lie?", conversation_id=session_id, deps="ben")
        assert model.instructions[-1] == "You know every boat."
    history = await capability.message_history("s1", end_user_id="anna")
    assert texts(history) == ["My boat Aurora lies at berth 12.", "Noted."]


@pytest.mark.anyio
async def test_an_edit_in_memorybase_shows_in_the_history(memory: AgentMemory, client: Client) -> None:
    capability = MemorybaseCapability(memory)
    await captured(capability, [ModelRequest(parts=[UserPromptPart(["My card", "is 1234."])])])
    await capability.message_history("anna")
    message = client.list_messages(flow_id=memory.flow_id).page().items[0]
    client.edit_message(message.id, content="My card is ****.")
    assert texts(await capability.message_history("anna")) == [["My card is ****.", ""]]
    assert "1234" not in client.get_message(message.id).model_dump_json()


@pytest.mark.anyio
async def test_messages_of_other_clients_are_part_of_the_history(memory: AgentMemory) -> None:
    memory.capture("anna", [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}])
    memory.capture("anna", [{"role": "tool", "tool_call_id": "c", "content": "x"}])
    assert texts(await MemorybaseCapability(memory).message_history("anna")) == ["Hi.", "Hello."]


@pytest.mark.anyio
async def test_the_same_run_reported_twice_is_stored_once(memory: AgentMemory) -> None:
    capability = MemorybaseCapability(memory)
    await captured(capability, EVERY_KIND[:3])
    await captured(capability, EVERY_KIND[:3])
    assert len(await capability.message_history("anna")) == 3


@pytest.mark.anyio
async def test_a_run_whose_answer_is_lost_is_stored_once(stack: Stack, memory: AgentMemory, client: Client) -> None:
    capability = MemorybaseCapability(memory)
    await ask(Scripted("Noted."), capability, "Berth 12.", "anna")
    await capability.message_history("anna")
    stack.mute()
    await ask(Scripted("Yes."), capability, "Sure?", "anna")
    with Client(stack.direct_url, stack.key) as server:
        until(lambda: server.list_messages(flow_id=memory.flow_id).page().total >= 4)
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Berth 12.", "Noted.", "Sure?", "Yes."]


@pytest.mark.anyio
async def test_a_server_killed_during_a_run_stops_neither_it_nor_the_next(
    stack: Stack, memory: AgentMemory, client: Client
) -> None:
    capability = MemorybaseCapability(memory)
    await ask(Scripted("Noted."), capability, "Berth 12.", "anna")

    def killed() -> str:
        stack.kill()
        return "Still here."

    model = Scripted(killed, "Here too.")
    assert await ask(model, capability, "And now?", "anna") == "Still here."
    assert await ask(model, capability, "And then?", "anna") == "Here too."
    assert texts(model.asked[1]) == ["And then?"]
    stack.restart()
    deliver(memory)
    kept = [dump_of(message) for message in client.list_messages(flow_id=memory.flow_id, session_id="anna")]
    said = [part["content"] for dump in kept if dump for part in dump["parts"]]
    assert said == ["Berth 12.", "Noted.", "And now?", "Still here.", "And then?", "Here too."]


@pytest.mark.anyio
async def test_a_server_that_does_not_answer_holds_no_run_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        stack.freeze()
        begin = time.monotonic()
        for _ in range(10):
            assert await ask(Scripted("Yes."), MemorybaseCapability(memory), "Are you there?", "anna") == "Yes."
        assert time.monotonic() - begin < PATIENCE_SECONDS


@pytest.mark.anyio
async def test_a_streamed_run_is_captured(memory: AgentMemory) -> None:
    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> Any:
        for word in ("Berth ", "12."):
            yield word

    capability = MemorybaseCapability(memory)
    agent = Agent(FunctionModel(stream_function=stream), capabilities=[capability])
    async with agent.run_stream("Where is Aurora?", conversation_id="anna") as run:
        assert await run.get_output() == "Berth 12."
    assert texts(await capability.message_history("anna")) == ["Where is Aurora?", "Berth 12."]


def test_one_memory_serves_several_event_loops(memory: AgentMemory) -> None:
    capability = MemorybaseCapability(memory)
    model = Scripted("One.", "Two.")
    for question in ("First?", "Second?"):
        asyncio.run(ask(model, capability, question, "anna"))
    assert texts(model.asked[-1]) == ["First?", "One.", "Second?"]


def test_the_guide_and_the_example_recall_in_another_conversation(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="pydantic_ai", model=FunctionModel(Scripted()))
    first, second, other = run_example("pydantic_ai_conversation.py", stack, tmp_path).splitlines()
    assert first == "first conversation: 1 messages, []"
    assert second == "first conversation: 3 messages, []"
    assert "My boat Aurora lies at berth 12." in other
