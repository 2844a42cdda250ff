"""Codex, Copilot CLI, Gemini CLI and opencode themselves, with a model's provider that says what a test wants.

`make check-coding-agents` installs them and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.api import Json, settings_in
from harness.process import run
from harness.served import Served, serve_api
from harness.stack import environment, memorybase
from harness.waiting import wait_until
from memorybase_client.coding_agents.events import FLOW
from memorybase_client.coding_agents.history import messages_of, past_sessions
from memorybase_client.importers.records import Report
from model_provider import Provider, serve_provider, shown_in

pytestmark = [pytest.mark.slow, pytest.mark.tools, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".coding-agents"
PAGE = ROOT / "docs" / "howto" / "coding-agents.md"
FOLDERS = (".claude-plugin", ".codex-plugin", "clients/claude-code", "clients/codex", "clients/python/src", "skills")
PLUGIN = "memorybase@memorybase"
PATIENCE = 120.0
DECIDED = "We decided to use Valkey instead of Redis for the queue."
ASKED = "What did we choose instead of Redis?"


class Agent:
    """An agent of a user with an empty home directory and a project, without an account."""

    name: str
    program: str
    first_tool: tuple[str, ...] = ()  # that the model calls before ours, if any

    def __init__(self, folder: Path, provider: Provider, team: Served) -> None:
        self.folder, self.provider, self.team = folder, provider, team
        for name in ("home", "project"):
            (folder / name).mkdir()
        self.prepare()

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def prepare(self) -> None:
        """Let it ask the test's provider."""

    def variables(self) -> dict[str, str]:
        return {}

    def environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home),
            "PWD": str(self.folder / "project"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "MEMORYBASE_URL": self.team.url,
            "MEMORYBASE_API_KEY": self.team.api.secret,
            "CLAUDE_PLUGIN_OPTION_RECALL_SECONDS": "4",  # for a busy machine
        }
        return environment() | own | self.variables()

    def run(self, *words: str | Path) -> str:
        program = PROGRAMS / "node_modules" / ".bin" / self.program
        return run(program, *words, cwd=self.folder / "project", env=self.environment())

    def install_hooks(self) -> None:
        """By our own command, with a deadline for a busy machine."""
        run(*memorybase("hooks", "install", self.name), cwd=self.folder / "project", env=self.environment())
        path = self.home / ".config/memorybase/hooks.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"deadline_seconds": 4}))

    def ask(self, prompt: str) -> None:
        """A session with one prompt."""
        raise NotImplementedError

    def install_plugin(self) -> None:
        """In one step, from a copy of the repository."""
        raise NotImplementedError

    def repository(self) -> Path:
        repository = self.folder / "repository"
        for part in FOLDERS:
            shutil.copytree(ROOT / part, repository / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "gemini-extension.json", repository)
        return repository

    def write(self, place: str, value: Json) -> None:
        path = self.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    def captured(self) -> int:
        """Messages of this agent that memory took from this machine."""
        status = self.home / ".local/state/memorybase/hooks/status.json"
        found = json.loads(status.read_text()) if status.exists() else {}
        return int(found.get(self.name, {}).get("messages", 0))

    def wait_for(self, messages: int) -> None:
        wait_until(lambda: self.captured() == messages, PATIENCE, "the session is captured")


class Codex(Agent):
    name = program = "codex"
    first_tool = ("list_mcp_resources",)  # waits for MCP servers, whose tools the first request need not have

    def prepare(self) -> None:
        (self.home / ".codex").mkdir()
        fields = {"name": "test", "base_url": f"{self.provider.url}/v1", "wire_api": "responses", "env_key": "KEY"}
        lines = ['model = "gpt-5"', 'model_provider = "test"', "[model_providers.test]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
        (self.home / ".codex" / "config.toml").write_text("\n".join(lines) + "\n")

    def variables(self) -> dict[str, str]:
        return {"KEY": "sk-of-a-test"}

    def ask(self, prompt: str) -> None:
        # Hooks are trusted in a dialog, and without an approval a tool runs only in this mode.
        self.run("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", prompt)

    def install_plugin(self) -> None:
        self.run("plugin", "marketplace", "add", self.repository())
        self.run("plugin", "add", PLUGIN)


class Copilot(Agent):
    name = program = "copilot"

    def variables(self) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": self.provider.url,
            "COPILOT_PROVIDER_API_KEY": "sk-of-a-test",
            "COPILOT_MODEL": "claude-sonnet-4.5",
        }

    def ask(self, prompt: str) -> None:
        self.run("--trust-folder", "--allow-all-tools", "-p", prompt)

    def install_plugin(self) -> None:
        self.run("plugin", "marketplace", "add", self.repository())
        self.run("plugin", "install", PLUGIN)


class Gemini(Agent):
    name = program = "gemini"

    def prepare(self) -> None:
        security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
        self.write(".gemini/settings.json", {"security": security, "privacy": {"usageStatisticsEnabled": False}})

    def variables(self) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": "of-a-test",
            "GOOGLE_GEMINI_BASE_URL": self.provider.url,
            "GEMINI_CLI_NO_RELAUNCH": "1",
        }

    def ask(self, prompt: str) -> None:
        self.run("--model", "gemini-2.5-pro", "--approval-mode", "yolo", "--prompt", prompt)

    def install_plugin(self) -> None:
        self.run("extensions", "install", self.repository(), "--consent", "--skip-settings")
        self.install_hooks()


class Opencode(Agent):
    name = program = "opencode"

    def prepare(self) -> None:
        options = {"baseURL": f"{self.provider.url}/v1", "apiKey": "of-a-test"}
        (written,) = re.findall(r"^```json\n(.*?)^```", opencode_section(), re.MULTILINE | re.DOTALL)
        settings = json.loads(written.replace("http://127.0.0.1:8000", self.team.url))
        settings |= {"model": "anthropic/claude-sonnet-4-5", "provider": {"anthropic": {"options": options}}}
        self.write(".config/opencode/opencode.json", settings | {"autoupdate": False})
        shutil.copytree(ROOT / "skills/memory", self.home / ".config/opencode/skills/memory")

    def variables(self) -> dict[str, str]:
        # Before it loads plugins, it looks for its own package at npm: here in vain, and once.
        npm = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_fetch_retries": "0"}
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1"} | npm

    def ask(self, prompt: str) -> None:
        self.run("run", prompt)

    def install_plugin(self) -> None:
        """Our command has only the hooks: `prepare` does what the guide says of the tools and the skill."""
        self.install_hooks()


def opencode_section() -> str:
    return PAGE.read_text(encoding="utf-8").partition("\n### opencode\n")[2].partition("\n##")[0]


# What the tests below see of each agent.
ALL = (Codex, Copilot, Gemini, Opencode)
IN_ONE_STEP = (Codex, Copilot, Gemini)
TABLE = {
    "In one step": IN_ONE_STEP,
    "Capture and recall": ALL,
    "MCP": ALL,
    "Skill": ALL,
    "Past sessions": ALL,
}


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Served]:
    with serve_api(settings_in(tmp_path), mcp=True) as served:
        yield served


@pytest.fixture
def agent(request: pytest.FixtureRequest, tmp_path: Path, team: Served) -> Iterator[Agent]:
    assert (PROGRAMS / ".installed").exists(), "run: make check-coding-agents"
    with serve_provider() as provider:
        yield request.param(tmp_path, provider, team)


def with_agents(*chosen: type[Agent]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("agent", chosen, indirect=True, ids=lambda each: each.name)


def stored(agent: Agent) -> dict[str, str]:
    """The messages of the hooks' flow, by the ids that the hooks gave them."""
    page = agent.team.api.get("/messages", flow_id=FLOW, order="asc", size=200)
    return {each["external_id"]: each["content"] for each in page["items"]}


def asked_with_a_search(agent: Agent) -> list[Json]:
    """The requests of a session in which the model looks into memory."""
    if agent.first_tool:
        agent.provider.use(*agent.first_tool, server="memory")
    agent.provider.use("search_memory", query="Which queue did we choose?")
    before = len(agent.provider.requests)
    agent.ask(ASKED)
    return agent.provider.requests[before:]


@with_agents(*ALL)
def test_a_session_is_recalled_in_the_next_one(agent: Agent) -> None:
    agent.install_plugin()
    agent.ask(DECIDED)
    agent.wait_for(2)

    before, *_, last = asked_with_a_search(agent)

    assert "Looks up what was said" in json.dumps(before)  # the skill
    assert DECIDED in shown_in(before)  # recalled
    assert shown_in(last).count(DECIDED) > shown_in(before).count(DECIDED)  # found by the tool
    agent.wait_for(4)


@with_agents(*ALL)
def test_past_sessions_have_the_ids_of_the_hooks(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.ask(DECIDED)
    if isinstance(agent, Copilot):
        agent.install_plugin()
    else:
        agent.install_hooks()
    agent.ask("The port is 7711.")
    agent.wait_for(2)

    past = kept(agent, monkeypatch)

    assert [text.strip('"') for text in past.values()] == [DECIDED, "Done.", "The port is 7711.", "Done."]
    assert list(past.items())[2:] == list(stored(agent).items())


def kept(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The messages of the agent's own files as an import sends them, by their ids."""
    monkeypatch.setenv("HOME", str(agent.home))
    report = Report()
    sessions = past_sessions([agent.name], report, folders=[agent.folder / "project"])
    return {
        each.message["id"]: each.message["content"] for session in sessions for each in messages_of(session, {}, report)
    }


def test_the_guide_says_what_each_agent_takes() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## What other agents take\n")[2].partition("\n#")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    columns = rows[0][1:]
    said = {row[0].split()[0].lower(): dict(zip(columns, row[1:], strict=True)) for row in rows[2:]}
    found = {each.name: {name: not said[each.name][name].startswith("no") for name in columns} for each in ALL}
    assert found == {each.name: {name: each in takers for name, takers in TABLE.items()} for each in ALL}
