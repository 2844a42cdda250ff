"""Redis agent-memory-server: working memories of sessions, and long-term memories, as its API answers.

A namespace is a flow. Memories are messages of a separate session, next to the conversation that they are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import httpx

from memorybase_client.importers.records import Found, Json, RawRecord, Report, as_list, as_object, as_text, given

_MESSAGE = ("role", "content")


def fits(record: Json) -> bool:
    """Whether this is a working memory, the list of them, or the answer of a search."""
    texts = [as_object(each) for each in as_list(record.get("memories"))]
    is_list = any(isinstance(each, str) for each in as_list(record.get("sessions")))
    return is_list or any("text" in each for each in texts) or {"messages", "session_id"} <= record.keys()


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of working memories, then what is remembered."""
    for record in records:
        document = as_object(record.value)
        if isinstance(document.get("sessions"), list):  # the list of sessions, which links() follows
            continue
        if not any(isinstance(document.get(name), list) for name in ("messages", "memories")):
            report.lose(record.where, "a working memory must have messages, and an answer of a search memories")
            continue
        yield from _messages(record, document, report)
        yield from _memories(record, document, report)
        for name in ("context", "data"):
            if document.get(name):
                report.skip(
                    f"{record.where}.{name}", f"{name} is not imported: summaries are generated again", field=name
                )


def links(url: httpx.URL, value: Any) -> list[httpx.URL]:
    """The sessions of a list, and its next page."""
    document = as_object(value)
    sessions = [as_text(each) for each in as_list(document.get("sessions"))]
    if not sessions:
        return []
    folder = str(url.copy_with(query=None)).rstrip("/")
    params = {name: text for name, text in url.params.items() if name not in {"limit", "offset"}}
    found = [httpx.URL(f"{folder}/{quote(each, safe='')}", params=params) for each in sessions if each]
    offset, total = url.params.get("offset", "0"), document.get("total")
    seen = (int(offset) if offset.isdecimal() else 0) + len(sessions)
    if isinstance(total, int) and seen < total:
        found.append(url.copy_set_param("offset", seen))
    return found


def _messages(record: RawRecord, document: Json, report: Report) -> Iterator[Found]:
    session_id = as_text(document.get("session_id")) or record.source
    for index, message in enumerate(map(as_object, as_list(document.get("messages")))):
        where = f"{record.where}.messages[{index}]"
        message_id = as_text(message.get("id"))
        if message_id is None or not all(name in message for name in _MESSAGE):
            report.lose(where, "a message must have id, role and content")
            continue
        body = {name: message[name] for name in _MESSAGE}
        yield Found(
            where,
            session_id,
            {**body, "id": f"{session_id}:{message_id}", **given(timestamp=message.get("created_at"))},
            flow=as_text(document.get("namespace")),
            end_user_id=as_text(document.get("user_id")),
        )


def _memories(record: RawRecord, document: Json, report: Report) -> Iterator[Found]:
    for index, memory in enumerate(map(as_object, as_list(document.get("memories")))):
        where = f"{record.where}.memories[{index}]"
        of = {
            name: as_text(memory.get(name)) or as_text(document.get(name))
            for name in ("user_id", "session_id", "namespace")
        }
        memory_id, text = as_text(memory.get("id")), as_text(memory.get("text"))
        if memory_id is None or text is None:
            report.lose(where, "a memory must have id and text", field="text", value=memory.get("text"))
            continue
        if memory.get("memory_type") == "message":
            report.skip(where, "a memory of the type message repeats a message of its session")
            continue
        session_id = "/".join([name for name in (of["user_id"], of["session_id"]) if name] + ["memories"])
        metadata = given(
            memory_type=memory.get("memory_type"),
            topics=as_list(memory.get("topics")),
            entities=as_list(memory.get("entities")),
            event_date=as_text(memory.get("event_date")),
        )
        body = {"role": "assistant", "content": text, "id": f"memory:{memory_id}", "metadata": metadata}
        yield Found(
            where,
            session_id,
            {**body, **given(timestamp=memory.get("created_at"))},
            flow=of["namespace"],
            end_user_id=of["user_id"],
            run="memories",
        )
