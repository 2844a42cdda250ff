"""History of one node in a conversation: Dify's NodeTokenBufferMemory, from the node's latest context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import ids
from memorybase.conversation.history.node_context import merged, restore
from memorybase.conversation.history.session_reader import ThreadWalk
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
from memorybase.conversation.view.rendering import Prefixes
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.errors import InvalidRequest, NotFound
from memorybase.models import NodeExecution
from memorybase.queries import node_executions as queries
from memorybase.queries.threads import Link
from memorybase.services import Services

FIRST_RUNS = 8  # in the first statement; each further one doubles them
MOST_RUNS = 500
MOST_BRANCHES = 100  # of parallel executions, the ones that ended last
NAMED_BRANCH = 2**31


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """A node's history, and the executions that it comes from, each with when it was last written: the latest one, or
    all that ran in parallel."""

    view: View
    as_of: tuple[tuple[UUID, datetime], ...] = ()

    @property
    def execution_id(self) -> UUID | None:
        """The execution, or the last of the parallel ones."""
        return self.as_of[-1][0] if self.as_of else None


def node_view(
    conversation: Conversation,
    node_id: str | None,
    request: HistoryRequest,
    *,
    counter: TokenCounter = ESTIMATE,
    resolve: FileResolver = remote_images,
) -> NodeHistory:
    """The context of the node's latest successful execution on the thread, the current run included.

    If the request names the current execution, only earlier executions of that run count. Without a node, a session or
    an execution the view is empty; with on_missing="error" that raises InvalidRequest or NotFound.
    """
    options = replace(request.options(), leaf_id=None, exclude_run_id=None)
    missing = "conversation_id" if not conversation.session_id else "node_id" if not node_id else None
    if missing is not None and request.on_missing == "error":
        raise InvalidRequest(f"The history of a node needs {missing}", field=missing)
    if not has_session(conversation, request.on_missing) or not node_id:
        return NodeHistory(build_view((), options, counter=counter))
    with conversation.services.database.reading() as db:
        executions = _latest(db, conversation, node_id, request)
    if not executions:
        if request.on_missing == "error":
            raise NotFound("node_id must have succeeded on this thread", field="node_id", value=node_id)
        return NodeHistory(build_view((), options, counter=counter))
    restored = [
        restore(each.outputs.get("context") or (), few_shots=each.few_shots, name=str(each.id), resolve=resolve)
        for each in executions
    ]
    degraded = [FILE_DEGRADED] if any(each.is_degraded for each in restored) else []
    view = build_view(merged([each.records for each in restored]), options, counter=counter, degraded=degraded)
    return NodeHistory(view, tuple((each.id, each.updated_at) for each in executions))


def _latest(db: OrmSession, conversation: Conversation, node_id: str, request: HistoryRequest) -> list[NodeExecution]:
    """The latest execution, with those that ran in parallel to it. The current run first: the next round of a loop
    needs the one before. Then the thread's runs, newest first."""
    of_node = (db, conversation.flow_id, conversation.session_id, node_id)
    walk = ThreadWalk(db, conversation.flow_id, conversation.session_id)
    runs = _runs(walk.from_leaf(request.leaf_id, run_id=request.run_id))
    first = next(runs, None)  # first, as the leaf may be unknown
    ran = [] if request.run_id is None else _before(request, queries.succeeded_in(*of_node, [request.run_id]))
    newest = queries.newest_succeeded(*of_node, but_of=request.run_id)
    if first is None and not ran and newest is not None:
        ran = [newest]  # only executions were reported: there is no thread
    runs = iter(()) if first is None or newest is None else chain([first], runs)
    runs = (run_id for run_id in runs if run_id != request.run_id)
    count = FIRST_RUNS
    while not ran and (some := list(islice(runs, count))):
        ran = queries.succeeded_in(*of_node, some)
        latest = min(ran, key=lambda each: some.index(each.run_id), default=None)
        ran = [each for each in ran if latest is not None and each.run_id == latest.run_id]
        count = min(MOST_RUNS, count * 2)
    if not ran:
        return []
    index = max(each.index for each in ran)
    ids = [each.id for each in sorted(ran, key=_order) if each.index == index][-MOST_BRANCHES:]
    rows = [row for row in map(partial(db.get, NodeExecution), ids) if row is not None]
    if not rows or rows[-1].outputs.get("branch") is None:
        return rows[-1:]
    by_branch = {row.outputs["branch"]: row for row in rows if row.outputs.get("branch") is not None}
    return sorted(by_branch.values(), key=lambda row: _branch_order(row.outputs["branch"]))


def _order(ran: queries.FinishedExecution) -> tuple[int, datetime, UUID]:
    """The position of an execution in its run."""
    return ran.index, ran.created_at, ran.id


def _branch_order(branch: int | str) -> int:
    """Numbered branches first, in their order. Named ones stay in the order in which they ended."""
    return branch if isinstance(branch, int) else NAMED_BRANCH


def _before(request: HistoryRequest, ran: Sequence[queries.FinishedExecution]) -> list[queries.FinishedExecution]:
    """The executions before the current one, which an earlier try may have reported already."""
    current = next((_order(each) for each in ran if each.id == request.execution_id), None)
    return [
        each
        for each in ran
        if (current is None or _order(each) < current) and (request.index is None or each.index < request.index)
    ]


def _runs(links: Iterator[Link]) -> Iterator[UUID]:
    """The runs of the links, each once."""
    seen: set[UUID] = set()
    for link in links:
        if link.run_id not in seen:
            seen.add(link.run_id)
            yield link.run_id


class NodeTokenBufferMemory(BufferMemory):
    """The newest turns of a node's own history that fit into a number of tokens.

    `app_id` is the flow, by its UUID or the runtime's own id; `conversation_id` the session; `tenant_id` the user. The
    runtime reports the node's outputs as executions, so there is nothing to add, flush or clear.
    """

    def __init__(
        self,
        app_id: UUID | str,
        conversation_id: str | None,
        node_id: str | None,
        tenant_id: UUID,
        model_instance: TokenCounter | None = None,
        *,
        services: Services,
        leaf_id: UUID | None = None,
        run_id: UUID | None = None,
        execution_id: UUID | None = None,
        index: int | None = None,
        on_missing: OnMissing = "empty",
        resolve: FileResolver = remote_images,
    ) -> None:
        flow_id = app_id if isinstance(app_id, UUID) else ids.flow_id(tenant_id, app_id)
        conversation = Conversation(services, tenant_id, flow_id, conversation_id or "")
        request = HistoryRequest(
            leaf_id=leaf_id, run_id=run_id, execution_id=execution_id, index=index, on_missing=on_missing
        )
        super().__init__(conversation, model_instance, request, resolve)
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
        """Does nothing; for callers of Dify's first design."""

    def flush(self) -> None:
        """Does nothing; for callers of Dify's first design."""

    def clear(self) -> None:
        """Does nothing; for callers of Dify's first design."""
