"""A memory store for agents of Strands.

    store = MemorybaseStore(AgentMemory("support", outbox="memorybase-outbox"), end_user_id="anna")
    agent = Agent(memory_manager=MemoryManager(stores=[store]))

A store is a session, and each turn of its agent a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from strands.memory import ExtractionConfig, InvocationTrigger, MemoryEntry

from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._messages import Json, batches, storable_text
from memorybase_client.integrations._recall import SEARCHES, TOP_K, UNAVAILABLE, Given, earlier_hits, merged, passage_of

if TYPE_CHECKING:
    from strands.memory import AddMessagesContext, SearchOptions
    from strands.types.content import Message

    from memorybase_client import AgentMemory, models


class MemorybaseStore:
    """Captures what an agent's session says after each turn, and finds what other sessions said.

    Without `session_id` a store is a new session. While memorybase is unreachable, additions wait in the outbox of
    `memory`, and a search finds one entry that says so.
    """

    def __init__(
        self,
        memory: AgentMemory,
        *,
        session_id: str | None = None,
        end_user_id: str | None = None,
        name: str = "memorybase",
        description: str | None = "Earlier conversations with this user.",
        max_search_results: int | None = TOP_K,
        min_score: float | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = True
        # Without an extraction nothing is written; the default one writes every fifth turn.
        self.extraction = ExtractionConfig(trigger=InvocationTrigger())
        self.session_id = session_id or str(uuid4())
        self._memory = memory
        self._stored_id = storable_id(self.session_id)
        self._end_user_id = end_user_id
        self._min_score = min_score
        self._found: list[Given] = []  # in this turn

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Messages of other sessions that fit the query, best first."""
        wanted = (options or {}).get("max_search_results") or self.max_search_results or TOP_K
        hits = await asyncio.to_thread(
            earlier_hits,
            self._memory,
            query,
            session_id=self._stored_id,
            top_k=wanted,
            end_user_id=self._end_user_id,
            min_score=self._min_score,
        )
        if hits is None:  # the caller may be a model's tool: an outage must not look like an empty memory
            return [MemoryEntry(content=UNAVAILABLE)]
        self._found = [*self._found, Given(query, hits)][-SEARCHES:]
        return [_entry_of(hit) for hit in hits]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Keeps a text that the agent notes, now or when memorybase is back."""
        await asyncio.to_thread(self._capture, [_message("assistant", content) | {"metadata": dict(metadata or {})}])

    async def add_messages(self, messages: Sequence[Message], context: AddMessagesContext | None = None) -> None:
        """Captures the texts of messages, and what was found for them, now or when memorybase is back."""
        del context  # its numbers tell retries apart, and the outbox makes them unnecessary
        found, self._found = self._found, []
        texts = [(message["role"], _text_of(message)) for message in messages]
        await asyncio.to_thread(self._capture, [_message(role, text) for role, text in texts if text.strip()], found)

    def _capture(self, messages: list[Json], found: Sequence[Given] = ()) -> None:
        run_id = str(uuid4())
        if found and messages:
            merged(found).record(self._memory, self._stored_id, run_id, self._end_user_id)
        for batch in batches({"id": id_of(run_id, str(index)), **each} for index, each in enumerate(messages)):
            self._memory.capture(self._stored_id, batch, run_id=run_id, end_user_id=self._end_user_id)


def _message(role: str, text: str) -> Json:
    return {"role": role, "content": storable_text(text)}


def _text_of(message: Message) -> str:
    return "\n".join(block["text"] for block in message["content"] if "text" in block)


def _entry_of(hit: models.Hit) -> MemoryEntry:
    metadata = {
        "role": hit.role,
        "session_id": hit.session_id,
        "time": hit.timestamp.isoformat(),
        "score": hit.score,
    }
    return MemoryEntry(content=passage_of(hit), metadata=metadata)
