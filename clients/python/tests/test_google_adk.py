"""A memory service for the ADK on a real stack, used by the ADK's own Runner and its own tools."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory, preload_memory
from google.genai import types
from guides import run_example, run_guide, set_environment
from memorybase_client import AgentMemory, Client, errors
from memorybase_client.integrations.google_adk import MemorybaseMemoryService, capture_session
from shown import reply
from stack import Stack, deliver, turns, until

PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end
APP = "harbour"


class Scripted(BaseLlm):
    """Gives the answers in order, then those of who has read what it was asked, which it keeps. A callable is called
    first."""

    model: str = "scripted"
    answers: list[Any]
    asked: list[LlmRequest]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        self.asked.append(llm_request.model_copy(deep=True))
        read = [part.text or "" for content in llm_request.contents for part in content.parts or []]
        read.insert(0, str(llm_request.config.system_instruction))
        answer = self.answers.pop(0) if self.answers else reply("\n".join(read))
        if callable(answer):
            answer = answer()
        part = types.Part(text=answer) if isinstance(answer, str) else types.Part(function_call=answer)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Host:
    """A Runner with a memory service."""

    def __init__(self, memory: AgentMemory, *answers: Any, tools: list[Any] | None = None) -> None:
        self.model = Scripted(answers=list(answers), asked=[])
        self.service = MemorybaseMemoryService(memory)
        self._sessions = InMemorySessionService()
        agent = LlmAgent(
            name="master",
            model=self.model,
            tools=[preload_memory] if tools is None else tools,
            after_agent_callback=capture_session,
        )
        self._runner = Runner(app_name=APP, agent=agent, session_service=self._sessions, memory_service=self.service)

    async def ask(self, question: str, session_id: str = "s1", user_id: str = "anna") -> str:
        names = {"app_name": APP, "user_id": user_id, "session_id": session_id}
        if await self._sessions.get_session(**names) is None:
            await self._sessions.create_session(**names)
        content = types.Content(role="user", parts=[types.Part(text=question)])
        said = ""
        async for event in self._runner.run_async(user_id=user_id, session_id=session_id, new_message=content):
            if event.content and event.content.parts and event.content.parts[0].text:
                said = event.content.parts[0].text
        return said

    def seen(self) -> str:
        """What the latest call of the model was given."""
        return str(self.model.asked[-1].contents)


def event(text: str, event_id: str, author: str = "user", **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
    return Event(id=event_id, author=author, content=content, invocation_id="i1", **fields)


def session(*events: Event, session_id: str = "s1", app_name: str = APP, user_id: str = "anna") -> Session:
    return Session(id=session_id, app_name=app_name, user_id=user_id, events=list(events))


def texts(found: Any) -> list[str]:
    return [entry.content.parts[0].text for entry in found.memories]


def stored_texts(client: Client, flow: str) -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow)]


@pytest.mark.anyio
async def test_a_second_session_recalls_what_the_first_said(memory: AgentMemory) -> None:
    host = Host(memory, "Noted.", "Berth 12.")
    assert await host.ask("My boat Aurora lies at berth 12.", "s1") == "Noted."
    assert await host.ask("Where does Aurora lie?", "s2") == "Berth 12."
    assert "My boat Aurora lies at berth 12." in host.seen()


@pytest.mark.anyio
async def test_a_turn_shows_what_its_agent_was_given(memory: AgentMemory, client: Client) -> None:
    load = types.FunctionCall(name="load_memory", args={"query": "Which boat is at berth 12?"})
    host = Host(memory, "Noted.", "Berth 12.", load, "Aurora.", tools=[preload_memory, load_memory])
    await host.ask("My boat Aurora lies at berth 12.", "first")
    for question in ("Where does  Aurora lie?", "Tell me."):
        await host.ask(question, "second")
    (said, shown), (_, loaded) = turns(memory, client, f"{APP}/anna/second")
    assert said == ["Where does  Aurora lie?", "Berth 12."]
    assert "My boat Aurora lies at berth 12." in shown["master"].splitlines()
    assert "My boat Aurora lies at berth 12." in loaded["master"].splitlines()


@pytest.mark.anyio
async def test_each_turn_is_captured_once_although_the_whole_session_is_added(
    memory: AgentMemory, client: Client
) -> None:
    host = Host(memory, "One.", "Two.", "Three.", tools=[])
    for question in ("First?", "Second?", "Third?"):
        await host.ask(question)
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]
    runs = client.list_runs(memory.flow_id).page().total
    assert runs == 3


@pytest.mark.anyio
async def test_another_process_that_adds_the_session_again_stores_it_once(memory: AgentMemory, client: Client) -> None:
    for _ in range(2):
        service = MemorybaseMemoryService(memory)
        await service.add_session_to_memory(session(event("First?", "e1"), event("One.", "e2", "master")))
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["First?", "One."]


@pytest.mark.anyio
async def test_equal_ids_of_apps_users_and_sessions_do_not_conflict(memory: AgentMemory, client: Client) -> None:
    service = MemorybaseMemoryService(memory)
    scopes = [
        {},
        {"app_name": "other"},
        {"user_id": "ben"},
        {"session_id": "s2"},
        {"user_id": "u" * 300},
        {"user_id": "a/b", "session_id": "c"},
        {"user_id": "a", "session_id": "b/c"},
    ]
    for fields in scopes:
        await service.add_session_to_memory(session(event(f"Said by {fields}", "e1"), **fields))
    deliver(memory)
    assert len(stored_texts(client, memory.flow_id)) == len(scopes)


@pytest.mark.anyio
async def test_a_search_finds_only_what_this_user_said_in_this_app(memory: AgentMemory) -> None:
    service = MemorybaseMemoryService(memory)
    await service.add_session_to_memory(session(event("Aurora lies at berth 12.", "e1")))
    await service.add_session_to_memory(session(event("Aurora lies at berth 13.", "e1"), user_id="ben"))
    await service.add_session_to_memory(session(event("Aurora lies at berth 14.", "e1"), app_name="other"))
    deliver(memory)
    found = await service.search_memory(app_name=APP, user_id="anna", query="Where does Aurora lie?")
    assert texts(found) == ["Aurora lies at berth 12."]
    assert found.memories[0].author == "user"
    assert (await service.search_memory(app_name=APP, user_id="eve", query="Where does Aurora lie?")).memories == []


@pytest.mark.anyio
async def test_events_without_text_and_thoughts_are_left_out(memory: AgentMemory, client: Client) -> None:
    thought = Event(
        id="e3",
        author="master",
        invocation_id="i1",
        content=types.Content(role="model", parts=[types.Part(text="Hm.", thought=True), types.Part(text="Yes \0.")]),
    )
    call = types.Part(function_call=types.FunctionCall(name="find", args={}))
    events = [
        Event(id="e1", author="master", invocation_id="i1"),
        Event(id="e2", author="master", invocation_id="i1", content=types.Content(role="model", parts=[call])),
        thought,
        event("half an ans", "e4", "master", partial=True),
    ]
    await MemorybaseMemoryService(memory).add_session_to_memory(session(*events))
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Yes \N{REPLACEMENT CHARACTER}."]


@pytest.mark.anyio
async def test_added_events_and_memories_are_found_and_can_be_deleted(memory: AgentMemory) -> None:
    service = MemorybaseMemoryService(memory)
    scope = {"app_name": APP, "user_id": "anna"}
    await service.add_events_to_memory(
        **scope, events=[event("Aurora needs fuel.", "e1")], custom_metadata={"topic": "fuel"}
    )
    content = types.Content(role="user", parts=[types.Part(text="Aurora is blue.")])
    await service.add_memory(**scope, memories=[MemoryEntry(id="colour", content=content, author="user")])
    deliver(memory)
    found = await service.search_memory(**scope, query="Aurora")
    assert sorted(texts(found)) == ["Aurora is blue.", "Aurora needs fuel."]
    ids = {entry.content.parts[0].text: entry.id for entry in found.memories}
    assert ids["Aurora is blue."] == "colour"
    assert [entry.custom_metadata for entry in found.memories if entry.id != "colour"] == [{"topic": "fuel"}]

    for other in ({"app_name": "other", "user_id": "anna"}, {"app_name": APP, "user_id": "ben"}):
        for memory_id in ids.values():
            await service.delete_memory(**other, memory_id=memory_id)
    assert len((await service.search_memory(**scope, query="Aurora")).memories) == 2
    await service.delete_memory(**scope, memory_id="colour")
    await service.delete_memory(**scope, memory_id="colour")  # is not there any more
    assert texts(await service.search_memory(**scope, query="Aurora")) == ["Aurora needs fuel."]
    await service.delete_memory(**scope, memory_id=ids["Aurora needs fuel."])
    await service.add_events_to_memory(**scope, events=[event("Aurora needs fuel.", "e1")])
    deliver(memory)
    assert (await service.search_memory(**scope, query="Aurora")).memories == []


@pytest.mark.anyio
async def test_all_memories_of_a_user_in_an_app_can_be_deleted(memory: AgentMemory, client: Client) -> None:
    service = MemorybaseMemoryService(memory)
    await service.delete_memories(app_name=APP, user_id="anna")  # of a flow that does not exist yet
    for fields in ({}, {"session_id": "s2"}, {"user_id": "ben"}, {"app_name": "other"}):
        await service.add_session_to_memory(session(event(f"Kept: {fields}", "e1"), **fields))
    await service.delete_memories(app_name=APP, user_id="anna")
    assert sorted(stored_texts(client, memory.flow_id)) == ["Kept: {'app_name': 'other'}", "Kept: {'user_id': 'ben'}"]


@pytest.mark.anyio
async def test_a_models_tool_says_that_memory_is_unavailable(stack: Stack, memory: AgentMemory) -> None:
    call = types.FunctionCall(name="load_memory", args={"query": "Where does Aurora lie?"})
    host = Host(memory, call, "I cannot look it up.", tools=[load_memory])
    stack.kill()
    assert await host.ask("Where does Aurora lie?") == "I cannot look it up."
    answer = host.model.asked[-1].contents[-1].parts[0].function_response.response
    assert "Memory is unavailable" in str(answer)


@pytest.mark.anyio
async def test_a_server_killed_during_a_run_stops_neither_it_nor_the_next(
    stack: Stack, memory: AgentMemory, client: Client
) -> None:
    def killed() -> str:
        stack.kill()
        return "Still here."

    host = Host(memory, "Noted.", killed, "Here too.")
    await host.ask("Berth 12.")
    assert await host.ask("And now?") == "Still here."
    assert await host.ask("And then?") == "Here too."
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


@pytest.mark.anyio
async def test_a_deletion_that_cannot_be_done_raises(stack: Stack, memory: AgentMemory) -> None:
    service = MemorybaseMemoryService(memory)
    await service.add_session_to_memory(session(event("Berth 12.", "e1")))
    deliver(memory)
    stack.kill()
    with pytest.raises(errors.ConnectionFailed):
        await service.delete_memory(app_name=APP, user_id="anna", memory_id="e1")
    with pytest.raises(errors.ConnectionFailed):
        await service.delete_memories(app_name=APP, user_id="anna")
    await service.add_session_to_memory(session(event("Berth 13.", "e2")))
    with pytest.raises(errors.ConnectionFailed, match="captures wait"):  # and would come back after the deletion
        await service.delete_memories(app_name=APP, user_id="anna")


@pytest.mark.anyio
async def test_a_server_that_does_not_answer_holds_no_run_up(stack: Stack, flow: str, tmp_path: Path) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        host = Host(memory, *["Yes."] * 10)
        stack.freeze()
        begin = time.monotonic()
        for _ in range(10):
            assert await host.ask("Are you there?") == "Yes."
        assert time.monotonic() - begin < PATIENCE_SECONDS


@pytest.mark.anyio
async def test_a_turn_whose_answer_is_lost_is_stored_once(stack: Stack, memory: AgentMemory, client: Client) -> None:
    host = Host(memory, "Noted.", "Yes.", tools=[])
    await host.ask("Berth 12.")
    deliver(memory)
    stack.mute()
    await host.ask("Sure?")
    with Client(stack.direct_url, stack.key) as server:
        until(lambda: server.list_messages(flow_id=memory.flow_id).page().total >= 4)
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Berth 12.", "Noted.", "Sure?", "Yes."]


def test_the_guide_and_the_example_recall_in_another_session(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="google_adk", model=Scripted(answers=[], asked=[]))
    first, second = run_example("google_adk_agent.py", stack, tmp_path).splitlines()
    assert first == "first session: no memories"
    assert "My boat Aurora lies at berth 12." in second
