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

    action: DeadLetterAction = Field(
        description="`retry`: try again to embed the messages. `discard`: the memory base skips them; they stay stored."
    )
    ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_AT_ONCE)] = Field(
        default=None, description="These dead letters; also those that are retried already."
    )
    memory_base_id: UUID | None = Field(default=None, description="Only dead letters of this memory base.")
    cause: Annotated[Stored, StringConstraints(min_length=1, max_length=CAUSE_LENGTH)] | None = Field(
        default=None, description="Only dead letters with this error code."
    )
    alike: Annotated[list[UUID], Field(max_length=MAX_ALIKE)] = Field(
        default_factory=list, description="Only dead letters with the error code and the text of one of these."
    )
    flow_id: Identifier | None = Field(default=None, description="Only dead letters of this flow: its id, or yours.")
    session_id: Identifier | None = Field(default=None, description="Only dead letters of this session.")
    since: Moment | None = Field(default=None, description="Only messages that were set aside then or later.")
    until: Until | None = Field(default=None, description="Only messages that were set aside then or earlier.")
    dry_run: bool = Field(default=False, description="Count what matches and change nothing.")
    limit: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] = Field(
        default=AT_ONCE, description="At most so many, oldest first."
    )

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        fields = (self.ids, self.memory_base_id, self.cause, self.flow_id, self.session_id, self.since, self.until)
        if all(value is None for value in fields) and not self.alike:
            raise ValueError("ids, memory_base_id, flow_id, session_id, cause, since, until or alike must be given")
        return self
