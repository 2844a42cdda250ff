"""Memory bases and their sessions as they are shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.caveats import OUTPUTS_ONLY, Caveat
from memorybase.database import clock
from memorybase.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.models import Capture, MemoryBase, Priority
from memorybase.queries import base_sessions, cursors, memory_base_lists, memory_bases
from memorybase.queries.base_sessions import BaseSessionQuery, SessionState
from memorybase.queries.memory_base_lists import MemoryBaseQuery, MemoryBaseStatus
from memorybase.queries.ownership import require, require_flow, require_memory_base
from memorybase.queries.store_health import failing_stores
from memorybase.read_models.views import view_of
from memorybase.services import Services
from memorybase.settings import VectorStoreName
from memorybase.vectors.collection_names import store_of

# How far pending messages are counted, so that a look costs the same beside any backlog.
COUNT_TO = 100_000
COUNT_TO_IN_LIST = 10_000
# A session is near its threshold with this share of it pending.
NEAR = 0.8
ALL_MEMORY_BASES = MemoryBaseQuery()
ALL_SESSIONS = BaseSessionQuery()


@dataclass(frozen=True, slots=True)
class MemoryBaseView:
    """A memory base and its progress. `pending_capped`: `pending_messages` is a lower bound."""

    id: UUID
    name: str
    flow_id: UUID
    user_id: UUID
    kb_name: str
    threshold: int
    auto_capture: bool
    capture: Capture
    idle_after: int
    retain_days: int | None
    embedding_model: str
    vector_store: VectorStoreName
    created_at: datetime
    priority: Priority
    paused_at: datetime | None
    status: MemoryBaseStatus
    pending_messages: int
    pending_capped: bool
    total_processed: int
    last_sync_at: datetime | None
    sessions: int
    mismatch: bool | None
    mismatch_checked_at: datetime | None
    mismatch_since: datetime | None
    chunks_missing: int | None
    dead_letters: int
    sessions_near_threshold: int
    warnings: tuple[Caveat, ...]


@dataclass(frozen=True, slots=True)
class BaseSessionView:
    """The progress of one session. Without an `id` it is not tracked yet and all its messages are pending."""

    id: UUID | None
    session_id: str
    end_user_id: str | None
    last_captured_at: datetime
    cursor_id: UUID | None
    cursor_seq: int
    total_messages: int
    total_processed: int
    pending_messages: int
    last_sync_at: datetime | None
    state: SessionState


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
        capture=Capture(row.capture),
        priority=Priority(base.priority),
        embedding_model=row.embedding_model,
        vector_store=store_of(row.collection_name),
        status=MemoryBaseStatus(row.status),
        pending_messages=row.pending_messages,
        pending_capped=row.pending_messages >= counted_to,
        total_processed=int(row.total_processed),
        last_sync_at=row.last_sync_at,
        sessions=row.sessions,
        dead_letters=row.dead_letters,
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
