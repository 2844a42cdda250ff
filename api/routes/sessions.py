"""Sessions. Their ids are free text, so they are sent in the query or the body, never in a path."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from api.deps import (
    EndUserFilter,
    FlowFilter,
    FlowNamed,
    PageDep,
    Reader,
    ServicesDep,
    SessionNamed,
    TextQuery,
    Writer,
    keyed_router,
)
from api.key_limits import Rule, end_user_in, flow_in, session_in
from api.operations import operation
from api.schemas import Moment, SessionChanges, Until
from memorybase.core import caveats, ids, messages
from memorybase.core.database.paging import Page
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.session_lists import SessionFilter, SessionOrder
from memorybase.core.read_models import sessions
from memorybase.core.read_models.sessions import SessionView
from memorybase.core.screening import counting
from memorybase.core.sessions import edits
from memorybase.core.sessions.receipts import ErasureReceipt

router = keyed_router("sessions")


class SessionListFilter(BaseModel):
    """Which sessions to list, and in which order."""

    end_user_id: EndUserFilter = None
    text: TextQuery = Field(default=None, alias="q")
    state: SearchState | None = Field(default=None, description="Only sessions in this state.")
    since: Moment | None = Field(
        default=None,
        description="Only sessions with a capture from this time on. Inclusive, like `until`. Without a time "
        "zone: UTC.",
    )
    until: Until | None = Field(default=None, description="Only sessions without a capture after this time.")
    order: SessionOrder = Field(
        default="created", description="By creation, oldest first, or by the latest capture, latest first."
    )


@router.get("/sessions")
@operation(limits=Rule([flow_in("query")], [end_user_in("query")]))
def list_sessions(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    which: Annotated[SessionListFilter, Query()],
) -> Page[SessionView]:
    """List sessions. In the order `recent` a session moves to the front with each capture, also between two pages.

    With `q` or `state` a page looks through a bounded number of sessions: `next_cursor` continues even after an empty
    page."""
    wanted = SessionFilter(flow_id, **dict(which))
    return sessions.list_sessions(services, caller.user_id, wanted, page)


@router.patch("/sessions")
@operation(limits=Rule([flow_in("body")], [session_in("body")]))
def update_session(body: SessionChanges, services: ServicesDep, caller: Writer) -> SessionView:
    """Rename a session, replace its metadata, or set when it expires. An id of another session is 409."""
    flow_id = ids.flow_id(caller.user_id, body.flow_id)
    messages.check_json(body.metadata, "metadata")
    with counting() as replaced:
        edits.update_session(
            services,
            caller.user_id,
            flow_id,
            body.session_id,
            new_session_id=body.new_session_id,
            metadata=body.metadata,
            expiry=body.expiry,
        )
    session = sessions.get_session(services, caller.user_id, flow_id, body.new_session_id or body.session_id)
    return replace(session, warnings=caveats.redacted(replaced))


@router.delete("/sessions")
@operation(limits=Rule([flow_in("query")], [session_in("query", uses=True)]))
def delete_session(
    services: ServicesDep, caller: Writer, flow_id: FlowNamed, session_id: SessionNamed
) -> ErasureReceipt:
    """Delete a session and its messages. Searches leave it out at once; jobs update the knowledge bases."""
    return edits.delete_session(services, caller.user_id, flow_id, session_id)
