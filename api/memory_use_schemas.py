"""Request bodies of recorded memory uses."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from api.schemas import MAX_VIEW_TOKENS, QUERY_BOUND, Body, Identifier, Stored
from memorybase.conversation.memory_use.given import MAX_SOURCE_IDS
from memorybase.conversation.view.records import Kind
from memorybase.messages import MAX_MESSAGES

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class MemorySourceBody(Body):
    """Where a message of a memory use comes from."""

    kind: Kind = "recall"
    message_ids: list[Identifier] = Field(default_factory=list, max_length=MAX_SOURCE_IDS)
    scores: list[Score | None] = Field(default_factory=list, max_length=MAX_SOURCE_IDS)
    score: Score | None = None
    tokens: int | None = Field(default=None, ge=0, le=MAX_VIEW_TOKENS)


class MemoryUseBody(Body):
    """The memory that a model was given, and the search that found it. Without messages the search found nothing."""

    session_id: Identifier
    end_user_id: Identifier | None = None
    query: Stored | None = Field(default=None, description=QUERY_BOUND)
    messages: list[Any] = Field(
        default_factory=list,
        description="{role, content}. " + f"At most {MAX_MESSAGES}.",
        json_schema_extra={"items": {"type": "object"}},
    )
    sources: list[MemorySourceBody] = Field(default_factory=list)
