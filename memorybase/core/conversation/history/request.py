"""What a history is asked for, and the options of the view that answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from memorybase.core.conversation.view.build import View, ViewOptions
from memorybase.core.conversation.view.limits import Limits, Prune
from memorybase.core.conversation.view.records import Role
from memorybase.core.conversation.view.rendering import Format, Prefixes
from memorybase.core.services import Services

Mode = Literal["conversation", "node"]
OnMissing = Literal["empty", "error"]
Unanswered = Literal["drop", "keep"]

DEFAULT_MAX_TOKENS = 2000
MAX_TURNS = 500


def token_buffer(max_tokens: int, *, turns: int | None = None, prune: Prune = "turn") -> ViewOptions:
    """The newest of a log that fit: whole turns; or, without turns, twice as many groups or single messages, of which
    the first may be an answer without its question."""
    limits = Limits(max_tokens=max(0, max_tokens), prune=prune)
    if prune == "turn":
        return ViewOptions(limits=replace(limits, max_turns=turns), align="strict")
    return ViewOptions(limits=replace(limits, max_messages=None if turns is None else 2 * turns))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session of a user's flow."""

    services: Services
    user_id: UUID
    flow_id: UUID
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """A request for history. `message_limit` counts turns: a question with its answer is one. `run_id` is the current
    run; its messages are left out. Without it, a question at the end that has no answer yet is dropped, unless
    `unanswered` is "keep".

    For a node's history, `execution_id` and `index` name the current execution of that run. Stored executions from it
    on are of an earlier try and left out."""

    mode: Mode = "conversation"
    node_id: str | None = None
    leaf_id: UUID | None = None
    run_id: UUID | None = None
    execution_id: UUID | None = None
    index: int | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    message_limit: int | None = None
    on_missing: OnMissing = "empty"
    unanswered: Unanswered = "drop"
    prune: Prune = "turn"
    format: Format = "openai"
    prefixes: Prefixes | None = None
    roles: frozenset[Role] | None = None
    model: str | None = None

    def options(self) -> ViewOptions:
        """The request as options of a view."""
        return replace(
            token_buffer(self.max_tokens, turns=turn_limit(self.message_limit), prune=self.prune),
            roles=self.roles,
            format=self.format,
            prefixes=self.prefixes or Prefixes(),
            model=self.model,
        )


def turn_limit(message_limit: int | None) -> int:
    """Number of turns to read: 0 and less are no limit."""
    return min(message_limit, MAX_TURNS) if message_limit is not None and message_limit > 0 else MAX_TURNS


@dataclass(frozen=True, slots=True)
class History:
    """A history. In mode node with the executions that it comes from, each with when it was last written: the latest
    one, or all that ran in parallel."""

    view: View
    as_of: tuple[tuple[UUID, datetime], ...] = ()

    @property
    def execution_id(self) -> UUID | None:
        """The execution, or the last of the parallel ones."""
        return self.as_of[-1][0] if self.as_of else None
