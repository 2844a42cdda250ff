"""What `POST /context` reports beside the messages: what was recalled, the spent budget, what may be missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memorybase.caveats import Caveat
from memorybase.conversation.standing import StandingUse
from memorybase.conversation.view.build import Report

Searched = Literal["end_user", "session", "flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The tokens of the budget that each part of a context uses."""

    summary: int
    standing: int
    recall: int
    facts: int
    history: int
    unused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A recalled memory. `score` is null for a message that is shown because it is beside a better one.
    `superseded_by`: the later message that holds in place of this one."""

    message_id: str
    score: float | None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledFact:
    """A fact that a model derived from the messages `source_message_ids`."""

    fact_id: UUID
    score: float
    source_message_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReport(Report):
    """The report of a view, and the memories in it."""

    recalled: tuple[Recalled, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport(RecallReport):
    """The report of a view, its memories and its standing statements in order, and how its budget was spent. `facts`
    were derived by a model, best first. `below_min_score`: how many messages the search found and the recall left out,
    because their score is too low. `searched`: whose messages memories were sought in; null without a search."""

    below_min_score: int
    standing: tuple[StandingUse, ...]
    facts: tuple[RecalledFact, ...]
    spent: Spent
    searched: Searched | None
    warnings: tuple[Caveat, ...]
