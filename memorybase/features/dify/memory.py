"""Dify's memory of a conversation and of a node, as presets of the history that POST /history reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from memorybase.core import ids
from memorybase.core.conversation.history.read import history_of
from memorybase.core.conversation.history.request import DEFAULT_MAX_TOKENS, Conversation, HistoryRequest
from memorybase.core.conversation.view.build import View
from memorybase.core.conversation.view.files import FileResolver, remote_images
from memorybase.core.conversation.view.rendering import Prefixes
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.services import Services


class TokenBufferMemory:
    """The newest turns of a conversation that fit into a token budget.

    `message_limit` counts turns, `model_instance` tokens. `asked` are other fields of HistoryRequest: `leaf_id` and
    `run_id` read another branch, and `prune="message"` drops single messages as Dify does, and always keeps one. The
    open question is not part of its own history, even if it is captured already.
    """

    def __init__(
        self,
        conversation: Conversation,
        model_instance: TokenCounter | None = None,
        *,
        resolve: FileResolver = remote_images,
        **asked: Any,
    ) -> None:
        self.conversation = conversation
        self.model_instance = model_instance or counter_for(conversation.services.settings)
        self._request = HistoryRequest(**asked)
        self._resolve = resolve

    def get_history_prompt_messages(
        self, max_token_limit: int = DEFAULT_MAX_TOKENS, message_limit: int | None = None
    ) -> Sequence[dict[str, Any]]:
        """Chat completion messages, oldest first."""
        return self.view(max_token_limit, message_limit).messages

    def get_history_prompt_text(
        self,
        human_prefix: str = "Human",
        ai_prefix: str = "Assistant",
        max_token_limit: int = DEFAULT_MAX_TOKENS,
        message_limit: int | None = None,
    ) -> str:
        """The history as lines "prefix: content"."""
        return self.view(max_token_limit, message_limit, Prefixes(human_prefix, ai_prefix)).text

    def view(
        self,
        max_token_limit: int = DEFAULT_MAX_TOKENS,
        message_limit: int | None = None,
        prefixes: Prefixes | None = None,
    ) -> View:
        """The history with sources and report."""
        asked = replace(self._request, max_tokens=max_token_limit, message_limit=message_limit, prefixes=prefixes)
        return history_of(self.conversation, asked, counter=self.model_instance, resolve=self._resolve).view


class NodeTokenBufferMemory(TokenBufferMemory):
    """The newest turns of a node's own history that fit into a token budget.

    `app_id` is the flow, by its UUID or the runtime's own id; `conversation_id` the session; `tenant_id` the user. The
    runtime reports the node's outputs as executions, so there is nothing to add, flush or clear.
    """

    def __init__(
        self,
        app_id: UUID | str,
        conversation_id: str | None,
        node_id: str | None,
        tenant_id: UUID,
        model_instance: TokenCounter | None = None,
        *,
        services: Services,
        **asked: Any,
    ) -> None:
        conversation = Conversation(services, tenant_id, _flow_id(tenant_id, app_id), conversation_id or "")
        super().__init__(conversation, model_instance, mode="node", node_id=node_id, **asked)

    def _do_nothing(self, *_: Any, **__: Any) -> None:
        """For callers of Dify's first design."""

    add_messages = flush = clear = _do_nothing


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
) -> TokenBufferMemory | None:
    """The memory that a node is configured for; None without a configuration, a conversation or, in mode node, a node.

    `tenant_id` is the user, `app_id` the flow by its UUID or the runtime's own id."""
    if node_data_memory is None or not conversation_id:
        return None
    if node_data_memory.mode == MemoryMode.CONVERSATION:
        flow_id = _flow_id(tenant_id, app_id)
        return TokenBufferMemory(Conversation(services, tenant_id, flow_id, conversation_id), model_instance)
    if not node_id:
        return None
    return NodeTokenBufferMemory(app_id, conversation_id, node_id, tenant_id, model_instance, services=services)


def _flow_id(tenant_id: UUID, app_id: UUID | str) -> UUID:
    return app_id if isinstance(app_id, UUID) else ids.flow_id(tenant_id, app_id)
