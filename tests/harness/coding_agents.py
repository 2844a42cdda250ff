"""A machine with coding agents: a home directory, transcripts in each agent's format, hooks run as agents do."""

from __future__ import annotations

import fcntl
import json
import shlex
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from memorybase_client.coding_agents import install
from memorybase_client.coding_agents.agents import words_in_plugin
from memorybase_client.coding_agents.install import HookConfig

from harness.api import Json
from harness.waiting import wait_until

PATIENCE = 60.0
PROJECT = "/work/shop"


@dataclass
class Machine:
    """A user's machine. `config` are the fields of the hooks' configuration that a test states."""

    home: Path
    config: Json = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.home / ".local/state/memorybase/hooks"

    def install(self, agent: str, url: str, key: str, **fields: Any) -> None:
        """Install an agent's hooks, with a deadline that a loaded machine keeps, unless the test states another."""
        install.install(install.find_agent(agent), HookConfig(url=url, key=key, **fields))
        self.configure(**({"deadline_seconds": PATIENCE, "min_score": 0.0} | self.config))

    def configure(self, **fields: Any) -> None:
        path = self.home / ".config/memorybase/hooks.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    def run(self, agent: str, event: str, **fields: Any) -> str:
        """Run the hooks of an event as the agent does: through a shell, with JSON on standard input. Returns what they
        print; every hook must succeed without an error."""
        return self.start(agent, event, json.dumps({"hook_event_name": event, **fields}))

    def start(self, agent: str, event: str, sent: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", self.command(agent, event)],
            input=sent,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=self.home,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def command(self, agent: str, event: str) -> str:
        text = install.find_agent(agent).settings.read_text()
        if agent == "opencode":
            return shlex.join(words_in_plugin(text))
        entries = json.loads(text)["hooks"][event]
        (entry,) = [inner for entry in entries for inner in entry.get("hooks", [entry])]
        command: str = entry["command"]
        return command

    def settle(self) -> None:
        """Wait until the background process has sent everything and has ended."""
        wait_until(lambda: not self.spooled(), PATIENCE, "the spool is empty")
        self.join()

    def spooled(self) -> list[Path]:
        return sorted((self.state / "spool").glob("*.json"))

    def join(self) -> None:
        """Wait until no background process is at work."""
        with (self.state / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def status(self) -> Json:
        path = self.state / "status.json"
        status: Json = json.loads(path.read_text()) if path.exists() else {}
        return status


@contextmanager
def machine_at(home: Path) -> Iterator[Machine]:
    """A machine whose user's home is this folder, and nothing else of this one."""
    home.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        machine = Machine(home)
        yield machine
        if machine.state.is_dir():
            machine.join()


@dataclass
class Transcript:
    """A file that an agent writes: an object a line."""

    path: Path
    session: str
    lines: int = 0

    def write(self, *lines: Json, end: str = "\n") -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + end)
                self.lines += 1

    def moment(self) -> str:
        return f"2026-11-20T10:{self.lines // 60 % 60:02}:{self.lines % 60:02}.{self.lines % 1000:03}Z"


class ClaudeTranscript(Transcript):
    """~/.claude/projects/<project>/<session>.jsonl"""

    @classmethod
    def of(cls, home: Path, session: str) -> ClaudeTranscript:
        return cls(home / ".claude/projects/-work-shop" / f"{session}.jsonl", session)

    def line(self, kind: str, content: Any, **fields: Any) -> Json:
        uuid = f"00000000-0000-4000-8000-{self.lines:012}"
        message: Json = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"msg_{self.lines}", "type": "message", "model": "claude-opus-4-7"}
        return {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": PROJECT,
            "sessionId": self.session,
            "version": "2.1.214",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": self.moment(),
            **fields,
        }

    def user(self, text: str, **fields: Any) -> None:
        self.write(self.line("user", text, **fields))

    def assistant(self, text: str, **fields: Any) -> None:
        self.write(self.line("assistant", [{"type": "text", "text": text}], **fields))

    def tool(self, name: str, given: Json, result: str) -> None:
        call = f"toolu_{self.lines}"
        self.write(self.line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}]))
        self.write(self.line("user", [{"type": "tool_result", "tool_use_id": call, "content": result}]))


class CodexTranscript(Transcript):
    """~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl, as of 0.149."""

    @classmethod
    def of(cls, home: Path, session: str) -> CodexTranscript:
        folder = home / ".codex/sessions/2026/11/20"
        made = cls(folder / f"rollout-2026-11-20T10-00-00-{session}.jsonl", session)
        meta = {"id": session, "cwd": PROJECT, "originator": "codex-tui", "cli_version": "0.150.0", "source": "cli"}
        made.add("session_meta", meta)
        made.add("turn_context", {"cwd": PROJECT, "model": "gpt-5.5", "approval_policy": "on-request"})
        made.add("response_item", made.item("user", "<environment_context>the shell is bash</environment_context>"))
        return made

    def add(self, kind: str, payload: Json) -> None:
        self.write({"timestamp": self.moment(), "ordinal": self.lines, "type": kind, "payload": payload})

    @staticmethod
    def item(role: str, text: str) -> Json:
        part = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}

    def event(self, role: str, text: str) -> Json:
        kind, part = ("UserMessage", "text") if role == "user" else ("AgentMessage", "Text")
        item = {"type": kind, "id": f"item-{self.lines}", "content": [{"type": part, "text": text}]}
        return {"type": "item_completed", "thread_id": self.session, "turn_id": "turn-1", "item": item}

    def said(self, role: str, text: str) -> None:
        self.add("response_item", self.item(role, text))
        self.add("event_msg", self.event(role, text))

    def user(self, text: str) -> None:
        self.said("user", text)

    def assistant(self, text: str) -> None:
        self.said("assistant", text)

    def tool(self, name: str, given: Json, result: str) -> None:
        call = f"call_{self.lines}"
        self.add(
            "response_item", {"type": "function_call", "name": name, "call_id": call, "arguments": json.dumps(given)}
        )
        self.add("response_item", {"type": "function_call_output", "call_id": call, "output": result})


class OldCodexTranscript(CodexTranscript):
    """As before 0.149: the events have no ids."""

    def event(self, role: str, text: str) -> Json:
        return {"type": "user_message" if role == "user" else "agent_message", "message": text}


TRANSCRIPTS: dict[str, Callable[[Path, str], ClaudeTranscript | CodexTranscript]] = {
    "claude-code": ClaudeTranscript.of,
    "codex": CodexTranscript.of,
    "codex before 0.149": OldCodexTranscript.of,
}


class CopilotTranscript(Transcript):
    """~/.copilot/session-state/<session>/events.jsonl, as of 1.0.102."""

    @classmethod
    def of(cls, home: Path, session: str) -> CopilotTranscript:
        made = cls(home / ".copilot/session-state" / session / "events.jsonl", session)
        made.add("session.start", {"sessionId": session, "context": {"cwd": PROJECT, "branch": "main"}})
        return made

    def add(self, kind: str, data: Json, **fields: Any) -> None:
        line = {"type": kind, "data": data, "id": f"event-{self.lines}", "timestamp": self.moment(), "parentId": None}
        self.write(line | fields)

    def user(self, text: str) -> None:
        sent = f"<current_datetime>{self.moment()}</current_datetime>\n\n{text}"
        self.add("user.message", {"content": text, "transformedContent": sent, "messageId": f"m-{self.lines}"})

    def assistant(self, text: str, **fields: Any) -> None:
        said = {"messageId": f"m-{self.lines}", "model": "claude-sonnet-4.5", "content": text, "toolRequests": []}
        self.add("assistant.message", said, **fields)

    def tool(self, name: str, given: Json, result: str) -> None:
        call = f"call-{self.lines}"
        self.add("tool.execution_start", {"toolCallId": call, "toolName": name, "arguments": given})
        self.add("tool.execution_complete", {"toolCallId": call, "success": True, "result": {"content": result}})


class GeminiTranscript(Transcript):
    """~/.gemini/tmp/<project>/chats/session-<time>-<session>.jsonl, as of 0.61."""

    @classmethod
    def of(cls, home: Path, session: str) -> GeminiTranscript:
        made = cls(home / ".gemini/tmp/shop/chats" / f"session-2026-11-20T10-00-{session}.jsonl", session)
        made.write({"sessionId": session, "startTime": made.moment(), "kind": "main"})
        (made.path.parent.parent / ".project_root").write_text(PROJECT)
        context = {"id": "c-0", "type": "user", "content": [{"text": "<session_context>\nThis is the Gemini CLI."}]}
        made.write({"$set": {"messages": [context]}})
        return made

    def add(self, kind: str, content: Any, **fields: Any) -> None:
        line = {"id": f"m-{self.lines}", "timestamp": self.moment(), "type": kind, "content": content}
        self.write(line | fields, {"$set": {"lastUpdated": self.moment()}})

    def user(self, text: str) -> None:
        self.add("user", [{"text": text}])

    def assistant(self, text: str, **fields: Any) -> None:
        self.add("gemini", text, thoughts=[], model="gemini-2.5-pro", **fields)

    def tool(self, name: str, given: Json, result: str) -> None:
        call = {"id": f"call-{self.lines}", "name": name, "args": given, "resultDisplay": result}
        self.assistant("", toolCalls=[call])


def shared_fields(transcript: Transcript) -> Json:
    """What Claude Code, Codex and Gemini CLI send with every event."""
    return {
        "session_id": transcript.session,
        "transcript_path": str(transcript.path),
        "cwd": PROJECT,
        "permission_mode": "default",
    }


def cursor_fields(session: str, generation: str) -> Json:
    """What Cursor sends with every event."""
    return {
        "conversation_id": session,
        "generation_id": generation,
        "model": "gpt-5.5-medium",
        "cursor_version": "3.9.16",
        "workspace_roots": [PROJECT],
        "user_email": None,
        "transcript_path": None,
    }


class CursorDatabase:
    """~/.config/Cursor/User/globalStorage/state.vscdb, as of 3.9: bubbles apart from their session."""

    def __init__(self, home: Path) -> None:
        self.path = home / ".config/Cursor/User/globalStorage/state.vscdb"
        self._run("CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")

    def _run(self, statement: str, *values: Any, path: Path | None = None) -> None:
        path = path or self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement, values)

    def put(self, key: str, value: Json) -> None:
        self._run("INSERT INTO cursorDiskKV VALUES (?, ?)", key, json.dumps(value).encode())

    def session(self, session: str, bubbles: list[Json], **fields: Any) -> None:
        """A session with these bubbles, a second apart."""
        headers = []
        for number, bubble in enumerate(bubbles):
            headers.append({"bubbleId": f"b-{number}", "type": bubble.get("type")})
            at = f"2026-11-20T10:00:{number:02}.000Z"
            self.put(f"bubbleId:{session}:b-{number}", {"_v": 3, "bubbleId": f"b-{number}", "createdAt": at, **bubble})
        where = {"id": "w-1", "uri": {"$mid": 1, "fsPath": PROJECT, "path": PROJECT, "scheme": "file"}}
        composer = {
            "_v": 10,
            "composerId": session,
            "createdAt": 1_795_168_800_000,  # 2026-11-20T10:00:00Z
            "lastUpdatedAt": 1_795_168_860_000,
            "fullConversationHeadersOnly": headers,
            "modelConfig": {"modelName": "gpt-5.5-medium"},
            "workspaceIdentifier": where,
        }
        self.put(f"composerData:{session}", composer | fields)

    def workspace(self, folder: str, *sessions: str) -> None:
        """A workspace's own database, which names its sessions."""
        place = self.path.parent.parent / "workspaceStorage" / "w-1"
        place.mkdir(parents=True)
        (place / "workspace.json").write_text(json.dumps({"folder": f"file://{quote(folder)}"}))
        path = place / "state.vscdb"
        self._run("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)", path=path)
        composers = json.dumps({"allComposers": [{"composerId": session} for session in sessions]})
        self._run("INSERT INTO ItemTable VALUES ('composer.composerData', ?)", composers, path=path)


class OpencodeDatabase:
    """~/.local/share/opencode/opencode.db, as of 1.18, with the columns that are read."""

    SESSION = (
        "session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER)"
    )
    MESSAGE = "message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT)"
    PART = "part (id TEXT PRIMARY KEY, message_id TEXT, data TEXT)"
    START = 1_795_168_800_000  # 2026-11-20T10:00:00Z

    def __init__(self, home: Path) -> None:
        self.path = home / ".local/share/opencode/opencode.db"
        self.path.parent.mkdir(parents=True)
        self._number = 0
        for table in (self.SESSION, self.MESSAGE, self.PART):
            self._run(f"CREATE TABLE {table}")

    def _run(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement, values)

    def session(self, session: str, parent: str | None = None) -> None:
        times = (self.START, self.START + 60_000)
        self._run("INSERT INTO session VALUES (?, ?, ?, ?, ?)", session, parent, PROJECT, *times)

    def message(self, session: str, role: str, *parts: Json, **fields: Any) -> str:
        """Add a message of these parts, a second after the one before; an answer is complete unless stated."""
        self._number += 1
        name, at = f"msg_{self._number}", self.START + 1_000 * self._number
        time = {"created": at} | ({"completed": at + 500} if role == "assistant" else {})
        data = {"role": role, "time": time, **fields}
        self._run("INSERT INTO message VALUES (?, ?, ?, ?)", name, session, at, json.dumps(data))
        for number, part in enumerate(parts):
            self._run("INSERT INTO part VALUES (?, ?, ?)", f"prt_{name}_{number}", name, json.dumps(part))
        return name

    def user(self, session: str, text: str) -> str:
        model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
        return self.message(session, "user", {"type": "text", "text": text}, model=model)

    def assistant(self, session: str, text: str, **fields: Any) -> str:
        path = {"cwd": PROJECT, "root": "/"}
        said = ({"type": "step-start"}, {"type": "text", "text": text}, {"type": "step-finish"})
        return self.message(session, "assistant", *said, **{"modelID": "claude-sonnet-4-5", "path": path, **fields})

    def complete(self, name: str) -> None:
        time = json.dumps({"created": self.START, "completed": self.START})
        self._run("UPDATE message SET data = json_set(data, '$.time', json(?)) WHERE id = ?", time, name)
