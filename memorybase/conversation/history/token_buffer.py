"""History of a conversation: Dify's TokenBufferMemory over the captured messages of a session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from memorybase.conversation.history.session_reader import LONGEST_TURN, ThreadWalk, as_record, captured_view
from memorybase.conversation.view.build import View, ViewOptions, build_view
from memorybase.conversation.view.files import FileResolver, remote_images
from memorybase.conversation.view.limits import Limits, Prune
from memorybase.conversation.view.records import Role
from memorybase.conversation.view.rendering import Align, Format, Prefixes
from memorybase.conversation.view.token_counters import counter_for
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.queries import sessions, threads
from memorybase.queries.ownership import check_flow, not_found
from memorybase.services import Services

Mode = Literal["conversation", "node"]
OnMissing = Literal["empty", "error"]
Unanswered = Literal["drop", "keep"]

DEFAULT_MAX_TOKENS = 2000
MAX_TURNS = 500  # Dify reads no more


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session of a user's flow."""

    services: Services
    user_id: UUID
    flow_id: UUID
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """A request for history. `message_limit` counts turns: for Dify, a question with its answer is one. `run_id` is the
    current run; its messages are left out. Without it, a question at the end that has no answer yet is dropped as Dify
    does, unless `unanswered` is "keep".

    For a node's history, `execution_id` and `index` name the current execution of that run. Stored executions from it
    on are of an earlier try and left out."""

    leaf_id: UUID | None = None
    run_id: UUID | None = None
    execution_id: UUID | None = None
    index: int | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    message_limit: int | None = None
    on_missing: OnMissing = "empty"
    unanswered: Unanswered = "drop"
    prune: Prune = "turn"
    align: Align = "strict"
    format: Format = "openai"
    prefixes: Prefixes | None = None
    roles: frozenset[Role] | None = None
    model: str | None = None

    def options(self) -> ViewOptions:
        """The request as options of a view."""
        turns = turn_limit(self.message_limit)
        if self.prune == "message":
            limits = Limits(max_tokens=self.max_tokens, max_messages=2 * turns, prune="message")
        else:
            limits = Limits(max_tokens=self.max_tokens, max_turns=turns, prune="turn")
        return ViewOptions(
            leaf_id=None if self.leaf_id is None else str(self.leaf_id),
            exclude_run_id=None if self.run_id is None else str(self.run_id),
            roles=self.roles,
            limits=limits,
            align=self.align,
            format=self.format,
            prefixes=self.prefixes or Prefixes(),
            model=self.model,
        )


def turn_limit(message_limit: int | None) -> int:
    """Number of turns to read: Dify takes 0 and less for no limit."""
    return min(message_limit, MAX_TURNS) if message_limit is not None and message_limit > 0 else MAX_TURNS


def conversation_view(
    conversation: Conversation,
    request: HistoryRequest,
    *,
    counter: TokenCounter = ESTIMATE,
    resolve: FileResolver = remote_images,
) -> View:
    """The history of a session. Raises NotFound for a flow of another user, an unknown leaf and, with
    on_missing="error", an unknown session."""
    if not has_session(conversation, request.on_missing):
        return build_view((), request.options(), counter=counter)

    if request.run_id is None and request.unanswered == "drop":
        request = _without_question(conversation, request)
    options = request.options()
    if request.prune == "turn" and not _has_question(conversation, request):
        limits = Limits(max_tokens=request.max_tokens, max_messages=2 * turn_limit(request.message_limit))
        options = replace(options, limits=limits, align="none")
    return captured_view(
        conversation.services,
        user_id=conversation.user_id,
        flow_id=conversation.flow_id,
        session_id=conversation.session_id,
        options=options,
        counter=counter,
        resolve=resolve,
    )


def _without_question(conversation: Conversation, request: HistoryRequest) -> HistoryRequest:
    """The request for the thread before its last question, if that has no answer. An empty answer is none: a run stores
    one before its model answers."""
    with conversation.services.database.reading() as db:
        walk = ThreadWalk(db, conversation.flow_id, conversation.session_id)
        newest = list(islice(walk.from_leaf(request.leaf_id), 3))
        end = newest[0] if newest else None
        if end is not None and end.role == "assistant" and len(newest) > 1 and newest[1].role == "user":
            (answer,) = threads.messages_at(db, conversation.flow_id, conversation.session_id, [end.seq])
            if as_record(answer).is_empty:
                newest = newest[1:]
    if not newest or newest[0].role != "user":
        return request
    if len(newest) == 1:
        return replace(request, leaf_id=newest[0].id, run_id=newest[0].run_id)  # the thread is only that question
    return replace(request, leaf_id=newest[1].id)


def _has_question(conversation: Conversation, request: HistoryRequest) -> bool:
    """Whether the thread has turns: if a flow captures only outputs, limits apply to its single messages."""
    with conversation.services.database.reading() as db:
        walk = ThreadWalk(db, conversation.flow_id, conversation.session_id)
        links = islice(walk.from_leaf(request.leaf_id, run_id=request.run_id), LONGEST_TURN)
        return any(link.role == "user" for link in links)


def has_session(conversation: Conversation, on_missing: OnMissing) -> bool:
    """Whether the session exists. Raises NotFound for the flow and, with on_missing="error", for the session."""
    with conversation.services.database.reading() as db:
        check_flow(db, conversation.user_id, conversation.flow_id)
        found = sessions.fetch_session(db, conversation.flow_id, conversation.session_id)
    if found is not None and found.deleted_at is None:
        return True
    if on_missing == "error":
        raise not_found("session", conversation.session_id)
    return False


class BufferMemory(ABC):
    """History with the methods of Dify's memory classes. `message_limit` counts turns, `model_instance` tokens."""

    def __init__(
        self,
        conversation: Conversation,
        model_instance: TokenCounter | None,
        request: HistoryRequest,
        resolve: FileResolver,
    ) -> None:
        self.conversation = conversation
        self.model_instance = model_instance or counter_for(conversation.services.settings)
        self._defaults = request
        self._resolve = resolve

    def get_history_prompt_messages(
        self, max_token_limit: int = DEFAULT_MAX_TOKENS, message_limit: int | None = None
    ) -> Sequence[dict[str, Any]]:
        """Chat completion messages, oldest first."""
        return self.view(max_token_limit, message_limit).messages

    def get_history_prompt_text(
        self,
        human_prefix: str = "Human",
        ai_prefix: str = "Assistant",
        max_token_limit: int = DEFAULT_MAX_TOKENS,
        message_limit: int | None = None,
    ) -> str:
        """The history as lines "prefix: content"."""
        return self.view(max_token_limit, message_limit, Prefixes(human_prefix, ai_prefix)).text

    @abstractmethod
    def view(
        self,
        max_token_limit: int = DEFAULT_MAX_TOKENS,
        message_limit: int | None = None,
        prefixes: Prefixes | None = None,
    ) -> View:
        """The history with sources and report."""

    def _request(self, max_tokens: int, message_limit: int | None, prefixes: Prefixes | None) -> HistoryRequest:
        return replace(
            self._defaults, max_tokens=max(0, max_tokens), message_limit=message_limit, prefixes=prefixes or Prefixes()
        )


class TokenBufferMemory(BufferMemory):
    """The newest turns of a conversation that fit into a token budget.

    The open question is not part of its own history, even if it is captured already. `prune="message"` prunes as Dify
    does: it drops single messages, may keep an answer without its question, and always keeps one message.
    """

    def __init__(
        self,
        conversation: Conversation,
        model_instance: TokenCounter | None = None,
        *,
        leaf_id: UUID | None = None,
        run_id: UUID | None = None,
        on_missing: OnMissing = "empty",
        prune: Prune = "turn",
        resolve: FileResolver = remote_images,
    ) -> None:
        align: Align = "none" if prune == "message" else "strict"
        request = HistoryRequest(leaf_id=leaf_id, run_id=run_id, on_missing=on_missing, prune=prune, align=align)
        super().__init__(conversation, model_instance, request, resolve)

    def view(
        self,
        max_token_limit: int = DEFAULT_MAX_TOKENS,
        message_limit: int | None = None,
        prefixes: Prefixes | None = None,
    ) -> View:
        """The history with sources and report."""
        request = self._request(max_token_limit, message_limit, prefixes)
        return conversation_view(self.conversation, request, counter=self.model_instance, resolve=self._resolve)
