"""Dify's memory configuration of an LLM node, and the memory that it asks for."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel

from memorybase import ids
from memorybase.conversation.history.node_token_buffer import NodeTokenBufferMemory
from memorybase.conversation.history.token_buffer import Conversation, TokenBufferMemory
from memorybase.conversation.view.tokens import TokenCounter
from memorybase.services import Services


class MemoryMode(StrEnum):
    """The source of a node's history: the conversation's, or its own."""

    CONVERSATION = "conversation"
    NODE = "node"


class RolePrefix(BaseModel):
    """The prefixes of roles in a completion model's prompt."""

    user: str
    assistant: str


class MemoryWindowConfig(BaseModel):
    """Number of turns to read."""

    enabled: bool
    size: int | None = None


class MemoryConfig(BaseModel):
    """The memory of an LLM node, with the fields and defaults of Dify's documents."""

    role_prefix: RolePrefix | None = None
    window: MemoryWindowConfig | None = None
    query_prompt_template: str | None = None
    mode: MemoryMode = MemoryMode.CONVERSATION

    @property
    def message_limit(self) -> int | None:
        """The turns of the window, for `get_history_prompt_messages`; None without a window."""
        return self.window.size if self.window is not None and self.window.enabled else None


def fetch_memory(
    services: Services,
    *,
    tenant_id: UUID,
    app_id: UUID | str,
    conversation_id: str | None,
    node_data_memory: MemoryConfig | None,
    node_id: str | None = None,
    model_instance: TokenCounter | None = None,
) -> TokenBufferMemory | NodeTokenBufferMemory | None:
    """The memory that a node is configured for; None without a configuration, a conversation or, in mode node, a node.

    `tenant_id` is the user, `app_id` the flow by its UUID or the runtime's own id."""
    if node_data_memory is None or not conversation_id:
        return None
    if node_data_memory.mode == MemoryMode.NODE:
        if not node_id:
            return None
        return NodeTokenBufferMemory(app_id, conversation_id, node_id, tenant_id, model_instance, services=services)
    flow_id = app_id if isinstance(app_id, UUID) else ids.flow_id(tenant_id, app_id)
    return TokenBufferMemory(Conversation(services, tenant_id, flow_id, conversation_id), model_instance)
