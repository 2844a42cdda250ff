"""Retention: previews, receipts of deletions, and legal holds, which prevent them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field

from api.deps import Admin, EndUserFilter, FlowFilter, PageDep, Reader, ServicesDep, keyed_router
from api.extension import Routes
from api.locations import location
from api.schemas import Body, Identifier, Reason, RetainDays, SentUuid
from memorybase.core import ids
from memorybase.core.database.paging import Page
from memorybase.core.sessions.receipts import ErasureReceipt
from memorybase.features.retention import erasures, holds, preview, receipts
from memorybase.features.retention.holds import HoldView
from memorybase.features.retention.preview import RetentionPreviews
from memorybase.features.retention.receipts import RetentionPassView

router = keyed_router("retention")
ROUTES = Routes(
    router=router,
    tag="retention",
    description="Legal holds, and what expires: what would be deleted and what was.",
)


class HoldBody(Body):
    """The target of a hold: a flow, one session of it, or an end user in all flows."""

    flow_id: Identifier | None = Field(
        default=None, description="The flow: a UUID or the caller's id. Not together with `end_user_id`."
    )
    session_id: Identifier | None = Field(
        default=None, description="One session of the flow; by default the whole flow."
    )
    end_user_id: Identifier | None = Field(
        default=None, description="The person whose sessions and chats are held, in all flows, future ones too."
    )
    reason: Reason | None = Field(default=None, description="Why, for people.")


@router.get("/retention/preview")
def preview_retention(
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowFilter,
    memory_base_id: Annotated[
        UUID | None, Query(description="The rule of this memory base alone. Not together with `flow_id`.")
    ] = None,
    retain_days: Annotated[
        RetainDays | None,
        Query(description="As if the flow or the memory base had this rule; requires `flow_id` or `memory_base_id`."),
    ] = None,
) -> RetentionPreviews:
    """Count what the rules would delete now. Nothing is changed."""
    return preview.preview(
        services, caller.user_id, flow_id=flow_id, memory_base_id=memory_base_id, retain_days=retain_days
    )


@router.get("/retention/passes")
def list_retention_passes(
    services: ServicesDep, caller: Reader, page: PageDep, flow_id: FlowFilter
) -> Page[RetentionPassView]:
    """List the receipts of what expired, newest first, also of flows that are deleted by now."""
    return receipts.list_passes(services, caller.user_id, page, flow_id=flow_id)


@router.get("/erasures")
def list_erasures(
    services: ServicesDep, caller: Reader, page: PageDep, end_user_id: EndUserFilter = None
) -> Page[ErasureReceipt]:
    """List the receipts of erased end users and deleted sessions, newest first."""
    return erasures.list_receipts(services, caller.user_id, page, end_user_id=end_user_id)


@router.get("/erasures/{erasure_id}")
def get_erasure(
    erasure_id: Annotated[SentUuid, Path(description="The UUID of the receipt.")],
    services: ServicesDep,
    caller: Reader,
) -> ErasureReceipt:
    """Read the receipt of an erasure."""
    return erasures.get_receipt(services, caller.user_id, erasure_id)


@router.post("/holds", status_code=201)
def place_hold(body: HoldBody, services: ServicesDep, caller: Admin, response: Response) -> HoldView:
    """Place a legal hold on a flow, on one session of it, or on an end user in all flows. Until it is lifted, retention
    leaves everything of it, and each deletion of any of it is 409 `legal_hold`."""
    placed = holds.place_hold(
        services,
        caller.user_id,
        flow_id=None if body.flow_id is None else ids.flow_id(caller.user_id, body.flow_id),
        session_id=body.session_id,
        end_user_id=body.end_user_id,
        reason=body.reason,
        placed_by=caller.name,
    )
    response.headers.update(location("holds", placed.id))
    return placed


@router.get("/holds")
def list_holds(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    end_user_id: EndUserFilter = None,
) -> Page[HoldView]:
    """List the legal holds, oldest first."""
    return holds.list_holds(services, caller.user_id, page, flow_id=flow_id, end_user_id=end_user_id)


@router.delete("/holds/{hold_id}", status_code=204)
def lift_hold(
    hold_id: Annotated[SentUuid, Path(description="The UUID of the hold.")], services: ServicesDep, caller: Admin
) -> Response:
    """Lift a legal hold. What only it kept can be deleted again, and expires with the next pass."""
    holds.lift_hold(services, caller.user_id, hold_id)
    return Response(status_code=204)
