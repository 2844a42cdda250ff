"""For Haystack: components that store a conversation, read it and search it.

    pipeline.add_component("history", MemorybaseChatMessageRetriever("support", outbox="memorybase-outbox"))
    pipeline.add_component("writer", MemorybaseChatMessageWriter("support", outbox="memorybase-outbox"))
    pipeline.add_component("recall", MemorybaseRetriever("support", outbox="memorybase-outbox"))

All are serialisable; the key is a Secret, by default MEMORYBASE_API_KEY. If memorybase is unreachable, none breaks or
blocks a pipeline: `is_available` is false then.
"""

from __future__ import annotations

from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret, deserialize_secrets_inplace

from memorybase_client import AgentMemory
from memorybase_client._corrections import correction_metadata
from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._dumps import LATEST, Form, Place, arguments_of, call_of
from memorybase_client.integrations._messages import Json, batches, texts
from memorybase_client.integrations._recall import NODE

if TYPE_CHECKING:
    from memorybase_client import models

TOP_K = 8
SESSION = "memorybase_session"  # in the meta of a message that was read, which is not sent to models
FORM = Form(
    "haystack",
    "content",
    (Place(("text",)), Place(("tool_call_result", "result")), Place(("tool_call_result", "result", "*", "text"))),
)
KEY = Secret.from_env_var("MEMORYBASE_API_KEY", strict=False)


class _Connected:
    """Base of the components: how they reach memorybase, and how they are serialised."""

    def __init__(
        self,
        flow_id: str,
        *,
        outbox: str | None = None,
        url: str | None = None,
        api_key: Secret = KEY,
        timeout_seconds: float = 2.0,
    ) -> None:
        if not flow_id:
            raise ValueError("flow_id must not be empty")
        self.flow_id = flow_id
        self.outbox = None if outbox is None else str(Path(outbox))
        self.url = url
        self.api_key = api_key
        self.timeout_seconds = timeout_seconds
        self._memory: AgentMemory | None = None

    @property
    def memory(self) -> AgentMemory:
        """Created when it is first needed; its `failure` says why memorybase is unreachable."""
        if self._memory is None:
            self._memory = AgentMemory(
                self.flow_id,
                outbox=self.outbox,
                url=self.url,
                key=self.api_key.resolve_value(),
                timeout_seconds=self.timeout_seconds,
            )
        return self._memory

    def close(self) -> None:
        """Send what waits in the outbox, for two seconds at most, and close the connections."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _parameters(self) -> Json:
        return {
            "flow_id": self.flow_id,
            "outbox": self.outbox,
            "url": self.url,
            "api_key": self.api_key.to_dict(),
            "timeout_seconds": self.timeout_seconds,
        }

    def to_dict(self) -> Json:
        """The component as YAML can hold it; a Secret of a token refuses."""
        made: Json = default_to_dict(self, **self._parameters())
        return made

    @classmethod
    def from_dict(cls, data: Json) -> Any:
        """The component that to_dict() described."""
        deserialize_secrets_inplace(data["init_parameters"], keys=["api_key"])
        return default_from_dict(cls, data)


@component
class MemorybaseChatMessageWriter(_Connected):
    """Captures messages of a session, now or when memorybase is back."""

    @component.output_types(messages_written=int)
    def run(
        self,
        messages: list[ChatMessage],
        session_id: str,
        replies: list[ChatMessage] | None = None,
        run_id: str | None = None,
        end_user_id: str | None = None,
        documents: list[Document] | None = None,
    ) -> Json:
        """Messages, then replies. `messages_written` counts those that were not read from this session; written again
        with the same `run_id`, they are stored once. The page of the run shows `documents` of a MemorybaseRetriever,
        which the prompt had."""
        session = storable_id(session_id)
        run = run_id or str(uuid4())
        new = [each for each in [*messages, *(replies or ())] if each.meta.get(SESSION) != session]
        if documents is not None:
            self._record(session, id_of(session, run), new, documents, end_user_id)
        stored = (to_stored(message, id_of(session, run, str(index))) for index, message in enumerate(new))
        for batch in batches(stored):
            self.memory.capture(session, batch, run_id=id_of(session, run), end_user_id=end_user_id)
        return {"messages_written": len(new)}

    def _record(
        self, session_id: str, run_id: str, said: list[ChatMessage], found: list[Document], end_user_id: str | None
    ) -> None:
        ours = [each for each in found if {"session_id", "run_id", "role"} <= each.meta.keys()]
        asked = [each.text for each in said if each.role.value == "user" and each.text]
        self.memory.client.record_memory(
            self.flow_id,
            run_id=run_id,
            node_id=NODE,
            session_id=session_id,
            query=asked[-1] if asked else None,
            messages=[{"role": "system", "content": each.content or ""} for each in ours],
            sources=[{"message_ids": [each.id], "scores": [_score_of(each)]} for each in ours],
            end_user_id=end_user_id,
        )


@component
class MemorybaseChatMessageRetriever(_Connected):
    """Reads the latest messages of a session, as they were written."""

    @component.output_types(messages=list[ChatMessage], is_available=bool)
    def run(
        self,
        session_id: str,
        messages: list[ChatMessage] | None = None,
        limit: int = LATEST,
        end_user_id: str | None = None,
    ) -> Json:
        """Oldest first, each with its session in `meta`; none while memorybase is unreachable. `messages` are added:
        system messages before them, others after them."""
        found = self.memory.messages(storable_id(session_id), limit=limit, end_user_id=end_user_id)
        # The limit may have cut a tool's answer from its call, which models refuse.
        read = dropwhile(lambda message: message.role.value == "tool", map(message_of, found or ()))
        first = [message for message in messages or () if message.role.value == "system"]
        after = [message for message in messages or () if message.role.value != "system"]
        return {"messages": [*first, *read, *after], "is_available": found is not None}


@component
class MemorybaseRetriever(_Connected):
    """Searches the flow, or one session or end user of it."""

    @component.output_types(documents=list[Document], is_available=bool)
    def run(
        self,
        query: str,
        top_k: int = TOP_K,
        session_id: str | None = None,
        end_user_id: str | None = None,
        min_score: float | None = None,
    ) -> Json:
        """Best first; none while memorybase is unreachable."""
        hits = self.memory.recall(
            query,
            top_k=top_k,
            session_id=None if session_id is None else storable_id(session_id),
            end_user_id=end_user_id,
            min_score=min_score,
        )
        return {"documents": [_document(hit) for hit in hits or ()], "is_available": hits is not None}


def _score_of(document: Document) -> float | None:
    """None if a ranker has given it one of another kind."""
    score = document.score
    return score if score is not None and 0 <= score <= 1 else None


def _document(hit: models.Hit) -> Document:
    meta = {
        "session_id": hit.session_id,
        "run_id": str(hit.run_id),
        "role": hit.role,
        "timestamp": hit.timestamp.isoformat(),
        **correction_metadata(hit),
    }
    text = "\n".join(texts(hit.content)) or hit.snippet
    return Document(id=str(hit.message_id), content=text, meta=meta, score=hit.score)


# Messages


def to_stored(message: ChatMessage, message_id: str) -> Json:
    """The message as memorybase stores it; everything that its format has no place for in the metadata."""
    dump = message.to_dict()
    results = message.tool_call_results
    return FORM.stored(
        {**dump, "meta": {key: value for key, value in dump["meta"].items() if key != SESSION}},
        message_id=message_id,
        role=message.role.value,
        tool_calls=[call_of(call.id, call.tool_name, call.arguments) for call in message.tool_calls],
        tool_call_id=results[0].origin.id if results else None,
        name=message.name,
    )


def message_of(stored: models.MessageView) -> ChatMessage:
    """The message as it was written, with what was edited in memorybase since."""
    dump = FORM.dump_of(stored) or _of_others(stored)
    return ChatMessage.from_dict({**dump, "meta": {**dump["meta"], SESSION: stored.session_id}})


def _of_others(stored: models.MessageView) -> Json:
    """A message that something else captured."""
    found = list(texts(stored.content))
    parts: list[Json] = [{"text": text} for text in found]
    for call in stored.tool_calls or ():
        called = {"tool_name": call["function"]["name"], "arguments": arguments_of(call), "id": call["id"]}
        parts.append({"tool_call": called})
    if stored.role == "tool":
        origin: Json = {"tool_name": stored.name or "", "arguments": {}, "id": stored.tool_call_id}
        parts = [{"tool_call_result": {"result": "\n".join(found), "origin": origin, "error": False}}]
    return {"role": stored.role, "name": stored.name, "content": parts, "meta": {}}
