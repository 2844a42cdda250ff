"""Sessions of the OpenAI Agents SDK on a real stack, compared with the SDK's own, and run by its own Runner."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.memory import Session, SessionSettings
from guides import run_example, run_guide, set_environment
from memorybase_client import AgentMemory, Client, errors
from memorybase_client.integrations.openai_agents import MemorybaseSession, item_of
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from shown import reply
from stack import Stack, deliver, turns, until

set_tracing_disabled(disabled=True)

PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "My boat lies at berth 12."},
    {"role": "user", "content": ""},
    {"role": "developer", "content": "Be brief."},
    {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "You know every boat."}]},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
        ],
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "A boat.", "annotations": [{"type": "url_citation", "url": "u"}]},
            {"type": "refusal", "refusal": "No."},
        ],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "berth_of", "arguments": '{"boat": "Aurora"}'},
    {"type": "function_call", "call_id": "", "name": "", "arguments": ""},
    {"type": "function_call_output", "call_id": "c1", "output": "12"},
    {"type": "function_call_output", "call_id": "c" * 300, "output": [{"type": "input_text", "text": "12"}]},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Think."}],
        "encrypted_content": "x",
        "content": None,
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "boats"}},
    {"type": "compaction", "encrypted_content": "gAAA"},
    {"type": "item_reference", "id": "msg_1"},
    {"role": "user", "content": "a NUL \0 and \\u0000"},
    {"type": "function_call_output", "call_id": "c2", "output": "binary \0 \ud800"},
    {"type": "of_the_future", "role": "robot", "content": [1, 2.5, None, True, {"deep": [[]]}]},
]


class Scripted(Model):
    """Gives the answers in order, then those of who has read what it was asked, which it keeps. A callable is called
    first."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.instructions: list[str] = []
        self.inputs: list[list[Any]] = []

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        self.instructions.append(system_instructions or "")
        self.inputs.append(input)
        answer = self.answers.pop(0) if self.answers else reply("\n".join([self.instructions[-1], *texts(input)]))
        if callable(answer):
            answer = answer()
        output = answer if isinstance(answer, ResponseFunctionToolCall) else said(answer)
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        output = (await self.get_response(*args, **options)).output
        response = Response(
            id="r",
            created_at=0,
            model="m",
            object="response",
            output=output,
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[part])


def texts(items: list[Any]) -> list[str]:
    return [
        content if isinstance(content, str) else content[0]["text"]
        for content in (item["content"] for item in items if "role" in item)
    ]


async def ask(model: Model, question: str, session: Session, *, recalls: bool = False, **options: Any) -> Any:
    config = RunConfig(call_model_input_filter=session.recall if recalls else None)
    agent = Agent(name="harbour master", instructions="You know every boat.", model=model, **options)
    return (await Runner.run(agent, question, session=session, run_config=config)).final_output


def test_it_is_a_session_of_the_sdk(memory: AgentMemory) -> None:
    assert isinstance(MemorybaseSession("anna", memory), Session)


@pytest.mark.anyio
async def test_items_of_every_kind_come_back_as_they_were_given(memory: AgentMemory) -> None:
    session = MemorybaseSession("anna", memory)
    await session.add_items(ITEMS)
    assert await session.get_items() == ITEMS
    assert memory.client.outbox is not None
    assert memory.client.outbox.refused() == []


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(3))
async def test_any_sequence_of_operations_ends_as_in_the_sdks_own_session(memory: AgentMemory, seed: int) -> None:
    chance = random.Random(seed)
    ours, theirs = MemorybaseSession("anna", memory), SQLiteSession("anna")
    for _ in range(60):
        operation = chance.choice(["add", "add", "get", "get", "pop", "clear" if chance.random() < 0.3 else "pop"])
        if operation == "add":
            items = chance.choices(ITEMS, k=chance.randrange(4))
            await ours.add_items(items)
            await theirs.add_items(items)
        elif operation == "get":
            limit = chance.choice([None, -1, 0, 1, 2, 50])
            assert await ours.get_items(limit) == await theirs.get_items(limit)
        elif operation == "pop":
            assert await ours.pop_item() == await theirs.pop_item()
        else:
            await ours.clear_session()
            await theirs.clear_session()
    assert await ours.get_items() == await theirs.get_items()


@pytest.mark.anyio
async def test_the_settings_of_the_session_limit_its_history(memory: AgentMemory) -> None:
    session = MemorybaseSession("anna", memory, session_settings=SessionSettings(limit=2))
    await session.add_items(ITEMS[:4])
    assert await session.get_items() == ITEMS[2:4]
    assert await session.get_items(3) == ITEMS[1:4]


@pytest.mark.anyio
async def test_more_items_than_a_run_may_have_keep_their_order(memory: AgentMemory) -> None:
    items = [{"role": "user", "content": f"number {number}"} for number in range(1_200)]
    session = MemorybaseSession("anna", memory)
    await session.add_items(items)
    assert await session.get_items() == items


@pytest.mark.anyio
async def test_an_item_that_is_too_large_takes_no_other_with_it(memory: AgentMemory) -> None:
    session = MemorybaseSession("anna", memory)
    before, after = {"role": "user", "content": "before"}, {"role": "user", "content": "after"}
    await session.add_items([before, {"role": "user", "content": "x" * 5_000_000}, after])
    assert await session.get_items() == [before, after]


@pytest.mark.anyio
async def test_equal_ids_of_items_in_two_sessions_do_not_conflict(memory: AgentMemory) -> None:
    sessions = [MemorybaseSession(name, memory) for name in ("anna", "ben")]
    for session in sessions:
        await session.add_items([{"id": "m1", "role": "user", "content": f"I am {session.session_id}."}])
    assert [texts(await session.get_items()) for session in sessions] == [["I am anna."], ["I am ben."]]


@pytest.mark.anyio
async def test_an_edit_in_memorybase_shows_in_the_item(memory: AgentMemory, client: Client) -> None:
    session = MemorybaseSession("anna", memory)
    await session.add_items([{"id": "m1", "role": "user", "content": "My card is 1234."}])
    await session.get_items()
    message = client.list_messages(flow_id=memory.flow_id).page().items[0]
    client.edit_message(message.id, content="My card is ****.")
    assert await session.get_items() == [{"id": "m1", "role": "user", "content": "My card is ****."}]
    assert "1234" not in client.get_message(message.id).model_dump_json()


@pytest.mark.anyio
async def test_an_edit_shows_in_an_item_that_cannot_be_stored_in_parts(memory: AgentMemory, client: Client) -> None:
    session = MemorybaseSession("anna", memory)
    await session.add_items([{"role": "user", "content": "a NUL \0"}])
    await session.get_items()
    client.edit_message(client.list_messages(flow_id=memory.flow_id).page().items[0].id, content="none")
    assert await session.get_items() == [{"role": "user", "content": "none"}]


@pytest.mark.anyio
async def test_messages_of_other_clients_are_read_as_plain_items(memory: AgentMemory) -> None:
    memory.capture(
        "anna", [{"role": "user", "content": "Hello."}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    )
    assert await MemorybaseSession("anna", memory).get_items() == [{"role": "user", "content": "Hello."}]


@pytest.mark.anyio
async def test_a_session_id_that_the_server_would_refuse_works(memory: AgentMemory) -> None:
    for name in ("long" * 100, "a\0b"):
        session = MemorybaseSession(name, memory)
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]


@pytest.mark.anyio
async def test_a_run_continues_its_session_with_its_tool_calls(memory: AgentMemory) -> None:
    @function_tool
    def berth_of(boat: str) -> str:
        return f"{boat}: 12"

    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="berth_of", arguments='{"boat": "Aurora"}')
    model = Scripted(call, "Berth 12.", "Yes.")
    assert await ask(model, "Where is Aurora?", MemorybaseSession("anna", memory), tools=[berth_of]) == "Berth 12."
    assert await ask(model, "Sure?", MemorybaseSession("anna", memory), tools=[berth_of]) == "Yes."
    assert [item.get("type", item.get("role")) for item in model.inputs[-1]] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
    ]
    assert len(await MemorybaseSession("anna", memory).get_items()) == 6


@pytest.mark.anyio
async def test_a_streamed_run_is_kept_too(memory: AgentMemory) -> None:
    session = MemorybaseSession("anna", memory)
    agent = Agent(name="harbour master", model=Scripted("Berth 12."))
    run = Runner.run_streamed(agent, "Where is Aurora?", session=session)
    async for _ in run.stream_events():
        pass
    assert texts(await session.get_items()) == ["Where is Aurora?", "Berth 12."]


@pytest.mark.anyio
async def test_a_second_session_recalls_what_the_first_said(memory: AgentMemory) -> None:
    await ask(Scripted("Noted."), "My boat Aurora lies at berth 12.", MemorybaseSession("first", memory))
    model, second = Scripted("Berth 12.", "You asked where it lies."), MemorybaseSession("second", memory)
    await ask(model, "Where does Aurora lie?", second, recalls=True)
    assert model.instructions[0].startswith("You know every boat.")
    assert "My boat Aurora lies at berth 12." in model.instructions[0]
    await ask(model, "What did I ask about Aurora?", second, recalls=True)
    assert "Where does Aurora lie?" not in model.instructions[1]  # the session's own: the model reads it as history
    assert texts(await second.get_items()) == [
        "Where does Aurora lie?",
        "Berth 12.",
        "What did I ask about Aurora?",
        "You asked where it lies.",
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_turn_is_one_run_that_shows_what_its_agent_was_given(
    memory: AgentMemory, client: Client, *, streamed: bool
) -> None:
    @function_tool
    def tide() -> str:
        return "low"

    memory.capture("first", [{"role": "user", "content": "My boat Aurora lies at berth 12."}])
    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="tide", arguments="{}")
    model, session = Scripted(call, "Berth 12.", "Berth 12.", "Nothing."), MemorybaseSession("second", memory)
    agent = Agent(name="harbour master", instructions="You know every boat.", model=model, tools=[tide])
    config = RunConfig(call_model_input_filter=session.recall)
    for question in ("Where does Aurora lie?", "Where does Aurora lie?", "What is the capital of France?"):
        if streamed:
            run = Runner.run_streamed(agent, question, session=session, run_config=config)
            async for _ in run.stream_events():
                pass
        else:
            await Runner.run(agent, question, session=session, run_config=config)
    (first, shown), second, (_, other) = turns(memory, client, "second")
    assert first == ["Where does Aurora lie?", "", "low", "Berth 12."]
    assert second == (["Where does Aurora lie?", "Berth 12."], shown)
    assert shown == {"harbour master": model.instructions[0].partition("\n\n")[2]}
    assert "My boat Aurora lies at berth 12." in shown["harbour master"]
    assert other == {"harbour master": ""}


@pytest.mark.anyio
async def test_nothing_of_another_end_user_is_shown_recalled_or_deleted(memory: AgentMemory) -> None:
    anna = MemorybaseSession("s1", memory, end_user_id="anna")
    await ask(Scripted("Noted."), "My boat Aurora lies at berth 12.", anna)
    for name in ("s1", "s2"):
        model, ben = Scripted("I do not know."), MemorybaseSession(name, memory, end_user_id="ben")
        await ask(model, "Where does Aurora lie?", ben, recalls=True)
        assert texts(model.inputs[0]) == ["Where does Aurora lie?"]
        assert model.instructions == ["You know every boat."]
    ben = MemorybaseSession("s1", memory, end_user_id="ben")
    assert await ben.get_items() == []
    assert await ben.pop_item() is None
    await ben.clear_session()
    assert texts(await anna.get_items()) == ["My boat Aurora lies at berth 12.", "Noted."]


@pytest.mark.anyio
async def test_a_server_killed_during_a_run_stops_neither_it_nor_the_next(
    stack: Stack, memory: AgentMemory, client: Client
) -> None:
    session = MemorybaseSession("anna", memory)
    await ask(Scripted("Noted."), "Berth 12.", session)

    def killed() -> str:
        stack.kill()
        return "Still here."

    model = Scripted(killed, "Here too.")
    assert await ask(model, "And now?", session, recalls=True) == "Still here."
    assert texts(model.inputs[0]) == ["Berth 12.", "Noted.", "And now?"]
    assert await ask(model, "And then?", session, recalls=True) == "Here too."
    assert texts(model.inputs[1]) == ["And then?"]
    stack.restart()
    deliver(memory)
    kept = [item_of(message) for message in client.list_messages(flow_id=memory.flow_id, session_id="anna")]
    assert texts(kept) == ["Berth 12.", "Noted.", "And now?", "Still here.", "And then?", "Here too."]


@pytest.mark.anyio
async def test_a_deletion_that_cannot_be_done_raises(stack: Stack, memory: AgentMemory) -> None:
    session = MemorybaseSession("anna", memory)
    await session.add_items(ITEMS[:1])
    await session.get_items()
    stack.kill()
    with pytest.raises(errors.ConnectionFailed):
        await session.pop_item()
    with pytest.raises(errors.ConnectionFailed):
        await session.clear_session()
    await session.add_items(ITEMS[:1])
    stack.freeze()
    with pytest.raises(errors.ConnectionFailed, match="captures wait"):  # and would come back after the deletion
        await session.clear_session()


@pytest.mark.anyio
async def test_a_server_that_does_not_answer_holds_no_run_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        stack.freeze()
        begin = time.monotonic()
        for _ in range(10):
            assert (
                await ask(Scripted("Yes."), "Are you there?", MemorybaseSession("anna", memory), recalls=True) == "Yes."
            )
        assert time.monotonic() - begin < PATIENCE_SECONDS


@pytest.mark.anyio
async def test_a_turn_whose_answers_are_lost_is_stored_once(stack: Stack, memory: AgentMemory, client: Client) -> None:
    session = MemorybaseSession("anna", memory)
    await ask(Scripted("Noted."), "Berth 12.", session)
    deliver(memory)
    stack.mute()
    await ask(Scripted("Yes."), "Sure?", session)
    with Client(stack.direct_url, stack.key) as server:
        until(lambda: server.list_messages(flow_id=memory.flow_id).page().total >= 3)
    stack.restart()
    deliver(memory)
    kept = [item_of(message) for message in client.list_messages(flow_id=memory.flow_id, session_id="anna")]
    assert texts(kept) == ["Berth 12.", "Noted.", "Sure?", "Yes."]


def test_one_memory_serves_several_event_loops(memory: AgentMemory) -> None:
    model = Scripted("One.", "Two.", "Three.")
    for question in ("First?", "Second?"):
        asyncio.run(ask(model, question, MemorybaseSession("anna", memory), recalls=True))
    agent = Agent(name="harbour master", model=model)
    Runner.run_sync(agent, "Third?", session=MemorybaseSession("anna", memory))
    assert texts(model.inputs[-1]) == ["First?", "One.", "Second?", "Two.", "Third?"]


def test_the_guide_and_the_example_recall_in_another_session(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="openai_agents", model=Scripted())
    first, second, other = run_example("openai_agents_session.py", stack, tmp_path).splitlines()
    assert first == "first session: 1 items, []"
    assert second == "first session: 3 items, []"
    assert "My boat Aurora lies at berth 12." in other
