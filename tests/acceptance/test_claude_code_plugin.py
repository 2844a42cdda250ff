"""Claude Code itself, with our plugin and a model's provider that says what a test wants.

`make check-mcp` installs it and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from harness.api import Json, settings_in
from harness.process import run
from harness.served import Served, serve_api
from harness.stack import environment
from harness.waiting import wait_until
from memorybase_client import Client, __version__
from messages_api import Provider, serve_provider

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / ".mcp-clients"
OF_THE_PLUGIN = (".claude-plugin", "clients/claude-code", "clients/python/src")
PLUGIN = "memorybase@memorybase"
START_SECONDS = 120.0  # a stack that exports its model, beside other tests
SEARCH = "mcp__plugin_memorybase_memory__search_memory"


@dataclass
class ClaudeCode:
    """Claude Code of a user with an empty home directory and a project, without an account."""

    folder: Path
    provider: Provider

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def state(self) -> Path:
        return self.home / ".local/state/memorybase"

    def run(self, *words: str | Path) -> str:
        (program,) = CLIENTS.glob("node_modules/@anthropic-ai/claude-code-*/claude")
        variables = environment() | {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "ANTHROPIC_BASE_URL": self.provider.url,
            "ANTHROPIC_API_KEY": "sk-ant-of-a-test",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECTION_NONBLOCKING": "0",  # the first request has the tools of every server
        }
        return run(program, *map(str, words), cwd=self.folder / "project", env=variables)

    def install(self, **options: str) -> None:
        """Add the marketplace, and install the plugin with these options, as a user does."""
        repository = self.folder / "repository"
        for part in OF_THE_PLUGIN:
            shutil.copytree(ROOT / part, repository / part, ignore=shutil.ignore_patterns("__pycache__"))
        options = {"recall_seconds": "4", **options}  # for a busy machine
        self.run("plugin", "marketplace", "add", repository)
        self.run("plugin", "install", PLUGIN, *(f"--config={name}={value}" for name, value in options.items()))

    def ask(self, prompt: str) -> list[Json]:
        """A session with one prompt; what the program reported."""
        allowed = ("--allowedTools", SEARCH)
        printed = self.run("-p", prompt, *allowed, "--output-format", "stream-json", "--verbose")
        return [json.loads(line) for line in printed.splitlines()]

    def captured(self) -> int:
        """Messages that memory took from this machine."""
        status = self.state / "hooks" / "status.json"
        found = json.loads(status.read_text()) if status.exists() else {}
        return int(found.get("claude-code", {}).get("messages", 0))


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[ClaudeCode]:
    assert (CLIENTS / ".installed").exists(), "run: make check-mcp"
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    with serve_provider() as provider:
        yield ClaudeCode(tmp_path, provider)
    for process in stacks_in(tmp_path):
        process.terminate()
        process.wait(60)


def stacks_in(folder: Path) -> list[psutil.Process]:
    """What a plugin started below this folder."""
    data = str(folder / "home/.local/share/memorybase")
    return [each for each in psutil.process_iter(["cmdline"]) if data in (each.info["cmdline"] or ())]


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Served]:
    with serve_api(settings_in(tmp_path), mcp=True) as served:
        yield served


def messages_to_the_user(events: list[Json]) -> list[str]:
    """What the hooks tell the user."""
    outputs = [event["stdout"] for event in events if event.get("subtype") == "hook_response" and event.get("stdout")]
    return [said for output in outputs if (said := json.loads(output).get("systemMessage"))]


@pytest.mark.parametrize("manifest", ["marketplace.json", "plugin.json"])
def test_its_own_validator_accepts_the_plugin(claude: ClaudeCode, manifest: str) -> None:
    assert "Validation passed" in claude.run("plugin", "validate", "--strict", ROOT / ".claude-plugin" / manifest)


def test_a_session_is_recalled_in_the_next_one_with_a_server_of_the_team(claude: ClaudeCode, team: Served) -> None:
    claude.install(url=team.url, key=team.api.secret)
    assert messages_to_the_user(claude.ask("We decided to use Valkey instead of Redis for the queue.")) == []
    wait_until(lambda: claude.captured() == 2, START_SECONDS, "the session is captured")

    claude.provider.use(SEARCH, query="Which queue did we choose?")
    claude.ask("What did we choose instead of Redis?")

    assert "We decided to use Valkey" in json.dumps(claude.provider.requests[1]["messages"])  # recalled
    assert "tool_result" in claude.provider.shown
    assert claude.provider.shown.count("We decided to use Valkey") > 1  # found by the tool
    assert not (claude.state / "stack.json").exists()


def test_the_team_server_that_refuses_a_key_is_named_and_nothing_is_lost(claude: ClaudeCode, team: Served) -> None:
    claude.install(url=team.url, key="mb_wrong")
    claude.ask("The port is 7711.")
    wait_until(lambda: "401" in (claude.state / "hooks/status.json").read_text(), START_SECONDS, "it was refused")

    (said,) = messages_to_the_user(claude.ask("Hello?"))

    assert "memory answered 401" in said
    claude.run("plugin", "install", PLUGIN, f"--config=key={team.api.secret}")
    claude.ask("Again.")
    wait_until(lambda: claude.captured() == 6, START_SECONDS, "all sessions are captured")


def test_memorybase_starts_by_itself_on_the_first_prompt(claude: ClaudeCode) -> None:
    environments = claude.home / ".claude/plugins/data/memorybase-memorybase"
    claude.install()
    environments.mkdir(parents=True)
    made = environments / f"environment-{__version__}"  # this one, in place of an installation of minutes
    (made / "bin").mkdir(parents=True)
    (made / "complete").touch()
    (made / "bin/memorybase").write_text(f'#!/bin/sh\nexec {sys.executable} -m memorybase "$@"\n')
    (made / "bin/memorybase").chmod(0o755)

    said = messages_to_the_user(claude.ask("We decided to use Valkey instead of Redis for the queue."))

    assert said == ["memorybase is starting. What you say is kept until it runs."]
    wait_until(lambda: claude.captured() == 2, START_SECONDS, "the session is captured")
    stack = json.loads((claude.state / "stack.json").read_text())
    with Client(stack["url"], stack["key"]) as client:
        (base,) = client.list_memory_bases(flow_id="coding-agent")
        client.wait_until_searchable(base.id)
    claude.provider.use(SEARCH, query="Which queue did we choose?")
    assert messages_to_the_user(claude.ask("What did we choose instead of Redis?")) == []
    assert claude.provider.shown.count("We decided to use Valkey") > 1
    assert len(stacks_in(claude.folder)) == 1


def test_hooks_in_the_users_settings_take_the_place_of_the_plugins(claude: ClaudeCode, team: Served) -> None:
    claude.install(url=team.url, key=team.api.secret)
    settings = claude.home / ".claude/settings.json"
    found = json.loads(settings.read_text())
    entry = {"type": "command", "command": "exit 0 # memorybase_client/coding_agents/hook.py"}
    settings.write_text(json.dumps(found | {"hooks": {"Stop": [{"hooks": [entry]}]}}))

    claude.ask("The port is 7711.")

    assert not (claude.state / "hooks").exists()
