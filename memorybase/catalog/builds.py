"""How far a regenerate is."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memorybase.catalog.conversations import found_base
from memorybase.queries import rows
from memorybase.services import Services


@dataclass(frozen=True, slots=True)
class BuildView:
    """A generation that is being built. `messages`: all that its sessions hold up to where it will serve."""

    generation: int
    sessions: int
    sessions_built: int
    messages: int
    messages_passed: int


@dataclass(frozen=True, slots=True)
class GenerationsView:
    """The generation that is searched, and the one that is being built, if any."""

    serving: int
    building: BuildView | None


def get_generations(services: Services, user_id: UUID, base_id: UUID) -> GenerationsView:
    """Raises NotFound."""
    with services.database.reading() as session:
        base = found_base(session, user_id, base_id)
        if base.building is None:
            return GenerationsView(base.serving, None)
        progress = rows.build_progress(session, base_id, base.building)
    return GenerationsView(base.serving, BuildView(base.building, *progress))
