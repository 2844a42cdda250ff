"""Hooks of the Claude Agent SDK on a real stack: the real program, and a provider that says what a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, TextBlock, query
from guides import run_guide, set_environment
from memorybase_client import AgentMemory, Client
from memorybase_client.integrations.claude_agent import MemorybaseHooks
from model_provider import Provider, serve_provider
from shown import reply
from stack import Stack, deliver, turns

SEARCH = "mcp__memorybase__search_memory"
BERTH = "My boat Aurora lies at berth 12."

pytestmark = pytest.mark.anyio


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serve_provider() as opened:
        yield opened


@pytest.fixture
def options(provider: Provider, tmp_path: Path) -> ClaudeAgentOptions:
    return options_of(provider, tmp_path)


def options_of(provider: Provider, folder: Path) -> ClaudeAgentOptions:
    """Of a user with an empty home directory, without an account."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": provider.url,
        "ANTHROPIC_API_KEY": "sk-ant-of-a-test",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return ClaudeAgentOptions(env=environment, cwd=home, setting_sources=[], model="claude-sonnet-5")


async def ask(options: ClaudeAgentOptions, said: str) -> str:
    """A session of its own; what the model answered."""
    texts = []
    async for message in query(prompt=said, options=options):
        if isinstance(message, AssistantMessage):
            texts += [block.text for block in message.content if isinstance(block, TextBlock)]
    return "\n".join(texts)


async def test_a_second_session_recalls_what_the_first_said(
    memory: AgentMemory, provider: Provider, options: ClaudeAgentOptions
) -> None:
    hooks = MemorybaseHooks(memory)
    assert await ask(hooks.options(options), BERTH) == "Done."
    await ask(hooks.options(options), "Where does Aurora lie?")
    assert BERTH in provider.shown


async def test_a_prompt_and_its_answer_are_a_run_that_shows_what_the_model_was_given(
    memory: AgentMemory, client: Client, provider: Provider, options: ClaudeAgentOptions
) -> None:
    hooks = MemorybaseHooks(memory)
    await ask(hooks.options(options), BERTH)
    async with ClaudeSDKClient(hooks.options(options)) as opened:
        for said, answer in (("Where does Aurora lie?", "At berth 12."), ("Thanks.", "Gladly.")):
            provider.say(answer)
            await opened.query(said)
            async for _ in opened.receive_response():
                pass
    deliver(memory)
    sessions = {message.session_id: None for message in client.list_messages(flow_id=memory.flow_id)}
    assert len(sessions) == 2
    first, second = turns(memory, client, list(sessions)[1])
    assert first[0] == ["Where does Aurora lie?", "At berth 12."]
    assert BERTH in first[1]["agent"]
    assert second[0] == ["Thanks.", "Gladly."]


async def test_the_models_tool_finds_what_other_sessions_said(
    memory: AgentMemory, client: Client, provider: Provider, options: ClaudeAgentOptions
) -> None:
    await ask(MemorybaseHooks(memory).options(options), BERTH)
    provider.use(SEARCH, query="Where does Aurora lie?")
    await ask(MemorybaseHooks(memory, top_k=0).options(options), "Look it up.")
    assert BERTH not in json.dumps(provider.requests[-2]["messages"])
    assert BERTH in provider.shown
    deliver(memory)
    (last,) = {message.session_id for message in client.list_messages(flow_id=memory.flow_id, find="Look it up.")}
    ((said, _),) = turns(memory, client, last)
    assert said == ["Look it up.", "Done."]


async def test_nothing_of_another_end_user_is_recalled(
    memory: AgentMemory, provider: Provider, options: ClaudeAgentOptions
) -> None:
    await ask(MemorybaseHooks(memory, end_user_id="anna").options(options), BERTH)
    await ask(MemorybaseHooks(memory, end_user_id="ben").options(options), "Where does Aurora lie?")
    assert BERTH not in provider.shown


async def test_an_agents_own_hooks_and_tools_stay(memory: AgentMemory, options: ClaudeAgentOptions) -> None:
    own = HookMatcher(hooks=[])
    options.hooks, options.allowed_tools = {"Stop": [own], "PreCompact": [own]}, ["Read"]
    given = MemorybaseHooks(memory).options(options)
    assert given.hooks is not None
    assert given.hooks["Stop"][0] is own
    assert given.hooks["PreCompact"] == [own]
    assert given.allowed_tools == ["Read", SEARCH]
    assert options.hooks["Stop"] == [own]
    options.mcp_servers = "servers.json"
    with pytest.raises(ValueError, match="mcp_servers must be a dictionary"):
        MemorybaseHooks(memory).options(options)


async def test_an_agent_goes_on_without_a_server_is_told_so_and_loses_nothing(
    stack: Stack, memory: AgentMemory, client: Client, provider: Provider, options: ClaudeAgentOptions
) -> None:
    hooks = MemorybaseHooks(memory)
    await ask(hooks.options(options), BERTH)
    deliver(memory)
    stack.kill()
    provider.use(SEARCH, query="Where does Aurora lie?")
    assert await ask(hooks.options(options), "Where does Aurora lie?") == "Done."
    assert "Memory is unavailable" in provider.shown
    stack.restart()
    deliver(memory)
    said = [message.content for message in client.list_messages(flow_id=memory.flow_id)]
    assert said == [BERTH, "Done.", "Where does Aurora lie?", "Done."]


def test_the_guide_recalls_in_another_session(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: Provider
) -> None:
    def next_reply(request: dict[str, Any]) -> dict[str, Any]:
        provider.say(reply(json.dumps(request["messages"])))
        return as_before(request)

    as_before, provider.next_reply = provider.next_reply, next_reply  # type: ignore[method-assign]
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="claude_agent", options=options_of(provider, tmp_path))
