"""A memory service for the Agent Development Kit of Google.

    service = MemorybaseMemoryService(AgentMemory("support", outbox="memorybase-outbox"))
    agent = Agent(..., tools=[preload_memory], after_agent_callback=capture_session)
    runner = Runner(..., memory_service=service)

The user is the end user, the app a key of each message's metadata, and a session of the ADK a session. An event with
text is a message, and what it belongs to makes its id, so that a session can be added again and again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memorybase_client import errors
from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._messages import Json, batches, is_name, storable_text
from memorybase_client.integrations._recall import NODE, TOP_K, UNAVAILABLE, Given, merged, passage_of

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

    from memorybase_client import AgentMemory, models

APP = "google_adk_app"  # of the metadata: the app that the message belongs to
ENTRY = "google_adk_memory"  # of the metadata: the caller's id of a memory

_REMEMBERED_SESSIONS = 1_000
_REMEMBERED_SEARCHES = 1_000


async def capture_session(callback_context: CallbackContext) -> None:
    """An after_agent_callback that adds the session to memory after each turn. By itself the ADK adds nothing."""
    await callback_context.add_session_to_memory()


class MemorybaseMemoryService(BaseMemoryService):
    """Long-term memory in a flow of memorybase, separate for each app and user.

    While memorybase is unreachable, additions wait in the outbox of `memory`, and a search finds one entry that says
    so. Deletions raise MemorybaseError then.
    """

    def __init__(self, memory: AgentMemory, *, top_k: int = TOP_K, min_score: float | None = None) -> None:
        self._memory = memory
        self._top_k = top_k
        self._min_score = min_score
        self._added: OrderedDict[str, set[str]] = OrderedDict()  # ids of messages, by session; the latest sessions
        self._found: OrderedDict[tuple[str, str, str], Given] = OrderedDict()  # by app, user and query; the latest

    async def add_session_to_memory(self, session: Session) -> None:
        """Adds the events with text that are not in memory yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id, events=session.events
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Adds the events with text that are not in memory yet. `custom_metadata` is metadata of their messages."""
        scope = _Scope(app_name, user_id)
        stored_id = scope.session_id(session_id or "")
        metadata = {**(custom_metadata or {}), APP: app_name}
        await asyncio.to_thread(self._add_events, scope, stored_id, list(events), metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Adds memories. One whose id is in memory already is left out."""
        scope = _Scope(app_name, user_id)
        messages = [_entry_message(scope, entry, dict(custom_metadata or {})) for entry in memories]
        await asyncio.to_thread(self._capture, scope, scope.session_id(""), messages, None)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Messages of this user and answers to them in this app, best first."""
        scope = _Scope(app_name, user_id)

        def search() -> list[models.Hit] | None:
            return self._memory.recall(
                query,
                top_k=self._top_k,
                end_user_id=scope.end_user_id,
                min_score=self._min_score,
                metadata={APP: app_name},
            )

        hits = await asyncio.to_thread(search)
        if hits is None:  # the caller may be a model's tool: an outage must not look like an empty memory
            content = types.Content(role="model", parts=[types.Part(text=UNAVAILABLE)])
            return SearchMemoryResponse(memories=[MemoryEntry(content=content, author="memorybase")])
        self._found[app_name, user_id, _words(query)] = Given(query, hits)
        if len(self._found) > _REMEMBERED_SEARCHES:
            self._found.popitem(last=False)
        return SearchMemoryResponse(memories=[_entry_of(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str) -> None:
        """Deletes a memory by the id that a search returned or add_memory was given. Raises MemorybaseError."""
        await asyncio.to_thread(self._delete, _Scope(app_name, user_id), memory_id)

    async def delete_memories(self, *, app_name: str, user_id: str) -> None:
        """Deletes all memories of the user in the app. Raises MemorybaseError."""
        await asyncio.to_thread(self._delete_all, _Scope(app_name, user_id))

    def _add_events(self, scope: _Scope, session_id: str, events: list[Event], metadata: Json) -> None:
        for invocation, grouped in groupby(events, key=lambda event: event.invocation_id):
            group = list(grouped)
            messages = [message for event in group if (message := _event_message(session_id, event, metadata))]
            new = [message for message in messages if message["id"] not in self._added.get(session_id, ())]
            run_id = id_of(session_id, invocation) if invocation else None
            if new and run_id is not None:
                self._record(scope, session_id, run_id, group)
            self._capture(scope, session_id, new, run_id)
            self._remember(session_id, {message["id"] for message in new})

    def _record(self, scope: _Scope, session_id: str, run_id: str, events: Sequence[Event]) -> None:
        """Record the hits for the questions and tool calls of an invocation; a search does not know its session."""
        keys = dict.fromkeys((scope.app_name, scope.user_id, words) for event in events for words in _asked(event))
        found = [self._found.pop(key) for key in keys if key in self._found]
        if found:
            agent = next((event.author for event in events if event.author != "user"), None)
            given = replace(merged(found), node_id=NODE if agent is None else storable_id(agent))
            given.record(self._memory, session_id, run_id, scope.end_user_id)

    def _remember(self, session_id: str, ids: set[str]) -> None:
        """Note ids that are in the outbox, so that the next turn does not send them again."""
        self._added.setdefault(session_id, set()).update(ids)
        self._added.move_to_end(session_id)
        while len(self._added) > _REMEMBERED_SESSIONS:
            self._added.popitem(last=False)

    def _capture(self, scope: _Scope, session_id: str, messages: Iterable[Json], run_id: str | None) -> None:
        for batch in batches(messages):
            self._memory.capture(session_id, batch, run_id=run_id, end_user_id=scope.end_user_id)

    def _delete(self, scope: _Scope, memory_id: str) -> None:
        self._memory.flush()
        client, flow_id = self._memory.client, self._memory.flow_id
        for each in (scope.entry_id(memory_id), memory_id):
            with suppress(errors.NotFound):  # a memory that is not there is no error
                message = client.get_message(each, flow_id=flow_id)
                if message.end_user_id == scope.end_user_id and message.metadata.get(APP) == scope.app_name:
                    client.delete_message(message.id, flow_id=flow_id)
                    return

    def _delete_all(self, scope: _Scope) -> None:
        self._memory.flush()
        client, flow_id = self._memory.client, self._memory.flow_id
        with suppress(errors.NotFound):  # the first capture creates the flow
            for session in list(client.list_sessions(flow_id=flow_id, end_user_id=scope.end_user_id)):
                listed = client.list_messages(flow_id=flow_id, session_id=session.session_id, size=1).page().items
                if listed and listed[0].metadata.get(APP) == scope.app_name:
                    self._memory.delete_session(session.session_id, end_user_id=scope.end_user_id)


class _Scope:
    """An app and a user. Ids of the ADK are unique within these only."""

    def __init__(self, app_name: str, user_id: str) -> None:
        self.app_name = app_name
        self.user_id = user_id
        self.end_user_id = storable_id(user_id)

    def session_id(self, session_id: str) -> str:
        """Readable if it fits: "app/user/session"."""
        return storable_id("/".join(part.replace("/", "%2F") for part in (self.app_name, self.user_id, session_id)))

    def entry_id(self, memory_id: str) -> str:
        return id_of(self.app_name, self.user_id, memory_id)


def _event_message(session_id: str, event: Event, metadata: Json) -> Json | None:
    text = _text_of(event.content)
    if not text or event.partial:
        return None
    return {
        "id": id_of(session_id, event.id),
        "role": "user" if event.author == "user" else "assistant",
        "content": text,
        "sender_name": event.author if is_name(event.author) else None,
        "timestamp": event.timestamp,
        "metadata": metadata,
    }


def _asked(event: Event) -> Iterator[str]:
    """The queries that an event may have led to: what the user said, and arguments of the model's tool calls."""
    for part in event.content.parts if event.content is not None and event.content.parts else []:
        for value in (part.function_call.args or {}).values() if part.function_call is not None else ():
            if isinstance(value, str):
                yield _words(value)
    if event.author == "user":
        yield _words(_text_of(event.content))


def _words(text: str) -> str:
    """Two parts of the ADK join texts by different white space."""
    return " ".join(text.split())


def _entry_message(scope: _Scope, entry: MemoryEntry, metadata: Json) -> Json:
    memory_id = entry.id or str(uuid4())
    return {
        "id": scope.entry_id(memory_id),
        "role": "user" if entry.author == "user" else "assistant",
        "content": _text_of(entry.content),
        "sender_name": entry.author if is_name(entry.author) else None,
        "timestamp": entry.timestamp,
        "metadata": {**entry.custom_metadata, **metadata, APP: scope.app_name, ENTRY: memory_id},
    }


def _text_of(content: types.Content | None) -> str:
    """The text without the model's thoughts and tool calls."""
    parts = content.parts if content is not None and content.parts else []
    return storable_text("\n".join(part.text for part in parts if part.text and not part.thought))


def _entry_of(hit: models.Hit) -> MemoryEntry:
    known = {APP, ENTRY}
    return MemoryEntry(
        id=str(hit.metadata.get(ENTRY) or hit.message_id),
        content=types.Content(role="user" if hit.role == "user" else "model", parts=[types.Part(text=passage_of(hit))]),
        author=hit.sender_name or hit.role,
        timestamp=hit.timestamp.astimezone(UTC).isoformat(),
        custom_metadata={name: value for name, value in hit.metadata.items() if name not in known},
    )
