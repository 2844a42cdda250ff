"""The memory nodes of a flow, in Python: Chat Memory, Add Memory, Get Memory Data, Delete Memory.

    flow = FlowRef(services, user_id, flow_id)
    memory = ChatMemory(flow, "support", name="Support", chat_id="user-{{ start.user_id }}", max_messages=50)
    memory.add([{"role": "user"}], variables=variables, run_id=run_id)      # by the template of a user's message
    memory.view(variables=variables, run_id=run_id).messages                # what the model reads
    memory.add([{"role": "assistant", "content": answer}], variables=variables, run_id=run_id)
    DeleteMemory(memory, name="Undo", chat_id="...", mode="latest_request", roles=("user", "assistant")).run(variables)

Variables are what the flow's templates may name. A run is the invocation of the flow that executes the node.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from uuid import UUID

from memorybase.core.conversation.summarizers.llm import Summarizer
from memorybase.core.conversation.view.build import View
from memorybase.core.conversation.view.rendering import Align, Format
from memorybase.core.errors import InvalidRequest
from memorybase.core.ids import CallerId
from memorybase.core.services import Services
from memorybase.features.splox import message_log, summaries, views
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import ChatSelector, MemoryKey, chat_id_of, put_memory
from memorybase.features.splox.message_log import ChatPage, Deleted, DeletedRole, DeleteMode, Posted
from memorybase.features.splox.templates import check_template, render
from memorybase.features.splox.views import Trimmed

Variables = Mapping[str, Any]


class FlowRef(NamedTuple):
    """A user's flow, and the services to work with."""

    services: Services
    user_id: UUID
    flow_id: UUID


class ChatMemory:
    """A Chat Memory node with the fields of ChatMemoryConfig, stored on construction. Raises NotFound, InvalidRequest.

    With `enable_summarization` a worker updates the summary after a write; with a `summarizer` the write does so itself
    before it returns.
    """

    def __init__(self, flow: FlowRef, node_id: str, *, summarizer: Summarizer | None = None, **fields: Any) -> None:
        self.services = flow.services
        self.key = MemoryKey(flow.user_id, flow.flow_id, node_id)
        self.config = ChatMemoryConfig.of(fields)
        self._summarizer = summarizer
        put_memory(flow.services, self.key, self.config)

    def add(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        chat_id: str | None = None,
        variables: Variables | None = None,
        run_id: UUID | str | None = None,
        end_user_id: str | None = None,
    ) -> Posted:
        """Append to the chat."""
        chat = ChatSelector(chat_id, variables)
        posted = message_log.post_messages(
            self.services, self.key, chat, messages, run_id=self._run(run_id), end_user_id=end_user_id
        )
        if self._summarizer is None:
            summaries.request_if_due(self.services, self.key, posted.chat_id)
        else:
            summaries.summarize_due(self.services, self.key, posted.chat_id, summarizer=self._summarizer)
        return posted

    def view(
        self,
        *,
        chat_id: str | None = None,
        variables: Variables | None = None,
        run_id: UUID | str | None = None,
        align: Align = "none",
        shape: Format = "openai",
        model: str | None = None,
    ) -> View:
        """The messages that the model reads, without the run's own."""
        chat = ChatSelector(chat_id, variables)
        return views.view_chat(
            self.services, self.key, chat, run_id=self._run(run_id), align=align, shape=shape, model=model
        )

    def trim(self, chat_id: str, max_messages: int = 10) -> Trimmed:
        return views.trim_chat(self.services, self.key, chat_id, max_messages)

    def summarize(self, chat_id: str, keep_last_n: int = 2, summarize_prompt: str | None = None) -> Trimmed:
        return summaries.summarize_chat(
            self.services,
            self.key,
            chat_id,
            keep_last_n=keep_last_n,
            prompt=summarize_prompt,
            summarizer=self._summarizer,
        )

    def _run(self, run_id: UUID | str | None) -> CallerId | None:
        return None if run_id is None else CallerId.of(self.key.user_id, "run", run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A node that works on a chat of the memory; its own template makes the chat's id."""

    memory: ChatMemory
    name: str
    chat_id: str

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidRequest("The node's name must not be blank", field="name")
        check_template(self.chat_id, "chat_id")

    def _chat(self, variables: Variables) -> str:
        return chat_id_of(self.chat_id, variables, "chat_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory(_Node):
    """Adds one message. `files` is a template of JSON, {"files": [...]} or the list, and needs `enable_files`."""

    role: Literal["user", "assistant"]
    content: str = ""
    enable_files: bool = False
    files: str = ""

    def __post_init__(self) -> None:
        _Node.__post_init__(self)
        if self.role not in {"user", "assistant"}:
            raise InvalidRequest("role must be user or assistant", field="role", value=self.role)
        for field, template in (("content", self.content), ("files", self.files if self.enable_files else "")):
            if template:
                check_template(template, field)

    def run(self, variables: Variables, run_id: UUID | str | None = None, *, message_id: str | None = None) -> Posted:
        """Safe to repeat with a message id."""
        content = render(self.content, variables, field="content") if self.content else ""
        message: dict[str, Any] = {"role": self.role, "content": content, "files": self._files(variables)}
        if message_id is not None:
            message["id"] = message_id
        return self.memory.add([message], chat_id=self._chat(variables), run_id=run_id)

    def _files(self, variables: Variables) -> list[Any]:
        if not (self.enable_files and self.files):
            return []
        try:
            read = json.loads(render(self.files, variables, field="files"))
        except (ValueError, RecursionError):
            raise InvalidRequest("files must render to JSON", field="files") from None
        found = read.get("files") if isinstance(read, Mapping) else read
        if not isinstance(found, list):
            raise InvalidRequest("files must render to a list, or to an object with a list 'files'", field="files")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMemoryData(_Node):
    """The last `limit` stored messages; with an offset, even 0, those after the first `offset`."""

    limit: int = 50
    offset: int | None = None

    def run(self, variables: Variables) -> ChatPage:
        chat = self._chat(variables)
        return message_log.read_messages(
            self.memory.services, self.memory.key, chat, limit=self.limit, offset=self.offset
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMemory(_Node):
    """Deletes the latest request's messages, or all, in these roles."""

    mode: DeleteMode
    roles: Collection[DeletedRole]

    def __post_init__(self) -> None:
        _Node.__post_init__(self)
        message_log.check_deletion(self.mode, self.roles)

    def run(self, variables: Variables) -> Deleted:
        return message_log.delete_messages(
            self.memory.services, self.memory.key, self._chat(variables), mode=self.mode, roles=self.roles
        )
