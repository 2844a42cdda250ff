"""Node memory in objects: the first design of Dify's NodeTokenBufferMemory, in Python only.

Each node of a conversation has a document, `{"version": 1, "messages": [...]}`, at
`node_memory/{app}/{conversation}/{node}.json` in the store of the setting node_memory_url. Concurrent appends of
several processes are all kept (see append_log). A turn is two messages, `ID` and `ID:assistant`; the answer's parent is
the question, a question's parent the answer of the previous turn.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from memorybase.conversation.node_object_memory.append_log import Document, Journal
from memorybase.conversation.node_object_memory.object_store import Objects, objects_at
from memorybase.conversation.view.build import View, ViewOptions, build_view
from memorybase.conversation.view.files import FileRef, FileResolver, Owner, read_files, remote_images
from memorybase.conversation.view.limits import Limits, Prune
from memorybase.conversation.view.records import Record, Role
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.database import clock
from memorybase.errors import InvalidRequest
from memorybase.queries import heartbeats
from memorybase.services import Services
from memorybase.settings import Settings

FOLDER = "node_memory"
ANSWER = ":assistant"
CLEAN_UP = "clean_node_memory"
CLEANED_EVERY = timedelta(days=1)
MAX_NAME = 150  # bytes of an escaped id in a file name


def key_of(app_id: str, conversation_id: str, node_id: str) -> str:
    """The document's key; parts are escaped, so different ids never share a key."""
    return "/".join([FOLDER, _escaped(app_id), _escaped(conversation_id), f"{_escaped(node_id)}.json"])


def objects_of(settings: Settings) -> Objects:
    return objects_at(settings.node_memory_url or str(settings.data_dir.resolve()))


class NodeTokenBufferMemory:
    """A node's own turns in a conversation. This object sees added turns at once, others after `flush`."""

    def __init__(
        self,
        app_id: str,
        conversation_id: str,
        node_id: str,
        model_instance: TokenCounter = ESTIMATE,
        *,
        objects: Objects,
        compress: bool = False,
        prune: Prune = "turn",
    ) -> None:
        self.model_instance = model_instance
        self._prune = prune
        self._added: list[dict[str, Any]] = []
        self._journal = Journal(
            objects, key_of(app_id, conversation_id, node_id), apply=_apply, empty=_empty, compress=compress
        )

    def add_messages(
        self,
        message_id: str,
        parent_message_id: str | None,
        user_content: str,
        user_files: Sequence[FileRef] = (),
        assistant_content: str = "",
        assistant_files: Sequence[FileRef] = (),
    ) -> None:
        """Add a turn, or replace the one with this id; `flush` writes it."""
        parent = None if parent_message_id is None else _turn(parent_message_id) + ANSWER
        question = self._message(message_id, parent, "user", user_content, user_files)
        answer = self._message(message_id + ANSWER, message_id, "assistant", assistant_content, assistant_files)
        self._added.append({"put": [question, answer]})

    def get_history_prompt_messages(
        self,
        current_message_id: str | None,
        tenant_id: str = "",
        max_token_limit: int = 2000,
        file_upload_config: FileResolver | None = None,
        *,
        parent_message_id: str | None = None,
    ) -> Sequence[dict[str, Any]]:
        """The thread that ends with a turn, as chat completion messages. A turn that is not added yet follows
        `parent_message_id` or else the newest turn. `file_upload_config` converts files to content parts."""
        del tenant_id  # the store is one tenant's
        return self.view(current_message_id, max_token_limit, file_upload_config, parent_message_id).messages

    def view(
        self,
        current_message_id: str | None,
        max_token_limit: int = 2000,
        file_upload_config: FileResolver | None = None,
        parent_message_id: str | None = None,
    ) -> View:
        """The same as a View, with sources and report."""
        document = self._journal.read()
        _apply(document, self._added)
        records = [_record(message, seq) for seq, message in enumerate(document["messages"], start=1)]
        ids = {record.id for record in records}
        answers = (
            _turn(turn_id) + ANSWER for turn_id in (current_message_id, parent_message_id) if turn_id is not None
        )
        leaf_id = next((answer for answer in answers if answer in ids), None)
        options = ViewOptions(
            thread="parents",
            leaf_id=leaf_id,
            limits=Limits(max_tokens=max(0, max_token_limit), prune=self._prune),
            align="none" if self._prune == "message" else "strict",
        )
        return build_view(records, options, counter=self.model_instance, resolve=file_upload_config or remote_images)

    def flush(self) -> None:
        """Write the added turns."""
        if self._added:
            self._journal.append(self._added)
            self._added = []

    def clear(self) -> None:
        """Delete every turn, at once."""
        self._added = []
        self._journal.append([{"clear": True}])
        self._journal.compact()

    def _message(
        self, message_id: str, parent_id: str | None, role: Role, content: str, files: Sequence[FileRef]
    ) -> dict[str, Any]:
        record = Record(id=message_id, seq=0, role=role, content=content, files=tuple(files))
        owner: Owner = "user" if role == "user" else "assistant"
        return {
            "message_id": message_id,
            "parent_message_id": parent_id,
            "role": role,
            "content": content,
            "files": [replace(file, belongs_to=owner).to_mapping() for file in files],
            "token_count": self.model_instance.count(record),
            "created_at": datetime.now(UTC).isoformat(),
        }


def clean_up(settings: Settings, *, now: datetime | None = None) -> int:
    """Delete documents without writes for node_memory_days; returns how many. With 0 days they are kept forever.

    Stops at half of job_deadline_seconds, after which a worker would exit; the next day's clean-up continues.
    """
    if settings.node_memory_days == 0:
        return 0
    until = time.monotonic() + settings.job_deadline_seconds / 2
    before = (now or datetime.now(UTC)) - timedelta(days=settings.node_memory_days)
    objects = objects_of(settings)
    written: dict[str, list[tuple[str, datetime]]] = {}
    for key, moment in objects.written(FOLDER):
        document = key.partition(".json.d/")[0].removesuffix(".json")
        written.setdefault(document, []).append((key, moment))
    old = {document: parts for document, parts in written.items() if max(moment for _, moment in parts) < before}
    deleted = 0
    for document, parts in old.items():
        if time.monotonic() > until:
            break
        for key, _ in parts:  # one by one: objects written meanwhile stay
            objects.delete(key)
        objects.remove_empty(f"{document}.json.d")
        objects.remove_empty(document.rpartition("/")[0])
        deleted += 1
    return deleted


def enqueue_clean_up(services: Services) -> int:
    """Enqueue the clean-up once a day if node_memory_days is set; returns whether it was enqueued."""
    if services.settings.node_memory_days == 0:
        return 0
    with services.database.transaction() as db:
        if not heartbeats.take_turn(db, CLEAN_UP, clock.now(db), CLEANED_EVERY):
            return 0
    enqueued = services.queue.enqueue_clean_up()
    if not enqueued:  # the next pass tries again
        with services.database.transaction() as db:
            heartbeats.delete(db, CLEAN_UP)
    return enqueued


def _empty() -> Document:
    return {"version": 1, "messages": []}


def _apply(document: Document, operations: Iterable[dict[str, Any]]) -> None:
    messages = {message["message_id"]: message for message in document.get("messages", ()) if _is_message(message)}
    for operation in operations:
        if operation.get("clear"):
            messages.clear()
        for message in operation.get("put", ()):
            messages[message["message_id"]] = message
    document["messages"] = list(messages.values())


def _record(message: dict[str, Any], seq: int) -> Record:
    return Record(
        id=message["message_id"],
        seq=seq,
        role=message["role"],
        content=message["content"],
        parent_id=message.get("parent_message_id"),
        files=read_files(message.get("files") or ()),
    )


def _is_message(raw: Any) -> bool:
    """Whether a document's message is valid; others may have written it."""
    return (
        isinstance(raw, dict)
        and isinstance(raw.get("message_id"), str)
        and isinstance(raw.get("content"), str)
        and raw.get("role") in {"user", "assistant"}
    )


def _turn(message_id: str) -> str:
    """The id of a message's turn."""
    return message_id.removesuffix(ANSWER)


def _escaped(part: str) -> str:
    if not part:
        raise InvalidRequest("app_id, conversation_id and node_id must not be empty")
    # quote keeps dots, but "." and ".." are not valid file names.
    escaped = quote(part, safe="", errors="surrogatepass").replace(".", "%2E")
    if len(escaped) <= MAX_NAME:
        return escaped
    digest = hashlib.sha256(part.encode(errors="surrogatepass")).hexdigest()
    return f"{escaped[: MAX_NAME - len(digest) - 1]}~{digest}"
