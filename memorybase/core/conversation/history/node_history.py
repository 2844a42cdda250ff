"""History of one node in a conversation, from the context of its latest execution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.history.node_context import merged, restore
from memorybase.core.conversation.history.request import Conversation, History, HistoryRequest
from memorybase.core.conversation.history.session_reader import ThreadWalk
from memorybase.core.conversation.view.build import FILE_DEGRADED, build_view
from memorybase.core.conversation.view.files import FileResolver
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.errors import NotFound
from memorybase.core.models import NodeExecution
from memorybase.core.queries import node_executions as queries
from memorybase.core.queries.node_executions import FinishedExecution
from memorybase.core.queries.threads import Link

FIRST_RUNS = 8  # in the first statement; each further one doubles them
MOST_RUNS = 500
MOST_BRANCHES = 100  # of parallel executions, the ones that ended last
NAMED_BRANCH = 2**31


def node_history(
    db: OrmSession, conversation: Conversation, request: HistoryRequest, *, counter: TokenCounter, resolve: FileResolver
) -> History:
    """The context of the node's latest successful execution on the thread, the current run included.

    If the request names the current execution, only earlier executions of that run count. Without a node or an
    execution the view is empty; with on_missing="error" that raises NotFound."""
    executions = _latest(db, conversation, request) if request.node_id else []
    if not executions and request.on_missing == "error":
        raise NotFound("node_id must have succeeded on this thread", field="node_id", value=request.node_id)
    restored = [restore(each, resolve) for each in executions]
    degraded = [FILE_DEGRADED] if any(each.is_degraded for each in restored) else []
    records = merged([each.records for each in restored])
    view = build_view(records, request.options(), counter=counter, degraded=degraded)
    return History(view, tuple((each.id, each.updated_at) for each in executions))


def _latest(db: OrmSession, conversation: Conversation, request: HistoryRequest) -> list[NodeExecution]:
    """The latest execution, with those that ran in parallel to it."""
    ran = next(filter(None, _candidates(db, conversation, request)), [])
    index = max((each.index for each in ran), default=0)
    ids = [each.id for each in sorted(ran, key=_order) if each.index == index][-MOST_BRANCHES:]
    found = queries.executions_of_ids(db, ids)
    rows = [found[id_] for id_ in ids if id_ in found]
    if not rows or rows[-1].outputs.get("branch") is None:
        return rows[-1:]
    by_branch = {row.outputs["branch"]: row for row in rows if row.outputs.get("branch") is not None}
    return sorted(by_branch.values(), key=lambda row: _branch_order(row.outputs["branch"]))


def _candidates(
    db: OrmSession, conversation: Conversation, request: HistoryRequest
) -> Iterator[Sequence[FinishedExecution]]:
    """The node's executions of one run after another, empty where it has none. The current run first: the next round of
    a loop needs the one before. Then the thread's runs, newest first."""
    of_node = (db, conversation.flow_id, conversation.session_id, request.node_id or "")
    walk = ThreadWalk(db, conversation.flow_id, conversation.session_id)
    runs = _runs(walk.from_leaf(request.leaf_id, run_id=request.run_id))
    first = next(runs, None)  # before anything else, as the leaf may be unknown
    if request.run_id is not None:
        yield _before(request, queries.succeeded_in(*of_node, [request.run_id]))
    newest = queries.newest_succeeded(*of_node, but_of=request.run_id)
    if newest is None:
        return
    if first is None:
        yield [newest]  # only executions were reported: there is no thread
        return
    others = (run_id for run_id in chain([first], runs) if run_id != request.run_id)
    count = FIRST_RUNS
    while some := list(islice(others, count)):
        ran = queries.succeeded_in(*of_node, some)
        latest = min((some.index(each.run_id) for each in ran), default=0)
        yield [each for each in ran if each.run_id == some[latest]]
        count = min(MOST_RUNS, count * 2)


def _order(ran: FinishedExecution) -> tuple[int, datetime, UUID]:
    """The position of an execution in its run."""
    return ran.index, ran.created_at, ran.id


def _branch_order(branch: int | str) -> int:
    """Numbered branches first, in their order. Named ones stay in the order in which they ended."""
    return branch if isinstance(branch, int) else NAMED_BRANCH


def _before(request: HistoryRequest, ran: Sequence[FinishedExecution]) -> list[FinishedExecution]:
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
