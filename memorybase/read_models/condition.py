"""The condition of a memory base: one answer for every place that shows it, the first of these that holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memorybase.queries.memory_base_lists import ConditionName

if TYPE_CHECKING:
    from memorybase.read_models.memory_bases import MemoryBaseView

Tone = Literal["ok", "working", "waiting", "failed", "off", "none"]
Icon = Literal["check", "arc", "clock", "exclamation", "pause", "circle"]

# A session is near its threshold with this share of it pending.
NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Condition:
    """How a condition is shown: an icon, a word and a tone, never a colour alone. `detail`: what waits, or None."""

    name: ConditionName
    words: str
    tone: Tone
    icon: Icon
    detail: str | None = None


_SHOWN: dict[ConditionName, tuple[str, Tone, Icon]] = {
    ConditionName.LOST: ("Lost its vectors", "failed", "exclamation"),
    ConditionName.FAILED: ("Not searchable: {dead_letters:,}", "failed", "exclamation"),
    ConditionName.UNREACHABLE: ("Unreachable", "failed", "exclamation"),
    ConditionName.BUILDING: ("Rebuilding", "working", "arc"),
    ConditionName.WORKING: ("Ingesting", "working", "arc"),
    ConditionName.WAITING: ("Waiting", "waiting", "clock"),
    ConditionName.PAUSED: ("Off", "off", "pause"),
    ConditionName.OK: ("Searchable", "ok", "check"),
}
_EMPTY: tuple[str, Tone, Icon] = ("Empty", "none", "circle")  # ok, and holds no message


def condition_name(
    *,
    mismatch: bool | None,
    dead_letters: int,
    is_unreachable: bool,
    is_building: bool,
    is_working: bool,
    is_paused: bool,
    pending_messages: int,
    auto_capture: bool,
) -> ConditionName:
    """The first condition that holds."""
    steps = (
        (mismatch, ConditionName.LOST),
        (dead_letters, ConditionName.FAILED),
        (is_unreachable, ConditionName.UNREACHABLE),
        (is_building, ConditionName.BUILDING),
        (is_working, ConditionName.WORKING),
        (is_paused, ConditionName.PAUSED),
        (pending_messages, ConditionName.WAITING),
        (not auto_capture, ConditionName.PAUSED),
    )
    return next((name for holds, name in steps if holds), ConditionName.OK)


def condition(view: MemoryBaseView) -> Condition:
    """What every place that names this memory base shows."""
    is_empty = view.condition is ConditionName.OK and not view.total_processed
    words, tone, icon = _EMPTY if is_empty else _SHOWN[view.condition]
    if view.condition is ConditionName.LOST and view.chunks_missing == 0:
        words = "Vectors differ"  # none is missing: others are there, or are altered
    if view.paused_at is not None and view.condition is ConditionName.PAUSED:
        words = "Paused"
    return Condition(view.condition, words.format(dead_letters=view.dead_letters), tone, icon, pending_words(view))


def pending_words(view: MemoryBaseView) -> str | None:
    """What waits: a threshold applies to each session, so it is never compared with a sum over sessions."""
    if not view.pending_messages:
        return None
    near = view.sessions_near_threshold
    if view.paused_at is not None or not view.auto_capture or not near:
        return f"{view.pending_messages:,}{'+' if view.pending_capped else ''} wait"
    return f"{near:,} of {view.sessions:,} {'session' if view.sessions == 1 else 'sessions'} near {view.threshold:,}"


def condition_labels() -> dict[ConditionName, str]:
    """What a filter calls the conditions."""
    return {name: words.partition(":")[0] for name, (words, _, _) in _SHOWN.items()}


def shown_as(name: ConditionName, words: str) -> tuple[Tone, Icon]:
    """The tone and the icon of a condition that is called so."""
    return _EMPTY[1:] if words == _EMPTY[0] else _SHOWN[name][1:]
