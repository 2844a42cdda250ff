"""The memory of a crew, kept in memorybase, which needs no model and no key for embeddings.

    memory = MemorybaseMemory(AgentMemory("support", outbox="memorybase-outbox"), end_user_id="anna")
    crew = Crew(agents=[agent], tasks=[task], memory=memory)

A memory is a session; what an agent saves after a task is a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
from crewai.memory.unified_memory import Memory
from crewai.memory.utils import join_scope_paths

from memorybase_client import errors
from memorybase_client._ids import storable_id
from memorybase_client.integrations._messages import (
    Json,
    batches,
    is_name,
    is_storable,
    storable_text,
    texts,
)
from memorybase_client.integrations._recall import SEARCHES, UNAVAILABLE, Given, merged, passage_of

if TYPE_CHECKING:
    from memorybase_client import AgentMemory, models

KEY = "crewai"  # of the metadata: what CrewAI keeps beside a record's text
SPARE = 4  # hits asked for each one wanted: private records are left out, and those of other scopes
LARGEST = 100

_found: ContextVar[tuple[Stored, list[Given]] | None] = ContextVar("memorybase_crew", default=None)


class MemorybaseMemory(Memory):
    """Memory of a Crew, an Agent or a Flow. Texts are stored whole, without a model that extracts or rates them, and
    `recall` searches all sessions, this one included.

    While memorybase is unreachable, additions wait in the outbox of `memory`, and a recall returns one match that says
    so. Methods that list, change or delete records raise MemorybaseError then.
    """

    def __init__(
        self,
        memory: AgentMemory,
        *,
        session_id: str | None = None,
        end_user_id: str | None = None,
        min_score: float | None = None,
        **options: Any,
    ) -> None:
        """`options` are Memory's, such as `root_scope` and `read_only`."""
        stored = Stored(memory, session_id=session_id, end_user_id=end_user_id, min_score=min_score)
        super().__init__(storage=stored, **options)

    def extract_memories(self, content: str) -> list[str]:
        """The content itself."""
        return [content] if content.strip() else []

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Keep a text, now or when memorybase is back."""
        saved = self.remember_many(
            [content], scope, categories, metadata, importance, source, private, agent_role, root_scope
        )
        return saved[0] if saved else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Keep texts as one run, now or when memorybase is back."""
        if self.read_only:
            return []
        records = [
            MemoryRecord(
                content=storable_text(content),
                scope=join_scope_paths(root_scope or self.root_scope, scope),
                categories=categories or [],
                metadata=metadata or {},
                importance=self.default_importance if importance is None else importance,
                source=source,
                private=private,
            )
            for content in contents
            if content.strip()
        ]
        stored: Stored = self._storage
        stored.capture(records, agent_role)
        return records

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Messages of the flow that fit the query, best first. `depth` makes no difference."""
        del depth
        inside = None if scope is None and not self.root_scope else join_scope_paths(self.root_scope, scope)

        def is_wanted(record: MemoryRecord) -> bool:
            is_visible = include_private or not record.private or (source is not None and record.source == source)
            return is_visible and _is_inside(record, inside) and _has(record, categories)

        stored: Stored = self._storage
        return stored.recall(query, is_wanted, limit, top_k=LARGEST if inside or categories else limit * SPARE)

    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Change the text of a record; only that can change. Raises ValueError for anything else."""
        if any(value is not None for value in (scope, categories, metadata, importance)):
            raise ValueError("update() of a memory in memorybase can change `content` only")
        record: MemoryRecord | None = self._storage.get_record(record_id)
        if record is None:
            raise ValueError(f"Record not found: {record_id}")
        if content is None or self.read_only:
            return record
        stored: Stored = self._storage
        stored.edit(record_id, content)
        return record.model_copy(update={"content": content})


class Stored:
    """The records of a flow, with the methods of CrewAI's StorageBackend that need no vectors. All but capture() and
    recall() raise MemorybaseError if memorybase is unreachable."""

    def __init__(
        self, memory: AgentMemory, *, session_id: str | None, end_user_id: str | None, min_score: float | None
    ) -> None:
        self._memory = memory
        self._session_id = storable_id(session_id or str(uuid4()))
        self._end_user_id = end_user_id
        self._min_score = min_score

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        """Copies of a crew share the connection."""
        return self

    def capture(self, records: Sequence[MemoryRecord], sender: str | None) -> None:
        """As one run, with what was recalled since the last one."""
        found = self._found()
        _found.set(None)
        if not records:
            return
        run_id = str(uuid4())
        if found:
            merged(found).record(self._memory, self._session_id, run_id, self._end_user_id)
        for batch in batches(_message_of(record, sender) for record in records):
            self._memory.capture(self._session_id, batch, run_id=run_id, end_user_id=self._end_user_id)

    def recall(
        self, query: str, is_wanted: Callable[[MemoryRecord], bool], limit: int, *, top_k: int
    ) -> list[MemoryMatch]:
        """Best first; a match that says so if memorybase is unreachable."""
        hits = self._memory.recall(
            query, top_k=min(top_k, LARGEST), end_user_id=self._end_user_id, min_score=self._min_score
        )
        if hits is None:  # an outage must not look like an empty memory
            return [MemoryMatch(record=MemoryRecord(content=UNAVAILABLE), score=0.0)]
        wanted = [(record, hit) for hit in hits if is_wanted(record := _record_of(hit, passage_of(hit)))][:limit]
        _found.set((self, [*self._found(), Given(query, [hit for _, hit in wanted])][-SEARCHES:]))
        return [MemoryMatch(record=record, score=hit.score, match_reasons=["semantic"]) for record, hit in wanted]

    def edit(self, record_id: str, content: str) -> None:
        self._memory.flush()
        self._memory.client.edit_message(record_id, flow_id=self._memory.flow_id, content=storable_text(content))

    def get_record(self, record_id: str) -> MemoryRecord | None:
        self._memory.flush()
        try:
            message = self._memory.client.get_message(record_id, flow_id=self._memory.flow_id)
        except errors.NotFound:
            return None
        return _record_of(message, "\n".join(texts(message.content)))

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Newest first."""
        return list(islice(self._records(scope_prefix), offset, offset + limit))

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records to which all of this applies."""
        deleted = 0
        for record in list(self._records(scope_prefix)):
            is_old = older_than is None or record.created_at < older_than
            is_named = record_ids is None or record.id in record_ids
            has_all = (metadata_filter or {}).items() <= record.metadata.items()
            if is_old and is_named and has_all and _has(record, categories):
                self._memory.client.delete_message(record.id, flow_id=self._memory.flow_id)
                deleted += 1
        return deleted

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    def count(self, scope_prefix: str | None = None) -> int:
        return len(list(self._records(scope_prefix)))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return Counter(each for record in self._records(scope_prefix) for each in record.categories)

    def list_scopes(self, parent: str = "/") -> list[str]:
        above = parent.rstrip("/")
        below = {record.scope[len(above) + 1 :].split("/")[0] for record in self._records(parent)}
        return sorted(f"{above}/{name}" for name in below if name)

    def get_scope_info(self, scope: str) -> ScopeInfo:
        records = list(self._records(scope))
        return ScopeInfo(
            path=scope,
            record_count=len(records),
            categories=sorted({each for record in records for each in record.categories}),
            oldest_record=min((record.created_at for record in records), default=None),
            newest_record=max((record.created_at for record in records), default=None),
            child_scopes=self.list_scopes(scope),
        )

    def _found(self) -> list[Given]:
        """What this task has recalled: tasks of asyncio and threads have contexts of their own."""
        found = _found.get()
        return found[1] if found is not None and found[0] is self else []

    def _records(self, scope_prefix: str | None) -> Iterator[MemoryRecord]:
        """Newest first."""
        self._memory.flush()
        newest_first = self._memory.client.list_messages(
            flow_id=self._memory.flow_id, end_user_id=self._end_user_id or self._memory.end_user_id, order="desc"
        )
        try:
            for message in newest_first:
                record = _record_of(message, "\n".join(texts(message.content)))
                if _is_inside(record, scope_prefix):
                    yield record
        except errors.NotFound:  # the first capture creates the flow
            return


def _message_of(record: MemoryRecord, sender: str | None) -> Json:
    kept = record.model_dump(
        mode="json", include={"scope", "categories", "metadata", "importance", "source", "private"}
    )
    message = {"id": record.id, "role": "assistant", "content": record.content, "metadata": {KEY: kept}}
    if not is_storable(message):
        message["metadata"] = {KEY: kept | {"metadata": {}}}
    return message | ({"sender_name": sender} if sender and is_name(sender) else {})


def _record_of(message: models.MessageView | models.Hit, text: str) -> MemoryRecord:
    """A message of something else is a record of the scope `/`."""
    stored_id = getattr(message, "message_id", None) or getattr(message, "id", None)
    created = message.timestamp.replace(tzinfo=None)  # as CrewAI's own
    kept = message.metadata.get(KEY)
    known = kept if isinstance(kept, dict) else {}
    return MemoryRecord(id=str(stored_id), content=text, created_at=created, last_accessed=created, **known)


def _is_inside(record: MemoryRecord, scope: str | None) -> bool:
    above = (scope or "/").rstrip("/")
    return f"{record.scope}/".startswith(f"{above}/")


def _has(record: MemoryRecord, categories: Sequence[str] | None) -> bool:
    return not categories or bool(set(categories) & set(record.categories))
