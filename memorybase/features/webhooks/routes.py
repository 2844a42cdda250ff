"""Webhooks: endpoints, deliveries, replays and tests."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response
from pydantic import Field, StringConstraints

from api import waiting
from api.admission import Work, admission_of
from api.deps import Admin, PageDep, ServicesDep, keyed_router
from api.extension import Routes
from api.idempotency import keeping, refuse_replay
from api.locations import location
from api.operations import operation
from api.schemas import MAX_WAIT_SECONDS, NOT_GIVEN, Body, Moment, SentUuid, Stored, Until
from memorybase.core.database.paging import Page
from memorybase.core.models import NAME_LENGTH
from memorybase.core.queries.ownership import not_found
from memorybase.features.webhooks import deliveries, endpoints
from memorybase.features.webhooks.addresses import MAX_URL
from memorybase.features.webhooks.deliveries import DeliveryState, DeliveryView, Discarded, Replayed
from memorybase.features.webhooks.endpoints import MAX_OVERLAP_HOURS, OVERLAP_HOURS, WebhookView, WebhookWithSecret
from memorybase.features.webhooks.outbox import EventType

Url = Annotated[Stored, StringConstraints(min_length=1, max_length=MAX_URL)]
EventTypes = Annotated[list[EventType], Field(min_length=1, max_length=len(EventType))]
Description = Annotated[Stored, StringConstraints(max_length=NAME_LENGTH)]


class WebhookBody(Body):
    """A new webhook."""

    url: Url = Field(
        description="Where events are sent: http or https, without a user, a password and a fragment. It must "
        "lead to a public address, unless the settings allow others."
    )
    event_types: EventTypes = Field(description="The types of the events to send.")
    description: Description = Field(default="", description="A note for people.")


class WebhookPatchBody(Body):
    """Changes of a webhook."""

    url: Annotated[
        Url,
        Field(
            description="Where events are sent: http or https, without a user, a password and a fragment. It must "
            "lead to a public address, unless the settings allow others."
        ),
    ] = NOT_GIVEN
    event_types: Annotated[EventTypes, Field(description="The types of the events to send.")] = NOT_GIVEN
    description: Annotated[Description, Field(description="A note for people.")] = NOT_GIVEN
    enabled: Annotated[bool, Field(description="Whether events are recorded and sent.")] = NOT_GIVEN


class RotateSecretBody(Body):
    """Time that the former secret also signs."""

    overlap_hours: int = Field(
        default=OVERLAP_HOURS,
        ge=0,
        le=MAX_OVERLAP_HOURS,
        description="How long requests are signed with the former secret too; 0: not at all.",
    )


class DiscardBody(Body):
    """Which dead deliveries to delete: those that were dead by this time, by default all."""

    until: Until | None = Field(
        default=None,
        description="Deliveries that were dead by this time are deleted; by default all dead ones. Without a "
        "time zone: UTC.",
    )


class ReplayBody(Body):
    """Which dead deliveries to send again: those of events since this time."""

    since: Moment = Field(
        description="Dead deliveries of events since this time are sent again. Without a time zone: UTC."
    )


router = keyed_router("webhooks")
ROUTES = Routes(
    router=router,
    tag="webhooks",
    description="Events that are sent to other systems: endpoints, deliveries, replay.",
)

WebhookId = Annotated[SentUuid, Path(description="The UUID of the webhook.")]
DeliveryId = Annotated[SentUuid, Path(description="The UUID of the delivery.")]


@router.post("/webhooks", status_code=201)
@operation(once=True, left_out="secret")
def create_webhook(
    body: WebhookBody, services: ServicesDep, caller: Admin, request: Request, response: Response
) -> WebhookWithSecret:
    """Create a webhook: events of these types are sent to the URL from now on. Only this response contains the
    secret."""
    refuse_replay(request)
    created = endpoints.create(
        services,
        caller.user_id,
        url=body.url,
        event_types=body.event_types,
        description=body.description,
        before_commit=keeping(request, 201, lambda _, view: (view, location("webhooks", view.id))),
    )
    response.headers.update(location("webhooks", created.id))
    return created


@router.get("/webhooks")
def list_webhooks(services: ServicesDep, caller: Admin, page: PageDep) -> Page[WebhookView]:
    """List the webhooks, oldest first."""
    return endpoints.list_webhooks(services, caller.user_id, page)


@router.get("/webhooks/{webhook_id}")
def get_webhook(webhook_id: WebhookId, services: ServicesDep, caller: Admin) -> WebhookView:
    """Get a webhook."""
    return endpoints.get_webhook(services, caller.user_id, webhook_id)


@router.patch("/webhooks/{webhook_id}")
def update_webhook(webhook_id: WebhookId, body: WebhookPatchBody, services: ServicesDep, caller: Admin) -> WebhookView:
    """Change a webhook. While it is disabled, no event is recorded for it and its pending deliveries wait."""
    return endpoints.change(services, caller.user_id, webhook_id, body.given())


@router.delete("/webhooks/{webhook_id}", status_code=204)
def delete_webhook(webhook_id: WebhookId, services: ServicesDep, caller: Admin) -> Response:
    """Delete a webhook with its deliveries."""
    endpoints.delete(services, caller.user_id, webhook_id)
    return Response(status_code=204)


@router.post("/webhooks/{webhook_id}/secret")
def rotate_webhook_secret(
    webhook_id: WebhookId, services: ServicesDep, caller: Admin, body: RotateSecretBody | None = None
) -> WebhookWithSecret:
    """Replace the secret. Requests are signed with both until the overlap ends. Only this response contains the new
    one."""
    wanted = body or RotateSecretBody()
    return endpoints.rotate_secret(services, caller.user_id, webhook_id, overlap_hours=wanted.overlap_hours)


@router.post("/webhooks/{webhook_id}/test", status_code=201)
@operation(work=Work.STREAM)
async def send_test_event(
    webhook_id: WebhookId,
    services: ServicesDep,
    caller: Admin,
    request: Request,
    response: Response,
    wait: Annotated[
        int, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until the receiver has answered.")
    ] = 0,
) -> DeliveryView:
    """Send an event `webhook.test` to a webhook, in one attempt. Its failure does not disable the webhook. 409
    `webhook_disabled` while it is disabled."""
    first = await admission_of(request)[Work.STREAM].run(
        lambda: deliveries.send_test(services, caller.user_id, webhook_id)
    )
    response.headers.update(location("webhooks", webhook_id, "deliveries", first.id))
    polls = waiting.polls_of(request, deliveries.get_deliveries)
    last = await waiting.until(request, polls, first.id, first, lambda seen: seen is None or seen.ended, seconds=wait)
    if last is None:
        raise not_found("webhook", webhook_id)
    return last


@router.get("/webhooks/{webhook_id}/deliveries")
def list_deliveries(
    webhook_id: WebhookId,
    services: ServicesDep,
    caller: Admin,
    page: PageDep,
    state: Annotated[DeliveryState | None, Query(description="Only deliveries in this state.")] = None,
    event_type: Annotated[EventType | None, Query(description="Only deliveries of events of this type.")] = None,
) -> Page[DeliveryView]:
    """List the deliveries of a webhook, newest first."""
    return deliveries.list_deliveries(services, caller.user_id, webhook_id, page, state=state, event_type=event_type)


@router.get("/webhooks/{webhook_id}/deliveries/{delivery_id}")
def get_delivery(webhook_id: WebhookId, delivery_id: DeliveryId, services: ServicesDep, caller: Admin) -> DeliveryView:
    """Get a delivery."""
    return deliveries.get_delivery(services, caller.user_id, webhook_id, delivery_id)


@router.post("/webhooks/{webhook_id}/deliveries/{delivery_id}/replay")
def replay_delivery(
    webhook_id: WebhookId, delivery_id: DeliveryId, services: ServicesDep, caller: Admin
) -> DeliveryView:
    """Send a delivery again, with all its attempts."""
    return deliveries.replay(services, caller.user_id, webhook_id, delivery_id)


@router.post("/webhooks/{webhook_id}/replay")
def replay_dead_deliveries(webhook_id: WebhookId, body: ReplayBody, services: ServicesDep, caller: Admin) -> Replayed:
    """Send the dead deliveries of events since then again, oldest first. Repeat the call while `remaining` is true."""
    return deliveries.replay_dead(services, caller.user_id, webhook_id, body.since)


@router.delete("/webhooks/{webhook_id}/deliveries/{delivery_id}", status_code=204)
def discard_delivery(webhook_id: WebhookId, delivery_id: DeliveryId, services: ServicesDep, caller: Admin) -> Response:
    """Discard a dead delivery: it is deleted and cannot be sent again. 409 if it is pending or delivered."""
    deliveries.discard(services, caller.user_id, webhook_id, delivery_id)
    return Response(status_code=204)


@router.post("/webhooks/{webhook_id}/discard")
def discard_dead_deliveries(
    webhook_id: WebhookId, services: ServicesDep, caller: Admin, body: DiscardBody | None = None
) -> Discarded:
    """Discard the deliveries that were dead by then, oldest first; without `until`, all dead ones. Repeat the call
    while `remaining` is true."""
    return deliveries.discard_dead(services, caller.user_id, webhook_id, None if body is None else body.until)
