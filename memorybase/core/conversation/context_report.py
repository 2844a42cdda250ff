"""The report of `POST /context`: recalled messages, the spent budget, what may be missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memorybase.core.caveats import Caveat
from memorybase.core.conversation.view.build import Report, Source

Searched = Literal["end_user", "session", "flow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The tokens of the budget that each part of a context uses."""

    summary: Annotated[int, Field(description="Tokens of the summary.")]
    standing: Annotated[int, Field(description="Tokens of standing statements.")]
    recall: Annotated[int, Field(description="Tokens of memories, the profile included.")]
    facts: Annotated[int, Field(description="Tokens of facts that a model derived.")]
    history: Annotated[int, Field(description="Tokens of history.")]
    unused: Annotated[int, Field(description="Tokens of the budget that are left.")]


def spent_on(sources: Iterable[Source], budget: int) -> Spent:
    """The parts of a budget that these messages of a view use."""
    tokens = Counter[str]()
    for source in sources:
        tokens[source.kind] += source.tokens
    return Spent(
        summary=tokens["summary"],
        standing=tokens["standing"],
        recall=tokens["recall"],
        facts=tokens["fact"],
        history=tokens["history"],
        unused=max(0, budget - tokens.total()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A recalled memory."""

    message_id: Annotated[str, Field(description="The message.")]
    score: Annotated[
        float | None,
        Field(
            description="Its score; null for a message that is shown next to a better one, and for one of the profile."
        ),
    ]
    superseded_by: Annotated[
        str | None, Field(description="The later message that holds in place of this one; null for most.")
    ] = None


LISTS_OF_FEATURES = ("facts",)  # in the report, also where nothing adds to them


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledFact:
    """A fact that a model derived from messages."""

    fact_id: Annotated[UUID, Field(description="The fact.")]
    score: Annotated[float, Field(description="How much it has to do with the question, from 0 to 1.")]
    source_message_ids: Annotated[tuple[UUID, ...], Field(description="The messages that it rests on.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingUse:
    """A standing statement in a context."""

    id: Annotated[str, Field(description="The UUID of the standing statement.")]
    message_id: Annotated[str, Field(description="The message that states it.")]
    kind: Annotated[str, Field(description="`instruction` or `preference`.")]
    own_words: Annotated[bool, Field(description="Whether a person wrote the text in the place of what was found.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReport(Report):
    """The report of a view, and the memories in it."""

    recalled: Annotated[tuple[Recalled, ...], Field(description="The memories in the view, in its order.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport(RecallReport):
    """The report of a view, its memories and its standing statements in order, and how its budget was spent."""

    below_min_score: Annotated[
        int, Field(description="How many messages the search found that are not recalled because of `min_score`.")
    ]
    standing: Annotated[
        tuple[StandingUse, ...], Field(description="The standing statements in the view, in its order.")
    ]
    facts: Annotated[
        tuple[RecalledFact, ...], Field(description="The facts in the view that a model derived, best first.")
    ]
    spent: Annotated[Spent, Field(description="How the budget was spent.")]
    searched: Annotated[
        Searched | None,
        Field(
            description="Whose messages memories were sought in: the end user's, the whole flow's, or the "
            "session's own; null without a search."
        ),
    ]
    warnings: Annotated[
        tuple[Caveat, ...], Field(description="Why the view may hold less than expected, and what to do about it.")
    ]
