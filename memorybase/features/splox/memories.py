"""The chat memories of a flow, and how a call identifies a chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions, errors
from memorybase.core.database import clock
from memorybase.core.database.paging import Page, PageRequest, page_of
from memorybase.core.deletions import OfNode
from memorybase.core.described import CounterName, CreatedAt, EndUserId, FlowId, Id, NodeId, UpdatedAt
from memorybase.core.messages import check_json
from memorybase.core.models import ID_LENGTH, ChatMemory
from memorybase.core.queries import memory_uses
from memorybase.core.queries.ownership import require, require_flow
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.validation import check_text
from memorybase.features.splox import queries
from memorybase.features.splox.config import ChatMemoryConfig, StoredConfig
from memorybase.features.splox.templates import render

log = get_logger(__name__)

DELETE_PAGE = 1_000  # rows per statement, to hold locks briefly
USES_PAGE = 100  # each with a row for each message in it


class MemoryKey(NamedTuple):
    """Identifies a Chat Memory node."""

    user_id: UUID
    flow_id: UUID
    node_id: str


@dataclass(frozen=True, slots=True)
class ChatSelector:
    """A reference to a chat: its id, or variables for the memory's template of the id."""

    chat_id: str | None = None
    variables: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.chat_id is None) == (self.variables is None):
            raise errors.InvalidRequest("Exactly one of chat_id and variables must be given", field="chat_id")
        if self.chat_id is not None:
            checked_chat_id(self.chat_id)
        check_json(self.variables, "variables")

    def resolve(self, template: str) -> str:
        """The chat's id; raises InvalidRequest if the variables do not make a valid one."""
        if self.chat_id is not None:
            return self.chat_id
        return chat_id_of(template, self.variables or {})


class ChatMemoryView(StoredConfig):
    """A stored chat memory."""

    id: Id
    flow_id: FlowId
    node_id: NodeId
    created_at: CreatedAt
    updated_at: UpdatedAt


@dataclass(frozen=True, slots=True)
class ChatView:
    """A chat with the size of its whole log."""

    chat_id: Annotated[str, Field(description="The chat's id, chosen by the caller.")]
    end_user_id: EndUserId
    messages: Annotated[int, Field(description="Number of messages in the log.")]
    tokens: Annotated[int, Field(description="Number of tokens in the log.")]
    counter: CounterName
    created_at: CreatedAt
    updated_at: UpdatedAt


def chat_id_of(template: str, variables: Mapping[str, Any], field: str = "variables") -> str:
    """The rendered template. A missing, null or empty value raises InvalidRequest: it would merge two users' chats."""
    check_json(variables, "variables")
    return checked_chat_id(render(template, variables, field=field, blanks=False), field)


def checked_chat_id(chat_id: str, field: str = "chat_id") -> str:
    check_text(chat_id, field)
    if not chat_id.strip():
        raise errors.InvalidRequest("The chat id must not be blank", field=field)
    if len(chat_id) > ID_LENGTH:
        message = f"The chat id must have at most {ID_LENGTH} characters"
        raise errors.InvalidRequest(message, field=field, value=len(chat_id), limit=ID_LENGTH)
    return chat_id


def put_memory(
    services: Services, key: MemoryKey, config: ChatMemoryConfig, *, replace: bool = True
) -> tuple[ChatMemoryView, bool]:
    """Create a node's memory or, with `replace`, change its configuration; its chats stay. Also returns whether it is
    new. Raises NotFound."""
    with services.database.transaction() as db:
        require_flow(db, key.user_id, key.flow_id)
        now = clock.now(db)
        options = config.model_dump(exclude={"name"})
        values = {
            "id": uuid4(),
            "flow_id": key.flow_id,
            "node_id": key.node_id,
            "name": config.name,
            "options": options,
            "revision": 1,
            "created_at": now,
            "updated_at": now,
        }
        created = queries.insert_memory(db, values)
        memory = require(queries.lock_memory(db, key.flow_id, key.node_id), "chat memory", key.node_id)
        if replace and not created:
            memory.revision += config_of(memory).trims_like != config.trims_like
            memory.name, memory.options, memory.updated_at = config.name, options, now
            db.flush()
        return _view(memory), created


def get_memory(services: Services, key: MemoryKey) -> ChatMemoryView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return _view(require_memory(db, key))


def list_memories(services: Services, user_id: UUID, flow_id: UUID, request: PageRequest) -> Page[ChatMemoryView]:
    """A flow's memories, oldest first. Raises NotFound."""
    with services.database.reading() as db:
        require_flow(db, user_id, flow_id)
        found = queries.memories_page(db, flow_id, request)
        return page_of(found, lambda row: _view(row.ChatMemory))


def list_chats(
    services: Services, key: MemoryKey, request: PageRequest, *, end_user_id: str | None = None
) -> Page[ChatView]:
    """A memory's chats, oldest first. Raises NotFound."""
    with services.database.reading() as db:
        memory = require_memory(db, key)
        found = queries.chats_page(db, memory.id, request, end_user_id=end_user_id)
        return page_of(found, lambda row: view_of(ChatView, row.Chat))


def delete_memory(services: Services, key: MemoryKey) -> None:
    """Delete the configuration, every chat and the node's recorded uses. Raises NotFound, and Held if one of the
    chats must be kept; safe to repeat."""
    with services.database.transaction() as db:
        memory = require_memory(db, key)
        deletions.check(db, services, key.user_id, OfNode(key.flow_id, memory.id))
    has_rows = True
    while has_rows:
        with services.database.transaction() as db:
            deletions.check(db, services, key.user_id, OfNode(key.flow_id, memory.id))
            has_rows = queries.delete_rows_of_memory(
                db, memory.id, limit=DELETE_PAGE
            ) or memory_uses.delete_uses_of_node(db, key.flow_id, key.node_id, limit=USES_PAGE)
    with services.database.transaction() as db:
        queries.delete_memory(db, memory.id)
    log.info("chat_memory_deleted", chat_memory_id=str(memory.id))


def require_memory(db: OrmSession, key: MemoryKey) -> ChatMemory:
    """Raises NotFound."""
    return require(queries.fetch_memory(db, key.user_id, key.flow_id, key.node_id), "chat memory", key.node_id)


def config_of(memory: ChatMemory) -> ChatMemoryConfig:
    return StoredConfig(name=memory.name, **memory.options)


def _view(memory: ChatMemory) -> ChatMemoryView:
    return ChatMemoryView(
        name=memory.name,
        **memory.options,
        id=memory.id,
        flow_id=memory.flow_id,
        node_id=memory.node_id,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
    )
