"""Why a search found nothing, where nothing can be found."""

from __future__ import annotations

from memorybase.caveats import NO_MEMORY_BASE, UNKNOWN_SESSION, Caveat
from memorybase.queries import memory_bases, sessions
from memorybase.search.request import SearchRequest
from memorybase.services import Services


def why_nothing(services: Services, request: SearchRequest) -> list[Caveat]:
    """What the flow of a search without results lacks; empty if it may simply hold nothing that fits."""
    with services.database.reading(on_replica=True) as db:
        base = None if request.memory_base_id is None else memory_bases.fetch_any_base(db, request.memory_base_id)
        flow_id = request.flow_id if base is None else base.flow_id
        if flow_id is None:
            return []
        found = []
        if base is None and not memory_bases.base_ids_of_flow(db, flow_id):
            found.append(NO_MEMORY_BASE)
        if request.session_id is not None and sessions.fetch_session(db, flow_id, request.session_id) is None:
            found.append(UNKNOWN_SESSION)
        return found
