"""History of one node in a conversation: Dify's NodeTokenBufferMemory, read from what the node gave out last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.conversation.history.node_context import restored
from memorybase.conversation.history.session_reader import Walk
from memorybase.conversation.history.token_buffer import (
    DEFAULT_MAX_TOKENS,
    BufferMemory,
    Conversation,
    HistoryRequest,
    OnMissing,
    has_session,
)
from memorybase.conversation.view.build import FILE_DEGRADED, View, build_view
from memorybase.conversation.view.files import FileResolver, remote_images
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.conversation.view.transcript import Prefixes
from memorybase.errors import InvalidRequest, NotFound
from memorybase.messages import resolve_id
from memorybase.models import NodeExecution
from memorybase.queries import node_executions as queries
from memorybase.queries.threads import Link
from memorybase.services import Services

FIRST_RUNS = 8  # looked up at once; then more and more
MOST_RUNS = 500


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """A node's history, and the execution that it was read from."""

    view: View
    execution_id: UUID | None = None
    written_at: datetime | None = None  # that execution, last

    @property
    def as_of(self) -> tuple[UUID, datetime] | None:
        """What it was read from, and as of when."""
        if self.execution_id is None or self.written_at is None:
            return None
        return self.execution_id, self.written_at


def node_view(
    conversation: Conversation,
    node_id: str | None,
    request: HistoryRequest,
    *,
    counter: TokenCounter = ESTIMATE,
    resolve: FileResolver = remote_images,
) -> NodeHistory:
    """The context of the node's latest successful execution on the thread, the run under way included.

    Of that run, only what stands before the execution under way, if the request names it.
    Without a node, a session or an execution there is no memory; with on_missing="error" that is InvalidRequest or
    NotFound.
    """
    options = replace(request.options(), leaf_id=None, exclude_run_id=None)
    missing = "conversation_id" if not conversation.session_id else "node_id" if not node_id else None
    if missing is not None and request.on_missing == "error":
        raise InvalidRequest(f"The history of a node needs {missing}", field=missing)
    if not has_session(conversation, request.on_missing) or not node_id:
        return NodeHistory(build_view((), options, counter=counter))
    with conversation.services.database.reading() as db:
        execution = _latest(db, conversation, node_id, request)
    if execution is None:
        if request.on_missing == "error":
            raise NotFound("The node has not succeeded on this thread", field="node_id", value=node_id)
        return NodeHistory(build_view((), options, counter=counter))
    found = restored(
        execution.outputs.get("context") or (), few_shots=execution.few_shots, name=str(execution.id), resolve=resolve
    )
    degraded = [FILE_DEGRADED] if found.is_degraded else []
    view = build_view(found.records, options, counter=counter, degraded=degraded)
    return NodeHistory(view, execution.id, execution.updated_at)


def _latest(db: OrmSession, conversation: Conversation, node_id: str, request: HistoryRequest) -> NodeExecution | None:
    """The run under way first: a loop's next round remembers the one before. Then the thread's runs, newest first."""
    where = (db, conversation.flow_id, conversation.session_id, node_id)
    walk = Walk(db, conversation.flow_id, conversation.session_id)
    runs = _runs(walk.from_leaf(request.leaf_id, run_id=request.run_id))
    first = next(runs, None)  # before anything else: the leaf may be unknown
    ran = [] if request.run_id is None else _before(request, queries.succeeded_in(*where, [request.run_id]))
    newest = queries.newest_succeeded(*where, but_of=request.run_id)
    if first is None and not ran and newest is not None:
        ran = [newest]  # executions alone were reported: there is no thread to go by
    runs = iter(()) if first is None or newest is None else chain([first], runs)
    runs = (run_id for run_id in runs if run_id != request.run_id)
    count = FIRST_RUNS
    while not ran and (some := list(islice(runs, count))):
        ran = queries.succeeded_in(*where, some)
        latest = min(ran, key=lambda one: some.index(one.run_id), default=None)
        ran = [one for one in ran if latest is not None and one.run_id == latest.run_id]
        count = min(MOST_RUNS, count * 2)
    return db.get(NodeExecution, max(ran, key=_order).id) if ran else None


def _order(ran: queries.Ran) -> tuple[int, datetime, UUID]:
    """Of an execution in its run."""
    return ran.index, ran.created_at, ran.id


def _before(request: HistoryRequest, ran: Sequence[queries.Ran]) -> list[queries.Ran]:
    """What the run gave out before the execution under way, which an earlier try may have reported already."""
    again = next((_order(one) for one in ran if one.id == request.execution_id), None)
    return [
        one
        for one in ran
        if (again is None or _order(one) < again) and (request.index is None or one.index < request.index)
    ]


def _runs(links: Iterator[Link]) -> Iterator[UUID]:
    """Each run once, in their order."""
    known: set[UUID] = set()
    for link in links:
        if link.run_id not in known:
            known.add(link.run_id)
            yield link.run_id


class NodeTokenBufferMemory(BufferMemory):
    """The newest turns of a node's own history that fit a number of tokens.

    `app_id` is the flow, by its UUID or the runtime's own id, `conversation_id` the session, `tenant_id` the user. What
    the node gives out is reported as an execution, so there is nothing to add, flush or clear.
    """

    def __init__(
        self,
        app_id: UUID | str,
        conversation_id: str | None,
        node_id: str | None,
        tenant_id: UUID,
        model_instance: TokenCounter = ESTIMATE,
        *,
        services: Services,
        leaf_id: UUID | None = None,
        run_id: UUID | None = None,
        execution_id: UUID | None = None,
        index: int | None = None,
        on_missing: OnMissing = "empty",
        resolve: FileResolver = remote_images,
    ) -> None:
        flow_id = app_id if isinstance(app_id, UUID) else resolve_id(tenant_id, "flow", app_id)[0]
        conversation = Conversation(services, tenant_id, flow_id, conversation_id or "")
        asked = HistoryRequest(
            leaf_id=leaf_id, run_id=run_id, execution_id=execution_id, index=index, on_missing=on_missing
        )
        super().__init__(conversation, model_instance, asked, resolve)
        self.node_id = node_id

    def view(
        self,
        max_token_limit: int = DEFAULT_MAX_TOKENS,
        message_limit: int | None = None,
        prefixes: Prefixes | None = None,
    ) -> View:
        """The history with sources and report."""
        request = self._request(max_token_limit, message_limit, prefixes)
        return node_view(
            self.conversation, self.node_id, request, counter=self.model_instance, resolve=self._resolve
        ).view

    def add_messages(self, *_: Any, **__: Any) -> None:
        """Nothing: kept for callers of the first design."""

    def flush(self) -> None:
        """Nothing: kept for callers of the first design."""

    def clear(self) -> None:
        """Nothing: kept for callers of the first design."""
