"""Whatever a source holds, reading it reports what does not fit and goes on."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from harness import exports
from harness.coding_agents import ClaudeTranscript, CodexTranscript, CursorDatabase, machine_at
from harness.rows import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from memorybase_client.coding_agents import history
from memorybase_client.importers.recognise import EXPORT, GIT, LINES, LOCOMO
from memorybase_client.importers.records import RawRecord, Report
from memorybase_client.importers.runs import runs_of
from memorybase_client.importers.systems import SYSTEMS

from memorybase.cli.import_file import Format
from memorybase.cli.import_runs import check
from memorybase.core.messages import normalise_all

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["\x00", "{", ""])
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


def langchain_rows() -> list[Any]:
    return [{"id": n, "session_id": "s", "message": each} for n, each in enumerate(exports.langchain_messages())]


def zep() -> list[Any]:
    message = {
        "uuid": "u",
        "role": "user",
        "role_type": "user",
        "name": "n",
        "content": "x",
        "thread_uuid": "t",
        "reference_time": "2026-03-01T10:00:00Z",
        "metadata": {"a": 1},
    }
    episode = {"uuid": "e", "name": "note", "group_id": "g", "source": "text", "content": "x", "valid_at": None}
    return [{"items": [message], "user_id": "ada"}, {"episodes": [episode]}]


def agent_memory_server() -> list[Any]:
    message = {"id": "m", "role": "user", "content": "x", "created_at": "2026-03-01T10:00:00Z"}
    memory = {"id": "f", "text": "x", "memory_type": "semantic", "topics": ["a"], "entities": [], "user_id": "ada"}
    return [{"session_id": "s", "namespace": "n", "messages": [message], "memories": [memory], "context": "x"}]


DOCUMENTS: dict[str, list[Any]] = {
    "chatgpt": exports.chatgpt(),
    "claude": exports.claude(),
    "langchain": langchain_rows(),
    "langflow": exports.langflow_rows(),
    "mem0": [exports.mem0()],
    "letta": [exports.letta()],
    "zep": zep(),
    "agent-memory-server": agent_memory_server(),
}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) within a JSON value."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        at = waiting.pop()
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        for key in keys:
            found.append((at, key))
            waiting.append(at[key])
    return found


def test_each_system_can_be_chosen_and_is_tested_here() -> None:
    assert [each.value for each in Format] == [*SYSTEMS, GIT, LINES, LOCOMO, EXPORT]
    assert list(SYSTEMS) == list(DOCUMENTS)


def read_changed_documents(system: str, data: st.DataObject) -> None:
    documents = copy.deepcopy(DOCUMENTS[system])
    for _ in range(data.draw(st.integers(1, 3))):
        spots = places(documents)
        container, key = spots[data.draw(st.integers(0, len(spots) - 1))]
        container[key] = data.draw(JSON)
    report = Report()
    records = [RawRecord(f"[{n}]", each, "source") for n, each in enumerate([*documents, data.draw(JSON)])]
    for part in runs_of(
        SYSTEMS[system].read(records, report), flow="f", into_one_flow=False, report=report, check=check
    ):
        assert 0 < len(part.flow) <= 128
        assert part.session_id.strip()
        assert len(part.session_id) <= 128
        normalise_all(part.messages, user_id=UUID(int=0))


@pytest.mark.slow
@each_row("system", SYSTEMS)
@given(data=st.data())
@settings(max_examples=40)
def test_a_changed_document_is_read_to_the_end(system: str, data: st.DataObject) -> None:
    read_changed_documents(system, data)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)  # seconds each
@given(data=st.data())
@settings(max_examples=500)
def test_many_changed_documents_are_read_to_the_end(system: str, data: st.DataObject) -> None:
    read_changed_documents(system, data)


def past_session(agent: str, home: Path) -> tuple[Path | CursorDatabase, list[Any]]:
    """Where the agent keeps a session, and its lines or bubbles."""
    if agent == "cursor":
        tool = {"name": "edit", "rawArgs": "{}", "toolCallId": "t"}
        rich = json.dumps({"root": {"children": [{"type": "paragraph", "children": [{"text": "Hi"}]}]}})
        bubble = {"type": 2, "text": "Done.", "thinking": {"text": "hm"}, "timingInfo": {"clientRpcSendTime": 1.8e12}}
        return CursorDatabase(home), [
            {"type": 1, "requestId": "g", "text": "", "richText": rich, "modelInfo": {"modelName": "m"}},
            {"type": 2, "text": "", "toolFormerData": tool},
            bubble,
        ]
    transcript = (ClaudeTranscript if agent == "claude-code" else CodexTranscript).of(home, "s-1")
    transcript.user("Hi")
    transcript.tool("Read", {"file_path": "a"}, "text")
    transcript.assistant("Done.")
    return transcript.path, [json.loads(line) for line in transcript.path.read_text().splitlines()]


@pytest.mark.slow
@each_row("agent", ["claude-code", "codex", "cursor"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_past_session_is_read_to_the_end(agent: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, machine_at(Path(folder)) as machine:
        place, records = past_session(agent, machine.home)
        composer: dict[str, Any] = {
            "workspaceIdentifier": {"uri": {"fsPath": "/work"}},
            "modelConfig": {"modelName": "m"},
        }
        for _ in range(data.draw(st.integers(1, 3))):
            spots = places([records, composer])[2:]
            container, key = spots[data.draw(st.integers(0, len(spots) - 1))]
            container[key] = data.draw(JSON)
        if isinstance(place, CursorDatabase):
            place.session("s-1", [each if isinstance(each, dict) else {"type": each} for each in records], **composer)
        else:
            place.write_text("\n".join(map(json.dumps, [*records, data.draw(JSON)])))
        report = Report()
        for session in history.past_sessions([agent], report):
            found = history.messages_of(session, {"tools": True}, report)
            for part in runs_of(found, flow="f", into_one_flow=True, report=report, check=check):
                normalise_all(part.messages, user_id=UUID(int=0))
