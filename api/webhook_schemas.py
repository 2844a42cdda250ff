"""The request bodies of webhooks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from api.schemas import NOT_GIVEN, Body, Moment, Stored, Until
from memorybase.models import NAME_LENGTH
from memorybase.webhooks.addresses import MAX_URL
from memorybase.webhooks.endpoints import MAX_OVERLAP_HOURS, OVERLAP_HOURS
from memorybase.webhooks.events import EventType

Url = Annotated[Stored, StringConstraints(min_length=1, max_length=MAX_URL)]
EventTypes = Annotated[list[EventType], Field(min_length=1, max_length=len(EventType))]
Description = Annotated[Stored, StringConstraints(max_length=NAME_LENGTH)]


class WebhookBody(Body):
    """A new webhook."""

    url: Url
    event_types: EventTypes
    description: Description = ""


class WebhookPatchBody(Body):
    """What to change of a webhook."""

    url: Url = NOT_GIVEN
    event_types: EventTypes = NOT_GIVEN
    description: Description = NOT_GIVEN
    enabled: bool = NOT_GIVEN


class RotateSecretBody(Body):
    """How long the former secret signs beside the new one."""

    overlap_hours: int = Field(default=OVERLAP_HOURS, ge=0, le=MAX_OVERLAP_HOURS)


class DiscardBody(Body):
    """Which dead deliveries to delete: those that were dead by this time, by default all."""

    until: Until | None = None


class ReplayBody(Body):
    """Which dead deliveries to send again: those of events since this time."""

    since: Moment
