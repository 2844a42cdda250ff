"""Dead letters of all memory bases: list, group by cause and text, retry or discard in bulk."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query

from api.dead_letter_schemas import CAUSE_LENGTH, DeadLetterActionBody
from api.deps import PageDep, Reader, ServicesDep, Writer, keyed_router
from api.schemas import Stored
from memorybase import ids
from memorybase.database.paging import Page
from memorybase.memory_bases import dead_letters
from memorybase.memory_bases.dead_letters import DeadLetterResults
from memorybase.queries.dead_letters import DeadLetterFilter
from memorybase.read_models import dead_letters as groups
from memorybase.read_models import jobs
from memorybase.read_models.dead_letters import DeadLetterGroups
from memorybase.read_models.jobs import DeadLetterView

router = keyed_router("dead letters")

BaseFilter = Annotated[UUID | None, Query(description="Only dead letters of this memory base.")]
CauseFilter = Annotated[
    Stored | None, Query(min_length=1, max_length=CAUSE_LENGTH, description="Only dead letters with this error code.")
]


@router.get("/dead-letters")
def list_all_dead_letters(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    memory_base_id: BaseFilter = None,
    cause: CauseFilter = None,
) -> Page[DeadLetterView]:
    """List messages of all memory bases that could not be embedded, oldest first."""
    return jobs.list_dead_letters(services, caller.user_id, memory_base_id, page, cause=cause)


@router.get("/dead-letters/groups")
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
