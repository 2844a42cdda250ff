"""Node memory in objects: the first design of Dify's node memory, in Python only.

Each node of a conversation has a document, `{"version": 1, "messages": [...]}`, at
`node_memory/{app}/{conversation}/{node}.json` in the store of the setting node_memory_url. Concurrent appends of
several processes are all kept (see append_log). A turn is two messages, `ID` and `ID:assistant`; the answer's parent is
the question. A question's parent is what the caller names: a turn, either of its messages, or NIL for the message just
before. Documents that others wrote may have other ids for answers.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from memorybase import deadlines
from memorybase.conversation.node_object_memory.append_log import Document, Journal
from memorybase.conversation.node_object_memory.object_store import Objects, objects_at
from memorybase.conversation.view.build import View, ViewOptions, build_view
from memorybase.conversation.view.files import FileRef, FileResolver, Owner, read_files, remote_images
from memorybase.conversation.view.limits import Limits, Prune
from memorybase.conversation.view.records import Record, Role
from memorybase.conversation.view.token_counters import default_counter
from memorybase.conversation.view.tokens import TokenCounter
from memorybase.errors import DocumentUnsupported, InvalidRequest
from memorybase.queries import heartbeats
from memorybase.services import Services, Task
from memorybase.settings import Settings

FOLDER = "node_memory"
ANSWER = ":assistant"
CLEAN_UP = "clean_node_memory"  # the turn that one sweeper takes
CLEAN_UP_TASK = Task("memorybase.clean_node_memory")
CLEANED_EVERY = timedelta(days=1)
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


def objects_of(settings: Settings) -> Objects:
    return objects_at(settings.node_memory_url or str(settings.data_dir.resolve()))


class NodeObjectMemory:
    """A node's own turns in a conversation. This object sees added turns at once, others after `flush`."""

    def __init__(
        self,
        app_id: str,
        conversation_id: str,
        node_id: str,
        model_instance: TokenCounter | None = None,
        *,
        objects: Objects,
        compress: bool = False,
        prune: Prune = "turn",
    ) -> None:
        self.model_instance = model_instance or default_counter()
        self._prune = prune
        self._added: list[dict[str, Any]] = []
        self._journal = Journal(
            objects,
            key_of(app_id, conversation_id, node_id),
            apply=_apply,
            empty=_empty,
            is_valid=_is_document,
            compress=compress,
        )

    def add_messages(
        self,
        message_id: str,
        parent_message_id: str | None,
        user_content: str,
        user_files: Sequence[FileRef | Mapping[str, Any]] = (),
        assistant_content: str = "",
        assistant_files: Sequence[FileRef | Mapping[str, Any]] = (),
    ) -> None:
        """Add a turn, or replace the one with this id; `flush` writes it. Raises InvalidRequest for what is no file."""
        asked, made = _files(user_files, "user_files"), _files(assistant_files, "assistant_files")
        question = self._message(message_id, parent_message_id, "user", user_content, asked)
        answer = self._message(message_id + ANSWER, message_id, "assistant", assistant_content, made)
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
        """The history as a View, with sources and report."""
        document = self._journal.read()
        _apply(document, self._added)
        records = _linked([_record(message, seq) for seq, message in enumerate(document["messages"], start=1)])
        turns = _Turns(records)
        ends = (turns.end(turn_id) for turn_id in (current_message_id, parent_message_id) if turn_id is not None)
        leaf_id = next((end for end in ends if end is not None), None)
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
            "token_counter": self.model_instance.name,
            "created_at": datetime.now(UTC).isoformat(),
        }


def clean_up(settings: Settings, now: datetime) -> int:
    """Delete documents without writes in the node_memory_days before `now`; returns how many. 0 days: none.

    Stops at half of the time after which a worker would exit; the next day's clean-up continues.
    """
    if settings.node_memory_days == 0:
        return 0
    until = time.monotonic() + deadlines.JOB_SECONDS / 2
    before = now - timedelta(days=settings.node_memory_days)
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
    if not heartbeats.take_turn(services.database, CLEAN_UP, CLEANED_EVERY):
        return 0
    enqueued = services.queue.notify(CLEAN_UP_TASK)
    if not enqueued:  # the next pass tries again
        with services.database.transaction() as db:
            heartbeats.delete(db, CLEAN_UP)
    return enqueued


def _empty() -> Document:
    return {"version": VERSION, "messages": []}


def _is_document(document: Document) -> bool:
    """Whether it is a document of this version. Raises DocumentUnsupported for a later one, which stays unchanged."""
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise DocumentUnsupported(
            f"version of a node memory must be {VERSION} (got {version})", field="version", value=version
        )
    return version == VERSION and version is not True and isinstance(document.get("messages"), list)


def _apply(document: Document, operations: Iterable[dict[str, Any]]) -> None:
    messages = {message["message_id"]: message for message in document["messages"] if _is_message(message)}
    for operation in operations:
        if operation.get("clear"):
            messages.clear()
        put = operation.get("put")
        for message in put if isinstance(put, list) else ():
            if _is_message(message):
                messages[message["message_id"]] = message
    document["messages"] = list(messages.values())


def _files(given: Sequence[FileRef | Mapping[str, Any]], field: str) -> list[FileRef]:
    return [
        each if isinstance(each, FileRef) else FileRef.from_mapping(each, where=f"{field}[{index}]")
        for index, each in enumerate(given)
    ]


def _record(message: dict[str, Any], seq: int) -> Record:
    return Record(
        id=message["message_id"],
        seq=seq,
        role=message["role"],
        content=message["content"],
        parent_id=message.get("parent_message_id"),
        files=read_files(files if isinstance(files := message.get("files"), list) else ()),
    )


class _Turns:
    """Finds the message that ends a turn, of any message of the turn."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._roles = {record.id: record.role for record in records}
        # A question's last answer counts; answers of other writers have different ids.
        self._answers = {record.parent_id: record.id for record in records if record.role == "assistant"}

    def end(self, message_id: str) -> str | None:
        """The turn's answer, or its question while there is none; None for an unknown turn."""
        if self._roles.get(message_id) == "assistant":
            return message_id
        turn_id = message_id.removesuffix(ANSWER)
        for end in (turn_id + ANSWER, self._answers.get(turn_id), turn_id):
            if end in self._roles:
                return end
        return None


def _linked(records: Sequence[Record]) -> list[Record]:
    """The records, each question after the end of the turn that it names; an unknown one ends the thread."""
    turns = _Turns(records)
    return [
        replace(record, parent_id=turns.end(record.parent_id) or record.parent_id)
        if record.role == "user" and record.parent_id
        else record
        for record in records
    ]


def _is_message(raw: Any) -> bool:
    """Whether a document's message is valid; others may have written it."""
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
