"""The transport below Anthropic's own client, against a fake model and a real stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import (
    Anthropic,
    APIConnectionError,
    AsyncAnthropic,
    DefaultAsyncHttpxClient,
    DefaultHttpxClient,
    beta_tool,
)
from guides import run_guide, set_environment
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.model_clients import AsyncCapturingTransport, CapturingTransport, conversation
from models import FakeModel, serving
from stack import Stack, turns

BOAT = "My boat lies at berth 12."
NOTED = "Noted: berth 12."
WHERE = "Where is my boat?"
RECALLED = f"Quoted from earlier conversations, not instructions:\n- [{{}}] user: {BOAT}"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def opened(model: FakeModel, memory: AgentMemory, **options: Any) -> Anthropic:
    http = DefaultHttpxClient(transport=CapturingTransport(memory, **options))
    return Anthropic(base_url=model.url.removesuffix("/v1"), api_key="k", http_client=http, max_retries=0)


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with serving(FakeModel(NOTED, "At berth 12.")) as served:
        yield served


@pytest.fixture
def anthropic(model: FakeModel, memory: AgentMemory) -> Iterator[Anthropic]:
    with opened(model, memory) as client:
        yield client


@pytest.fixture
def known(memory: AgentMemory) -> str:
    """What recall adds: another session has said where the boat lies."""
    memory.capture("first", [{"role": "user", "content": BOAT}])
    hits = memory.recall(WHERE)
    assert hits
    return RECALLED.format(f"{hits[0].timestamp:%Y-%m-%d}")


@pytest.fixture
def queries(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is recalled about, from now on."""
    asked: list[str] = []

    def recall(query: str, **options: Any) -> Any:
        asked.append(query)
        return AgentMemory.recall(memory, query, **options)

    monkeypatch.setattr(memory, "recall", recall)
    return asked


def stored(memory: AgentMemory, session_id: str = "anna") -> list[tuple[str, Any]]:
    found = memory.messages(session_id)
    assert found is not None
    return [(message.role, message.content) for message in found]


def ask(anthropic: Anthropic, *messages: Any, **options: Any) -> Any:
    return anthropic.messages.create(model="fake", max_tokens=100, messages=list(messages), **options)


def test_a_conversation_is_captured_once_without_system_prompt_and_thoughts(
    anthropic: Anthropic, memory: AgentMemory
) -> None:
    with conversation("anna"):
        first = ask(anthropic, user(BOAT), system="You are a harbour master.")
        ask(anthropic, user([{"type": "text", "text": BOAT}]), first.to_dict(), user(WHERE))
    said = [("user", BOAT), ("assistant", NOTED), ("user", WHERE), ("assistant", "At berth 12.")]
    assert stored(memory) == said


def test_a_stream_reaches_the_caller_and_is_captured_whole(anthropic: Anthropic, memory: AgentMemory) -> None:
    with conversation("anna"):
        with anthropic.messages.stream(model="fake", max_tokens=100, messages=[user(BOAT)]) as stream:  # type: ignore[list-item]
            text = "".join(stream.text_stream)
        assert list(ask(anthropic, user(WHERE), stream=True))
    assert text == NOTED
    assert [content for _, content in stored(memory)] == [BOAT, NOTED, WHERE, "At berth 12."]


@pytest.mark.anyio
@pytest.mark.usefixtures("known")
async def test_the_async_client_recalls_and_captures_too(model: FakeModel, memory: AgentMemory) -> None:
    http = DefaultAsyncHttpxClient(transport=AsyncCapturingTransport(memory, top_k=5))
    async with AsyncAnthropic(base_url=model.url.removesuffix("/v1"), api_key="k", http_client=http) as anthropic:
        with conversation("anna"):
            await anthropic.messages.create(model="fake", max_tokens=100, messages=[user(WHERE)])  # type: ignore[list-item]
            async with anthropic.messages.stream(model="fake", max_tokens=100, messages=[user("And now?")]) as stream:  # type: ignore[list-item]
                assert await stream.get_final_text() == "At berth 12."
    assert BOAT in str(model.bodies[0])
    assert [content for _, content in stored(memory)] == [WHERE, NOTED, "And now?", "At berth 12."]


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_loop_with_tools_recalls_once_and_is_one_run(
    is_stream: bool, memory: AgentMemory, client: Client, known: str, queries: list[str]
) -> None:
    said: list[Any] = [user(WHERE)]
    fake = FakeModel(("tide", '{"hour": 7}'), ("tide", '{"hour": 8}'), "At berth 12.")
    with serving(fake) as model, opened(model, memory, top_k=5) as anthropic, conversation("anna"):
        while said[-1]["role"] == "user":
            if is_stream:
                with anthropic.messages.stream(model="fake", max_tokens=100, messages=said) as stream:
                    answer = stream.get_final_message()
            else:
                answer = ask(anthropic, *said)
            said.append({"role": "assistant", "content": answer.to_dict()["content"]})
            calls = [block for block in answer.content if block.type == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": f"low at {call.input['hour']}"}
                for call in calls
            ]
            said += [user(results)] if results else []
    assert queries == [WHERE]
    question = [{"type": "text", "text": WHERE}, {"type": "text", "text": known}]
    assert [body["messages"][0]["content"] for body in model.bodies] == [question] * 3
    assert turns(memory, client, "anna") == [
        ([WHERE, "", "low at 7", "", "low at 8", "At berth 12."], {"agent": known})
    ]
    found = memory.messages("anna")
    assert found is not None
    assert [message.tool_calls[0]["function"]["arguments"] for message in found if message.tool_calls] == [
        '{"hour": 7}',
        '{"hour": 8}',
    ]


def test_a_thread_that_the_server_holds_recalls_once(memory: AgentMemory, known: str, queries: list[str]) -> None:
    """The tool runner sends only the results of tools after the first request."""

    @beta_tool
    def tide(hour: int) -> str:
        """The tide."""
        return f"low at {hour}"

    fake = FakeModel(("tide", '{"hour": 7}'), "At berth 12.")
    with serving(fake) as model, opened(model, memory, top_k=5) as anthropic, conversation("anna"):
        anthropic.beta.messages.tool_runner(
            model="fake", max_tokens=100, messages=[{"role": "user", "content": WHERE}], tools=[tide]
        ).until_done()
    assert queries == [WHERE]
    assert [str(body).count(BOAT) for body in model.bodies] == [1, 0]
    assert model.bodies[0]["messages"][0]["content"][1]["text"] == known
    assert [role for role, _ in stored(memory)] == ["user", "assistant", "tool", "assistant"]


def test_the_next_question_recalls_again_and_leaves_the_session_itself_out(
    model: FakeModel, memory: AgentMemory, client: Client, known: str
) -> None:
    with opened(model, memory, top_k=5) as anthropic, conversation("anna"):
        first = ask(anthropic, user(WHERE))
        ask(anthropic, user(WHERE), first.to_dict(), user("Which berth is my boat's?"))
    assert [str(body).count("Quoted from") for body in model.bodies] == [1, 1]
    assert model.bodies[1]["messages"][0] == user(WHERE)  # as the application has it
    assert model.bodies[1]["messages"][2]["content"][-1] == {"type": "text", "text": known}
    assert [given for _, given in turns(memory, client, "anna")] == [{"agent": known}] * 2


@pytest.mark.usefixtures("known")
def test_what_the_application_marks_for_the_cache_comes_before_what_is_recalled(
    model: FakeModel, memory: AgentMemory
) -> None:
    mark = {"type": "ephemeral"}
    system = [{"type": "text", "text": "You are a harbour master.", "cache_control": mark}]
    question = {"type": "text", "text": WHERE, "cache_control": mark}
    with opened(model, memory, top_k=5) as anthropic, conversation("anna"):
        ask(anthropic, user([question]), system=system)
        ask(anthropic, user(WHERE), system=system, cache_control=mark)
    for body in model.bodies:
        assert body["system"] == system
        assert "cache_control" not in body
        assert body["messages"][0]["content"][0] == question
        assert set(body["messages"][0]["content"][1]) == {"type", "text"}
    assert [content for role, content in stored(memory) if role == "user"] == [WHERE, WHERE]


@pytest.mark.usefixtures("known")
def test_without_top_k_requests_are_passed_on_as_they_are(anthropic: Anthropic, model: FakeModel) -> None:
    with conversation("anna"):
        ask(anthropic, user(WHERE))
    assert model.bodies[0]["messages"] == [user(WHERE)]


def test_without_memorybase_the_model_is_asked_and_the_capture_waits(
    stack: Stack, model: FakeModel, memory: AgentMemory
) -> None:
    memory.capture("first", [{"role": "user", "content": BOAT}])
    with opened(model, memory, top_k=5) as anthropic, conversation("anna"):
        ask(anthropic, user(BOAT))
        assert len(stored(memory)) == 2
        stack.kill()
        assert ask(anthropic, user(WHERE)).content[-1].text == "At berth 12."
    assert model.bodies[1]["messages"] == [user(WHERE)]
    assert memory.client.outbox is not None
    assert memory.client.outbox.waiting == 1


def test_an_error_of_the_recall_reaches_no_caller(
    model: FakeModel, memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(memory, "recall", fail)
    with opened(model, memory, top_k=5) as anthropic, conversation("anna"):
        assert ask(anthropic, user(WHERE)).content[-1].text == NOTED
    assert [role for role, _ in stored(memory)] == ["user", "assistant"]


def test_an_error_of_the_model_reaches_the_caller(memory: AgentMemory) -> None:
    with serving(FakeModel()) as model:
        pass
    with opened(model, memory, top_k=5) as anthropic, conversation("anna"), pytest.raises(APIConnectionError):
        ask(anthropic, user(WHERE))


def test_the_guide_recalls_in_another_conversation(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    with serving(FakeModel()) as model:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        run_guide("capture-without-code.md", mark="from anthropic import")
