"""Parts that a feature adds to a context: each is one message before the memories, packed into any budget."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memorybase.core.conversation.view.records import Record


@dataclass(frozen=True, slots=True)
class Part:
    """What fits: one message, its tokens, its entries in the report, and messages that need not be recalled."""

    record: Record | None = None
    tokens: int = 0
    reported: tuple[Any, ...] = ()
    message_ids: frozenset[UUID] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Packable:
    """What a part may contain, read in the context's snapshot; this one nothing. `share`: tokens, at most."""

    share: int = 0

    @property
    def answers(self) -> bool:
        """Whether it is the whole answer, so that no memories are needed."""
        return False

    def nearest_first(self, _found: Sequence[UUID]) -> Packable:
        """Order it for the question, whose messages a search has found in this order."""
        return self

    def within(self, _tokens: int, *, shown: Collection[str] = ()) -> Part:  # noqa: ARG002 - by this name
        """What fits into the tokens and the share, without messages that the history shows."""
        return Part()


NOTHING = Packable()


@dataclass(frozen=True, slots=True)
class ContextParts:
    """`standing` has a share of the budget of its own; `profile` is within that of the memories."""

    standing: Packable = NOTHING
    profile: Packable = NOTHING
