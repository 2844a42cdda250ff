"""Lines that features add to a context: one message for each feature, derived and marked as data, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from uuid import UUID

from memorybase.core import time_zones
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.extension import ContextSource


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesQuery:
    """The question of a context, and its scope: `session_id` and `end_user_id` as in a search. Without `base_ids` it is
    about the memory bases of the flow."""

    query: str
    flow_id: UUID
    base_ids: Sequence[UUID]
    session_id: str | None
    end_user_id: str | None
    since: datetime | None
    until: datetime | None
    as_of: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLine:
    """A line about the question, and its entry in the report of the context."""

    text: str
    said_at: datetime
    score: float
    message_ids: Sequence[UUID]
    reported: object


@dataclass(frozen=True, slots=True)
class AddedLines:
    """What one feature adds, best first."""

    source: ContextSource
    lines: Sequence[ContextLine]

    def within(self, counter: TokenCounter, budget: int, zone: tzinfo = UTC) -> ShownLines:
        """The best lines that fit into the budget, with dates of the zone."""
        shown = ShownLines(self.source.option)
        for count in range(1, len(self.lines) + 1):
            record = self._record(self.lines[:count], zone)
            tokens = counter.count(record)
            if tokens > budget:
                break
            shown = ShownLines(self.source.option, record, tuple(self.lines[:count]), tokens)
        return shown

    def _record(self, lines: Sequence[ContextLine], zone: tzinfo) -> Record:
        written = [f"- {line.text} [said {time_zones.local(line.said_at, zone).date()}]" for line in lines]
        sources = dict.fromkeys(str(id_) for line in lines for id_ in line.message_ids)
        return Record(
            id=self.source.kind,
            seq=0,
            role="system",
            content="\n".join([self.source.heading, *written]),
            kind=self.source.kind,
            message_ids=tuple(sources),
            score=max(line.score for line in lines),
        )


@dataclass(frozen=True, slots=True)
class ShownLines:
    """The lines that fit, as one message, and its tokens. `option` names their list in the report."""

    option: str
    record: Record | None = None
    lines: tuple[ContextLine, ...] = ()
    tokens: int = 0
