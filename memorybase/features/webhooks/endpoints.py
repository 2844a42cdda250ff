"""Endpoints of webhooks: create, change and delete them, and rotate their secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock, engine
from memorybase.core.database.paging import Page, PageRequest
from memorybase.core.described import CreatedAt, Id
from memorybase.core.models import NAME_LENGTH
from memorybase.core.queries.ownership import not_found, require
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.validation import check_text
from memorybase.features.webhooks import queries, signatures
from memorybase.features.webhooks.addresses import check_url
from memorybase.features.webhooks.models import WebhookEndpoint
from memorybase.features.webhooks.outbox import EventType

log = get_logger(__name__)

MAX_ENDPOINTS = 20  # of one user: each event is written once for each that subscribes to it
MAX_OVERLAP_HOURS = 168
OVERLAP_HOURS = 24
DISABLED_ON_REQUEST = "request"


@dataclass(frozen=True, slots=True)
class WebhookView:
    """An endpoint as it is shown, without its secrets."""

    id: Id
    url: Annotated[str, Field(description="Where events are sent.")]
    description: Annotated[str, Field(description="A note for people.")]
    event_types: Annotated[list[EventType], Field(description="The types of the events that are sent.")]
    enabled: Annotated[bool, Field(description="Whether events are recorded and sent.")]
    disabled_reason: Annotated[
        str | None,
        Field(
            description="Why it is disabled: `request`; `gone`, it answered with 410; `failing`, no attempt "
            "succeeded for days. Null while enabled."
        ),
    ]
    disabled_at: Annotated[datetime | None, Field(description="Since when it is disabled; null while enabled.")]
    failing_since: Annotated[
        datetime | None,
        Field(description="The first failed attempt after the last successful one; null if the last one succeeded."),
    ]
    former_secret_until: Annotated[
        datetime | None,
        Field(description="Until when requests are signed with the former secret too; null without one."),
    ]
    pending: Annotated[int, Field(description="Number of deliveries that wait for their next attempt, without tests.")]
    dead: Annotated[int, Field(description="Number of deliveries whose attempts have all failed, without tests.")]
    created_at: CreatedAt


@dataclass(frozen=True, slots=True)
class WebhookWithSecret(WebhookView):
    """An endpoint with its new secret. Only this answer contains the secret."""

    secret: Annotated[str, Field(description="The secret that signs requests. It is shown only here.")] = field(
        repr=False
    )


def create(
    services: Services,
    user_id: UUID,
    *,
    url: str,
    event_types: Sequence[EventType],
    description: str = "",
    before_commit: Callable[[OrmSession, WebhookView], object] | None = None,
) -> WebhookWithSecret:
    """A new endpoint with its secret, which is not shown again. It gets the events that commit from now on.
    `before_commit` is called in the transaction that creates it.

    Raises InvalidRequest, AddressRefused.
    """
    _check(services, {"url": url, "event_types": event_types, "description": description})
    secret = signatures.new_secret()
    with services.database.transaction() as db:
        _check_room(db, user_id)
        endpoint = WebhookEndpoint(
            id=uuid4(),
            user_id=user_id,
            url=url,
            description=description,
            event_types=_sorted(event_types),
            secret=secret,
            created_at=clock.now(db),
        )
        db.add(endpoint)
        db.flush()
        engine.created(db, webhook_id=endpoint.id)
        view = _view(endpoint, {})
        if before_commit is not None:
            before_commit(db, view)
    log.info("webhook_created", webhook_id=str(view.id))
    return _with_secret(view, secret)


def _check_room(db: OrmSession, user_id: UUID) -> None:
    """Raises InvalidRequest if the user has as many as allowed."""
    count = len(queries.endpoints_of(db, user_id))
    if count >= MAX_ENDPOINTS:
        raise errors.InvalidRequest(
            f"A user can have at most {MAX_ENDPOINTS} webhooks. Delete one first",
            field="url",
            value=count,
            limit=MAX_ENDPOINTS,
        )


def list_webhooks(services: Services, user_id: UUID, request: PageRequest) -> Page[WebhookView]:
    """Oldest first. Raises InvalidRequest for a cursor: there are few."""
    if request.cursor is not None:
        raise errors.InvalidRequest("The list of webhooks has no cursor: use page and size", field="cursor")
    with services.database.reading() as db:
        found = queries.endpoints_of(db, user_id)
        shown = found[request.skip : request.skip + request.size]
        counts = queries.count_deliveries(db, [each.id for each in shown])
    return Page([_view(each, counts) for each in shown], len(found), request.page, request.size)


def get_webhook(services: Services, user_id: UUID, webhook_id: UUID) -> WebhookView:
    """Raises NotFound."""
    with services.database.reading() as db:
        endpoint = require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        return _view(endpoint, queries.count_deliveries(db, [webhook_id]))


def change(services: Services, user_id: UUID, webhook_id: UUID, changes: Mapping[str, Any]) -> WebhookView:
    """Change url, description, event_types or enabled. Raises NotFound, InvalidRequest, AddressRefused.

    While an endpoint is disabled, no event is recorded for it and its pending deliveries wait.
    """
    _check(services, changes)
    with services.database.transaction() as db:
        endpoint = require(queries.endpoint_of(db, user_id, webhook_id, lock=True), "webhook", webhook_id)
        for name in ("url", "description"):
            if name in changes:
                setattr(endpoint, name, changes[name])
        if "event_types" in changes:
            endpoint.event_types = _sorted(changes["event_types"])
        if "enabled" in changes:
            _enable(endpoint, clock.now(db), enabled=changes["enabled"])
        db.flush()
        return _view(endpoint, queries.count_deliveries(db, [webhook_id]))


def _enable(endpoint: WebhookEndpoint, now: datetime, *, enabled: bool) -> None:
    if enabled:
        endpoint.disabled_at = endpoint.disabled_reason = endpoint.failing_since = None
    elif endpoint.disabled_at is None:
        endpoint.disabled_at, endpoint.disabled_reason = now, DISABLED_ON_REQUEST


def rotate_secret(
    services: Services, user_id: UUID, webhook_id: UUID, *, overlap_hours: int = OVERLAP_HOURS
) -> WebhookWithSecret:
    """A new secret, which is not shown again. Requests are also signed with the former one for `overlap_hours`.

    Raises NotFound, InvalidRequest.
    """
    if not 0 <= overlap_hours <= MAX_OVERLAP_HOURS:
        raise errors.InvalidRequest(
            f"overlap_hours must be 0 to {MAX_OVERLAP_HOURS} (got {overlap_hours})",
            field="overlap_hours",
            value=overlap_hours,
            limit=MAX_OVERLAP_HOURS,
        )
    secret = signatures.new_secret()
    with services.database.transaction() as db:
        endpoint = require(queries.endpoint_of(db, user_id, webhook_id, lock=True), "webhook", webhook_id)
        endpoint.former_secret = endpoint.secret if overlap_hours else None
        endpoint.former_secret_until = clock.now(db) + timedelta(hours=overlap_hours) if overlap_hours else None
        endpoint.secret = secret
        db.flush()
        view = _view(endpoint, queries.count_deliveries(db, [webhook_id]))
    log.info("webhook_secret_rotated", webhook_id=str(webhook_id))
    return _with_secret(view, secret)


def delete(services: Services, user_id: UUID, webhook_id: UUID) -> None:
    """Delete an endpoint with its deliveries. Raises NotFound."""
    with services.database.transaction() as db:
        if not queries.delete_endpoint(db, user_id, webhook_id):
            raise not_found("webhook", webhook_id)
    log.info("webhook_deleted", webhook_id=str(webhook_id))


def _check(services: Services, values: Mapping[str, Any]) -> None:
    if "url" in values:
        check_url(values["url"], services.settings.webhook_networks)
    if "event_types" in values and not values["event_types"]:
        raise errors.InvalidRequest(
            f"event_types must have one or more of {', '.join(EventType)}", field="event_types", limit=list(EventType)
        )
    if "description" in values:
        check_text(values["description"], "description")
        length = len(values["description"])
        if length > NAME_LENGTH:
            raise errors.InvalidRequest(
                f"description must have at most {NAME_LENGTH} characters (got {length})",
                field="description",
                value=length,
                limit=NAME_LENGTH,
            )


def _sorted(event_types: Sequence[EventType]) -> list[str]:
    """Each once, in the order of the documentation."""
    return [str(each) for each in EventType if each in event_types]


def _with_secret(view: WebhookView, secret: str) -> WebhookWithSecret:
    return view_of(WebhookWithSecret, view, secret=secret)


def _view(endpoint: WebhookEndpoint, counts: Mapping[tuple[UUID, str], int]) -> WebhookView:
    return view_of(
        WebhookView,
        endpoint,
        event_types=[EventType(each) for each in endpoint.event_types],
        enabled=endpoint.disabled_at is None,
        pending=counts.get((endpoint.id, "pending"), 0),
        dead=counts.get((endpoint.id, "dead"), 0),
    )
