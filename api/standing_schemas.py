"""Request bodies of standing statements."""

from __future__ import annotations

from pydantic import Field

from api.schemas import Body, Stored
from memorybase.standing.finder import MAX_CHARS


class StandingStatementChanges(Body):
    """The words in the place of what was found; null: what was found again."""

    text: Stored | None = Field(
        min_length=1,
        max_length=MAX_CHARS,
        description="The words in the place of what was found; null: what was found again.",
    )
