"""The request body of actions on dead letters."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from api.schemas import Body, Identifier, Moment, Stored, Until
from memorybase.memory_bases.dead_letters import AT_ONCE, MAX_AT_ONCE, DeadLetterAction

MAX_ALIKE = 100
CAUSE_LENGTH = 64


class DeadLetterActionBody(Body):
    """What to do, and with which dead letters: those that match every field."""

    action: DeadLetterAction
    ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_AT_ONCE)] = None
    memory_base_id: UUID | None = None
    cause: Annotated[Stored, StringConstraints(min_length=1, max_length=CAUSE_LENGTH)] | None = None
    alike: Annotated[list[UUID], Field(max_length=MAX_ALIKE)] = Field(default_factory=list)
    flow_id: Identifier | None = None
    session_id: Identifier | None = None
    since: Moment | None = None
    until: Until | None = None
    dry_run: bool = False
    limit: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] = AT_ONCE

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        fields = (self.ids, self.memory_base_id, self.cause, self.flow_id, self.session_id, self.since, self.until)
        if all(value is None for value in fields) and not self.alike:
            raise ValueError("ids, memory_base_id, flow_id, session_id, cause, since, until or alike must be given")
        return self
