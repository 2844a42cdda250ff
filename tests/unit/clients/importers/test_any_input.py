"""Whatever a source holds, reading it reports what does not fit and goes on."""

from __future__ import annotations

import copy
from typing import Any
from uuid import UUID

import pytest
from harness import exports
from harness.rows import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from memorybase_client.importers.recognise import EXPORT, LINES, LOCOMO
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
    assert [each.value for each in Format] == [*SYSTEMS, LINES, LOCOMO, EXPORT]
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
