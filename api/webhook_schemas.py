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

    url: Url = Field(
        description="Where events are sent: http or https, without a user, a password and a fragment. It must "
        "lead to a public address, unless the settings allow others."
    )
    event_types: EventTypes = Field(description="The types of the events to send.")
    description: Description = Field(default="", description="A note for people.")


class WebhookPatchBody(Body):
    """What to change of a webhook."""

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
    """How long the former secret signs beside the new one."""

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
