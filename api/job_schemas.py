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

    action: JobAction = Field(
        description="`retry`: run what waits after an outage now. `cancel`: end queued and running jobs; "
        "their messages stay pending."
    )
    ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_AT_ONCE)] = Field(
        default=None, description="These jobs."
    )
    memory_base_id: UUID | None = Field(default=None, description="Only jobs of this memory base.")
    flow_id: Identifier | None = Field(default=None, description="Only jobs of this flow: its id, or yours.")
    session_id: Identifier | None = Field(default=None, description="Only jobs of this session.")
    error_code: Annotated[Stored, StringConstraints(min_length=1, max_length=CODE_LENGTH)] | None = Field(
        default=None, description="Only jobs whose last attempt ended with this error code."
    )
    since: Moment | None = Field(default=None, description="Only jobs created then or later.")
    until: Until | None = Field(default=None, description="Only jobs created then or earlier.")
    dry_run: bool = Field(default=False, description="Count what matches and change nothing.")
    limit: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] = Field(
        default=AT_ONCE, description="At most so many, oldest first."
    )

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        fields = (self.ids, self.memory_base_id, self.flow_id, self.session_id, self.error_code, self.since, self.until)
        if self.action is JobAction.CANCEL and all(value is None for value in fields):
            raise ValueError("ids, memory_base_id, flow_id, session_id, error_code, since or until must be given")
        return self
