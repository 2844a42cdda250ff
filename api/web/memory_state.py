"""What the page calls a memory base: lost vectors and dead letters first, else its status; with a tone and an icon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from api.web.badges import SEARCH_STATES
from memorybase.queries.coverage import SearchState
from memorybase.queries.memory_base_lists import MemoryBaseStatus
from memorybase.read_models.memory_bases import MemoryBaseView

Tone = Literal["ok", "working", "waiting", "failed", "off", "none"]
Icon = Literal["check", "arc", "clock", "exclamation", "pause", "circle"]


@dataclass(frozen=True, slots=True)
class MemoryState:
    """An icon, words and a tone, never a colour alone. `name`: lost, failed, or the status. `detail`: what waits."""

    name: str
    words: str
    tone: Tone
    icon: Icon
    detail: str | None = None


LOST, FAILED = "lost", "failed"
_SHOWN: dict[str, tuple[str, Tone, Icon]] = {
    LOST: (SEARCH_STATES[SearchState.LOST][1], "failed", "exclamation"),
    FAILED: ("Not searchable: {dead_letters:,}", "failed", "exclamation"),
    MemoryBaseStatus.UNAVAILABLE: ("Unreachable", "failed", "exclamation"),
    MemoryBaseStatus.REGENERATING: ("Rebuilding", "working", "arc"),
    MemoryBaseStatus.PREPARING: ("Preparing", "working", "arc"),
    MemoryBaseStatus.INGESTING: (SEARCH_STATES[SearchState.INGESTING][1], "working", "arc"),
    MemoryBaseStatus.PENDING: (SEARCH_STATES[SearchState.WAITING][1], "waiting", "clock"),
    MemoryBaseStatus.PAUSED: ("Paused", "off", "pause"),
    MemoryBaseStatus.READY: (SEARCH_STATES[SearchState.SEARCHABLE][1], "ok", "check"),
    MemoryBaseStatus.DELETING: ("Being deleted", "working", "arc"),
}


def state_of(memory: MemoryBaseView) -> MemoryState:
    name = LOST if memory.mismatch else FAILED if memory.dead_letters else memory.status
    words, tone, icon = _SHOWN[name]
    if name == LOST and memory.chunks_missing == 0:
        words = "Vectors differ"  # none is missing: others are there, or are altered
    if name == MemoryBaseStatus.READY and not memory.auto_capture:
        words, tone, icon = "Off", "off", "pause"
    elif name == MemoryBaseStatus.READY and not memory.total_processed:
        words, tone, icon = "Empty", "none", "circle"
    return MemoryState(name, words.format(dead_letters=memory.dead_letters), tone, icon, _what_waits(memory))


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
    return {
        str(name): words.partition(":")[0]
        for name, (words, _, _) in _SHOWN.items()
        if name != MemoryBaseStatus.DELETING
    }


def filter_of(name: str) -> dict[str, Any]:
    """The fields of a MemoryBaseQuery that find what is called so; none for another name."""
    if name == LOST:
        return {"mismatch": True}
    if name == FAILED:
        return {"mismatch": False, "dead_letters": True}
    if name in _SHOWN:
        return {"mismatch": False, "dead_letters": False, "status": MemoryBaseStatus(name)}
    return {}
