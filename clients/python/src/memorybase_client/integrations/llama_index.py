"""For LlamaIndex: a memory for chat engines and agents, a block for LlamaIndex's own Memory, and a retriever.

    memory = AgentMemory("support", outbox="memorybase-outbox")
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=MemorybaseMemory(memory=memory, session_id="anna"))

If memorybase is unreachable, none of them breaks or blocks its host; `memory.failure` says why. Only reset() raises.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory import BaseMemory, BaseMemoryBlock
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from memorybase_client import AgentMemory
from memorybase_client._corrections import correction_metadata
from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._dumps import LATEST, Form, Place, call_of, message_key, stored_id
from memorybase_client.integrations._messages import Json, batches, texts
from memorybase_client.integrations._recall import TOP_K, Given, Turns, earlier_hits, quoted

if TYPE_CHECKING:
    from memorybase_client import models

COMPARED = 1_000  # of a session, with those that set() is given
FORM = Form("llama_index", "blocks", (Place(("text",), {"block_type": "text"}),))

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(slots=True)
class _Own:
    """A message that this memory was given."""

    id: str
    message: ChatMessage
    is_stored: bool = False  # the server has shown it


class MemorybaseMemory(BaseMemory):
    """The session's latest messages, as they were put; every message is captured. While memorybase is unreachable the
    host reads the messages that this object was given. With `top_k`, get(input) begins with passages of the end user's
    other sessions."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: AgentMemory = Field(exclude=True)
    session_id: str
    end_user_id: str | None = None
    limit: int = LATEST
    top_k: int = 0
    min_score: float | None = None

    _own: deque[_Own] = PrivateAttr(default_factory=lambda: deque(maxlen=LATEST))
    _view: list[ChatMessage] | None = PrivateAttr(default=None)  # what set() has set, and what was put since
    _turns: Turns = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._turns = Turns(self._record)

    @classmethod
    def class_name(cls) -> str:
        return "MemorybaseMemory"

    @classmethod
    def from_defaults(cls, chat_history: list[ChatMessage] | None = None, **fields: Any) -> Self:
        """A memory with these fields, in which `chat_history` is set."""
        made = cls(**{name: value for name, value in fields.items() if name in cls.model_fields})
        if chat_history:
            made.set(chat_history)
        return made

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002 - the base's name
        """The session's latest messages, oldest first. Most hosts put the question and give no `input`: it is then the
        question, until something follows it."""
        del kwargs
        messages = self._messages(self.limit)
        # The limit may have cut a tool's answer from its call, which models refuse.
        messages = list(dropwhile(lambda message: _ROLES[message.role.value] == "tool", messages))
        return [*self._recalled(input or self._turns.question), *messages]

    def get_all(self) -> list[ChatMessage]:
        """All messages of the session."""
        return self._messages(None)

    def put(self, message: ChatMessage) -> None:
        """Capture it, now or when memorybase is back."""
        if self._view is not None:
            self._view.append(message)
        self._capture([(str(uuid4()), message)])

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace what get() returns. Captures the messages that the session does not have yet, and deletes none."""
        self._view = list(messages)
        stored = self.memory.messages(self._session, limit=COMPARED, end_user_id=self.end_user_id)
        known = Counter(_said(message_of(each)) for each in stored or ())
        if stored is None:
            known.update(_said(each.message) for each in self._own)
        seen: Counter[str] = Counter()
        new = []
        for message in messages:
            said = _said(message)
            seen[said] += 1
            if seen[said] > known[said]:  # the same id if it is set again
                new.append((message_key(self._session, f"{said}-{seen[said]}"), message))
        self._capture(new)

    def reset(self) -> None:
        """Delete the session. Raises MemorybaseError if that is not possible."""
        self.memory.delete_session(self._session, end_user_id=self.end_user_id)
        self._own.clear()
        self._view = None

    @property
    def _session(self) -> str:
        return storable_id(self.session_id)

    def _messages(self, limit: int | None) -> list[ChatMessage]:
        if self._view is not None:
            return self._view[-limit:] if limit else list(self._view)
        found = self.memory.messages(self._session, limit=limit, end_user_id=self.end_user_id)
        if found is None:
            return [each.message for each in self._own]
        ids = {stored_id(each) for each in found}
        for each in self._own:
            each.is_stored = each.is_stored or each.id in ids
        return [*map(message_of, found), *self._unsent()]

    def _unsent(self) -> list[ChatMessage]:
        """Messages put after the last one that the server has: they are on their way, or were refused."""
        ahead: list[ChatMessage] = []
        for each in reversed(self._own):
            if each.is_stored:
                break
            ahead.insert(0, each.message)
        return ahead

    def _recalled(self, query: str | None) -> list[ChatMessage]:
        if not query:
            return []
        hits = earlier_hits(
            self.memory,
            query,
            session_id=self._session,
            top_k=self.top_k,
            end_user_id=self.end_user_id,
            min_score=self.min_score,
        )
        text = quoted(hits or [])
        if hits is not None:
            self._turns.recalled(Given(query, hits, text))
        return [ChatMessage(role="system", content=text)] if text else []

    def _record(self, run_id: str, given: Given) -> None:
        given.record(self.memory, self._session, run_id, self.end_user_id)

    def _capture(self, messages: Sequence[tuple[str, ChatMessage]]) -> None:
        if not messages:
            return
        self._own.extend(_Own(key, message) for key, message in messages)
        for run_id, said in self._turns.runs_of([to_stored(message, key) for key, message in messages]):
            for batch in batches(said):
                self.memory.capture(self._session, batch, run_id=run_id, end_user_id=self.end_user_id)


class MemorybaseMemoryBlock(BaseMemoryBlock[str]):
    """For LlamaIndex's Memory: recalls passages of other sessions, and captures what overflows the short-term memory.
    Nothing else reaches a block; use MemorybaseMemory to capture every message."""

    name: str = "memorybase"
    memory: AgentMemory = Field(exclude=True)
    end_user_id: str | None = None
    top_k: int = TOP_K
    min_score: float | None = None

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        query = next((each.content for each in reversed(messages or ()) if each.role.value == "user"), None)
        if not query:
            return ""
        session_id = storable_id(str(block_kwargs.get("session_id") or "-"))
        hits = await asyncio.to_thread(
            earlier_hits,
            self.memory,
            query,
            session_id=session_id,
            top_k=self.top_k,
            end_user_id=self.end_user_id,
            min_score=self.min_score,
        )
        return quoted(hits or [])

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for session_id, group in _by_session(messages):
            for batch in batches(to_stored(message, str(uuid4())) for message in group):
                await asyncio.to_thread(self.memory.capture, session_id, batch, end_user_id=self.end_user_id)


class MemorybaseRetriever(BaseRetriever):
    """Searches the flow, or one session or end user of it. Finds nothing while memorybase is unreachable."""

    def __init__(
        self,
        memory: AgentMemory,
        *,
        top_k: int = 8,
        session_id: str | None = None,
        end_user_id: str | None = None,
        min_score: float | None = None,
    ) -> None:
        self._memory = memory
        self._where: Json = {
            "top_k": top_k,
            "session_id": None if session_id is None else storable_id(session_id),
            "end_user_id": end_user_id,
            "min_score": min_score,
        }
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._memory.recall(query_bundle.query_str, **self._where)
        return [_node(hit) for hit in hits or ()]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: models.Hit) -> NodeWithScore:
    metadata = {
        "session_id": hit.session_id,
        "run_id": str(hit.run_id),
        "role": hit.role,
        "timestamp": hit.timestamp.isoformat(),
        **correction_metadata(hit),
    }
    text = "\n".join(texts(hit.content)) or hit.snippet
    return NodeWithScore(node=TextNode(id_=str(hit.message_id), text=text, metadata=metadata), score=hit.score)


# Messages


def to_stored(message: ChatMessage, message_id: str) -> Json:
    """The message as memorybase stores it; everything that its format has no place for in the metadata."""
    dump = message.model_dump(mode="json")
    extra = dump.get("additional_kwargs") or {}
    older_calls = [each for each in extra.get("tool_calls") or () if isinstance(each, dict)]
    return FORM.stored(
        dump,
        message_id=message_id,
        role=_ROLES[message.role.value],
        tool_calls=_calls_of(dump["blocks"]) or older_calls,
        tool_call_id=extra.get("tool_call_id"),
        name=extra.get("name"),
    )


def message_of(stored: models.MessageView) -> ChatMessage:
    """The message as it was put, with what was edited in memorybase since."""
    dump = FORM.dump_of(stored)
    if dump is not None:
        return ChatMessage.model_validate(dump)
    extra: Json = {}  # something else captured it
    if stored.tool_calls:
        extra["tool_calls"] = stored.tool_calls
    if stored.tool_call_id:
        extra["tool_call_id"] = stored.tool_call_id
    return ChatMessage(role=stored.role, content="\n".join(texts(stored.content)), additional_kwargs=extra)


def _calls_of(blocks: Iterable[Json]) -> list[Json]:
    """The blocks that call tools, in OpenAI's format."""
    return [
        call_of(block.get("tool_call_id"), block.get("tool_name"), block.get("tool_kwargs"))
        for block in blocks
        if block.get("block_type") == "tool_call"
    ]


def _said(message: ChatMessage) -> str:
    """The fields that tell messages apart; they have no ids."""
    return id_of(json.dumps(message.model_dump(mode="json"), sort_keys=True, default=str))


def _by_session(messages: Iterable[ChatMessage]) -> list[tuple[str, list[ChatMessage]]]:
    """LlamaIndex writes the session into each message that overflows; without it there is none to store it in."""
    groups: dict[str, list[ChatMessage]] = {}
    for message in messages:
        session_id = message.additional_kwargs.get("session_id")
        if session_id:
            groups.setdefault(storable_id(str(session_id)), []).append(message)
    return list(groups.items())
