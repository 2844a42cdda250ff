from __future__ import annotations

import json
from typing import Any

from harness.exports import Json, langchain_messages
from harness.rows import each_row
from memorybase_client.importers import langchain as importer
from memorybase_client.importers.records import RawRecord, Report
from memorybase_client.importers.runs import runs_of

from memorybase.cli.import_runs import check

BYE = {"content": "Bye!", "tool_calls": [], "response_metadata": {}}


def messages_of(*values: Any, report: Report | None = None) -> list[Json]:
    report = report or Report()
    records = [RawRecord(f"at {n}", value, "chat") for n, value in enumerate(values)]
    parts = runs_of(importer.read(records, report), flow="langchain", into_one_flow=False, report=report, check=check)
    return [message for part in parts for message in part.messages]


def row(message: Any, **more: Any) -> Json:
    return {"id": 7, "session_id": "s", "message": message, **more}


def test_a_file_is_one_session_with_ids_by_position() -> None:
    messages = messages_of(*langchain_messages())
    assert [message["id"] for message in messages] == [f"chat:{n}" for n in range(1, 10)]
    assert messages[1]["is_output"] is False


def test_a_row_without_id_gets_its_position_in_the_session() -> None:
    hello = {"type": "human", "data": {"content": "hello"}}
    rows = [{"session_id": session, "message": hello} for session in ("a", "a", "b")]
    assert [message["id"] for message in messages_of(*rows)] == ["a:1", "a:2", "b:1"]


def test_fields_of_later_versions_are_left_out() -> None:
    (message,) = messages_of(row({"type": "human", "data": {"content": "x", "from the future": 1}}))
    assert message == {"type": "human", "content": "x", "id": "s:7"}


def test_rows_of_langchain_js_and_joined_chunks_are_read() -> None:
    messages = messages_of(
        row({"type": "human", "content": "Where?", "additional_kwargs": {}, "response_metadata": {}}),
        row(json.dumps({"type": "ai", "content": "Berth 12.", "tool_calls": [], "invalid_tool_calls": []}), id=8),
        row({"type": "ChatMessageChunk", "data": {"content": "Thanks", "role": "user"}}, id=9),
        row({"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": BYE}, id=10),
        row(json.dumps(json.dumps({"type": "human", "data": json.dumps({"content": "Bye."})})), id=11),
    )
    assert [(message["type"], message["content"]) for message in messages] == [
        ("human", "Where?"),
        ("ai", "Berth 12."),
        ("human", "Thanks"),
        ("ai", "Bye!"),
        ("human", "Bye."),
    ]


@each_row(
    "value",
    [
        None,
        {},
        row(None),
        row("{broken"),
        row(json.dumps(["human"])),
        row({"type": "human"}),
        row({"type": "remove", "data": {"content": "x"}}),
        row({"type": "chat", "data": {"content": "x", "role": "judge"}}),
        row({"type": "human", "data": {"content": None}}),
        row({"type": "human", "data": {"content": "x"}}, session_id=None),
        row({"type": "human", "data": {"content": "x"}}, session_id=3),
    ],
)
def test_an_odd_record_is_reported_and_the_others_are_kept(value: Any) -> None:
    report = Report()
    kept = row(json.dumps({"type": "human", "data": {"content": "kept"}}), id=8)
    assert [message["id"] for message in messages_of(value, kept, report=report)] == ["s:8"]
    assert report.total("lost") + report.total("skipped") == 1
