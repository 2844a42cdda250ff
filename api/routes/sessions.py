"""Sessions. Their ids are free text, so they are sent in the query or the body, never in a path."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from api.deps import (
    FlowFilter,
    FlowNamed,
    PageDep,
    Reader,
    ServicesDep,
    SinceQuery,
    TextQuery,
    UntilQuery,
    Writer,
    keyed_router,
)
from api.schemas import Identifier, SessionChanges
from memorybase import ids, messages
from memorybase.database.paging import Page
from memorybase.queries.coverage import SearchState
from memorybase.queries.session_lists import SessionFilter, SessionOrder
from memorybase.read_models import sessions
from memorybase.read_models.sessions import SessionView
from memorybase.sessions import edits
from memorybase.sessions.erasure import Erasure

router = keyed_router("sessions")


@router.get("/sessions")
def list_sessions(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    end_user_id: Annotated[Identifier | None, Query()] = None,
    q: TextQuery = None,
    state: Annotated[SearchState | None, Query()] = None,
    since: SinceQuery = None,
    until: UntilQuery = None,
    order: Annotated[
        SessionOrder, Query(description="By creation, oldest first, or by the latest capture, latest first.")
    ] = "created",
) -> Page[SessionView]:
    """List sessions. In the order `recent` a session moves to the front with each capture, also between two pages.

    With `q` or `state` a page looks through a bounded number of sessions: `next_cursor` continues even after an empty
    page."""
    wanted = SessionFilter(flow_id, end_user_id, q, state, since, until, order)
    return sessions.list_sessions(services, caller.user_id, wanted, page)


@router.patch("/sessions")
def update_session(body: SessionChanges, services: ServicesDep, caller: Writer) -> SessionView:
    """Rename a session, replace its metadata, or set when it expires. An id of another session is 409."""
    flow_id = ids.flow_id(caller.user_id, body.flow_id)
    messages.check_json(body.metadata, "metadata")
    edits.update_session(
        services,
        caller.user_id,
        flow_id,
        body.session_id,
        new_session_id=body.new_session_id,
        metadata=body.metadata,
        expiry=body.expiry,
    )
    return sessions.get_session(services, caller.user_id, flow_id, body.new_session_id or body.session_id)


@router.delete("/sessions")
def delete_session(
    services: ServicesDep, caller: Writer, flow_id: FlowNamed, session_id: Annotated[Identifier, Query()]
) -> Erasure:
    """Delete a session and its messages. Searches leave it out at once; jobs update the knowledge bases."""
    return edits.delete_session(services, caller.user_id, flow_id, session_id)
