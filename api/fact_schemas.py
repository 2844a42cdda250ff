"""Request bodies and answers of distillation, of facts, and of searches that may add facts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from api.schemas import QUERY_BOUND, Body, Identifier, Moment, Stored, Until
from memorybase.caveats import Caveat
from memorybase.facts.recall import FactHit
from memorybase.search.hits import Hit

MAX_FACTS_FOUND = 50


class SearchAnswer(BaseModel):
    """Hits, best first, each message once; ties: the later message first, then by id. `facts`: if the request asks for
    them, what a model derived from messages, best first. Their scores do not compare with those of messages.
    `warnings`: why nothing was found, if nothing can be."""

    results: list[Hit] = Field(description="What was found, best first.")
    took_ms: float = Field(description="Duration of the search in milliseconds.")
    facts: list[FactHit] = Field(
        default_factory=list,
        description="What a model derived from messages, if the request asks for it, best first. The scores "
        "do not compare with those of messages.",
    )
    warnings: list[Caveat] = Field(
        default_factory=list,
        description="Why nothing was found, if nothing can be; and if only the end of the query was searched for.",
    )


class DistillationBody(Body):
    """Turn distillation on or off. `start`: from which message on; `beginning` distils the whole history."""

    enabled: bool = Field(description="Whether facts are derived from what is ingested.")
    start: Literal["now", "beginning"] = Field(
        default="now", description="`now`: from what is ingested from now on; `beginning`: from the whole history."
    )


class FactSearchBody(Body):
    """A question to find facts for."""

    query: Stored = Field(min_length=1, description=f"The question. {QUERY_BOUND}")
    top_k: int = Field(default=10, ge=1, le=MAX_FACTS_FOUND, description="Maximum facts.")
    session_id: Identifier | None = Field(default=None, description="Only facts of this session.")
    end_user_id: Identifier | None = Field(default=None, description="Only facts from this person's sessions.")
    since: Moment | None = Field(default=None, description="Only facts whose newest source was said from this time on.")
    until: Until | None = Field(default=None, description="Only facts whose newest source was said up to this time.")


class FactsFound(BaseModel):
    """Facts about a question, best first. A model derived them from messages, which each of them names. `warnings`: if
    only a part of the question was looked for."""

    facts: list[FactHit] = Field(description="The facts.")
    warnings: list[Caveat] = Field(default_factory=list, description="If only the end of the query was searched for.")


class FactsDeleted(BaseModel):
    """How many facts were deleted."""

    deleted: int = Field(description="Number of deleted facts.")
