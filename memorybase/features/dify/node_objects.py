"""Node memory in objects: the first design of Dify's node memory, in Python only.

Each node of a conversation has a document at `node_memory/{app}/{conversation}/{node}.json` in the store of the setting
node_memory_url. Concurrent appends of several processes are all kept (see append_log).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memorybase.core.conversation.history.request import token_buffer
from memorybase.core.conversation.view.build import View, build_view
from memorybase.core.conversation.view.files import FileRef, FileResolver, Owner, remote_images
from memorybase.core.conversation.view.limits import Prune
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.token_counters import default_counter
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.settings import Settings
from memorybase.features.dify import document as documents
from memorybase.features.dify.append_log import Journal
from memorybase.features.dify.object_store import Objects, objects_at


def objects_of(settings: Settings) -> Objects:
    """The store of the setting node_memory_url."""
    return objects_at(settings.node_memory_url or str(settings.data_dir.resolve()))


class NodeObjectMemory:
    """A node's own turns in a conversation. This object sees added turns at once, others after `flush`. `screen` is
    called with a text or a list of files and its field, and returns what may be stored: without a database no rule for
    secrets is known here."""

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
        screen: Callable[[Any, str], Any] = lambda value, _: value,
    ) -> None:
        self.model_instance = model_instance or default_counter()
        self._prune = prune
        self._screen = screen
        self._added: list[dict[str, Any]] = []
        self._journal = Journal(objects, documents.key_of(app_id, conversation_id, node_id), compress=compress)

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
        answer = self._message(message_id + documents.ANSWER, message_id, "assistant", assistant_content, made)
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
        documents.apply(document, self._added)
        turns = documents.Turns(document)
        ends = (turns.end(current_message_id), turns.end(parent_message_id))
        options = replace(
            token_buffer(max_token_limit, prune=self._prune),
            thread="parents",
            leaf_id=next((end for end in ends if end is not None), None),
        )
        resolve = file_upload_config or remote_images
        return build_view(turns.records, options, counter=self.model_instance, resolve=resolve)

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
        self, message_id: str, parent_id: str | None, role: Owner, content: str, files: Sequence[FileRef]
    ) -> dict[str, Any]:
        content = self._screen(content, f"{role}_content")
        record = Record(id=message_id, seq=0, role=role, content=content, files=tuple(files))
        return {
            "message_id": message_id,
            "parent_message_id": parent_id,
            "role": role,
            "content": content,
            "files": self._screen([replace(file, belongs_to=role).to_mapping() for file in files], f"{role}_files"),
            "token_count": self.model_instance.count(record),
            "token_counter": self.model_instance.name,
            "created_at": datetime.now(UTC).isoformat(),
        }


def _files(given: Sequence[FileRef | Mapping[str, Any]], field: str) -> list[FileRef]:
    return [
        each if isinstance(each, FileRef) else FileRef.from_mapping(each, where=f"{field}[{index}]")
        for index, each in enumerate(given)
    ]
