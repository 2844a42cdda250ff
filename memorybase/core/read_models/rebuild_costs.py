"""What a rebuild of a memory base costs: its chunks, and how long they take at the rate of the latest jobs."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memorybase.core.queries import cursors, job_lists
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class RebuildCost:
    """Chunks that are embedded again, and the seconds that takes at the rate of the latest jobs; None without one."""

    chunks: int
    seconds: float | None


def rebuild_cost(services: Services, user_id: UUID, base_id: UUID) -> RebuildCost:
    """Raises NotFound."""
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        chunks = cursors.chunks_of_generation(db, base_id, base.serving)
        latest = job_lists.embedded_lately(db, user_id)
    embedded = sum(each.chunks for each in latest)
    spent = sum((each.ended - each.began).total_seconds() for each in latest)
    return RebuildCost(chunks, chunks * spent / embedded if embedded and spent > 0 else None)
