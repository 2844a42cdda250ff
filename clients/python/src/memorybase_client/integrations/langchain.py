"""For LangChain: a chat history and a retriever.

    memory = AgentMemory("support", outbox="memorybase-outbox")
    history = MemorybaseChatMessageHistory(memory, "anna")
    retriever = MemorybaseRetriever(memory=memory)

MemorybaseChatMemory is the history of a Chat Memory node. If memorybase is unreachable, none of them breaks or blocks a
chain; `memory.failure` says why. Only clear() of a session raises.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import ensure_config

from memorybase_client import AgentMemory
from memorybase_client._corrections import correction_metadata
from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._chats import Chats, to_json
from memorybase_client.integrations._dumps import (
    LATEST,
    arguments_of,
    call_of,
    key_of_others,
    message_key,
    plain,
    stored_message,
)
from memorybase_client.integrations._messages import Json, batches, rest_of, texts, whole_of
from memorybase_client.integrations._recall import SEARCHES, Given, merged

if TYPE_CHECKING:
    from memorybase_client import models

FRAMEWORK = "langchain"
TURN_SECONDS = 60.0
REMEMBERED_SESSIONS = 1_000

_ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessageChunk": "tool",
}


class MemorybaseChatMessageHistory(BaseChatMessageHistory):
    """A session's latest messages, as they were added. Added messages without an id get one, so that the same
    messages added again are stored once."""

    def __init__(
        self, memory: AgentMemory, session_id: str, *, limit: int | None = LATEST, end_user_id: str | None = None
    ) -> None:
        if not session_id:
            raise ValueError("session_id must not be empty")
        self._memory = memory
        self._session = storable_id(session_id)
        self._limit = limit
        self._end_user_id = end_user_id
        self._empty_until = 0.0
        self._run_id: str | None = None

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class documents a property
        """Oldest first; none while memorybase is unreachable."""
        # A chain compares what it read at its start with what it reads at its end: both must be of one state.
        if time.monotonic() < self._empty_until:
            return []
        found = self._memory.messages(self._session, limit=self._limit, end_user_id=self._end_user_id)
        if found is None:
            self._empty_until = time.monotonic() + TURN_SECONDS
            return []
        # The limit may have cut a tool's answer from its call, which models refuse.
        return list(dropwhile(lambda message: message.type == "tool", map(message_of, found)))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store all of them as one run, now or when memorybase is back. Messages without a question belong to the run
        of the question before them. The run's page shows what a MemorybaseRetriever found for this session."""
        self._empty_until = 0.0
        if not messages:
            return
        identify(messages)
        if self._run_id is None or any(_role_of(message) == "user" for message in messages):
            self._run_id = id_of(self._session, "run", str(messages[-1].id))
        found = _found.get(self._memory, {}).pop(self._session, [])
        if found:
            merged(found).record(self._memory, self._session, self._run_id, self._end_user_id)
        for batch in batches(to_stored(message, self._session) for message in messages):
            self._memory.capture(self._session, batch, run_id=self._run_id, end_user_id=self._end_user_id)

    def clear(self) -> None:
        """Delete the session. Raises MemorybaseError if that is not possible."""
        self._memory.delete_session(self._session, end_user_id=self._end_user_id)


class MemorybaseChatMemory(BaseChatMessageHistory):
    """A chat of a Chat Memory node, as its limits and summaries show it to a model. `fields` configure the node."""

    def __init__(self, memory: AgentMemory, node_id: str, chat_id: str, **fields: Any) -> None:
        self._chats = Chats(memory, node_id)
        self._chat_id = chat_id
        self._chats.configure(fields)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class documents a property
        """The messages that the model reads; none while memorybase is unreachable."""
        return self._chats.view(self._chat_id)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append them, now or when memorybase is back."""
        if messages:
            self._chats.add(self._chat_id, [to_json(message, has_id=True) for message in messages])

    def clear(self) -> None:
        """Delete every message of the chat, now or when memorybase is back."""
        self._chats.delete(self._chat_id, "all", ("user", "assistant"))


class MemorybaseRetriever(BaseRetriever):
    """Searches the flow, or one session or end user of it. Finds nothing while memorybase is unreachable."""

    memory: AgentMemory
    top_k: int = 8
    session_id: str | None = None
    end_user_id: str | None = None
    min_score: float | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del run_manager
        hits = self.memory.recall(
            query,
            top_k=self.top_k,
            session_id=None if self.session_id is None else storable_id(self.session_id),
            end_user_id=self.end_user_id,
            min_score=self.min_score,
        )
        asking = ensure_config().get("configurable", {}).get("session_id")  # of the chain; else the search has no turn
        if hits is not None and isinstance(asking, str) and asking:
            _remember(self.memory, storable_id(asking), Given(query, hits))
        return [_document(hit) for hit in hits or ()]


# What retrievers found for a session since its history was added to.
_found: WeakKeyDictionary[AgentMemory, dict[str, list[Given]]] = WeakKeyDictionary()


def _remember(memory: AgentMemory, session_id: str, given: Given) -> None:
    sessions = _found.setdefault(memory, {})
    sessions[session_id] = [*sessions.get(session_id, ()), given][-SEARCHES:]
    if len(sessions) > REMEMBERED_SESSIONS:
        del sessions[next(iter(sessions))]


def _document(hit: models.Hit) -> Document:
    """The message's text, with its origin as metadata."""
    metadata = {
        "session_id": hit.session_id,
        "run_id": str(hit.run_id),
        "role": hit.role,
        "timestamp": hit.timestamp.isoformat(),
        "score": hit.score,
        **correction_metadata(hit),
    }
    text = "\n".join(texts(hit.content)) or hit.snippet
    return Document(page_content=text, id=str(hit.message_id), metadata=metadata)


# Messages


def identify(messages: Sequence[BaseMessage]) -> None:
    """Give each message without an id one: made from the id of the model's answer among them, which a repetition has
    too, else a new one."""
    anchor = next((message.id for message in messages if message.id), None) or str(uuid4())
    for position, message in enumerate(messages):
        if not message.id:
            message.id = f"{anchor}-{position}-{id_of(message.type, message.text)[:8]}"


def to_stored(message: BaseMessage, session_id: str) -> Json:
    """The message as memorybase stores it; everything that its format has no place for in the metadata."""
    dump: Json = plain(message_to_dict(message))
    data = {name: value for name, value in dump["data"].items() if value not in (None, [], {})}
    content, calls = data.pop("content", ""), data.pop("tool_calls", [])
    if not _is_storable(content):  # in another form
        data["content"], content = content, "\n".join(_texts(content))
    return stored_message(
        FRAMEWORK,
        {"type": dump["type"], "data": data},
        dump,
        message_id=message_key(session_id, str(message.id)),
        role=_role_of(message),
        content=content,
        tool_calls=[call_of(call["id"], call["name"], call["args"]) for call in calls],
        tool_call_id=getattr(message, "tool_call_id", None),
        name=message.name,
    )


def message_of(stored: models.MessageView) -> BaseMessage:
    """The message as it was added, with what was edited in memorybase since."""
    content = stored.content if stored.content is not None else ""
    calls: list[Json] = [
        {"name": call["function"]["name"], "args": arguments_of(call), "id": call["id"], "type": "tool_call"}
        for call in stored.tool_calls or ()
    ]
    whole = whole_of(stored, FRAMEWORK)
    dump = whole or rest_of(stored, FRAMEWORK)
    if dump is None:
        return _of_others(stored, content, calls)
    data = {"content": content, **dump["data"]}
    if whole is None and calls:
        data["tool_calls"] = calls
    if stored.edited_at is not None:
        data["content"] = content
    return messages_from_dict([{"type": dump["type"], "data": data}])[0]


def _of_others(stored: models.MessageView, content: Any, calls: list[Json]) -> BaseMessage:
    """A message that something else captured."""
    message_id = key_of_others(stored)
    if stored.role == "assistant":
        return AIMessage(content, id=message_id, tool_calls=calls)
    if stored.role == "tool":
        return ToolMessage(content, id=message_id, tool_call_id=stored.tool_call_id or "")
    return (SystemMessage if stored.role == "system" else HumanMessage)(content, id=message_id)


def _role_of(message: BaseMessage) -> str:
    role = _ROLES.get(message.type) or getattr(message, "role", "")
    return role if role in {"user", "assistant", "system", "tool"} else "user"


def _is_storable(content: Any) -> bool:
    return isinstance(content, str) or all(
        isinstance(part, dict) and isinstance(part.get("type"), str) and isinstance(part.get("text", ""), str)
        for part in content
    )


def _texts(content: list[Any]) -> list[str]:
    return [part if isinstance(part, str) else str(part.get("text") or "") for part in content]
