"""What the page calls a memory base: lost vectors and dead letters first, else its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.web.badges import EMPTY, SEARCH_STATES, Badge
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.memory_base_lists import MemoryBaseStatus
from memorybase.core.read_models.memory_bases import MemoryBaseView


@dataclass(frozen=True, slots=True)
class MemoryState:
    """`name`: lost, failed, or the status. `detail`: what waits."""

    name: str
    badge: Badge
    detail: str | None = None

    @property
    def is_lost(self) -> bool:
        return self.name == LOST


LOST, FAILED = "lost", "failed"
_SHOWN: dict[str, Badge] = {
    LOST: SEARCH_STATES[SearchState.LOST],
    FAILED: SEARCH_STATES[SearchState.FAILED],
    MemoryBaseStatus.UNAVAILABLE: Badge("failed", "Unreachable"),
    MemoryBaseStatus.REGENERATING: Badge("working", "Rebuilding"),
    MemoryBaseStatus.PREPARING: Badge("working", "Preparing"),
    MemoryBaseStatus.INGESTING: SEARCH_STATES[SearchState.INGESTING],
    MemoryBaseStatus.PENDING: SEARCH_STATES[SearchState.WAITING],
    MemoryBaseStatus.PAUSED: Badge("off", "Paused"),
    MemoryBaseStatus.READY: SEARCH_STATES[SearchState.SEARCHABLE],
    MemoryBaseStatus.DELETING: Badge("working", "Being deleted"),
}


def state_of(memory: MemoryBaseView) -> MemoryState:
    name = LOST if memory.mismatch else FAILED if memory.dead_letters else memory.status
    badge = _SHOWN[name]
    if name == LOST and memory.chunks_missing == 0:
        badge = badge._replace(text="Vectors differ")  # none is missing: others are there, or are altered
    elif name == FAILED:
        badge = badge._replace(text=f"{badge.text}: {memory.dead_letters:,}")
    elif name == MemoryBaseStatus.READY and not memory.auto_capture:
        badge = Badge("off", "Off")
    elif name == MemoryBaseStatus.READY and not memory.total_processed:
        badge = EMPTY
    return MemoryState(name, badge, _what_waits(memory))


def _what_waits(memory: MemoryBaseView) -> str | None:
    """A threshold applies to each session, so it is never compared with a sum over sessions."""
    if not memory.pending_messages:
        return None
    near = memory.sessions_near_threshold
    if memory.paused_at is not None or not memory.auto_capture or not near:
        return f"{memory.pending_messages:,}{'+' if memory.pending_capped else ''} wait"
    sessions = "session" if memory.sessions == 1 else "sessions"
    return f"{near:,} of {memory.sessions:,} {sessions} near {memory.threshold:,}"


def state_labels() -> dict[str, str]:
    """What a filter calls the states."""
    return {str(name): badge.text for name, badge in _SHOWN.items() if name != MemoryBaseStatus.DELETING}


def filter_of(name: str) -> dict[str, Any]:
    """The fields of a MemoryBaseQuery that find what is called so; none for another name."""
    if name == LOST:
        return {"mismatch": True}
    if name == FAILED:
        return {"mismatch": False, "dead_letters": True}
    if name in _SHOWN:
        return {"mismatch": False, "dead_letters": False, "status": MemoryBaseStatus(name)}
    return {}
