"""The document of a node's memory in Dify's format, `{"version": 1, "messages": [...]}`: pure functions.

A turn is two messages, `ID` and `ID:assistant`; the answer's parent is the question. A question's parent is what the
caller names: a turn, either of its messages, or NIL for the message just before. Documents that others wrote may have
other ids for answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from memorybase.core.conversation.view.files import read_files
from memorybase.core.conversation.view.records import Record
from memorybase.core.errors import DocumentUnsupported, InvalidRequest

Document = dict[str, Any]

FOLDER = "node_memory"
ANSWER = ":assistant"
MAX_NAME = 150  # bytes of an escaped id in a file name
VERSION = 1


def key_of(app_id: str, conversation_id: str, node_id: str) -> str:
    """The document's key; parts are escaped, so different ids never share a key. Raises InvalidRequest for a missing
    id: all conversations without one would share a memory."""
    for field, part in {"app_id": app_id, "conversation_id": conversation_id, "node_id": node_id}.items():
        if not part:
            raise InvalidRequest(f"{field} must not be empty (got {part!r})", field=field, value=part)
    return f"{folder_of(app_id, conversation_id)}/{_escaped(node_id)}.json"


def folder_of(app_id: str, conversation_id: str | None = None) -> str:
    """The folder of an app's documents, or of one conversation's."""
    return "/".join([FOLDER, *(_escaped(part) for part in (app_id, conversation_id) if part is not None)])


def empty() -> Document:
    return {"version": VERSION, "messages": []}


def is_document(document: Document) -> bool:
    """Whether it is a document of this version. Raises DocumentUnsupported for a later one, which stays unchanged."""
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise DocumentUnsupported(
            f"version of a node memory must be {VERSION} (got {version})", field="version", value=version
        )
    return version == VERSION and version is not True and isinstance(document.get("messages"), list)


def apply(document: Document, operations: Iterable[dict[str, Any]]) -> None:
    """Apply the operations to the document, in place. What is no message is left out: others may have written it."""
    messages = {message["message_id"]: message for message in document["messages"] if _is_message(message)}
    for operation in operations:
        if operation.get("clear"):
            messages.clear()
        put = operation.get("put")
        messages |= {each["message_id"]: each for each in (put if isinstance(put, list) else ()) if _is_message(each)}
    document["messages"] = list(messages.values())


class Turns:
    """The messages as records, each question after the end of the turn that it names; an unknown one ends the
    thread."""

    def __init__(self, document: Document) -> None:
        records = [_record(message, seq) for seq, message in enumerate(document["messages"], start=1)]
        self._roles = {record.id: record.role for record in records}
        # A question's last answer counts; answers of other writers have different ids.
        self._answers = {record.parent_id: record.id for record in records if record.role == "assistant"}
        self.records = [
            replace(record, parent_id=self.end(record.parent_id) or record.parent_id)
            if record.role == "user" and record.parent_id
            else record
            for record in records
        ]

    def end(self, message_id: str | None) -> str | None:
        """The answer of the turn with this message, or its question while there is none; None for an unknown turn."""
        if message_id is None or self._roles.get(message_id) == "assistant":
            return message_id
        turn_id = message_id.removesuffix(ANSWER)
        ends = (turn_id + ANSWER, self._answers.get(turn_id), turn_id)
        return next((end for end in ends if end in self._roles), None)


def _record(message: dict[str, Any], seq: int) -> Record:
    return Record(
        id=message["message_id"],
        seq=seq,
        role=message["role"],
        content=message["content"],
        parent_id=message.get("parent_message_id"),
        files=read_files(files if isinstance(files := message.get("files"), list) else ()),
    )


def _is_message(raw: Any) -> bool:
    return (
        isinstance(raw, dict)
        and isinstance(raw.get("message_id"), str)
        and isinstance(raw.get("content"), str)
        and raw.get("role") in ("user", "assistant")
        and isinstance(raw.get("parent_message_id"), str | None)
    )


def _escaped(part: str) -> str:
    if not part:
        raise InvalidRequest("An id must not be empty")
    # quote keeps dots, but "." and ".." are not valid file names.
    escaped = quote(part, safe="", errors="surrogatepass").replace(".", "%2E")
    if len(escaped) <= MAX_NAME:
        return escaped
    digest = hashlib.sha256(part.encode(errors="surrogatepass")).hexdigest()
    return f"{escaped[: MAX_NAME - len(digest) - 1]}~{digest}"
