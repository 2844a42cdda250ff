"""A memory provider in Hermes Agent on a real stack: the real agent with its plugin, and a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from guides import set_environment
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.hermes import MemorybaseProvider
from models import FakeModel, Json, serving
from shown import blocks_of
from stack import ROOT, Stack, deliver, turns

if TYPE_CHECKING:
    from run_agent import AIAgent

BERTH = "My boat lies at berth 12."


class Recording(FakeModel):
    """Keeps what it was asked."""

    def __init__(self, *answers: str | tuple[str, str]) -> None:
        super().__init__(*answers)
        self.asked: list[Json] = []

    def message(self, body: Json) -> Json:
        self.asked.append(body)
        return super().message(body)

    @property
    def shown(self) -> str:
        return json.dumps(self.asked[-1]["messages"], ensure_ascii=False)


@pytest.fixture
def model() -> Iterator[Recording]:
    with serving(Recording()) as opened:
        assert isinstance(opened, Recording)
        yield opened


@pytest.fixture
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hermes whose plugin is what the guide shows."""
    page = ROOT / "docs" / "howto" / "python-frameworks.md"
    (plugin,) = [block.code for block in blocks_of(page) if "register_memory_provider" in block.code]
    folder = tmp_path / "hermes"
    (folder / "plugins" / "memorybase").mkdir(parents=True)
    (folder / "plugins" / "memorybase" / "__init__.py").write_text(plugin)
    (folder / "config.yaml").write_text("memory:\n  provider: memorybase\n")
    monkeypatch.setenv("HERMES_HOME", str(folder))


Opened = Callable[[str], "AIAgent"]


@pytest.fixture
def agent_of(_home: None, stack: Stack, model: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """A function from the id of a session to its agent."""
    set_environment(monkeypatch, stack, tmp_path)

    def made(session_id: str, **options: Any) -> AIAgent:
        from run_agent import AIAgent  # reads the home directory

        return AIAgent(
            base_url=model.url,
            api_key="k",
            model="fake",
            enabled_toolsets=["memory"],
            quiet_mode=True,
            session_id=session_id,
            skip_context_files=True,
            **options,
        )

    return made


def say(agent: AIAgent, said: str) -> str:
    """Its answer, after which its memory has the turn."""
    answer = agent.chat(said)
    agent.shutdown_memory_provider()
    return answer


def test_a_second_session_recalls_what_the_first_said_with_the_guides_plugin(
    agent_of: Opened, model: Recording, client: Client
) -> None:
    assert say(agent_of("monday"), BERTH) == "Noted."
    assert say(agent_of("tuesday"), "Where does my boat lie?") == BERTH.replace("My", "Your")
    assert BERTH in model.shown
    said = [(message.session_id, message.content) for message in client.list_messages(flow_id="hermes")]
    assert said == [
        ("monday", BERTH),
        ("monday", "Noted."),
        ("tuesday", "Where does my boat lie?"),
        ("tuesday", "Your boat lies at berth 12."),
    ]


@pytest.fixture
def provider(memory: AgentMemory) -> MemorybaseProvider:
    opened = MemorybaseProvider(memory)
    opened.initialize("monday", agent_context="primary")
    return opened


def test_a_turn_is_a_run_that_shows_what_the_model_was_given(
    provider: MemorybaseProvider, memory: AgentMemory, client: Client
) -> None:
    provider.sync_turn(BERTH, "Noted.")
    provider.on_session_switch("tuesday")
    text = provider.prefetch("Where does my boat lie?")
    assert BERTH in text
    provider.sync_turn("Where does my boat lie?", "At 12.", session_id="tuesday")
    assert turns(memory, client, "tuesday") == [(["Where does my boat lie?", "At 12."], {"agent": text})]


def test_the_tool_finds_and_says_that_memory_is_unavailable(provider: MemorybaseProvider, stack: Stack) -> None:
    (tool,) = provider.get_tool_schemas()
    provider.sync_turn(BERTH, "Noted.", session_id="sunday")
    assert BERTH in json.loads(provider.handle_tool_call(tool["name"], {"query": "Where is the boat?"}))["result"]
    stack.kill()
    assert "Memory is unavailable" in provider.handle_tool_call(tool["name"], {"query": "Where is the boat?"})
    assert provider.prefetch("Where is the boat?") == ""


def test_without_recall_the_tool_still_finds(memory: AgentMemory) -> None:
    provider = MemorybaseProvider(memory, top_k=0)
    provider.sync_turn(BERTH, "Noted.", session_id="sunday")
    assert provider.prefetch("Where is the boat?", session_id="monday") == ""
    asked = {"query": "Where is the boat?"}
    assert BERTH in json.loads(provider.handle_tool_call("search_memory", asked, session_id="monday"))["result"]
    assert memory.failure is None


def test_the_gateways_user_is_the_end_user_and_a_subagent_captures_nothing(memory: AgentMemory, client: Client) -> None:
    for user, context in (("anna", "primary"), ("ben", "primary"), ("anna", "subagent")):
        provider = MemorybaseProvider(memory)
        provider.initialize(f"{user}-{context}", user_id=user, agent_context=context)
        recalled = provider.prefetch("Where is the boat?")
        assert (BERTH in recalled) == (context == "subagent")
        provider.sync_turn(BERTH if user == "anna" else "Hello.", "Noted.")
    deliver(memory)
    assert {message.session_id for message in client.list_messages(flow_id=memory.flow_id)} == {
        "anna-primary",
        "ben-primary",
    }
