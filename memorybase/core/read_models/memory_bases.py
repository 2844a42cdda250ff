"""Memory bases and their sessions as they are shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.caveats import OUTPUTS_ONLY, Caveat
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import CreatedAt, EndUserId, FlowId, Id, PendingMessages, SessionId
from memorybase.core.models import Capture, MemoryBase, Priority
from memorybase.core.queries import base_sessions, cursors, memory_base_lists, memory_bases
from memorybase.core.queries.base_sessions import BaseSessionQuery, SessionState
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery, MemoryBaseStatus
from memorybase.core.queries.ownership import require, require_flow, require_memory_base
from memorybase.core.queries.store_health import failing_stores
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.collection_names import store_of

# Pending messages that are counted at most, so that a look costs the same whatever the backlog.
COUNT_TO = 100_000
COUNT_TO_IN_LIST = 10_000
# A session is near its threshold with this share of it pending.
NEAR = 0.8
ALL_MEMORY_BASES = MemoryBaseQuery()
ALL_SESSIONS = BaseSessionQuery()


@dataclass(frozen=True, slots=True)
class MemoryBaseView:
    """A memory base and its progress."""

    id: Id
    name: Annotated[str, Field(description="The name; unique for the user.")]
    flow_id: FlowId
    user_id: Annotated[UUID, Field(description="The user that owns it.")]
    kb_name: Annotated[str, Field(description="The name of its knowledge base; unique for the user.")]
    threshold: Annotated[int, Field(description="Number of pending messages in a session that starts its ingestion.")]
    auto_capture: Annotated[bool, Field(description="Whether captures start ingestion. If false, only a flush does.")]
    capture: Annotated[Capture, Field(description="Which messages count toward the threshold and are embedded.")]
    idle_after: Annotated[
        int, Field(description="Seconds without a capture until a session's pending messages are ingested; 0: off.")
    ]
    retain_days: Annotated[
        int | None,
        Field(
            description="Days until the knowledge base forgets what was captured; the conversation stays. Null: "
            "nothing is forgotten."
        ),
    ]
    embedding_model: Annotated[str, Field(description="The embedding model, by name.")]
    vector_store: Annotated[
        VectorStoreName, Field(description="Where the vectors of the serving generation are stored.")
    ]
    created_at: CreatedAt
    priority: Annotated[
        Priority,
        Field(
            description="How large its share of the workers is, compared with other memory bases: `low`, `normal` "
            "or `high`."
        ),
    ]
    paused_at: Annotated[
        datetime | None,
        Field(
            description="Since when its ingestion is paused; null if it is not. Captures go on, and repairs after "
            "edits and deletions."
        ),
    ]
    status: Annotated[
        MemoryBaseStatus,
        Field(
            description="What is going on, the last of these that is true: `ready`, `pending` (messages wait), "
            "`paused`, `ingesting`, `preparing` (its sessions are gone through), `regenerating`, "
            "`unavailable` (the vector store or the model fails) and `deleting`. Lost vectors and "
            "dead letters are in `mismatch` and `dead_letters`."
        ),
    ]
    pending_messages: PendingMessages
    pending_capped: Annotated[bool, Field(description="Whether `pending_messages` is only a lower bound.")]
    total_processed: Annotated[int, Field(description="Number of messages in the serving ledger.")]
    last_sync_at: Annotated[datetime | None, Field(description="When messages were last ingested; null if never.")]
    sessions: Annotated[int, Field(description="Number of tracked sessions.")]
    mismatch: Annotated[
        bool | None, Field(description="Result of the last comparison with the vector store; null if there was none.")
    ]
    mismatch_checked_at: Annotated[datetime | None, Field(description="When it was last compared; null if never.")]
    mismatch_since: Annotated[
        datetime | None, Field(description="When a comparison first found the mismatch; null without one.")
    ]
    chunks_missing: Annotated[
        int | None,
        Field(description="Chunks that the vector store lacked then; null if not known, as without a collection."),
    ]
    dead_letters: Annotated[int, Field(description="Number of dead letters.")]
    sessions_near_threshold: Annotated[
        int, Field(description="Sessions with at least 80 % of the threshold pending, counted up to 1,000.")
    ]
    warnings: Annotated[
        tuple[Caveat, ...], Field(description="What it will not remember, and which settings of a PUT it did not take.")
    ]


@dataclass(frozen=True, slots=True)
class BaseSessionView:
    """The progress of one session. One that is not tracked yet has all its messages pending."""

    id: Annotated[UUID | None, Field(description="The UUID of the tracked session; null if it is not tracked yet.")]
    session_id: SessionId
    end_user_id: EndUserId
    last_captured_at: Annotated[datetime, Field(description="When its latest message was captured.")]
    cursor_id: Annotated[
        UUID | None, Field(description="The message at the cursor; null before the first one is ingested.")
    ]
    cursor_seq: Annotated[int, Field(description="The seq up to which the session is ingested; 0 at the beginning.")]
    total_messages: Annotated[int, Field(description="Number of counted messages in the session.")]
    total_processed: Annotated[int, Field(description="Number of messages in the ledger.")]
    pending_messages: PendingMessages
    last_sync_at: Annotated[datetime | None, Field(description="When messages were last ingested; null if never.")]
    state: Annotated[
        SessionState,
        Field(
            description="`synced`, `pending`, `ingesting`, or `failed` if it has a dead letter or its last job failed."
        ),
    ]


def list_memory_bases(
    services: Services, user_id: UUID, request: PageRequest, query: MemoryBaseQuery = ALL_MEMORY_BASES
) -> Page[MemoryBaseView]:
    """Oldest first unless the query says otherwise; raises NotFound for the flow."""
    with services.database.reading(on_replica=True) as db:
        if query.flow_id is not None:
            require_flow(db, user_id, query.flow_id)
        failing = failing_stores(db, services.settings, clock.now(db))
        found = memory_base_lists.bases_page(db, user_id, query, request, count_to=COUNT_TO_IN_LIST, failing=failing)
        near = _near(db, found.rows)
        return page_of(found, lambda row: _base(row, near, COUNT_TO_IN_LIST))


def get_memory_base(services: Services, user_id: UUID, base_id: UUID) -> MemoryBaseView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return base_view(db, services, user_id, base_id)


def base_view(db: OrmSession, services: Services, user_id: UUID, base_id: UUID) -> MemoryBaseView:
    """Read a memory base inside the caller's transaction. Raises NotFound."""
    failing = failing_stores(db, services.settings, clock.now(db))
    found = memory_base_lists.fetch_base_view(db, user_id, base_id, count_to=COUNT_TO, failing=failing)
    row = require(found, "memory base", base_id)
    return _base(row, _near(db, [row]), COUNT_TO)


def views_of_flows(
    db: OrmSession, services: Services, user_id: UUID, flow_ids: Sequence[UUID], *, limit: int = 100
) -> list[MemoryBaseView]:
    """Memory bases of these flows, oldest first, inside the caller's transaction."""
    if not flow_ids:
        return []
    failing = failing_stores(db, services.settings, clock.now(db))
    rows = memory_base_lists.base_views_of_flows(
        db, user_id, flow_ids, count_to=COUNT_TO_IN_LIST, failing=failing, limit=limit
    )
    near = _near(db, rows)
    return [_base(row, near, COUNT_TO_IN_LIST) for row in rows]


def only_flow(services: Services, user_id: UUID, base_ids: Collection[UUID]) -> str | None:
    """The external id, or the UUID, of the flow that all these memory bases, or all of the user's, belong to."""
    with services.database.reading(on_replica=True) as db:
        found = memory_base_lists.flows_of_bases(db, user_id, base_ids, limit=2)
    return found[0].external_id or str(found[0].id) if len(found) == 1 else None


def list_base_sessions(
    services: Services, user_id: UUID, base_id: UUID, request: PageRequest, query: BaseSessionQuery = ALL_SESSIONS
) -> Page[BaseSessionView]:
    """The sessions of the flow, tracked or not, oldest first unless the query says otherwise; raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        base = require_memory_base(db, user_id, base_id)
        capture = Capture(memory_bases.fetch_generation(db, base.id, base.serving).capture)
        return page_of(base_sessions.base_sessions_page(db, base, capture, query, request), _session)


def _near(db: OrmSession, rows: Sequence[AnyRow]) -> dict[UUID, int]:
    """Sessions near the threshold, by memory base; one query, of those alone where a threshold is approached."""
    waiting = [row.MemoryBase.id for row in rows if row.MemoryBase.auto_capture and row.pending_messages]
    return base_sessions.sessions_near_threshold(db, waiting, NEAR) if waiting else {}


def _base(row: AnyRow, near: Mapping[UUID, int], counted_to: int) -> MemoryBaseView:
    base: MemoryBase = row.MemoryBase
    return view_of(
        MemoryBaseView,
        base,
        row,
        capture=Capture(row.capture),
        priority=Priority(base.priority),
        vector_store=store_of(row.collection_name),
        status=memory_base_lists.status_of(row),
        pending_capped=row.pending_messages >= counted_to,
        total_processed=int(row.total_processed),
        sessions_near_threshold=near.get(base.id, 0),
        warnings=(OUTPUTS_ONLY,) if row.capture == Capture.OUTPUTS else (),
    )


def _session(row: AnyRow) -> BaseSessionView:
    if row.active:
        state = SessionState.INGESTING
    elif row.dead or row.failed:
        state = SessionState.FAILED
    else:
        state = SessionState.PENDING if row.pending_messages else SessionState.SYNCED
    processed = row.total_processed or 0
    return view_of(BaseSessionView, row, cursor_seq=row.cursor_seq or 0, total_processed=processed, state=state)


@dataclass(frozen=True, slots=True)
class BuildView:
    """A generation that is being built. `messages`: the messages that it must pass before it serves."""

    generation: int
    sessions: int
    sessions_built: int
    messages: int
    messages_passed: int


@dataclass(frozen=True, slots=True)
class GenerationsView:
    """The serving generation, and the one that is being built, if any."""

    serving: int
    building: BuildView | None


def get_generations(services: Services, user_id: UUID, base_id: UUID) -> GenerationsView:
    """Raises NotFound."""
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        if base.building is None:
            return GenerationsView(base.serving, None)
        progress = cursors.build_progress(db, base_id, base.building)
    return GenerationsView(base.serving, BuildView(base.building, *progress))
