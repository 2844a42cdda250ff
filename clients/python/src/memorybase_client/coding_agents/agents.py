"""The coding agents: where each keeps its settings, and the entries that are added to them."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from memorybase_client.coding_agents.events import Json

SCRIPT = Path(__file__).with_name("hook.py")
# Also where the script was before it was part of the client.
OURS = re.compile(r"memorybase(_client|[/\\]integrations)[/\\]coding_agents[/\\]hook\.py")

# What no shell of Windows changes: Git Bash, in which Claude Code runs hooks, PowerShell for the others, or cmd.
PLAIN = re.compile(r"[\w:./~+=-]+")

TIMEOUT_SECONDS = 5  # a hook ends itself long before; the agent's own limit is for a machine that hangs


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook to add. `matcher` chooses which of these events it runs for."""

    event: str
    matcher: str | None = None
    timeout: int = TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent.

    bash      on Windows it runs hooks with Git Bash, else with PowerShell
    second    the agent's unit of a hook's timeout: that many make a second
    grouped   a hook stands in a group with its matcher, as in Claude Code; else directly below its event
    fields    what the settings file must have besides the hooks
    note      what the user has to do after the installation
    plugin    the file of this package that is installed instead of settings, and runs the hooks
    """

    name: str
    settings: Path
    hooks: tuple[Hook, ...]
    grouped: bool
    fields: Mapping[str, Any]
    note: str
    bash: bool = False
    second: int = 1
    plugin: str = ""

    def words(self, config: PurePath) -> list[str]:
        """The program and its arguments that run a hook."""
        return [sys.executable, "-I", "-S", str(SCRIPT), "--config", str(config), self.name]

    def plugin_text(self, config: PurePath) -> str:
        text = SCRIPT.with_name(self.plugin).read_text(encoding="utf-8")
        return text.replace("COMMAND = []", f"COMMAND = {json.dumps(self.words(config))}")

    def entry(self, hook: Hook, config: PurePath) -> Json:
        """The entry of a hook in the settings."""
        command: Json = {"command": self.command(self.words(config)), "timeout": hook.timeout * self.second}
        if not self.grouped:
            return command
        group: Json = {} if hook.matcher is None else {"matcher": hook.matcher}
        return {**group, "hooks": [{"type": "command", **command}]}

    def command(self, words: list[str]) -> str:
        """The words as the command of a hook. `exit 0`: without the script Python's exit code is 2, and with that the
        agent would refuse every prompt."""
        if sys.platform != "win32":
            return f"{shlex.join(words)} || exit 0"
        command = " ".join(_quoted(word.replace("\\", "/"), bash=self.bash) for word in words)
        call = "& " if command.startswith("'") and not self.bash else ""  # to PowerShell, a quoted name alone is a text
        return f"{call}{command}; exit 0"


def _quoted(word: str, *, bash: bool) -> str:
    if PLAIN.fullmatch(word):
        return word
    return shlex.quote(word) if bash else "'" + word.replace("'", "''") + "'"


def words_in_plugin(text: str) -> list[str]:
    """The words of the command in a plugin of ours; empty for another text."""
    found = re.search(r"^const COMMAND = (\[.*\]);$", text, re.MULTILINE)
    words: list[str] = json.loads(found[1]) if found else []
    return words if OURS.search(" ".join(words)) else []


def words_of(command: str) -> list[str]:
    """The words of a command of ours."""
    return shlex.split(command.removeprefix("& ").replace("''", r"'\''"))  # as PowerShell writes an apostrophe


# A resumed session has its context already.
NEW_SESSION = "startup|clear|compact"


def agents() -> dict[str, Agent]:
    """Every agent, by name, with the settings of this user."""
    home = Path.home()
    claude = user_directory("CLAUDE_CONFIG_DIR", home / ".claude")
    codex = user_directory("CODEX_HOME", home / ".codex")
    shared = (
        *(Hook("SessionStart", NEW_SESSION), Hook("UserPromptSubmit"), Hook("Stop"), Hook("PreCompact")),
        Hook("SessionEnd", timeout=3),  # which Codex allows at most, and warns of more
    )
    every = (
        Agent(
            "claude-code",
            claude / "settings.json",
            shared,
            True,
            {},
            "It takes effect in the next session.",
            bash=True,
        ),
        Agent(
            "codex",
            codex / "hooks.json",
            shared,
            True,
            {},
            "Codex runs new hooks only after you trust them: open /hooks in Codex.",
        ),
        Agent(
            "gemini",
            home / ".gemini" / "settings.json",
            tuple(map(Hook, ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"))),
            True,
            {},
            "It takes effect in the next session.",
            second=1_000,
        ),
        Agent(
            "cursor",
            home / ".cursor" / "hooks.json",
            tuple(
                map(
                    Hook,
                    ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "preCompact", "stop", "sessionEnd"),
                )
            ),
            False,
            {"version": 1},
            "Cursor reloads the file by itself. It recalls at the start of a session only.",
        ),
        Agent(
            "opencode",
            user_directory("XDG_CONFIG_HOME", home / ".config") / "opencode" / "plugins" / "memorybase.js",
            tuple(map(Hook, ("SessionStart", "UserPromptSubmit", "Stop"))),
            False,
            {},
            "It takes effect in the next session.",
            plugin="opencode.js",
        ),
    )
    return {agent.name: agent for agent in every}


def user_directory(variable: str, default: Path) -> Path:
    """A directory of the user that a variable may move."""
    return Path(os.environ.get(variable) or default).expanduser()
