"""A memory store for Strands on a real stack, used by the agents' own MemoryManager."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guides import run_example, run_guide, set_environment
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.strands import MemorybaseStore
from shown import reply
from stack import Stack, deliver, turns, until
from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end


class Scripted(Model):
    """Gives the answers in order, then those of who has read what it was asked, which it keeps. A callable is called
    first, a dict calls a tool."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[list[Any]] = []

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.asked.append(list(messages))
        read = [block["text"] for message in messages for block in message["content"] if "text" in block]
        answer = self.answers.pop(0) if self.answers else reply("\n".join(read))
        if callable(answer):
            answer = answer()
        is_call = isinstance(answer, dict)
        tool = {"toolUse": {"toolUseId": "t1", "name": answer["name"]}} if is_call else {}
        delta = {"toolUse": {"input": answer["input"]}} if is_call else {"text": answer}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": tool}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if is_call else "end_turn"}}

    def seen(self) -> str:
        """What the latest call was given."""
        return str(self.asked[-1])


def agent_of(model: Scripted, store: MemorybaseStore, **options: Any) -> Agent:
    return Agent(model=model, memory_manager=MemoryManager(stores=[store], **options), callback_handler=None)


def stored_texts(client: Client, flow: str) -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow)]


def test_a_second_session_recalls_what_the_first_said(memory: AgentMemory) -> None:
    agent_of(Scripted("Noted."), MemorybaseStore(memory))("My boat Aurora lies at berth 12.")
    model = Scripted("Berth 12.", "You asked where it lies.")
    agent = agent_of(model, MemorybaseStore(memory))
    agent("Where does Aurora lie?")
    assert "My boat Aurora lies at berth 12." in model.seen()
    agent("What did I ask about Aurora?")
    assert model.seen().count("Where does Aurora lie?") == 1  # its own: the model reads it as history


def test_a_turn_is_one_run_that_shows_what_its_agent_was_given(memory: AgentMemory, client: Client) -> None:
    memory.capture("first", [{"role": "user", "content": f"Aurora lies at berth {number}."} for number in (11, 12)])
    call = {"name": "search_memory", "input": '{"query": "Which boat is at berth 12?", "max_search_results": 1}'}
    agent = agent_of(Scripted(call, "Berth 12.", "Paris."), MemorybaseStore(memory, session_id="second"))
    agent("Where does Aurora lie?")
    agent("What is the capital of France?")
    (said, shown), (_, nothing) = turns(memory, client, "second")
    assert (said[0], said[-1]) == ("Where does Aurora lie?", "Berth 12.")
    assert sorted(shown["agent"].splitlines()) == ["Aurora lies at berth 11.", "Aurora lies at berth 12."]
    assert nothing == {"agent": ""}


def test_each_turn_is_stored_as_soon_as_it_ends(memory: AgentMemory, client: Client) -> None:
    agent = agent_of(Scripted("One.", "Two."), MemorybaseStore(memory, session_id="anna"))
    for question in ("First?", "Second?"):
        agent(question)
        deliver(memory)
        assert stored_texts(client, memory.flow_id)[-2] == question
    assert stored_texts(client, memory.flow_id) == ["First?", "One.", "Second?", "Two."]
    assert {message.session_id for message in client.list_messages(flow_id=memory.flow_id)} == {"anna"}


def test_two_agents_with_one_store_lose_nothing(memory: AgentMemory, client: Client) -> None:
    store = MemorybaseStore(memory)
    for _ in range(2):
        agent_of(Scripted("Hello."), store)("Hi.")
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Hi.", "Hello.", "Hi.", "Hello."]


def test_what_the_agent_notes_is_found(memory: AgentMemory) -> None:
    call = {"name": "add_memory", "input": '{"entries": ["Aurora is blue \\u0000."]}'}
    agent_of(Scripted(call, "Noted."), MemorybaseStore(memory), add_tool_config=True)("Remember that Aurora is blue.")
    found = asyncio.run(MemorybaseStore(memory).search("Which colour has Aurora?"))
    assert any(entry.content.startswith("Aurora is blue") for entry in found)
    assert found[0].metadata is not None
    assert found[0].metadata["score"] > 0


def test_the_tool_finds_and_is_bounded(memory: AgentMemory) -> None:
    memory.capture("first", [{"role": "user", "content": f"Berth {number} is free."} for number in range(20)])
    assert memory.messages("first") is not None
    call = {"name": "search_memory", "input": '{"query": "Which berths are free?", "max_search_results": 3}'}
    model = Scripted(call, "These.")
    agent_of(model, MemorybaseStore(memory), injection=False)("Which berths are free?")
    assert model.seen().count("is free.") == 3
    assert len(asyncio.run(MemorybaseStore(memory, max_search_results=2).search("free berths"))) == 2


def test_nothing_of_another_end_user_is_recalled(memory: AgentMemory) -> None:
    agent_of(Scripted("Noted."), MemorybaseStore(memory, end_user_id="anna"))("My boat Aurora lies at berth 12.")
    model = Scripted("I do not know.")
    agent_of(model, MemorybaseStore(memory, end_user_id="ben"))("Where does Aurora lie?")
    assert "berth 12" not in model.seen()


def test_the_models_tool_says_that_memory_is_unavailable(stack: Stack, memory: AgentMemory) -> None:
    model = Scripted({"name": "search_memory", "input": '{"query": "Where does Aurora lie?"}'}, "I cannot look it up.")
    stack.kill()
    agent_of(model, MemorybaseStore(memory), injection=False)("Where does Aurora lie?")
    assert "Memory is unavailable" in model.seen()


def test_a_server_killed_during_a_run_stops_neither_it_nor_the_next(
    stack: Stack, memory: AgentMemory, client: Client
) -> None:
    def killed() -> str:
        stack.kill()
        return "Still here."

    agent = agent_of(Scripted("Noted.", killed, "Here too."), MemorybaseStore(memory))
    answers = [str(agent(question)).strip() for question in ("Berth 12.", "And now?", "And then?")]
    assert answers == ["Noted.", "Still here.", "Here too."]
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == [
        "Berth 12.",
        "Noted.",
        "And now?",
        "Still here.",
        "And then?",
        "Here too.",
    ]


def test_a_server_that_does_not_answer_holds_no_run_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        agent = agent_of(Scripted(*["Yes."] * 10), MemorybaseStore(memory))
        stack.freeze()
        begin = time.monotonic()
        for _ in range(10):
            assert str(agent("Are you there?")).strip() == "Yes."
        assert time.monotonic() - begin < PATIENCE_SECONDS


def test_a_turn_whose_answer_is_lost_is_stored_once(stack: Stack, memory: AgentMemory, client: Client) -> None:
    agent = agent_of(Scripted("Noted.", "Yes."), MemorybaseStore(memory))
    agent("Berth 12.")
    deliver(memory)
    stack.mute()
    agent("Sure?")
    with Client(stack.direct_url, stack.key) as server:
        until(lambda: server.list_messages(flow_id=memory.flow_id).page().total >= 4)
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Berth 12.", "Noted.", "Sure?", "Yes."]


def test_an_agent_in_an_event_loop_is_captured_after_each_turn_without_a_flush(memory: AgentMemory) -> None:
    async def main() -> None:
        agent = agent_of(Scripted("Noted."), MemorybaseStore(memory, session_id="anna"))
        await agent.invoke_async("Berth 12.")
        await asyncio.to_thread(until, lambda: len(memory.messages("anna") or ()) == 2)

    asyncio.run(main())


def test_the_guide_and_the_example_recall_in_another_session(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="strands", model=Scripted())
    first, second = run_example("strands_agent.py", stack, tmp_path).splitlines()
    assert first == "first session: no memories"
    assert "My boat Aurora lies at berth 12." in second
