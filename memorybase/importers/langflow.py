"""Langflow's messages: the table `message` of its database, or what its monitor API answers.

Each flow becomes a flow with its UUID and name, each run a run. Content blocks, the category and the model are kept in
the metadata; what only formats the chat (properties) is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memorybase.importers.records import (
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


def fits(record: Json) -> bool:
    """Whether this is a message, or an answer with some."""
    items = items_of(RawRecord("", record), ("items", "messages"))
    return any("sender" in item and "flow_id" in item for _, item in items)


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of a table or of saved answers, in their order."""
    for record in records:
        for where, row in items_of(record, ("items", "messages")):
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
    is_output: Any = row.get("is_output")
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
