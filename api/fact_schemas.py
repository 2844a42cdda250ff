"""Request bodies and answers of distillation and of facts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from api.schemas import QUERY_BOUND, Body, Identifier, Moment, Stored, Until
from memorybase.caveats import Caveat
from memorybase.facts.recall import FactHit

MAX_FACTS_FOUND = 50


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
    """Number of deleted facts."""

    deleted: int = Field(description="Number of deleted facts.")
