"""The JSON of history for a model's next turn."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from api.schemas import MAX_VIEW_TOKENS, Body, GivenFlow, GivenSession, Identifier, ModelName, Role, Stored, ViewAnswer
from memorybase.conversation.history.node_executions import MAX_INDEX
from memorybase.conversation.history.token_buffer import DEFAULT_MAX_TOKENS, MAX_TURNS, Mode, OnMissing, Unanswered
from memorybase.conversation.view.rendering import Format
from memorybase.models import NAME_LENGTH


class RolePrefix(Body):
    """Prefixes of the lines in the view's text."""

    user: Annotated[Stored, StringConstraints(max_length=NAME_LENGTH)] = Field(
        default="Human", description="Prefix of what users say."
    )
    assistant: Annotated[Stored, StringConstraints(max_length=NAME_LENGTH)] = Field(
        default="Assistant", description="Prefix of what the model says."
    )


class HistoryBody(Body):
    """The history to read: of a session, or of one node in it."""

    flow_id: GivenFlow
    session_id: GivenSession
    mode: Mode = Field(
        default="conversation", description="`conversation` reads the session, `node` the context of one node."
    )
    node_id: Identifier | None = Field(
        default=None, description="The node whose history to read; required in mode node."
    )
    leaf_id: Identifier | None = Field(
        default=None, description="Last message of the thread; default: the newest message."
    )
    message_limit: int | None = Field(default=None, ge=0, le=MAX_TURNS, description="Maximum turns; 0: unlimited.")
    max_tokens: int = Field(
        default=DEFAULT_MAX_TOKENS, ge=0, le=MAX_VIEW_TOKENS, description="Maximum tokens, in whole turns."
    )
    role_prefix: RolePrefix | None = Field(default=None, description="Prefixes of the lines in `text`.")
    on_missing: OnMissing = Field(
        default="empty", description="What a missing session or node execution is: an empty view or 404."
    )
    unanswered: Unanswered = Field(
        default="drop",
        description="Whether a question at the end that has no answer yet is part of the history. Only without run_id.",
    )
    format: Format = Field(
        default="openai", description="Format of `messages`: `openai` or `langchain`; `text` if only `text` is read."
    )
    roles: list[Role] | None = Field(default=None, max_length=8, description="Only messages of these roles.")
    model: ModelName | None = Field(
        default=None, description="Model that counts tokens, by the setting token_counters."
    )
    run_id: Identifier | None = Field(default=None, description="The current run; its own messages are left out.")
    execution_id: Identifier | None = Field(
        default=None,
        description="In mode node: the current execution in run_id. If an earlier attempt reported it, it and later "
        "executions of the node in this run are left out.",
    )
    index: int | None = Field(
        default=None,
        ge=0,
        le=MAX_INDEX,
        description="The current execution by its index, if each attempt has another id.",
    )

    @model_validator(mode="after")
    def _executions_are_of_a_run(self) -> Self:
        if self.run_id is None and (self.execution_id is not None or self.index is not None):
            raise ValueError("execution_id and index require run_id")
        return self


class HistoryAnswer(ViewAnswer):
    """A view; in mode node with the execution that it was read from."""

    execution_id: UUID | None = Field(
        default=None,
        description="In mode `node`: the execution that the view was read from; null if the node has not "
        "succeeded yet.",
    )
