"""The callback in LiteLLM itself, against a fake model and a real stack."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import litellm
import pytest
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.litellm import MemorybaseLogger
from models import FakeModel, serving
from stack import Stack, turns

BOAT = "My boat lies at berth 12."
NOTED = "Noted: berth 12."
SYSTEM = {"role": "system", "content": "You are a harbour master."}
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with serving(FakeModel(NOTED, "At berth 12.")) as opened:
        yield opened


@pytest.fixture
def logger(memory: AgentMemory) -> Iterator[MemorybaseLogger]:
    made = MemorybaseLogger(memory)
    litellm.callbacks = [made]
    yield made
    litellm.logging_callback_manager._reset_all_callbacks()  # LiteLLM keeps callbacks in lists of its own too


def ask(model: FakeModel, *messages: Any, session: str | None = "anna", **options: Any) -> Any:
    metadata = {} if session is None else {"session_id": session}
    return litellm.completion(
        model="openai/fake", api_base=model.url, api_key="k", messages=list(messages), metadata=metadata, **options
    )


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def wait_until(condition: Callable[[], bool]) -> None:
    """LiteLLM calls back in a thread, after the call has returned."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def stored(memory: AgentMemory) -> list[str]:
    found = memory.messages("anna")
    return [str(message.content) for message in found or []]


def test_a_call_is_captured_and_its_system_prompt_is_not(
    logger: MemorybaseLogger, model: FakeModel, memory: AgentMemory
) -> None:
    ask(model, SYSTEM, user(BOAT))
    wait_until(lambda: stored(memory) == [BOAT, NOTED])
    assert logger.skipped == 0


@pytest.mark.usefixtures("logger")
def test_a_run_shows_what_its_prompt_had(model: FakeModel, memory: AgentMemory, client: Client) -> None:
    memory.capture("first", [{"role": "user", "content": BOAT}])
    metadata = {"session_id": "anna", "recalled": memory.recall("Where is my boat?")}
    litellm.completion(
        model="openai/fake", api_base=model.url, api_key="k", messages=[user("Where is my boat?")], metadata=metadata
    )
    wait_until(lambda: len(stored(memory)) == 2)
    assert turns(memory, client, "anna") == [(["Where is my boat?", NOTED], {"agent": BOAT})]


@pytest.fixture
def recalling(memory: AgentMemory) -> Iterator[MemorybaseLogger]:
    """Another session has said where the boat lies."""
    memory.capture("first", [{"role": "user", "content": BOAT}])
    made = MemorybaseLogger(memory, top_k=5)
    litellm.callbacks = [made]
    yield made
    litellm.logging_callback_manager._reset_all_callbacks()


@pytest.mark.usefixtures("recalling")
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_loop_with_tools_recalls_once_and_is_one_run(
    is_stream: bool, memory: AgentMemory, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = []

    def recall(query: str, **options: Any) -> Any:
        queries.append(query)
        return AgentMemory.recall(memory, query, **options)

    monkeypatch.setattr(memory, "recall", recall)
    said: list[Any] = [user("Where is my boat?")]

    async def loop() -> None:
        metadata = {"session_id": "anna"}
        while said[-1]["role"] != "assistant":
            answer = await litellm.acompletion(
                model="openai/fake",
                api_base=model.url,
                api_key="k",
                messages=said,
                metadata=metadata,
                stream=is_stream,
            )
            if is_stream:
                answer = litellm.stream_chunk_builder([chunk async for chunk in answer], messages=said)
            message = answer.choices[0].message
            said.append(message.model_dump(exclude_none=True))
            said.extend(
                {"role": "tool", "tool_call_id": call.id, "content": "low"} for call in message.tool_calls or ()
            )
        await asyncio.to_thread(wait_until, lambda: len(stored(memory)) == 4)

    with serving(FakeModel(("tide", "{}"), NOTED)) as model:
        asyncio.run(loop())
    question = [str(body["messages"][0]["content"]) for body in model.bodies]
    assert queries == ["Where is my boat?"]
    assert [text.count(BOAT) for text in question] == [1, 1]
    assert question[0] == question[1]
    assert said[0] == user("Where is my boat?")
    ((texts, given),) = turns(memory, client, "anna")
    assert [text.strip() for text in texts] == ["Where is my boat?", "", "low", NOTED]
    assert given["agent"].endswith(f"user: {BOAT}")


def test_a_sync_call_recalls_by_the_logger(
    recalling: MemorybaseLogger, model: FakeModel, memory: AgentMemory, client: Client
) -> None:
    ask(model, *recalling.with_recalled([SYSTEM, user("Where is my boat?")], "anna"))
    wait_until(lambda: len(stored(memory)) == 2)
    assert BOAT in str(model.bodies[0])
    ((texts, given),) = turns(memory, client, "anna")
    assert texts == ["Where is my boat?", NOTED]
    assert given["agent"].endswith(f"user: {BOAT}")


@pytest.mark.usefixtures("recalling")
def test_without_memorybase_the_model_is_asked_as_it_is(stack: Stack, model: FakeModel, memory: AgentMemory) -> None:
    outbox = memory.client.outbox
    assert outbox is not None
    assert outbox.flush(30) == 0
    stack.kill()

    async def call() -> None:
        await litellm.acompletion(
            model="openai/fake",
            api_base=model.url,
            api_key="k",
            messages=[user("Where is my boat?")],
            metadata={"session_id": "anna"},
        )
        await asyncio.to_thread(wait_until, lambda: outbox.waiting == 1)

    asyncio.run(call())
    assert model.bodies[0]["messages"] == [user("Where is my boat?")]


@pytest.mark.usefixtures("logger")
def test_a_stream_is_captured_once(model: FakeModel, memory: AgentMemory) -> None:
    assert list(ask(model, user(BOAT), stream=True))
    wait_until(lambda: [text.strip() for text in stored(memory)] == [BOAT, NOTED])


@pytest.mark.usefixtures("logger")
def test_an_async_call_is_captured(model: FakeModel, memory: AgentMemory) -> None:
    async def call() -> None:
        await litellm.acompletion(
            model="openai/fake",
            api_base=model.url,
            api_key="k",
            messages=[user(BOAT)],
            metadata={"session_id": "anna"},
        )
        # LiteLLM calls back in a task of this loop.
        await asyncio.to_thread(wait_until, lambda: stored(memory) == [BOAT, NOTED])

    asyncio.run(call())


@pytest.mark.usefixtures("logger")
def test_a_conversation_that_each_prompt_repeats_is_stored_once(model: FakeModel, memory: AgentMemory) -> None:
    first = ask(model, user(BOAT)).choices[0].message
    wait_until(lambda: len(stored(memory)) == 2)
    ask(model, user(BOAT), first.model_dump(), user("Where is it?"))
    wait_until(lambda: len(stored(memory)) >= 4)
    assert stored(memory) == [BOAT, NOTED, "Where is it?", "At berth 12."]


def test_a_call_without_a_session_is_counted_and_not_captured(
    logger: MemorybaseLogger, model: FakeModel, memory: AgentMemory
) -> None:
    ask(model, user(BOAT), session=None)
    wait_until(lambda: logger.skipped == 1)
    assert memory.client.outbox is not None
    assert memory.client.outbox.waiting == 0


@pytest.mark.usefixtures("logger")
def test_without_memorybase_the_model_is_asked_and_the_capture_waits(
    stack: Stack, model: FakeModel, memory: AgentMemory, client: Client
) -> None:
    ask(model, user(BOAT))
    wait_until(lambda: len(stored(memory)) == 2)
    outbox = memory.client.outbox
    assert outbox is not None
    stack.kill()
    assert ask(model, user("Where is it?")).choices[0].message.content == "At berth 12."
    wait_until(lambda: outbox.waiting == 1)
    stack.restart()
    assert outbox.flush(30) == 0
    texts = [message.content for message in client.list_messages(flow_id=memory.flow_id, session_id="anna")]
    assert texts == [BOAT, NOTED, "Where is it?", "At berth 12."]


@pytest.mark.usefixtures("logger")
def test_a_memory_that_does_not_answer_holds_no_call_up(stack: Stack, model: FakeModel) -> None:
    stack.freeze()
    begin = time.monotonic()
    for number in range(10):
        assert ask(model, user(f"Question {number}")).choices
    assert time.monotonic() - begin < PATIENCE_SECONDS
