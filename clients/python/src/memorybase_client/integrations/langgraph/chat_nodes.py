"""Nodes that read and write a chat's log, and the one that reads a session's context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from langchain_core.messages import HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig

from memorybase_client import AgentMemory, Client
from memorybase_client.integrations._chats import Chats, Mode, Role, to_json
from memorybase_client.integrations._messages import Json
from memorybase_client.integrations.langgraph.asked import Write, latest
from memorybase_client.integrations.langgraph.calls import NodeCall, State


@dataclass(frozen=True, kw_only=True, eq=False)
class ChatMemory:
    """Chat Memory: puts the chat's view under `into`. `chat_id` is made from the state, by default the session's id;
    `fields` as in PUT /chat-memories."""

    memory: AgentMemory
    node_id: str
    chat_id: Callable[[State], str] | None = None
    into: str = "history"
    fields: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chats.configure(self.fields)

    @property
    def chats(self) -> Chats:
        return Chats(self.memory, self.node_id)

    def chat_in(self, state: State, config: RunnableConfig) -> str:
        """The chat's id in this call; raises ValueError if it is blank."""
        if self.chat_id is None:
            return NodeCall.of(config).session_id
        chat_id = self.chat_id(state)
        if not chat_id.strip():
            raise ValueError(f"chat_id of the node {self.node_id} must not be blank (got {chat_id!r})")
        return chat_id

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        return {self.into: self.chats.view(self.chat_in(state, config), NodeCall.of(config).run_id)}


@dataclass(frozen=True, kw_only=True, eq=False)
class AddMemory:
    """Add Memory: appends one message to a chat, with its images: by default the state's last message. A repetition
    adds nothing twice."""

    chat: ChatMemory
    role: Role
    content: Write | None = None

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        call = NodeCall.of(config)
        content = latest(state).content if self.content is None else self.content(state)
        message = {**to_json(HumanMessage(content)), "id": call.execution_id, "role": self.role}
        self.chat.chats.add(self.chat.chat_in(state, config), [message], call.run_id)
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
        return {self.into: self.chat.chats.stored(chat_id, limit=self.limit, offset=self.offset)}


@dataclass(frozen=True, kw_only=True, eq=False)
class DeleteMemory:
    """Delete Memory: deletes the messages of the run that wrote last, or all, in these roles.

    If memorybase is unreachable, only a deletion of all waits in the outbox: a late deletion of the latest might hit
    another run's.
    """

    chat: ChatMemory
    mode: Mode = "latest_request"
    roles: Sequence[Role] = ("user", "assistant")

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        self.chat.chats.delete(self.chat.chat_in(state, config), self.mode, self.roles)
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Recall:
    """Puts the session's history, summary and memories relevant to the query under `into`, as messages.

    `query` is made from the state, by default its last message. `min_score` of a memory: by default the server's; 0
    leaves none out.
    """

    memory: AgentMemory
    node_id: str
    query: Callable[[State], str] | None = None
    into: str = "context"
    token_budget: int = 2_000
    preset: Literal["token_buffer", "window", "flowx_5", "flowx_6"] = "token_buffer"
    min_score: float | None = None

    def __call__(self, state: State, config: RunnableConfig) -> Json:
        call = NodeCall.of(config)
        view = call.read(
            self.memory,
            Client.build_context,
            node_id=self.node_id,
            query=latest(state).text if self.query is None else self.query(state),
            token_budget=self.token_budget,
            preset=self.preset,
            end_user_id=call.end_user_id or self.memory.end_user_id,
            recall=None if self.min_score is None else {"min_score": self.min_score},
        )
        return {self.into: [] if view is None else convert_to_messages(view.messages)}
