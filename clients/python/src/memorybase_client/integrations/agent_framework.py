"""For Microsoft Agent Framework: a history provider and a context provider.

    memory = AgentMemory("support", outbox="memorybase-outbox")
    agent = Agent(
        client=client,
        context_providers=[MemorybaseHistoryProvider(memory), MemorybaseContextProvider(memory)],
    )

If memorybase is unreachable, neither breaks nor blocks a run; `memory.failure` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agent_framework import AgentSession, ContextProvider, HistoryProvider, Message, SessionContext

from memorybase_client import AgentMemory
from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._dumps import LATEST, Form, Place, call_of, key_of_others, message_key
from memorybase_client.integrations._messages import Json, batches, texts
from memorybase_client.integrations._recall import TOP_K, Given, earlier_hits, node_of, quoted

if TYPE_CHECKING:
    from memorybase_client import models

# Of a message's additional properties, which are not sent to models.
ID = "memorybase_id"
RESULT = {"type": "function_result"}
FORM = Form(
    "agent_framework",
    "contents",
    (Place(("text",), {"type": "text"}), Place(("items", "*", "text"), RESULT), Place(("result",), RESULT)),
)

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


class MemorybaseHistoryProvider(HistoryProvider):
    """A session's latest messages, as they were saved. Saved messages get an id in their additional properties, so that
    the same message saved again is stored once."""

    def __init__(
        self,
        memory: AgentMemory,
        source_id: str = "memorybase_history",
        *,
        limit: int | None = LATEST,
        end_user_id: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._memory = memory
        self._limit = limit
        self._end_user_id = end_user_id

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Oldest first; none while memorybase is unreachable."""
        del state, kwargs
        if not session_id:
            return []
        found = await asyncio.to_thread(
            self._memory.messages, storable_id(session_id), limit=self._limit, end_user_id=self._end_user_id
        )
        # The limit may have cut a tool's answer from its call, which models refuse.
        return list(dropwhile(lambda message: message.role == "tool", map(message_of, found or ())))

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Store them as one run, now or when memorybase is back."""
        del state, kwargs
        await capture(self._memory, session_id, messages, self._end_user_id)


class MemorybaseContextProvider(ContextProvider):
    """Adds passages of the end user's other sessions to the instructions of each run, and captures the run, also if
    there is another history provider."""

    def __init__(
        self,
        memory: AgentMemory,
        source_id: str = "memorybase_recall",
        *,
        top_k: int = TOP_K,
        end_user_id: str | None = None,
        min_score: float | None = None,
    ) -> None:
        super().__init__(source_id)
        self._memory = memory
        self._top_k = top_k
        self._end_user_id = end_user_id
        self._min_score = min_score

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Recall what fits the run's input."""
        del state
        query = "\n".join(message.text for message in context.input_messages if message.role == "user")
        if not query.strip():
            return
        session_id = context.session_id or session.session_id
        hits = await asyncio.to_thread(
            earlier_hits,
            self._memory,
            query,
            session_id=storable_id(session_id),
            top_k=self._top_k,
            end_user_id=self._end_user_id,
            min_score=self._min_score,
        )
        if hits is not None:
            context.metadata[self.source_id] = Given(query, hits, quoted(hits), node_of(agent))
        if hits:
            context.extend_instructions(self.source_id, quoted(hits))

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Capture the run's input and its answer, and what was recalled for them."""
        del agent, state
        answered = context.response.messages if context.response else []
        session_id = context.session_id or session.session_id
        given = context.metadata.get(self.source_id)
        await capture(self._memory, session_id, [*context.input_messages, *answered], self._end_user_id, given)


async def capture(
    memory: AgentMemory,
    session_id: str | None,
    messages: Sequence[Message],
    end_user_id: str | None,
    given: Given | None = None,
) -> None:
    """Store the messages as one run of the session; without a session there is nowhere to store them."""
    if not session_id or not messages:
        return
    for message in messages:
        message.additional_properties.setdefault(ID, message.message_id or str(uuid4()))
    session = storable_id(session_id)
    run_id = id_of(session, "run", str(messages[-1].additional_properties[ID]))
    if given is not None:
        await asyncio.to_thread(given.record, memory, session, run_id, end_user_id)
    for batch in batches(to_stored(message, session) for message in messages):
        await asyncio.to_thread(memory.capture, session, batch, run_id=run_id, end_user_id=end_user_id)


# Messages


def to_stored(message: Message, session_id: str) -> Json:
    """The message as memorybase stores it; everything that its format has no place for in the metadata."""
    calls = [each for each in message.contents if each.type == "function_call"]
    results = [each for each in message.contents if each.type == "function_result"]
    dump = message.to_dict()
    return FORM.stored(
        {**dump, "contents": [_with_result(content, "") for content in dump["contents"]]},
        message_id=message_key(session_id, str(message.additional_properties[ID])),
        role=_ROLES.get(str(message.role), "user"),
        tool_calls=[call_of(each.call_id, each.name, each.arguments) for each in calls],
        tool_call_id=results[0].call_id if results else None,
        name=message.author_name,
    )


def message_of(stored: models.MessageView) -> Message:
    """The message as it was saved, with what was edited in memorybase since."""
    dump = FORM.dump_of(stored)
    if dump is not None:
        contents = [_with_result(content, "\n".join(_texts_of_items(content))) for content in dump["contents"]]
        message: Message = Message.from_dict({**dump, "contents": contents})
        return message
    found = list(texts(stored.content))  # something else captured it
    if stored.role == "tool":
        result = {"type": "function_result", "call_id": stored.tool_call_id or "", "result": "\n".join(found)}
        return Message("tool", [result], additional_properties={ID: key_of_others(stored)})
    said: list[Any] = [text for text in found if text]
    said += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in stored.tool_calls or ()]
    return Message(stored.role, said, additional_properties={ID: key_of_others(stored)})


def _with_result(content: Json, result: str) -> Json:
    """A tool's output has its texts twice: as items, and joined."""
    has_items = content.get("type") == "function_result" and content.get("items")
    return {**content, "result": result} if has_items else content


def _texts_of_items(content: Json) -> list[str]:
    return [each["text"] for each in content.get("items") or () if each.get("type") == "text" and each.get("text")]
