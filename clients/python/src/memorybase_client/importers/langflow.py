"""Langflow's messages: the table `message` of its database, or the answers of its monitor API.

Each flow becomes a flow with its UUID and name, each run a run. Content blocks, the category and the model are kept in
the metadata; what only formats the chat (properties) is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from memorybase_client.importers.records import (
    Found,
    Json,
    RawRecord,
    Report,
    as_list,
    as_object,
    as_text,
    given,
    items_of,
    json_column,
    uuid_column,
)

Row = tuple[str, Json]  # with its place

MOST_ALIKE = 100  # rows of one time that are put in order
_TIME = ("flow_id", "session_id", "timestamp")


def fits(record: Json) -> bool:
    """Whether this is a message, or an answer with some."""
    items = items_of(RawRecord("", record), ("items", "messages"))
    return any("sender" in item and "flow_id" in item for _, item in items)


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of a table or of saved answers, in their order."""
    rows = (item for record in records for item in items_of(record, ("items", "messages")))
    for where, row in _in_turns(rows):
        message_id = uuid_column(row.get("id"))
        flow = uuid_column(row.get("flow_id"))
        session_id = as_text(row.get("session_id")) or flow
        if message_id is None or session_id is None or "sender" not in row:
            report.lose(where, "a message must have id, sender, and session_id or flow_id")
            continue
        yield Found(
            where,
            session_id,
            _message(message_id, row),
            flow=flow,
            flow_name=as_text(row.get("flow_name")),
            run=uuid_column(row.get("run_id")),
        )


def _in_turns(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of one session and time, which older versions have in whole seconds: an answer follows its question."""
    before: Json = {}
    for time, group in groupby(rows, key=lambda row: tuple(row[1].get(name) for name in _TIME)):
        if time[:-1] != tuple(before.get(name) for name in _TIME[:-1]):
            before = {}
        same: list[Row] = []
        for row in group:
            same.append(row)
            if len(same) == MOST_ALIKE or time[-1] is None:
                before = same[0][1]
                yield same.pop(0)
        while same:
            row = _following(before, same)
            same.remove(row)
            before = row[1]
            yield row


def _following(before: Json, rows: list[Row]) -> Row:
    return min(rows, key=lambda row: (_is_user(row[1]) is _is_user(before), not _is_of_run(row[1], before)))


def _is_user(row: Json) -> bool:
    return str(row.get("sender")).lower() == "user"


def _is_of_run(row: Json, other: Json) -> bool:
    return row.get("run_id") is not None and row.get("run_id") == other.get("run_id")


def _message(message_id: str, row: Json) -> Json:
    properties = as_object(json_column(row.get("properties")))
    category = as_text(row.get("category"))
    failed = bool(row.get("error")) or category == "error"
    metadata: Json = given(
        category=None if category == "message" else category,
        context_id=as_text(row.get("context_id")),
        content_blocks=as_list(json_column(row.get("content_blocks"))),
        session_metadata=as_object(json_column(row.get("session_metadata"))),
        source=given(**as_object(properties.get("source"))),
        usage=as_object(properties.get("usage")),
    )
    is_output: Any = None if failed else row.get("is_output")
    return {
        "id": message_id,
        "sender": row["sender"],
        "text": row.get("text"),
        "metadata": metadata,
        **given(
            sender_name=as_text(row.get("sender_name")),
            timestamp=row.get("timestamp"),
            files=as_list(json_column(row.get("files"))),
        ),
        **({"status": "failed"} if failed else {}),
        **({} if is_output is None else {"is_output": bool(is_output)}),
    }
