"""Request bodies of flows' rules and of legal holds."""

from __future__ import annotations

from api.schemas import NOT_GIVEN, Body, Identifier, Name, Reason, RetainDays


class FlowChanges(Body):
    """The fields of a flow to change."""

    name: Name = NOT_GIVEN
    retain_days: RetainDays | None = None
    standing: bool = NOT_GIVEN


class HoldBody(Body):
    """What to hold: a flow, one session of it, or an end user in all flows."""

    flow_id: Identifier | None = None
    session_id: Identifier | None = None
    end_user_id: Identifier | None = None
    reason: Reason | None = None
