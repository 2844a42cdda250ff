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

    results: list[Hit]
    took_ms: float
    facts: list[FactHit] = Field(default_factory=list)
    warnings: list[Caveat] = Field(default_factory=list)


class DistillationBody(Body):
    """Turn distillation on or off. `start`: from which message on; `beginning` distils the whole history."""

    enabled: bool
    start: Literal["now", "beginning"] = "now"


class FactSearchBody(Body):
    """A question to find facts for."""

    query: Stored = Field(min_length=1, description=QUERY_BOUND)
    top_k: int = Field(default=10, ge=1, le=MAX_FACTS_FOUND)
    session_id: Identifier | None = None
    end_user_id: Identifier | None = None
    since: Moment | None = None
    until: Until | None = None


class FactsFound(BaseModel):
    """Facts about a question, best first. A model derived them from messages, which each of them names. `warnings`: if
    only a part of the question was looked for."""

    facts: list[FactHit]
    warnings: list[Caveat] = Field(default_factory=list)


class FactsDeleted(BaseModel):
    """How many facts were deleted."""

    deleted: int
