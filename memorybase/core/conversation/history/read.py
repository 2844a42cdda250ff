"""Reads a history: of the conversation, or of one node in it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.history.node_history import node_history
from memorybase.core.conversation.history.request import Conversation, History, HistoryRequest
from memorybase.core.conversation.history.session_reader import LONGEST_TURN, ThreadWalk, as_record, tails
from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.conversation.memory_use.record import NewUse, record_use
from memorybase.core.conversation.view.build import View, build_view
from memorybase.core.conversation.view.files import FileResolver, remote_images
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.errors import InvalidRequest
from memorybase.core.queries import sessions, threads
from memorybase.core.queries.ownership import check_flow, not_found


def read_history(conversation: Conversation, request: HistoryRequest) -> History:
    """The history; its use is recorded if the request names a run and a node. Raises as `history_of`."""
    history = history_of(conversation, request)
    if request.run_id is not None and request.node_id is not None:
        origin = ViewOrigin(session_id=conversation.session_id, execution=history.as_of)
        use = NewUse(run_id=request.run_id, node_id=request.node_id, view=history.view, origin=origin)
        record_use(conversation.services, conversation.user_id, conversation.flow_id, use)
    return history


def history_of(
    conversation: Conversation,
    request: HistoryRequest,
    *,
    counter: TokenCounter | None = None,
    resolve: FileResolver = remote_images,
) -> History:
    """The history, empty for an unknown session. Raises NotFound for a flow of another user and an unknown leaf.

    With on_missing="error" NotFound too for an unknown session or a node without executions, and InvalidRequest if the
    node or the session is not named. The counter is by default that of the request's model."""
    counter = counter or counter_for(conversation.services.settings, request.model)
    if request.mode == "node" and request.on_missing == "error":
        _check_named(conversation_id=conversation.session_id, node_id=request.node_id)
    with conversation.services.database.reading() as db:
        if not _has_session(db, conversation, request):
            return History(build_view((), request.options(), counter=counter))
        if request.mode == "node":
            return node_history(db, conversation, request, counter=counter, resolve=resolve)
        return History(_captured(db, conversation, request, counter, resolve))


def _check_named(**names: str | None) -> None:
    for field, name in names.items():
        if not name:
            raise InvalidRequest(f"The history of a node needs {field}", field=field)


def _has_session(db: OrmSession, conversation: Conversation, request: HistoryRequest) -> bool:
    check_flow(db, conversation.user_id, conversation.flow_id)
    found = sessions.fetch_session(db, conversation.flow_id, conversation.session_id)
    if found is not None and found.deleted_at is None:
        return True
    if request.on_missing == "error":
        raise not_found("session", conversation.session_id)
    return False


def _captured(
    db: OrmSession, conversation: Conversation, request: HistoryRequest, counter: TokenCounter, resolve: FileResolver
) -> View:
    """The view of the session's thread. If a flow captures only outputs, there are no turns: limits are for groups."""
    where = (db, conversation.flow_id, conversation.session_id)
    if request.run_id is None and request.unanswered == "drop":
        request = _without_question(*where, request)
    if request.prune == "turn":
        links = ThreadWalk(*where).from_leaf(request.leaf_id, run_id=request.run_id)
        if not any(link.role == "user" for link in islice(links, LONGEST_TURN)):
            request = replace(request, prune="group")
    run_id = None if request.run_id is None else str(request.run_id)
    options = replace(request.options(), thread="given", exclude_run_id=run_id)
    for tail in tails(*where, leaf_id=request.leaf_id, run_id=request.run_id, prune=request.prune):
        view = build_view(tail.records, options, counter=counter, resolve=resolve, flags=tail.flags)
        if view.report.is_full:
            break
    return view


def _without_question(db: OrmSession, flow_id: UUID, session_id: str, request: HistoryRequest) -> HistoryRequest:
    """The request for the thread before its last question, if that has no answer. An empty answer is none: a run stores
    one before its model answers."""
    newest = list(islice(ThreadWalk(db, flow_id, session_id).from_leaf(request.leaf_id), 3))
    if [link.role for link in newest[:2]] == ["assistant", "user"]:
        (answer,) = threads.messages_at(db, flow_id, session_id, [newest[0].seq])
        if as_record(answer).is_empty:
            newest = newest[1:]
    if not newest or newest[0].role != "user":
        return request
    if len(newest) == 1:
        return replace(request, leaf_id=newest[0].id, run_id=newest[0].run_id)  # the thread is only that question
    return replace(request, leaf_id=newest[1].id)
