"""Sessions. Their ids are free text, so they travel in the query or the body, never in a path."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from api.deps import FlowFilter, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.schemas import Identifier, SessionChanges
from memorybase import catalog, errors, lifecycle, messages
from memorybase.catalog import Page, SessionView

router = keyed_router("sessions")


@router.get("/sessions")
def list_sessions(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    end_user_id: Annotated[Identifier | None, Query()] = None,
) -> Page[SessionView]:
    return catalog.list_sessions(services, caller.user_id, page, flow_id=flow_id, end_user_id=end_user_id)


@router.patch("/sessions")
def update_session(body: SessionChanges, services: ServicesDep, caller: Writer) -> SessionView:
    """Rename a session, or replace its metadata; an id that another session has is 409."""
    flow_id, _ = messages.resolve_id(caller.user_id, "flow", body.flow_id)
    messages.check_json(body.metadata, "metadata")
    lifecycle.update_session(
        services,
        caller.user_id,
        flow_id,
        body.session_id,
        new_session_id=body.new_session_id,
        metadata=body.metadata,
    )
    return catalog.get_session(services, caller.user_id, flow_id, body.new_session_id or body.session_id)


@router.delete("/sessions", status_code=204)
def delete_session(
    services: ServicesDep, caller: Writer, flow_id: FlowFilter, session_id: Annotated[Identifier, Query()]
) -> Response:
    """Delete a session with its messages; the knowledge bases follow, searches leave it out at once."""
    if flow_id is None:
        raise errors.InvalidRequest("This field is required", field="flow_id")
    lifecycle.delete_session(services, caller.user_id, flow_id, session_id)
    return Response(status_code=204)
