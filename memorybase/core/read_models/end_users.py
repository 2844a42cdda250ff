"""The persons whose sessions and chats are stored, and everything that is stored of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memorybase.core.database.paging import Page, PageRequest, page_of
from memorybase.core.described import FlowId, MemoryBaseId, MemoryBaseName, NodeId
from memorybase.core.queries import end_users
from memorybase.core.queries.end_users import EndUserOrder
from memorybase.core.queries.ownership import not_found, require_flow
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class EndUserView:
    """A person."""

    end_user_id: Annotated[str, Field(description="The person, by the id that captures named.")]
    sessions: Annotated[int, Field(description="Number of sessions.")]
    chats: Annotated[int, Field(description="Number of chats.")]
    messages: Annotated[int, Field(description="Number of messages in the sessions.")]
    last_seen: Annotated[datetime, Field(description="When a message was last captured in a session or a chat.")]


@dataclass(frozen=True, slots=True)
class HeldView:
    """A memory base and how many of the person's messages it holds."""

    memory_base_id: MemoryBaseId
    name: MemoryBaseName
    flow_id: FlowId
    messages: Annotated[int, Field(description="Number of the person's messages that it holds.")]


@dataclass(frozen=True, slots=True)
class ChatsView:
    """A chat memory, and the person's chats in it."""

    flow_id: FlowId
    node_id: NodeId
    name: Annotated[str, Field(description="The name of the chat memory.")]
    chats: Annotated[int, Field(description="Number of the person's chats.")]
    messages: Annotated[int, Field(description="Number of messages in these chats.")]


@dataclass(frozen=True, slots=True)
class EndUserDetails:
    """Everything that is stored of a person."""

    end_user_id: Annotated[str, Field(description="The person, by the id that captures named.")]
    first_seen: Annotated[datetime, Field(description="When the first session or chat was created.")]
    last_seen: Annotated[datetime, Field(description="When a message was last captured in a session or a chat.")]
    flows: Annotated[int, Field(description="Number of flows with a session or a chat of the person.")]
    sessions: Annotated[int, Field(description="Number of sessions.")]
    runs: Annotated[int, Field(description="Number of runs in the sessions.")]
    messages: Annotated[int, Field(description="Number of messages in the sessions.")]
    chats: Annotated[int, Field(description="Number of chats.")]
    chat_messages: Annotated[int, Field(description="Number of messages in the chats.")]
    summaries: Annotated[int, Field(description="Number of summaries of sessions and chats.")]
    node_executions: Annotated[int, Field(description="Number of node executions in the sessions.")]
    memory_uses: Annotated[int, Field(description="Number of recorded memory uses in the sessions.")]
    memories: Annotated[list[HeldView], Field(description="The memory bases that hold messages of the person.")]
    chat_memories: Annotated[list[ChatsView], Field(description="The chat memories that have chats of the person.")]


def list_end_users(
    services: Services,
    user_id: UUID,
    request: PageRequest,
    *,
    flow_id: UUID | None = None,
    text: str | None = None,
    order: EndUserOrder = "recent",
) -> Page[EndUserView]:
    """Last seen first, or most sessions first. `text`: part of the id. Raises NotFound for the flow."""
    with services.database.reading(on_replica=True) as db:
        if flow_id is not None:
            require_flow(db, user_id, flow_id)
        wanted = None if text is None else text.strip() or None
        found = end_users.end_users_page(db, user_id, request, flow_id=flow_id, text=wanted, order=order)
        messages = end_users.messages_of(db, user_id, [row.end_user_id for row in found.rows], flow_id)
    return page_of(
        found,
        lambda row: view_of(
            EndUserView,
            row,
            messages=messages.get(row.end_user_id, 0),
        ),
    )


def get_end_user(services: Services, user_id: UUID, end_user_id: str) -> EndUserDetails:
    """Raises NotFound."""
    with services.database.reading() as db:
        times = end_users.times_of(db, user_id, end_user_id)
        if times.last_seen is None:
            raise not_found("end user", end_user_id)
        counts = end_users.counts_of(db, user_id, end_user_id)
        held = end_users.memories_of(db, user_id, end_user_id)
        chats = end_users.chats_of(db, user_id, end_user_id)
    return EndUserDetails(
        end_user_id=end_user_id,
        first_seen=times.first_seen,
        last_seen=times.last_seen,
        flows=times.flows,
        sessions=int(times.sessions),
        runs=counts["runs"],
        messages=counts["messages"],
        chats=int(times.chats),
        chat_messages=sum(int(row.messages) for row in chats),
        summaries=counts["summaries"] + sum(row.summaries for row in chats),
        node_executions=counts["node_executions"],
        memory_uses=counts["memory_uses"],
        memories=[HeldView(row.id, row.name, row.flow_id, int(row.messages)) for row in held],
        chat_memories=[view_of(ChatsView, row, messages=int(row.messages)) for row in chats],
    )
