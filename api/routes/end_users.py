"""End users: the persons who talk in sessions and chats. Export one with GET /export?end_user_id=."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from api.admission import Work
from api.deps import EndUserId, FlowFilter, PageDep, Reader, ServicesDep, TextQuery, Writer, keyed_router
from api.key_limits import FLOW_IN_QUERY, Rule, own_end_user
from api.operations import operation
from memorybase.core.database.paging import Page
from memorybase.core.queries.end_users import EndUserOrder
from memorybase.core.read_models import end_users
from memorybase.core.read_models.end_users import EndUserDetails, EndUserView
from memorybase.core.sessions import edits
from memorybase.core.sessions.receipts import ErasureReceipt

router = keyed_router("sessions")


@router.get("/end-users")
@operation(limits=FLOW_IN_QUERY)
def list_end_users(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    q: TextQuery = None,
    order: Annotated[EndUserOrder, Query(description="Last seen first, or most sessions first.")] = "recent",
) -> Page[EndUserView]:
    """List the end users of all sessions and chats."""
    return end_users.list_end_users(services, caller.user_id, page, flow_id=flow_id, text=q, order=order)


@router.get("/end-users/{end_user_id}")
@operation(limits=Rule(None, [own_end_user]))
def get_end_user(end_user_id: EndUserId, services: ServicesDep, caller: Reader) -> EndUserDetails:
    """Read how much is stored of an end user, by kind."""
    return end_users.get_end_user(services, caller.user_id, end_user_id)


@router.delete("/end-users/{end_user_id}")
@operation(work=Work.BULK)
def erase_end_user(end_user_id: EndUserId, services: ServicesDep, caller: Writer) -> ErasureReceipt:
    """Delete every session of an end user, in all flows. The response counts what was deleted."""
    return edits.erase_end_user(services, caller.user_id, end_user_id)
