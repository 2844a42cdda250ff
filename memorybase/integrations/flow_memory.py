"""A flow's memory for the integrations: over HTTP, or in the process that has the services.

Both take and return JSON, with the runtime's own ids, and raise the errors of memorybase.errors. The flow must exist:
PUT /flows/{flow_id} creates it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, Self, cast, runtime_checkable
from uuid import UUID

from memorybase_client import Client
from memorybase_client import errors as client_errors
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from memorybase import errors, ids
from memorybase.conversation import context
from memorybase.conversation.chat_memory import memories, message_log, summaries, views
from memorybase.conversation.chat_memory.config import ChatMemoryConfig
from memorybase.conversation.chat_memory.memories import ChatSelector, MemoryKey
from memorybase.conversation.chat_memory.message_log import DeletedRole, DeleteMode
from memorybase.conversation.history import node_executions
from memorybase.conversation.history.read import read_history
from memorybase.conversation.history.token_buffer import Conversation, HistoryRequest
from memorybase.conversation.session_memory.presets import PRESETS
from memorybase.database.paging import PageRequest
from memorybase.ids import CallerId, IdKind
from memorybase.ingestion import capture as ingestion
from memorybase.ingestion.capture import OnConflict
from memorybase.integrations.outbox import Outbox
from memorybase.messages import normalise_all
from memorybase.queries import caller_ids
from memorybase.read_models import sessions
from memorybase.read_models.session_queries import MessageQuery
from memorybase.search import request as search_request
from memorybase.search import search as answer
from memorybase.search.bands import MIN_SCORE
from memorybase.services import Services

Json = dict[str, Any]

NEWEST = 100  # messages of a session that a hook compares a state with
TRIES = 2  # of a call: a flow must not wait as long for memory as a command may
TIMEOUT_SECONDS = 5.0


@runtime_checkable
class FlowMemory(Protocol):
    """What nodes, hooks and retrievers call. Views are {messages, sources, text, report}."""

    @property
    def outbox(self) -> Outbox:
        """Sends the writes of nodes and hooks, later if memory is away."""

    def capture(
        self,
        session_id: str,
        run_id: str,
        messages: Sequence[Json],
        end_user_id: str | None = None,
        *,
        on_conflict: OnConflict = "error",
    ) -> Json:
        """Store a run's messages; safe to repeat."""

    def newest(self, session_id: str) -> list[Json]:
        """The session's latest captured messages, oldest first; at most NEWEST."""

    def report(self, execution_id: str, execution: Json) -> Json:
        """Store the outputs of a node execution."""

    def node_history(self, request: Json) -> Json:
        """The view of a node's own prompts and answers; the current run first. `request`: session_id, node_id, run_id,
        max_tokens; execution_id and index of the current execution leave out its earlier attempts; leaf_id."""

    def context(self, request: Json) -> Json:
        """The view of history, summary and memories. `request`: session_id, token_budget, preset and optionally query,
        run_id, node_id, end_user_id, leaf_id and `recall`, the options of the recall."""

    def search(
        self, query: str, *, top_k: int, session_id: str | None = None, min_score: float = MIN_SCORE
    ) -> list[Json]:
        """Messages of the flow's memory bases, best first, each text once."""

    def put_chat_memory(self, node_id: str, fields: Json) -> Json:
        """Create or configure the memory of a Chat Memory node."""

    def post_chat(self, node_id: str, chat_id: str, messages: Sequence[Json], run_id: str | None = None) -> Json:
        """Append to a chat."""

    def view_chat(self, node_id: str, chat_id: str, run_id: str | None = None) -> Json:
        """The view of a chat, without the run's own messages."""

    def read_chat(self, node_id: str, chat_id: str, *, limit: int = 50, offset: int | None = None) -> Json:
        """The chat's stored messages."""

    def delete_chat(self, node_id: str, chat_id: str, *, mode: DeleteMode, roles: Sequence[DeletedRole]) -> Json:
        """Delete the messages of the run that wrote last, or all."""


@dataclass(frozen=True, slots=True)
class OverHttp:
    """Calls the HTTP API."""

    client: Client
    flow: str
    outbox: Outbox = field(default_factory=Outbox, compare=False, repr=False)

    @classmethod
    def connect(cls, url: str, key: str, flow: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Self:
        """With a client that waits at most this long for an answer."""
        return cls(Client(url, key, timeout_seconds=timeout_seconds, tries=TRIES), flow)

    def capture(
        self,
        session_id: str,
        run_id: str,
        messages: Sequence[Json],
        end_user_id: str | None = None,
        *,
        on_conflict: OnConflict = "error",
    ) -> Json:
        with _domain_errors():
            answer = self.client.capture_run(
                self.flow,
                session_id=session_id,
                run_id=run_id,
                messages=messages,
                end_user_id=end_user_id,
                on_conflict=on_conflict,
            )
        return _sent(answer)

    def newest(self, session_id: str) -> list[Json]:
        with _domain_errors():
            listed = self.client.list_messages(
                flow_id=self.flow, session_id=session_id, order="desc", size=NEWEST
            ).page()
        return [_sent(message) for message in reversed(listed.items)]

    def report(self, execution_id: str, execution: Json) -> Json:
        with _domain_errors():
            return _sent(self.client.put_node_execution(execution_id, flow_id=self.flow, **execution))

    def node_history(self, request: Json) -> Json:
        with _domain_errors():
            return _sent(self.client.get_history(flow_id=self.flow, mode="node", **request))

    def context(self, request: Json) -> Json:
        with _domain_errors():
            return _sent(self.client.build_context(flow_id=self.flow, **request))

    def search(
        self, query: str, *, top_k: int, session_id: str | None = None, min_score: float = MIN_SCORE
    ) -> list[Json]:
        with _domain_errors():
            answer = self.client.search_flow(
                flow_id=self.flow,
                query=query,
                top_k=top_k,
                session_id=session_id,
                min_score=min_score,
                fold_alike=True,
            )
        return [_sent(hit) for hit in answer.results]

    def put_chat_memory(self, node_id: str, fields: Json) -> Json:
        ChatMemoryConfig.of(fields)  # names what is invalid; an unknown field would be a TypeError of the client's
        with _domain_errors():
            return _sent(self.client.put_chat_memory(self.flow, node_id, **fields))

    def post_chat(self, node_id: str, chat_id: str, messages: Sequence[Json], run_id: str | None = None) -> Json:
        with _domain_errors():
            answer = self.client.post_chat_messages(
                self.flow, node_id, chat_id=chat_id, messages=messages, run_id=run_id
            )
        return _sent(answer)

    def view_chat(self, node_id: str, chat_id: str, run_id: str | None = None) -> Json:
        with _domain_errors():
            return _sent(self.client.view_chat(self.flow, node_id, chat_id=chat_id, run_id=run_id))

    def read_chat(self, node_id: str, chat_id: str, *, limit: int = 50, offset: int | None = None) -> Json:
        with _domain_errors():
            listed = self.client.list_chat_messages(self.flow, node_id, chat_id=chat_id, limit=limit, offset=offset)
            return _sent(listed.page())

    def delete_chat(self, node_id: str, chat_id: str, *, mode: DeleteMode, roles: Sequence[DeletedRole]) -> Json:
        with _domain_errors():
            return _sent(self.client.delete_chat_messages(self.flow, node_id, chat_id=chat_id, mode=mode, roles=roles))


@dataclass(frozen=True, slots=True)
class InProcess:
    """Calls the domain."""

    services: Services
    user_id: UUID
    flow: str
    outbox: Outbox = field(default_factory=Outbox, compare=False, repr=False)

    def capture(
        self,
        session_id: str,
        run_id: str,
        messages: Sequence[Json],
        end_user_id: str | None = None,
        *,
        on_conflict: OnConflict = "error",
    ) -> Json:
        request = ingestion.CaptureRequest(
            session_id=session_id,
            messages=normalise_all(
                messages,
                user_id=self.user_id,
            ),
            run_id=CallerId.of(self.user_id, "run", run_id),
            end_user_id=end_user_id,
            on_conflict=on_conflict,
        )
        return _json(ingestion.capture(self.services, self.user_id, self._flow_id, request))

    def newest(self, session_id: str) -> list[Json]:
        query = MessageQuery(flow_id=self._flow_id, session_id=session_id, order="desc")
        page = sessions.list_messages(self.services, self.user_id, query, PageRequest(size=NEWEST))
        return [_json(message) for message in reversed(page.items)]

    def report(self, execution_id: str, execution: Json) -> Json:
        given = CallerId.of(self.user_id, "node_execution", execution_id)
        new = node_executions.new_execution(self.user_id, execution, given=given)
        run_id = CallerId.of(self.user_id, "run", execution["run_id"])
        view, _ = node_executions.put_execution(
            self.services, self.user_id, self._flow_id, execution["session_id"], run_id, new
        )
        return _json(view)

    def node_history(self, request: Json) -> Json:
        conversation = Conversation(self.services, self.user_id, self._flow_id, request["session_id"])
        execution_id = request.get("execution_id")
        history_request = HistoryRequest(
            leaf_id=self._row("message", request.get("leaf_id")),
            run_id=self._row("run", request["run_id"]),
            execution_id=self._row("node_execution", execution_id),
            index=request.get("index"),
            max_tokens=request["max_tokens"],
        )
        return read_history(conversation, history_request, mode="node", node_id=request["node_id"]).view.as_dict()

    def context(self, request: Json) -> Json:
        resolved = {
            "preset": PRESETS[request["preset"]],
            "run_id": self._row("run", request.get("run_id")),
            "leaf_id": self._row("message", request.get("leaf_id")),
            "recall": context.RecallOptions(**request.get("recall", {})),
        }
        context_request = context.ContextRequest(flow_id=self._flow_id, **request | resolved)
        return context.build_context(self.services, self.user_id, context_request).as_dict()

    def search(
        self, query: str, *, top_k: int, session_id: str | None = None, min_score: float = MIN_SCORE
    ) -> list[Json]:
        request = search_request.SearchRequest(
            query=query,
            flow_id=self._flow_id,
            top_k=top_k,
            session_id=session_id,
            min_score=min_score,
            fold_alike=True,
        )
        return [_json(hit) for hit in answer.search(self.services, self.user_id, request).results]

    def put_chat_memory(self, node_id: str, fields: Json) -> Json:
        memory, _ = memories.put_memory(self.services, self._key(node_id), ChatMemoryConfig.of(fields))
        return _json(memory)

    def post_chat(self, node_id: str, chat_id: str, messages: Sequence[Json], run_id: str | None = None) -> Json:
        key = self._key(node_id)
        posted = message_log.post_messages(
            self.services, key, ChatSelector(chat_id), messages, run_id=self._run(run_id)
        )
        summaries.request_if_due(self.services, key, posted.chat_id)
        return _json(posted)

    def view_chat(self, node_id: str, chat_id: str, run_id: str | None = None) -> Json:
        selector = ChatSelector(chat_id)
        return views.view_chat(self.services, self._key(node_id), selector, run_id=self._run(run_id)).as_dict()

    def read_chat(self, node_id: str, chat_id: str, *, limit: int = 50, offset: int | None = None) -> Json:
        return _json(message_log.read_messages(self.services, self._key(node_id), chat_id, limit=limit, offset=offset))

    def delete_chat(self, node_id: str, chat_id: str, *, mode: DeleteMode, roles: Sequence[DeletedRole]) -> Json:
        return _json(message_log.delete_messages(self.services, self._key(node_id), chat_id, mode=mode, roles=roles))

    @property
    def _flow_id(self) -> UUID:
        return ids.flow_id(self.user_id, self.flow)

    def _row(self, kind: IdKind, value: str | None) -> UUID | None:
        given = None if value is None else CallerId.of(self.user_id, kind, value)
        return caller_ids.resolve(self.services, self._flow_id, given)

    def _run(self, run_id: str | None) -> CallerId | None:
        return None if run_id is None else CallerId.of(self.user_id, "run", run_id)

    def _key(self, node_id: str) -> MemoryKey:
        return MemoryKey(self.user_id, self._flow_id, node_id)


def _json(value: Any) -> Json:
    return cast("Json", to_jsonable_python(value))


def _sent(answer: BaseModel) -> Json:
    """The JSON that the server sent."""
    return answer.model_dump(mode="json", exclude_unset=True)


@contextmanager
def _domain_errors() -> Iterator[None]:
    """Raise the client's errors as the domain raises them."""
    try:
        yield
    except client_errors.MemorybaseError as error:
        own = _kind_of(error)(error.message, field=error.field, value=error.value, limit=error.limit)
        own.details = dict(error.details)
        raise own from error


def _kind_of(error: client_errors.MemorybaseError) -> type[errors.MemorybaseError]:
    """The class with the error's code. For codes that only the API or the client has: the class of what is away or of
    what is refused."""
    known = _BY_CODE.get(error.code)
    if error.status is not None and error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return known or (errors.EnvironmentFailure if error.retryable else errors.CallerError)
    # Without an answer, or if the server failed, a repetition may succeed.
    return known if known is not None and issubclass(known, errors.EnvironmentFailure) else errors.EnvironmentFailure


def _kinds(kind: type[errors.MemorybaseError]) -> Iterator[type[errors.MemorybaseError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _kinds(below)


_BY_CODE = {kind.code: kind for kind in _kinds(errors.MemorybaseError)}
