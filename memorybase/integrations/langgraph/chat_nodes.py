"""Nodes that read and write a chat's log, and the one that reads a session's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from memorybase.conversation.chat_memory.message_log import DeletedRole, DeleteMode, check_deletion
from memorybase.conversation.chat_memory.templates import check_template
from memorybase.integrations.flow_memory import FlowMemory, Json
from memorybase.integrations.langchain import to_messages
from memorybase.integrations.langgraph.calls import NodeCall, State
from memorybase.integrations.langgraph.prompts import LATEST_MESSAGE, Variables


@dataclass(frozen=True, kw_only=True, eq=False)
class ChatMemory:
    """Chat Memory: puts the chat's view under `into`. `fields` as in PUT /chat-memories."""

    memory: FlowMemory
    node_id: str
    chat_id: str = "{{ session_id }}"
    into: str = "history"
    fields: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_template(self.chat_id, "chat_id")
        fields = {"name": self.node_id, "chat_id": self.chat_id, **self.fields}
        self.memory.outbox.send("chat_memory", lambda: self.memory.put_chat_memory(self.node_id, fields))

    def chat_in(self, state: State, config: RunnableConfig) -> str:
        """The chat's id in this call; a blank value in it raises InvalidRequest."""
        return Variables(state, NodeCall.of(config)).text(self.chat_id, "chat_id", blanks=False)

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        chat_id, run_id = self.chat_in(state, config), NodeCall.of(config).run_id
        return {self.into: self.memory.outbox.read("chat", list[BaseMessage](), lambda: self._view(chat_id, run_id))}

    def _view(self, chat_id: str, run_id: str) -> list[BaseMessage]:
        return to_messages(self.memory.view_chat(self.node_id, chat_id, run_id))


@dataclass(frozen=True, kw_only=True, eq=False)
class AddMemory:
    """Add Memory: appends one message to a chat, with its images. A repetition adds nothing twice."""

    chat: ChatMemory
    role: Literal["user", "assistant"]
    content: str = LATEST_MESSAGE

    def __post_init__(self) -> None:
        check_template(self.content, "content")

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        call = NodeCall.of(config)
        content = Variables(state, call).content(self.content, "content")
        message = {"id": call.execution_id, "role": self.role, "content": content}
        chat_id, memory = self.chat.chat_in(state, config), self.chat.memory
        memory.outbox.send("chat_message", lambda: memory.post_chat(self.chat.node_id, chat_id, [message], call.run_id))
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class GetMemory:
    """Get Memory Data: puts the chat's stored messages under `into`, as JSON."""

    chat: ChatMemory
    into: str
    limit: int = 50
    offset: int | None = None

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        chat_id = self.chat.chat_in(state, config)
        return {self.into: self.chat.memory.outbox.read("chat_messages", [], lambda: self._items(chat_id))}

    def _items(self, chat_id: str) -> list[Any]:
        page = self.chat.memory.read_chat(self.chat.node_id, chat_id, limit=self.limit, offset=self.offset)
        items: list[Any] = page["items"]
        return items


@dataclass(frozen=True, kw_only=True, eq=False)
class DeleteMemory:
    """Delete Memory: deletes the messages of the run that wrote last, or all, in these roles.

    If memory is away, only the deletion of all waits: a repeated one of the latest might delete another run's.
    """

    chat: ChatMemory
    mode: DeleteMode = "latest_request"
    roles: Sequence[DeletedRole] = ("user", "assistant")

    def __post_init__(self) -> None:
        check_deletion(self.mode, self.roles)

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        chat_id, memory = self.chat.chat_in(state, config), self.chat.memory
        memory.outbox.send(
            "chat_deletion",
            lambda: memory.delete_chat(self.chat.node_id, chat_id, mode=self.mode, roles=self.roles),
            may_repeat=self.mode == "all",
        )
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Recall:
    """Puts the session's history, summary and memories relevant to the query under `into`, as messages.

    `min_score` of a memory: by default the server's; 0 leaves none out.
    """

    memory: FlowMemory
    node_id: str
    query: str = LATEST_MESSAGE
    into: str = "context"
    token_budget: int = 2_000
    preset: str = "token_buffer"
    min_score: float | None = None

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        call = NodeCall.of(config)
        query = Variables(state, call).text(self.query, "query")
        request = {**context_request(self.node_id, call, self.token_budget, self.preset), "query": query}
        if self.min_score is not None:
            request["recall"] = {"min_score": self.min_score}
        return {
            self.into: self.memory.outbox.read(
                "context", list[BaseMessage](), lambda: to_messages(call.read(self.memory.context, request))
            )
        }


def context_request(node_id: str, call: NodeCall, token_budget: int, preset: str) -> Json:
    """What a node asks of FlowMemory.context."""
    request = {
        "session_id": call.session_id, "run_id": call.run_id, "node_id": node_id,
        "token_budget": token_budget, "preset": preset,
    }  # fmt: skip
    return request if call.end_user_id is None else {**request, "end_user_id": call.end_user_id}
