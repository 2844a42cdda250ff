"""Presets of session memory, which combine the newest messages with a summary of the older ones.

flowx_5         the latest 3 pairs of question and reply, and a summary of earlier ones
flowx_6         the latest 30 pairs, no summary
token_buffer    as many whole turns as the budget holds, and a summary of earlier ones
window          the latest 10 turns
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memorybase.core.conversation.view.limits import Limits
from memorybase.core.conversation.view.records import Role
from memorybase.core.conversation.view.rendering import Align, Format

SummaryStyle = Literal["line", "heading", "both"]

DIALOGUE: frozenset[Role] = frozenset({"user", "assistant"})
PAIRS = "pairs_"  # begins the name of a summary of what is before the latest pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreset:
    """Options of a session's view: the latest `pairs`, in session memory's structure, or what `limits` allow.

    count_current   the current question counts as one of the pairs
    clip            the oldest turn shown, and a newest one that is too large, may be truncated with a mark
    roles           only messages of these roles; pairs have users and assistants alone
    """

    name: str
    pairs: int | None = None
    limits: Limits = field(default_factory=lambda: Limits(prune="turn"))
    summary: bool = False
    uncovered_tokens: int = 2_000
    count_current: bool = False
    clip: bool = False
    summary_style: SummaryStyle = "line"
    summary_first: bool = False
    align: Align = "strict"
    format: Format = "openai"
    roles: frozenset[Role] | None = None

    @property
    def summary_of(self) -> str:
        """The name under which its summaries are stored; presets with equal windows share them."""
        return self.name if self.pairs is None else f"{PAIRS}{self.pair_count}"

    @property
    def pair_count(self) -> int:
        return max(1, (self.pairs or 0) - self.count_current)


FLOWX_5 = SessionPreset(name="flowx_5", pairs=3, summary=True)
FLOWX_6 = SessionPreset(name="flowx_6", pairs=30)
TOKEN_BUFFER = SessionPreset(name="token_buffer", summary=True, clip=True)
WINDOW = SessionPreset(name="window", clip=True, limits=Limits(max_turns=10, prune="turn"))
PRESETS = {preset.name: preset for preset in (FLOWX_5, FLOWX_6, TOKEN_BUFFER, WINDOW)}
