"""The chats of a Chat Memory node, for LangChain's and LangGraph's messages."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.messages.utils import convert_to_openai_messages

from memorybase_client import AgentMemory, Client
from memorybase_client.integrations._messages import Json

Mode = Literal["latest_request", "all"]
Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Chats:
    """Reads nothing while memorybase is unreachable. Writes wait in the outbox, except a deletion of the latest
    messages."""

    memory: AgentMemory
    node_id: str

    def configure(self, fields: Mapping[str, Any]) -> None:
        """Create the memory, or change these fields of it. Raises TypeError for a field that does not exist."""
        flow_id, node_id = self.memory.flow_id, self.node_id
        named = {"name": node_id, "chat_id": "{{ chat_id }}", **fields}
        inspect.signature(Client.put_chat_memory).bind(None, flow_id, node_id, **named)
        self.memory.later(lambda calls: calls.put_chat_memory(flow_id, node_id, **named))

    def view(self, chat_id: str, run_id: str | None = None) -> list[BaseMessage]:
        """The messages that a model reads, without the run's own."""
        flow_id, node_id = self.memory.flow_id, self.node_id
        found = self.memory.read(lambda client: client.view_chat(flow_id, node_id, chat_id=chat_id, run_id=run_id))
        return [] if found is None else convert_to_messages(found.messages)

    def stored(self, chat_id: str, *, limit: int, offset: int | None) -> list[Json]:
        """The stored messages, the latest unless `offset` is given."""
        flow_id, node_id = self.memory.flow_id, self.node_id
        page = self.memory.read(
            lambda client: client.list_chat_messages(
                flow_id, node_id, chat_id=chat_id, limit=limit, offset=offset
            ).page()
        )
        return [] if page is None else [item.model_dump(mode="json", exclude_unset=True) for item in page.items]

    def add(self, chat_id: str, messages: Sequence[Json], run_id: str | None = None) -> None:
        """Append to a chat."""
        flow_id, node_id = self.memory.flow_id, self.node_id
        self.memory.later(
            lambda calls: calls.post_chat_messages(flow_id, node_id, chat_id=chat_id, run_id=run_id, messages=messages)
        )

    def delete(self, chat_id: str, mode: Mode, roles: Sequence[Role]) -> None:
        """Delete the messages of the run that wrote last, or all. The first is not repeated later, when it might delete
        those of another run."""
        flow_id, node_id = self.memory.flow_id, self.node_id
        named: Json = {"chat_id": chat_id, "mode": mode, "roles": roles}
        if mode == "all":
            self.memory.later(lambda calls: calls.delete_chat_messages(flow_id, node_id, **named))
        else:
            self.memory.read(lambda client: client.delete_chat_messages(flow_id, node_id, **named))


def to_json(message: BaseMessage, *, has_id: bool = False) -> Json:
    """The message in OpenAI's format; its text alone if it has content that cannot be converted."""
    try:
        (converted,) = convert_to_openai_messages([message], include_id=has_id)
    except (ValueError, KeyError, TypeError):
        role = {"human": "user", "ai": "assistant"}.get(message.type, message.type)
        return {"role": role, "content": message.text, **({"id": message.id} if has_id and message.id else {})}
    return converted
