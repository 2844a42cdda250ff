"""Dead letters of all memory bases: list, group by cause and text, retry or discard in bulk."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from fastapi import Query
from pydantic import Field, StringConstraints, model_validator

from api.deps import PageDep, Reader, ServicesDep, Writer, keyed_router
from api.key_limits import Rule, memory_base_in
from api.operations import operation
from api.schemas import Body, Identifier, Moment, Stored, Until
from memorybase.core import ids
from memorybase.core.database.paging import Page
from memorybase.core.memory_bases import dead_letters
from memorybase.core.memory_bases.dead_letters import AT_ONCE, MAX_AT_ONCE, DeadLetterAction, DeadLetterResults
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.read_models import dead_letters as groups
from memorybase.core.read_models import jobs
from memorybase.core.read_models.dead_letters import DeadLetterGroups
from memorybase.core.read_models.jobs import DeadLetterView

MAX_ALIKE = 100
CAUSE_LENGTH = 64


class DeadLetterActionBody(Body):
    """An action, and the dead letters to apply it to: those that match every field."""

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
        default=AT_ONCE, description="At most this many, oldest first."
    )

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        fields = (self.ids, self.memory_base_id, self.cause, self.flow_id, self.session_id, self.since, self.until)
        if all(value is None for value in fields) and not self.alike:
            raise ValueError("ids, memory_base_id, flow_id, session_id, cause, since, until or alike must be given")
        return self


router = keyed_router("dead letters")

BaseFilter = Annotated[UUID | None, Query(description="Only dead letters of this memory base.")]
CauseFilter = Annotated[
    Stored | None, Query(min_length=1, max_length=CAUSE_LENGTH, description="Only dead letters with this error code.")
]


@router.get("/dead-letters")
@operation(limits=Rule([memory_base_in("query")]))
def list_all_dead_letters(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    memory_base_id: BaseFilter = None,
    cause: CauseFilter = None,
) -> Page[DeadLetterView]:
    """List messages of all memory bases that could not be embedded, oldest first."""
    wanted = DeadLetterFilter(memory_base_id=memory_base_id, cause=cause)
    return jobs.list_dead_letters(services, caller.user_id, wanted, page)


@router.get("/dead-letters/groups")
@operation(limits=Rule([memory_base_in("query")]))
def group_dead_letters(
    services: ServicesDep, caller: Reader, memory_base_id: BaseFilter = None, cause: CauseFilter = None
) -> DeadLetterGroups:
    """Group the dead letters by cause, and within each cause by text, most messages first."""
    wanted = DeadLetterFilter(memory_base_id=memory_base_id, cause=cause)
    return groups.group_dead_letters(services, caller.user_id, wanted)


@router.post("/dead-letters/actions")
def act_on_dead_letters(body: DeadLetterActionBody, services: ServicesDep, caller: Writer) -> DeadLetterResults:
    """Retry or discard the dead letters that match, oldest first, with a result for each; with `dry_run`, count them.

    Repeat the call while `remaining` is not 0. A retried dead letter is gone once its message is embedded. The message
    of a discarded one stays stored, and searches by meaning do not find it until it is edited or the memory base is
    regenerated.
    """
    wanted = DeadLetterFilter(
        body.ids,
        body.memory_base_id,
        body.cause,
        body.alike,
        None if body.flow_id is None else ids.flow_id(caller.user_id, body.flow_id),
        body.session_id,
        body.since,
        body.until,
    )
    return dead_letters.act_on_dead_letters(
        services, caller.user_id, body.action, wanted, limit=body.limit, dry_run=body.dry_run
    )
