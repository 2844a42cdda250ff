"""Sessions of the OpenAI Agents SDK, kept in memorybase.

    session = MemorybaseSession("anna", AgentMemory("support", outbox="memorybase-outbox"))
    await Runner.run(agent, "Where is my boat?", session=session)

An item is a message. Texts, function calls and their outputs are where memorybase reads and searches them; the rest of
the item is metadata of the message, so that every item comes back as it was given.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.memory.session_settings import resolve_session_limit

from memorybase_client import errors
from memorybase_client._ids import storable_id
from memorybase_client.integrations._messages import Json, batches, rest_of, texts, whole_of, with_rest
from memorybase_client.integrations._recall import TOP_K, Given, Turns, earlier_hits, node_of, quoted

if TYPE_CHECKING:
    from agents import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.run import CallModelData, ModelInputData

    from memorybase_client import AgentMemory, models

KEY = "openai_agents"  # of the metadata: the item without what the message holds

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class MemorybaseSession:
    """A session of the Agents SDK in a flow of memorybase.

    While memorybase is unreachable the agent runs without its history, and its additions wait in the outbox of
    `memory`. pop_item and clear_session raise MemorybaseError then. Sessions of other end users are as if they were
    empty.
    """

    def __init__(
        self,
        session_id: str,
        memory: AgentMemory,
        *,
        end_user_id: str | None = None,
        session_settings: SessionSettings | None = None,
        top_k: int = TOP_K,
        min_score: float | None = None,
    ) -> None:
        """`top_k` and `min_score` are of recall."""
        self.session_id = session_id
        self.session_settings = session_settings
        self._memory = memory
        self._stored_id = storable_id(session_id)
        self._end_user_id = end_user_id
        self._top_k = top_k
        self._min_score = min_score
        self._recalled: Given | None = None  # for the latest question
        self._turns = Turns(self._record)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The session's items, or the latest of them, oldest first. Empty while memorybase is unreachable."""
        wanted = resolve_session_limit(limit, self.session_settings)
        if wanted is not None and wanted < 0:  # as in the SDK's own sessions
            wanted = None

        def read() -> list[models.MessageView]:
            return self._memory.messages(self._stored_id, limit=wanted, end_user_id=self._end_user_id) or []

        items = [item_of(message) for message in await asyncio.to_thread(read)]
        return [item for item in items if item is not None]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end of the session, now or when memorybase is back."""
        messages = [message_of(item) for item in items]

        def write() -> None:
            for run_id, said in self._turns.runs_of(messages):
                for batch in batches(said):
                    self._memory.capture(self._stored_id, batch, run_id=run_id, end_user_id=self._end_user_id)

        await asyncio.to_thread(write)

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the latest item and return it; None if the session is empty. Raises MemorybaseError."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Delete the session. Raises MemorybaseError."""
        await asyncio.to_thread(self._memory.delete_session, self._stored_id, end_user_id=self._end_user_id)

    async def recall(self, data: CallModelData[Any]) -> ModelInputData:
        """Adds what earlier sessions said about the question to the instructions of one model call.

        For RunConfig(call_model_input_filter=session.recall). Nothing that is recalled becomes an item of the session;
        the page of the turn's run shows it.
        """
        given = data.model_data
        text = await asyncio.to_thread(self._recall, _question(given.input), node_of(data.agent))
        if not text:
            return given
        return replace(given, instructions=f"{given.instructions}\n\n{text}" if given.instructions else text)

    def _pop(self) -> TResponseInputItem | None:
        self._memory.flush()
        while True:
            found = self._latest()
            if found is None:
                return None
            message, item = found
            try:
                self._memory.client.delete_message(message.id, flow_id=self._memory.flow_id)
            except errors.NotFound:  # another process has popped it
                continue
            return item

    def _latest(self) -> tuple[models.MessageView, Json] | None:
        newest_first = self._memory.client.list_messages(
            flow_id=self._memory.flow_id,
            session_id=self._stored_id,
            end_user_id=self._end_user_id or self._memory.end_user_id,
            order="desc",
            size=1,
        )
        try:
            for message in newest_first:
                item = item_of(message)
                if item is not None:
                    return message, item
        except errors.NotFound:  # the first capture creates the flow
            return None
        return None

    def _recall(self, question: str, node_id: str) -> str | None:
        """Memories for the question, unchanged for every model call of a turn: a provider can cache the prompt."""
        found = self._recalled
        if found is None or found.question != question:
            hits = earlier_hits(
                self._memory,
                question,
                session_id=self._stored_id,
                top_k=self._top_k,
                end_user_id=self._end_user_id,
                min_score=self._min_score,
            )
            if hits is None:
                return None
            found = Given(question, hits, quoted(hits))
        self._recalled = replace(found, node_id=node_id)
        self._turns.recalled(self._recalled)
        return found.text

    def _record(self, run_id: str, given: Given) -> None:
        given.record(self._memory, self._stored_id, run_id, self._end_user_id)


# Items and messages


def message_of(item: Mapping[str, Any]) -> Json:
    """The item as a message of memorybase."""
    whole = json.dumps(item)
    rest: Json = json.loads(whole)
    return with_rest(_take_fields(rest), KEY, rest, whole)


def item_of(message: models.MessageView) -> Json | None:
    """The item as it was given; None if another client captured the message in a different format."""
    whole = whole_of(message, KEY)
    if whole is not None and message.edited_at is None:
        return whole
    rest = whole or rest_of(message, KEY)
    if rest is None:
        text = "\n".join(texts(message.content))
        return None if message.role == "tool" or not text else {"role": message.role, "content": text}
    if message.tool_calls:
        function: Json = message.tool_calls[0]["function"]
        return rest | function
    if message.tool_call_id is not None or (whole and "output" in whole):
        return rest | {"output": message.content}
    return rest if message.role == "tool" else rest | {"content": message.content}


def _take_fields(rest: Json) -> Json:
    """Moves what a message can hold out of the item."""
    kind = rest.get("type", "message")
    if kind == "message" and rest.get("role") in _ROLES and _is_content(rest.get("content")):
        return {"role": _ROLES[rest["role"]], "content": rest.pop("content")}
    if kind == "function_call" and all(isinstance(rest.get(name), str) for name in ("call_id", "name", "arguments")):
        function = {"name": rest.pop("name"), "arguments": rest.pop("arguments")}
        call = {"id": rest["call_id"], "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call], "is_output": False}
    if kind == "function_call_output" and isinstance(rest.get("call_id"), str) and _is_content(rest.get("output")):
        return {"role": "tool", "tool_call_id": rest["call_id"], "content": rest.pop("output")}
    # Models never read a tool's message without a call, and searches find none.
    return {"role": "tool", "content": ""}


def _is_content(value: Any) -> bool:
    """Whether the server takes it as content: text, or parts that have a type."""
    if not isinstance(value, list):
        return isinstance(value, str)
    return all(isinstance(part, dict) and isinstance(part.get("type"), str) and _has_text(part) for part in value)


def _has_text(part: Json) -> bool:
    return not part["type"].endswith("text") or isinstance(part.get("text"), str)


def _question(items: Sequence[Any]) -> str:
    """The text of the latest user message."""
    for item in reversed(items):
        if isinstance(item, Mapping) and item.get("role") == "user":
            return "\n".join(texts(item.get("content")))
    return ""
