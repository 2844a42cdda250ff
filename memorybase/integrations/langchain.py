"""For LangChain: the history of a Chat Memory node, and conversion of messages. Needs the extra `langgraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, MessageLikeRepresentation, convert_to_messages
from langchain_core.messages.utils import convert_to_openai_messages

from memorybase.integrations.flow_memory import FlowMemory, Json


def to_dicts(messages: Sequence[MessageLikeRepresentation]) -> list[Json]:
    """Messages in the format that memorybase captures, with their ids."""
    return convert_to_openai_messages(convert_to_messages(messages), include_id=True)


def to_dict(message: BaseMessage) -> Json:
    """One message in that format, without its id; its text alone if it has content that cannot be converted."""
    try:
        (converted,) = convert_to_openai_messages([message])
    except (ValueError, KeyError, TypeError):
        role = {"human": "user", "ai": "assistant"}.get(message.type, message.type)
        return {"role": role, "content": message.text}
    return converted


def to_messages(view: Json) -> list[BaseMessage]:
    """A view's messages as LangChain messages."""
    return convert_to_messages(view["messages"])


class ChatHistory(BaseChatMessageHistory):
    """A chat of a Chat Memory node. `fields` configure the node and its limits."""

    def __init__(self, memory: FlowMemory, node_id: str, chat_id: str, **fields: Any) -> None:
        self._memory = memory
        self._node_id = node_id
        self._chat_id = chat_id
        memory.put_chat_memory(node_id, {"name": node_id, "chat_id": "{{ chat_id }}", **fields})

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class documents a property
        """What the model reads."""
        return to_messages(self._memory.view_chat(self._node_id, self._chat_id))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append all of them in one write."""
        if messages:
            self._memory.post_chat(self._node_id, self._chat_id, to_dicts(messages))

    def clear(self) -> None:
        """Delete every message of the chat."""
        self._memory.delete_chat(self._node_id, self._chat_id, mode="all", roles=("user", "assistant"))
