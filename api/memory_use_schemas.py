"""Request bodies of recorded memory uses."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from api.schemas import MAX_VIEW_TOKENS, QUERY_BOUND, Body, GivenSession, Identifier, SentMessages, Stored
from memorybase.conversation.memory_use.given import MAX_SOURCE_IDS
from memorybase.conversation.view.records import Kind
from memorybase.messages import MAX_MESSAGES

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class MemorySourceBody(Body):
    """Where a message of a memory use comes from."""

    kind: Kind = Field(
        default="recall",
        description="How the message was given: by `recall`, as `history`, in a `summary`, as `standing` "
        "statement, `fact`, or `predefined`.",
    )
    message_ids: list[Identifier] = Field(
        default_factory=list,
        max_length=MAX_SOURCE_IDS,
        description="The stored messages in it: their UUIDs or the caller's ids. If one is not stored, or is "
        "another end user's, the text is stored as `[deleted]`.",
    )
    scores: list[Score | None] = Field(
        default_factory=list,
        max_length=MAX_SOURCE_IDS,
        description="The score of each of `message_ids`, if they were found by a search.",
    )
    score: Score | None = Field(default=None, description="The score of the message; default: the best of `scores`.")
    tokens: int | None = Field(
        default=None, ge=0, le=MAX_VIEW_TOKENS, description="Number of tokens; default: the server counts them."
    )


class MemoryUseBody(Body):
    """The memory that a model was given, and the search that found it. Without messages the search found nothing."""

    session_id: GivenSession
    end_user_id: Identifier | None = Field(
        default=None, description="The person that the session belongs to. Messages of others count as not stored."
    )
    query: Stored | None = Field(default=None, description=f"What was looked for; null if nothing was. {QUERY_BOUND}")
    messages: SentMessages = Field(
        default_factory=list,
        description="The messages as the model received them, in OpenAI's format: "
        "{role, content}. " + f"At most {MAX_MESSAGES}.",
    )
    sources: list[MemorySourceBody] = Field(
        default_factory=list, description="Where each message comes from, parallel to `messages`."
    )
