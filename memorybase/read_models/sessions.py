"""Flows, runs, sessions and messages as the API shows them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.ids import CallerId
from memorybase.models import Flow, MemoryBase, Message, Run, Session
from memorybase.queries import caller_ids
from memorybase.queries.ownership import not_found, require, require_flow, require_memory_base
from memorybase.read_models import session_queries as queries
from memorybase.read_models.session_queries import MessageQuery, SessionOrder
from memorybase.read_models.views import view_of
from memorybase.services import Services


@dataclass(frozen=True, slots=True)
class FlowView:
    """A flow. `external_id` is the id that the caller chose; null if that is a UUID."""

    id: UUID
    external_id: str | None
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of a flow. `messages`: number of messages."""

    run_id: UUID
    external_id: str | None
    flow_id: UUID
    session_id: str
    end_user_id: str | None
    messages: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session of a flow. `messages`: number of messages."""

    id: UUID
    flow_id: UUID
    session_id: str
    end_user_id: str | None
    messages: int
    metadata: dict[str, Any]
    created_at: datetime
    last_captured_at: datetime


@dataclass(frozen=True, slots=True)
class MessageView:
    """A stored message. `ingested` is present if the request named a memory base."""

    id: UUID
    external_id: str | None
    flow_id: UUID
    session_id: str
    run_id: UUID
    end_user_id: str | None
    seq: int
    role: str
    is_output: bool
    content: str | list[Any] | None
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    sender_name: str | None
    parent_message_id: UUID | None
    files: list[Any]
    metadata: dict[str, Any]
    status: str
    version: int
    timestamp: datetime
    captured_at: datetime
    edited_at: datetime | None
    ingested: Annotated[bool | None, Field(exclude_if=lambda value: value is None)] = None


def list_flows(services: Services, user_id: UUID, request: PageRequest) -> Page[FlowView]:
    """Oldest first."""
    with services.database.reading() as db:
        return page_of(queries.flows_page(db, user_id, request), lambda row: flow_view(row.Flow))


def get_flow(services: Services, user_id: UUID, flow_id: UUID) -> FlowView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return flow_view(require_flow(db, user_id, flow_id))


def get_flows(services: Services, user_id: UUID, flow_ids: Collection[UUID]) -> dict[UUID, FlowView]:
    """The flows of one page by id, without those that no longer exist."""
    with services.database.reading() as db:
        return {flow.id: flow_view(flow) for flow in queries.flows_by_id(db, user_id, flow_ids)}


def list_runs(services: Services, user_id: UUID, flow_id: UUID, request: PageRequest) -> Page[RunView]:
    """A flow's runs, newest first; raises NotFound."""
    with services.database.reading() as db:
        require_flow(db, user_id, flow_id)
        return page_of(queries.runs_page(db, flow_id, request), _run)


def get_run(services: Services, user_id: UUID, run_id: UUID, *, flow_id: UUID | None = None) -> RunView:
    """Raises NotFound, also for a run of another flow than `flow_id`."""
    with services.database.reading() as db:
        row = queries.fetch_run(db, user_id, run_id)
    if row is None or flow_id not in {None, row.Run.flow_id}:
        raise not_found("run", run_id)
    return _run(row)


def list_sessions(
    services: Services,
    user_id: UUID,
    request: PageRequest,
    *,
    flow_id: UUID | None,
    end_user_id: str | None,
    order: SessionOrder = "created",
) -> Page[SessionView]:
    """Raises NotFound for the flow."""
    with services.database.reading() as db:
        if flow_id is not None:
            require_flow(db, user_id, flow_id)
        found = queries.sessions_page(db, user_id, request, flow_id=flow_id, end_user_id=end_user_id, order=order)
        return page_of(found, _session)


def get_session(services: Services, user_id: UUID, flow_id: UUID, session_id: str) -> SessionView:
    """Raises NotFound."""
    with services.database.reading() as db:
        require_flow(db, user_id, flow_id)
        return _session(require(queries.fetch_session(db, flow_id, session_id), "session", session_id))


def list_messages(services: Services, user_id: UUID, query: MessageQuery, request: PageRequest) -> Page[MessageView]:
    """By seq within one session, by time of capture across sessions; raises NotFound and InvalidRequest."""
    with services.database.reading() as db:
        query, base = _resolved(db, user_id, query)
        return page_of(queries.messages_page(db, user_id, query, base, request), message_view)


def get_message(services: Services, user_id: UUID, message_id: UUID) -> MessageView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return message_view(require(queries.fetch_message(db, user_id, message_id), "message", message_id))


def message_view(row: AnyRow) -> MessageView:
    """The view of a row with Message, end_user_id and ingested."""
    message: Message = row.Message
    ingested = None if row.ingested is None else bool(row.ingested)
    return view_of(MessageView, message, metadata=message.meta, end_user_id=row.end_user_id, ingested=ingested)


def _resolved(db: OrmSession, user_id: UUID, query: MessageQuery) -> tuple[MessageQuery, MemoryBase | None]:
    """The query, with the flow that other fields imply, and its memory base. Raises NotFound for ids of others."""
    base = None
    flow_id = query.flow_id
    if flow_id is not None:
        require_flow(db, user_id, flow_id)
    if query.memory_base_id is not None:
        base = require_memory_base(db, user_id, query.memory_base_id)
        if flow_id not in {None, base.flow_id}:
            raise errors.InvalidRequest("flow_id must be the flow of the memory base", field="flow_id", value=flow_id)
        flow_id = base.flow_id
    elif query.ingested is not None:
        raise errors.InvalidRequest("ingested requires memory_base_id", field="ingested")
    run_id = query.run_id
    if isinstance(run_id, CallerId):
        run_id = caller_ids.locate(db, run_id, flow_id)
    elif run_id is not None:
        require(queries.fetch_run(db, user_id, run_id), "run", run_id)
    if flow_id is None and query.session_id is not None:
        flows = queries.flows_with_session(db, user_id, query.session_id)
        flow_id = flows[0] if len(flows) == 1 else None
    return replace(query, flow_id=flow_id, run_id=run_id), base


def flow_view(flow: Flow) -> FlowView:
    return view_of(FlowView, flow)


def _run(row: AnyRow) -> RunView:
    run: Run = row.Run
    return view_of(RunView, run, run_id=run.id, end_user_id=row.end_user_id, messages=row.messages)


def _session(row: AnyRow) -> SessionView:
    session: Session = row.Session
    return view_of(SessionView, session, messages=row.messages, metadata=session.meta)
