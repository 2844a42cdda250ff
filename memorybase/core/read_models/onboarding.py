"""Onboarding of a new user: a flow, a memory base, a first run, a first ingestion."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memorybase.core.queries import overview
from memorybase.core.read_models import memory_bases
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class Onboarding:
    """The flow that the steps are about, by the id that callers use, its memory base, and what it has."""

    flow_id: UUID | None = None
    flow: str | None = None
    name: str | None = None
    memory: MemoryBaseView | None = None
    captured: bool = False
    ingested: bool = False

    @property
    def done(self) -> int:
        """Number of the six steps that are done: a key, then these, then a search."""
        return 1 + sum(map(bool, (self.flow, self.memory, self.captured, self.ingested)))


def onboarding(services: Services, user_id: UUID) -> Onboarding:
    """Onboarding by the flow with the latest capture, or the latest flow."""
    with services.database.reading(on_replica=True) as db:
        found = overview.flows(db, user_id, 1)
        if not found:
            return Onboarding()
        (flow,) = found
        views = memory_bases.views_of_flows(db, services, user_id, [flow.id], limit=1)
    memory = views[0] if views else None
    return Onboarding(
        flow_id=flow.id,
        flow=flow.external_id or str(flow.id),
        name=flow.name,
        memory=memory,
        captured=flow.last is not None,
        ingested=memory is not None and memory.total_processed > 0,
    )
