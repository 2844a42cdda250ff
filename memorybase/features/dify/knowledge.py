"""What a knowledge id names: a memory base by its id or its name, or a flow by its id.

A slash and an end user may follow, because Dify sends no user. A slash inside a name or an id is %2F, as in the paths
of the API.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.ids import CallerId
from memorybase.core.models import ID_LENGTH, NAME_LENGTH
from memorybase.core.queries import flows, memory_bases
from memorybase.core.queries.ownership import not_found, require
from memorybase.core.services import Services
from memorybase.core.validation import check_text

FIELD = "knowledge_id"


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The scope of a retrieval. `flow`: the caller's id of the flow. Without a memory base: all of the flow."""

    flow_id: UUID
    flow: str
    memory_base_id: UUID | None = None
    end_user_id: str | None = None


def find_knowledge(services: Services, user_id: UUID, knowledge_id: str) -> Knowledge:
    """The user's memory base or flow of this id; raises NotFound, also for a flow that has no memory base."""
    name, *rest = [unquote(part) for part in knowledge_id.split("/")]
    for part in (name, *rest):
        check_text(part, FIELD)
    if len(rest) > 1 or not all(part.strip() and len(part) <= NAME_LENGTH for part in (name, *rest)):
        raise not_found("knowledge", knowledge_id)
    with services.database.reading(on_replica=True) as db:
        base_id, flow_id = _named(db, user_id, name)
        flow = None if flow_id is None else flows.fetch_flow(db, user_id, flow_id)
        flow = require(flow, "knowledge", knowledge_id)
        if base_id is None and not memory_bases.base_ids_of_flow(db, flow.id):
            text = "This flow has no memory base to search. Create one with POST /memories"
            raise errors.NotFound(text, field=FIELD, value=knowledge_id)
        return Knowledge(flow.id, flow.external_id or str(flow.id), base_id, rest[0] if rest else None)


def _named(db: OrmSession, user_id: UUID, name: str) -> tuple[UUID | None, UUID | None]:
    """The memory base of this id or else of this name, with its flow; or else the flow that the id would be of."""
    # A name may be longer than an id.
    given = CallerId.of(user_id, "flow", name) if len(name) <= ID_LENGTH else None
    by_name = memory_bases.base_of_name(db, user_id, name)
    for base_id in (given.uuid if given else None, by_name):
        base = None if base_id is None else memory_bases.fetch_base(db, user_id, base_id)
        if base is not None:
            return base.id, base.flow_id
    return None, given.own if given else None
