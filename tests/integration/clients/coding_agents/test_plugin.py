"""The plugin of Claude Code: its configuration, the stack that it starts, and MCP without an installation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.api import Json, settings_in
from harness.coding_agents import PATIENCE, Machine
from harness.secret_texts import TOKEN
from harness.served import Served, serve_api
from memorybase_client import local_stack
from memorybase_client.coding_agents import mcp_bridge, memory, plugin, stack_start
from memorybase_client.coding_agents.agents import SCRIPT
from memorybase_client.coding_agents.capture import prepare_flow, send_text
from memorybase_client.coding_agents.events import FLOW
from memorybase_client.local_stack import LocalStack

OPTION = "CLAUDE_PLUGIN_OPTION_"
CALL = {
    "method": "tools/call",
    "params": {"name": "search_memory", "arguments": {"query": "green fence", "min_score": 0}},
}
PROMPT = {
    **dict.fromkeys(("at", "cwd", "project", "branch", "model"), ""),
    "agent": "cursor",
    "session": "s1",
    "turn": "t1",
    "role": "user",
    "text": f"The key is {TOKEN}",
}
HANDSHAKE = {"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}


@pytest.fixture
def machine(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine whose agent has the plugin, and where nothing is installed yet."""
    monkeypatch.setenv("CLAUDE_PLUGIN_DATA", str(tmp_path / "plugin-data"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return machine


class Bridge:
    """The bridge as an agent runs it."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", mcp_bridge.__file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def next(self) -> Json:
        assert self._process.stdout is not None
        found: Json = json.loads(self._process.stdout.readline())
        return found

    def ask(self, message: Json) -> Any:
        self.send({"id": 7, **message})
        answer = self.next()
        assert answer["id"] == 7
        return answer.get("result") or answer["error"]

    def close(self) -> None:
        self._process.communicate(timeout=PATIENCE)


@pytest.fixture
def bridge(machine: Machine) -> Iterator[Bridge]:  # noqa: ARG001  # at its home
    started = Bridge()
    yield started
    started.close()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Served]:
    """A server that is noted as this machine's stack, with the flow of the hooks."""
    with serve_api(settings_in(tmp_path), mcp=True) as served:
        yield served


def note(served: Served) -> None:
    local_stack.note(LocalStack(served.url, served.api.secret))
    prepare_flow(plugin.load_config())


def run_hook(event: str, **fields: Any) -> Json:
    """What the plugin's hook prints, as the agent reads it."""
    sent = {"hook_event_name": event, "session_id": "s1", "cwd": "/work/shop", **fields}
    command = [sys.executable, "-I", "-S", str(SCRIPT), plugin.PLUGIN, "claude-code"]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, check=True, timeout=PATIENCE)
    return dict(json.loads(done.stdout or "{}"))


@pytest.mark.parametrize("sets", ["COPILOT_PLUGIN_ROOT", "PLUGIN_ROOT"])
@pytest.mark.usefixtures("machine")
def test_the_agent_that_runs_the_hook_is_known_by_its_variable(
    local: Served, monkeypatch: pytest.MonkeyPatch, sets: str
) -> None:
    for name in ("URL", "KEY"):  # no dialog asked for it
        monkeypatch.setenv(OPTION + name, f"${{user_config.{name.lower()}}}")
    monkeypatch.setenv("MEMORYBASE_URL", local.url)
    monkeypatch.setenv("MEMORYBASE_API_KEY", local.api.secret)
    monkeypatch.setenv(f"{OPTION}RECALL_SECONDS", str(PATIENCE))
    monkeypatch.setenv(sets, "/plugin")
    prepare_flow(plugin.load_config())
    local.api.capture("The fence is green.", flow="coding-agent")

    answer = run_hook("UserPromptSubmit", prompt="Which colour is the fence?", session_id="s2")

    found = answer if sets == "COPILOT_PLUGIN_ROOT" else answer["hookSpecificOutput"]
    assert "The fence is green." in found["additionalContext"]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(("method", "is_done"), [("PUT", True), ("PATCH", False), ("POST", False)])
def test_a_flow_that_was_left_incomplete_is_prepared_before_the_next_capture(
    local: Served, monkeypatch: pytest.MonkeyPatch, method: str, is_done: bool
) -> None:
    local_stack.note(LocalStack(local.url, local.api.secret))
    config, call = plugin.load_config(), memory.call

    def broken(config: Json, path: str, body: Json | None, used: str = "POST") -> tuple[int, Any]:
        if used == method and is_done:
            call(config, path, body, used)
        if used == method:
            raise ConnectionResetError
        return call(config, path, body, used)

    monkeypatch.setattr(memory, "call", broken)
    with pytest.raises(memory.Away):
        prepare_flow(config)
    monkeypatch.setattr(memory, "call", call)

    assert send_text(config, PROMPT) == 1
    assert TOKEN not in str(local.api.get("/messages", flow_id=FLOW, session_id="s1"))
    assert local.api.get("/memories", flow_id=FLOW)["total"] == 1


@pytest.mark.usefixtures("machine")
def test_a_flow_whose_memory_base_is_refused_is_captured_without_one(local: Served) -> None:
    local_stack.note(LocalStack(local.url, local.api.secret))
    local.api.memory(name=FLOW, flow=local.api.flow("other"))

    with pytest.raises(memory.Away, match="memory answered 409 name_taken to POST /v1/memories"):
        send_text(plugin.load_config(), PROMPT)
    assert send_text(plugin.load_config(), PROMPT) == 1


# MCP


def test_the_bridge_passes_calls_on(bridge: Bridge, local: Served) -> None:
    note(local)
    local.api.capture("The fence is green.", flow="coding-agent")

    assert bridge.ask(HANDSHAKE)["protocolVersion"] == "2025-06-18"
    bridge.send({"method": "notifications/initialized"})
    assert "search_memory" in {tool["name"] for tool in bridge.ask({"method": "tools/list"})["tools"]}
    assert "The fence is green." in bridge.ask(CALL)["content"][0]["text"]


def test_the_bridge_serves_before_memorybase_runs_and_says_when_it_does(bridge: Bridge, local: Served) -> None:
    assert bridge.ask(HANDSHAKE)["instructions"].startswith("memorybase keeps the messages")
    assert bridge.ask({"method": "tools/list"}) == {"tools": []}
    assert "cannot be reached" in bridge.ask(CALL)["message"]

    note(local)

    kinds = ("tools", "prompts", "resources")
    assert [bridge.next()["method"] for _ in kinds] == [f"notifications/{kind}/list_changed" for kind in kinds]
    assert bridge.ask({"method": "tools/list"})["tools"]


@pytest.mark.usefixtures("machine")
def test_the_bridge_says_why_memory_refuses(local: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{OPTION}URL", local.url)
    monkeypatch.setenv(f"{OPTION}KEY", "mb_wrong")
    started = Bridge()
    try:
        assert started.ask(CALL)["message"].startswith("memorybase answered 401. ")
    finally:
        started.close()


# The stack of this machine


def test_a_start_that_fails_is_told_when_the_next_session_starts(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(machine.home))  # neither uv nor a Python
    stack_start.start(plugin.load_config())

    said = run_hook("SessionStart", source="startup")["systemMessage"]

    reason = f"it needs Python 3.11 to 3.14, or uv. See {machine.state / 'start.log'}."
    assert said == f"memorybase does not start: {reason} What you say is kept until it runs."
    assert run_hook("UserPromptSubmit", prompt="Hello?") == {}


def test_uv_installs_the_plugins_folder_with_tested_versions(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    uv, calls = tmp_path / "bin" / "uv", tmp_path / "calls"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexit 1\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")
    old = tmp_path / "plugin-data" / "environment-0.0.9"
    old.mkdir(parents=True)

    stack_start.start(plugin.load_config())

    assert calls.read_text().startswith("venv --python >=3.11,<3.15 ")
    assert "its installation failed" in (machine.state / "start.json").read_text()
    assert not old.exists()


def test_a_stack_that_answers_is_used_and_none_is_started(machine: Machine, local: Served) -> None:
    note(local)
    assert "systemMessage" not in run_hook("SessionStart", source="startup")
    assert not (machine.state / "start.lock").exists()


@pytest.mark.usefixtures("machine")
def test_its_option_says_when_memories_come(local: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    note(local)
    local.api.capture("The fence is green.", flow="coding-agent", session="s0")
    monkeypatch.setenv(f"{OPTION}RECALL_SECONDS", "60")
    shown = {}
    for mode in ("", "each", "Off", "true"):
        monkeypatch.setenv(f"{OPTION}RECALL", mode)
        printed = [run_hook("UserPromptSubmit", session_id=f"s-{mode}", prompt="green fence") for _ in range(2)]
        shown[mode] = ["The fence is green." in json.dumps(each) for each in printed]

    assert shown == {"": [True, False], "each": [True, True], "Off": [False, False], "true": [True, False]}


@pytest.mark.usefixtures("machine")
def test_a_mode_that_does_not_exist_is_told_when_a_session_starts(
    local: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(local)
    monkeypatch.setenv(f"{OPTION}RECALL_SECONDS", "60")
    monkeypatch.setenv(f"{OPTION}RECALL", "sometimes")

    said = run_hook("SessionStart", source="startup")["systemMessage"]

    assert said.startswith("memorybase: recall must be one of first, each, off (got 'sometimes')")
