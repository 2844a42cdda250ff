"""Request bodies of flows' rules and of legal holds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from api.schemas import FLOW_ZONE, NOT_GIVEN, Body, Identifier, Name, Reason, RetainDays, TimeZone


class FlowChanges(Body):
    """The fields of a flow to change."""

    name: Annotated[Name, Field(description="The new name.")] = NOT_GIVEN
    retain_days: RetainDays | None = Field(
        default=None, description="Days until what was captured is deleted; null: it is kept."
    )
    standing: Annotated[
        bool,
        Field(
            description="Whether contexts contain the end user's standing statements unless the call says otherwise."
        ),
    ] = NOT_GIVEN
    time_zone: Annotated[TimeZone, Field(description=FLOW_ZONE)] = NOT_GIVEN


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
