"""Langflow's components in tests: in this process on stand-ins for Langflow's classes, or in its runtime, lfx."""

from __future__ import annotations

import asyncio
import atexit
import copy
import json
import re
import subprocess
import sys
import types
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "langflow"
TEMPLATE = CLIENT / "memory-chat.json"
DRIVER = Path(__file__).with_name("lfx_driver.py")
RECALL, REMEMBER, PROMPT, MODEL = "MemorybaseRecall", "MemorybaseRemember", "Prompt Template", "LanguageModelComponent"
# On a busy machine too, a search ends, a status says the result, and a process sends what waits.
PATIENT = {"DEADLINE_SECONDS": 30.0, "GRACE_SECONDS": 30.0, "EXIT_SECONDS": 60.0}
CONSTANTS = PATIENT | {"PAUSE_SECONDS": 0.1, "LONGEST_PAUSE_SECONDS": 0.2, "IDLE_SECONDS": 1.0}

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A run of the template. `graph`: what Langflow knows of it."""

    text: str
    recall: Json
    remember: Json
    graph: Json
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True)
class Ran:
    """What a run did: its answer, the model's prompt, the components' statuses and Recall's other output."""

    answer: str
    prompt: str
    recall: str
    remember: str
    memories: Json


class Runtime(Protocol):
    def run(self, request: Request, constants: Mapping[str, float]) -> Ran: ...


def code_of(name: str, constants: Mapping[str, float]) -> str:
    """A component's file with other values for some of its constants."""
    code = (CLIENT / f"{name}.py").read_text(encoding="utf-8")
    for constant, value in constants.items():
        code = re.sub(rf"^{constant} = [\d_.]+", f"{constant} = {value}", code, flags=re.MULTILINE)
    return code


def node_of(flow: Json, kind: str) -> Json:
    """The fields of the template's node of this component."""
    (node,) = (node for node in flow["data"]["nodes"] if node["id"] == f"{kind}-memory")
    found: Json = node["data"]["node"]["template"]
    return found


def template() -> Json:
    flow: Json = json.loads(TEMPLATE.read_text(encoding="utf-8"))
    return flow


# In place of a language model: what it answers can be compared.
MODEL_CODE = """
from lfx.custom.custom_component.component import Component
from lfx.io import MessageInput, Output
from lfx.schema.message import Message


class RepeatsLastLine(Component):
    inputs = [MessageInput(name="input_value", display_name="Input")]
    outputs = [Output(name="text_output", display_name="Model Response", method="text_response")]

    def text_response(self) -> Message:
        return Message(text="You said: " + self.input_value.text.splitlines()[-1])
"""


def prepared(request: Request, constants: Mapping[str, float]) -> Json:
    """The template with the fields that a user would fill in, and a model that needs no key."""
    flow = copy.deepcopy(template())
    for kind, name, fields in ((RECALL, "recall", request.recall), (REMEMBER, "remember", request.remember)):
        node = node_of(flow, kind)
        node["code"]["value"] = code_of(name, constants)
        for each, value in fields.items():
            node[each] |= {"value": value, "load_from_db": False}
    model = node_of(flow, MODEL)
    for each in [each for each in model if each not in {"_type", "code", "input_value"}]:
        del model[each]
    model["code"]["value"] = MODEL_CODE
    return flow


# Stand-ins


class _Component:
    """Stands in for lfx's Component: fields have their defaults, and log() keeps what it is given."""

    inputs: tuple[Any, ...] | list[Any] = ()
    status: Any = None

    def __init__(self, graph: Any, fields: Json) -> None:
        self.graph = graph
        self._id = f"{type(self).__name__}-memory"
        self.logs: list[str] = []
        known = {each.name: each.value for each in self.inputs}
        assert fields.keys() <= known.keys()
        vars(self).update(known | fields)

    def log(self, message: str, name: str | None = None) -> None:
        assert name
        self.logs.append(message)


@dataclass
class _Message:
    text: Any = ""
    error: bool = False


@dataclass
class _Data:
    data: Json


def _declared(**options: Any) -> Any:
    return types.SimpleNamespace(**{"value": None} | options)


class StandIn:
    """The components' own code on stand-ins for Langflow's classes, run again for each run, as Langflow does."""

    def __init__(self) -> None:
        self._prompt = node_of(template(), PROMPT)["template"]["value"]

    def component(self, name: str, request: Request, constants: Mapping[str, float], **connected: Any) -> Any:
        namespace: Json = {"__name__": "lfx.custom.validate"}
        exec(compile(code_of(name, constants), f"{name}.py", "exec"), namespace)  # as Langflow does
        fields = request.recall if name == "recall" else request.remember
        kind = namespace[RECALL if name == "recall" else REMEMBER]
        known = {"flow_id": None, "session_id": None, "flow_name": None, "end_user_id": None, "run_id": request.run_id}
        graph = types.SimpleNamespace(**known | {"persist_messages": True} | request.graph)
        return kind(graph, fields | connected)

    def run(self, request: Request, constants: Mapping[str, float]) -> Ran:
        recall = self.component("recall", request, constants, query=request.text)
        recall._pre_run_setup()
        recalled = asyncio.run(recall.recall_text())
        memories = asyncio.run(recall.recall_memories())
        prompt = self._prompt.format(memory=recalled.text, question=request.text)
        answer = _Message(f"You said: {prompt.splitlines()[-1]}")
        remember = self.component("remember", request, constants, user_message=_Message(request.text), answer=answer)
        passed = asyncio.run(remember.remember())
        assert (recall.status, remember.status) == (recall.logs[0], remember.logs[0])
        assert len(recall.logs) == 1, "both outputs share a search"
        return Ran(passed.text, prompt, recall.logs[0], remember.logs[0], memories.data)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """Langflow's modules exist only meanwhile, and so do the runs that wait in this process."""
    names = (
        "lfx",
        "lfx.custom",
        "lfx.custom.custom_component",
        "lfx.custom.custom_component.component",
        "lfx.io",
        "lfx.schema",
        "lfx.schema.data",
        "lfx.schema.message",
        "lfx.custom.validate",
    )
    modules = {name: types.ModuleType(name) for name in names}
    inputs = ("DropdownInput", "FloatInput", "HandleInput", "IntInput", "MessageTextInput", "Output", "SecretStrInput")
    vars(modules["lfx.io"]).update(dict.fromkeys(inputs, _declared))
    vars(modules["lfx.custom.custom_component.component"]).update(Component=_Component)
    vars(modules["lfx.schema.data"]).update(Data=_Data)
    vars(modules["lfx.schema.message"]).update(Message=_Message)
    assert not sys.modules.keys() & modules.keys(), "lfx is not installed here"
    sys.modules.update(modules)
    try:
        yield StandIn()
    finally:
        for name in names:
            del sys.modules[name]
        kept = sys.modules.pop("memorybase_langflow_outboxes", None)
        for outbox in getattr(kept, "by_memory", {}).values():
            atexit.unregister(outbox.finish)
            outbox._runs.clear()


# The runtime


class WithLfx:
    """The template in Langflow's runtime: a process that reads requests from standard input, one a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, request: Request, constants: Mapping[str, float]) -> Ran:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        sent = asdict(request) | {"flow": prepared(request, constants)}
        self._process.stdin.write(json.dumps(sent) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the driver's process has ended"
        answer = json.loads(line)
        if "failed" in answer:
            raise AssertionError(answer["failed"])
        return Ran(**answer)


@contextmanager
def with_lfx(python: str) -> Iterator[WithLfx]:
    """In a process of this interpreter, whose environment has lfx."""
    pipes: Json = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([python, str(DRIVER)], text=True, **pipes) as process:
        try:
            yield WithLfx(process)
        finally:
            process.kill()
