"""The Dify plugin in tests: in this process with stand-ins for Dify's classes, or in its own with Dify's SDK."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

PLUGIN = Path(__file__).resolve().parents[2] / "clients" / "dify"
TIMEOUT_SECONDS = 60.0  # of its calls: a busy machine is no server that hangs
MODULES = (
    "dify_context",
    "memorybase_api",
    "provider",
    "provider.memorybase",
    "tools",
    "tools.recall",
    "tools.remember",
)

Json = dict[str, Any]


@dataclass
class Said:
    """What a tool answered."""

    text: str = ""
    json: Json = field(default_factory=dict)
    variables: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Asker:
    """What Dify knows of a call."""

    user: str = "anna"
    app: str | None = "app-1"
    conversation: str | None = "talk-1"
    message: str | None = None


class Plugin(Protocol):
    def invoke(self, tool: str, credentials: Json, parameters: Json, asker: Asker) -> Said: ...

    def refusal(self, credentials: Json) -> str | None:
        """Why Dify would not save these credentials."""


def gathered(messages: Any) -> Said:
    """From (type, message) pairs."""
    said = Said()
    for kind, message in messages:
        if kind == "text":
            said.text += message["text"]
        elif kind == "json":
            said.json = message["json_object"]
        elif kind == "variable":
            said.variables[message["variable_name"]] = message["variable_value"]
    return said


class _Tool:
    """Stands in for dify_plugin.Tool."""

    def __init__(self, runtime: Any, session: Any) -> None:
        self.runtime, self.session = runtime, session

    def create_text_message(self, text: str) -> Any:
        return "text", {"text": text}

    def create_json_message(self, json: Json) -> Any:
        return "json", {"json_object": json}

    def create_variable_message(self, variable_name: str, variable_value: Any) -> Any:
        return "variable", {"variable_name": variable_name, "variable_value": variable_value}


class _ValidationError(Exception):
    pass


class StandIn:
    """The plugin's own code, loaded again, on stand-ins for Dify's classes."""

    def __init__(self) -> None:
        self._tools = {
            "recall": importlib.import_module("tools.recall").RecallTool,
            "remember": importlib.import_module("tools.remember").RememberTool,
        }
        self._provider = importlib.import_module("provider.memorybase").MemorybaseProvider()
        importlib.import_module("memorybase_api").TIMEOUT_SECONDS = TIMEOUT_SECONDS  # type: ignore[attr-defined]

    def invoke(self, tool: str, credentials: Json, parameters: Json, asker: Asker) -> Said:
        runtime = types.SimpleNamespace(credentials=credentials, user_id=asker.user)
        session = types.SimpleNamespace(app_id=asker.app, conversation_id=asker.conversation, message_id=asker.message)
        return gathered(self._tools[tool](runtime, session)._invoke(parameters))

    def refusal(self, credentials: Json) -> str | None:
        try:
            self._provider._validate_credentials(credentials)
        except _ValidationError as error:
            return str(error)
        return None


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """The modules of Dify and of the plugin exist only meanwhile."""
    dify = {
        name: types.ModuleType(name)
        for name in (
            "dify_plugin",
            "dify_plugin.entities",
            "dify_plugin.entities.tool",
            "dify_plugin.errors",
            "dify_plugin.errors.tool",
        )
    }
    vars(dify["dify_plugin"]).update(Tool=_Tool, ToolProvider=object)
    vars(dify["dify_plugin.entities.tool"]).update(ToolInvokeMessage=tuple)
    vars(dify["dify_plugin.errors.tool"]).update(ToolProviderCredentialValidationError=_ValidationError)
    before = {name: sys.modules.pop(name, None) for name in (*dify, *MODULES)}
    sys.modules.update(dify)
    sys.path.insert(0, str(PLUGIN))
    try:
        yield StandIn()
    finally:
        sys.path.remove(str(PLUGIN))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


class WithSdk:
    """The plugin as Dify's daemon starts it: a process that reads requests from standard input, one a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._asked = 0
        self._guard = threading.Lock()  # one request after the other

    def invoke(self, tool: str, credentials: Json, parameters: Json, asker: Asker) -> Said:
        data = {"action": "invoke_tool", "tool": tool, "credentials": credentials, "tool_parameters": parameters}
        answers = [each["data"] for each in self._ask(data, asker) if each["type"] == "stream"]
        return gathered((each["type"], each["message"]) for each in answers)

    def refusal(self, credentials: Json) -> str | None:
        answers = self._ask({"action": "validate_tool_credentials", "credentials": credentials}, Asker())
        return next((each["data"]["message"] for each in answers if each["type"] == "error"), None)

    def _ask(self, data: Json, asker: Asker) -> list[Json]:
        with self._guard:
            return self._answers(data, asker)

    def _answers(self, data: Json, asker: Asker) -> list[Json]:
        self._asked += 1
        request = {
            "session_id": f"s{self._asked}",
            "event": "request",
            "conversation_id": asker.conversation,
            "app_id": asker.app,
            "message_id": asker.message,
            "data": {
                "type": "tool",
                "user_id": asker.user,
                "provider": "memorybase",
                "credential_type": "api-key",
                **data,
            },
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answers: list[Json] = []
        for line in self._process.stdout:
            answer = json.loads(line) if line.startswith("{") else {}
            if answer.get("event") == "session" and answer["session_id"] == request["session_id"]:
                answers.append(answer["data"])
                if answers[-1]["type"] in {"end", "error"}:
                    return answers
        raise AssertionError("the plugin's process has ended")


@contextmanager
def with_sdk(python: str) -> Iterator[WithSdk]:
    """In a process of this interpreter, whose environment has dify_plugin."""
    start = f"import main, memorybase_api; memorybase_api.TIMEOUT_SECONDS = {TIMEOUT_SECONDS}; main.plugin.run()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([python, "-c", start], cwd=PLUGIN, text=True, **pipes) as process:
        try:
            yield WithSdk(process)
        finally:
            process.kill()
