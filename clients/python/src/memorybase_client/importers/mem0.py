"""mem0's memories, as get_all() or its API answers: {results: [...]} or a list.

A memory that was a message (infer=False) keeps its role; one that mem0 extracted is an answer of mem0. They are sorted
by time, which mem0 does not do: so they are all held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from memorybase_client import errors
from memorybase_client.importers.records import (
    ROLES,
    Found,
    Json,
    RawRecord,
    Report,
    as_list,
    as_object,
    as_text,
    given,
    items_of,
    read_time,
)

_SCOPE = ("user_id", "agent_id", "run_id")
_LAST = datetime.max.replace(tzinfo=UTC)


def fits(record: Json) -> bool:
    """Whether this is a memory, or an answer with some."""
    items = items_of(RawRecord("", record), ("results", "memories"))
    return any(isinstance(item.get("memory"), str) and "id" in item for _, item in items)


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The memories, oldest first, as messages of the session that mem0's scope is."""
    found = [each for record in records for each in items_of(record, ("results", "memories"))]
    for where, memory in sorted(found, key=lambda each: _time(each[1])):
        memory_id, text = as_text(memory.get("id")), as_text(memory.get("memory"))
        if memory_id is None or text is None:
            report.lose(where, "a memory must have id and memory, a text that is not blank", value=memory.get("memory"))
            continue
        scope = [scope for name in _SCOPE if (scope := as_text(memory.get(name)))]
        session_id = "/".join(scope) or "memories"
        is_message = memory.get("role") in ROLES
        body = {"role": memory["role"] if is_message else "assistant", "content": text, "id": memory_id}
        body |= given(
            timestamp=memory.get("created_at"), sender_name=as_text(memory.get("actor_id")), metadata=_metadata(memory)
        )
        yield Found(
            where, session_id, body, end_user_id=as_text(memory.get("user_id")), run=None if is_message else "memories"
        )


def _metadata(memory: Json) -> Json:
    return {
        **as_object(memory.get("metadata")),
        **given(
            agent_id=as_text(memory.get("agent_id")),
            run_id=as_text(memory.get("run_id")),
            categories=as_list(memory.get("categories")),
        ),
    }


def _time(memory: Json) -> datetime:
    try:
        return read_time(memory.get("created_at")) or _LAST
    except errors.InvalidRequest:
        return _LAST
