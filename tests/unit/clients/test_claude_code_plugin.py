"""The plugin's files say what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from memorybase_client.coding_agents.agents import SCRIPT, agents
from memorybase_client.coding_agents.mcp_bridge import __file__ as bridge
from memorybase_client.mcp import tools

import memorybase

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "clients" / "claude-code"
MANIFEST = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


@pytest.mark.parametrize(
    "manifest", [".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json"]
)
def test_it_has_the_version_that_it_installs(manifest: str) -> None:
    assert json.loads((ROOT / manifest).read_text())["version"] == memorybase.__version__


def test_it_runs_for_the_events_that_an_installation_adds() -> None:
    added = {hook.event: (hook.matcher, hook.timeout) for hook in agents()["claude-code"].hooks}
    groups = {event: group for event, (group,) in read("hooks.json")["hooks"].items()}
    found = {event: (group.get("matcher"), group["hooks"][0]["timeout"]) for event, group in groups.items()}
    assert found == added


def test_it_names_files_that_exist() -> None:
    (command,) = {group["hooks"][0]["command"] for (group,) in read("hooks.json")["hooks"].values()}
    assert re.findall(r"\$\{CLAUDE_PLUGIN_ROOT\}/([^\"]+)", command) == [str(SCRIPT.relative_to(ROOT))]
    script = read("mcp.json")["mcpServers"]["memory"]["args"][-1]
    assert script.replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT)) == bridge


def test_codex_and_gemini_run_the_same_files() -> None:
    codex = json.loads((ROOT / ".codex-plugin" / "plugin.json").read_text())
    assert {name: codex[name] for name in ("hooks", "skills")} == {name: MANIFEST[name] for name in ("hooks", "skills")}
    server = json.loads((ROOT / codex["mcpServers"]).read_text())["mcpServers"]["memory"]
    assert str(ROOT / server["cwd"] / server["args"][-1]) == bridge
    extension = json.loads((ROOT / "gemini-extension.json").read_text())
    assert extension["mcpServers"]["memory"]["args"][-1].replace("${extensionPath}", str(ROOT)) == bridge


def test_its_key_stays_out_of_command_lines() -> None:
    server = read("mcp.json")["mcpServers"]["memory"]
    assert "user_config" not in json.dumps(server["args"])
    options = {f"CLAUDE_PLUGIN_OPTION_{name.upper()}": f"${{user_config.{name}}}" for name in ("url", "key", "flow")}
    assert server["env"] == options
    assert MANIFEST["userConfig"]["key"]["sensitive"] is True


def test_the_skill_names_tools_that_exist() -> None:
    text = (ROOT / "skills" / "memory" / "SKILL.md").read_text()
    named = set(re.findall(r"`([a-z]+_[a-z]+)`", text))
    assert len(named) > 3
    assert all(hasattr(tools, name) for name in named)
