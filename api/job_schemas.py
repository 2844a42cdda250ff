"""The request body of actions on jobs."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from api.schemas import Body, Identifier, Moment, Stored, Until
from memorybase.memory_bases.job_actions import AT_ONCE, MAX_AT_ONCE
from memorybase.queries.job_lists import JobAction

CODE_LENGTH = 64


class JobActionBody(Body):
    """What to do, and with which jobs: those that match every field."""

    action: JobAction
    ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_AT_ONCE)] = None
    memory_base_id: UUID | None = None
    flow_id: Identifier | None = None
    session_id: Identifier | None = None
    error_code: Annotated[Stored, StringConstraints(min_length=1, max_length=CODE_LENGTH)] | None = None
    since: Moment | None = None
    until: Until | None = None
    dry_run: bool = False
    limit: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] = AT_ONCE

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        fields = (self.ids, self.memory_base_id, self.flow_id, self.session_id, self.error_code, self.since, self.until)
        if self.action is JobAction.CANCEL and all(value is None for value in fields):
            raise ValueError("ids, memory_base_id, flow_id, session_id, error_code, since or until must be given")
        return self
