"""Records what a client gave a model itself, for example results of a search that it put into the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.conversation.context_report import Recalled, RecallReport
from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.conversation.memory_use.record import NewUse, NodeUse, record_use
from memorybase.core.conversation.view.build import Source, View
from memorybase.core.conversation.view.records import Kind, Record
from memorybase.core.conversation.view.rendering import to_openai
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.ids import CallerId
from memorybase.core.messages import NewMessage, normalise_all
from memorybase.core.queries import caller_ids, sessions
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.memory_uses import DELETED
from memorybase.core.queries.ownership import check_flow
from memorybase.core.screening import screen_messages
from memorybase.core.services import Services
from memorybase.core.vectors.search import check_bound, cut_query

MAX_SOURCE_IDS = 1_000  # of one use


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSource:
    """The stored messages that a message was built from. `scores` is parallel to them, or empty; without `tokens` they
    are counted."""

    kind: Kind
    message_ids: Sequence[CallerId] = ()
    scores: Sequence[float | None] = ()
    score: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The messages that a client gave a node's model, in OpenAI's format; `sources` is parallel to them."""

    session_id: str
    end_user_id: str | None
    query: str | None
    messages: Sequence[Any]
    sources: Sequence[GivenSource]


def record_given(
    services: Services, user_id: UUID, flow_id: UUID, run_id: CallerId, node_id: str, given: Given
) -> NodeUse:
    """Store it, and replace an earlier use of this run and node. Text with a source that the flow, or the named end
    user in it, does not have reads "[deleted]". Raises NotFound, InvalidRequest, SessionConflict for a session of
    another end user, and Held if an earlier record must be kept that says something else."""
    settings = services.settings
    messages = normalise_all(
        given.messages,
        user_id=user_id,
    )
    _check(given)
    with services.database.reading() as db:
        check_flow(db, user_id, flow_id)
        _check_session(db, flow_id, given)
        rows = _rows(db, flow_id, given)
    messages = screen_messages(services, user_id, flow_id, messages).messages
    view = _view(messages, given.sources, rows, counter_for(settings))
    use = NewUse(
        run_id=run_id,
        node_id=node_id,
        view=view,
        origin=ViewOrigin(session_id=given.session_id, end_user_id=given.end_user_id),
        query=None if given.query is None else cut_query(given.query),
    )
    return record_use(services, user_id, flow_id, use, must_replace=True)


def _check(given: Given) -> None:
    if len(given.sources) != len(given.messages):
        text = "sources must have one source for each message"
        raise errors.InvalidRequest(text, field="sources", value=len(given.sources), limit=len(given.messages))
    for index, source in enumerate(given.sources):
        if source.scores and len(source.scores) != len(source.message_ids):
            field, limit = f"sources[{index}].scores", len(source.message_ids)
            text = f"{field} must have one score for each of message_ids"
            raise errors.InvalidRequest(text, field=field, value=len(source.scores), limit=limit)
    ids = sum(len(source.message_ids) for source in given.sources)
    check_bound("sources", ids, 0, MAX_SOURCE_IDS, unit="message_ids")


def _check_session(db: OrmSession, flow_id: UUID, given: Given) -> None:
    found = sessions.fetch_session(db, flow_id, given.session_id)
    if given.end_user_id is None or found is None or found.deleted_at is not None:
        return
    if found.end_user_id != given.end_user_id:
        text = "The session belongs to another end user or to none"
        raise errors.SessionConflict(text, field="end_user_id", value=given.end_user_id)


def _rows(db: OrmSession, flow_id: UUID, given: Given) -> Mapping[CallerId, UUID]:
    """The messages of the sources that the flow, and the end user if one is named, has."""
    rows = caller_ids.present(db, flow_id, [each for source in given.sources for each in source.message_ids])
    if given.end_user_id is None:
        return rows
    own = message_queries.present(db, flow_id, rows.values(), end_user_id=given.end_user_id)
    return {each: row_id for each, row_id in rows.items() if row_id in own}


def _view(
    messages: Sequence[NewMessage], given: Sequence[GivenSource], rows: Mapping[CallerId, UUID], counter: TokenCounter
) -> View:
    records = [_record(index, *each, rows) for index, each in enumerate(zip(messages, given, strict=True))]
    counts = [counter.count(record) for record in records]
    sources = tuple(
        Source(record.kind, tuple(record.message_ids), count if source.tokens is None else source.tokens, record.score)
        for record, source, count in zip(records, given, counts, strict=True)
    )
    tokens = sum(source.tokens for source in sources)
    report = RecallReport(
        kept=tuple(each for source in sources if source.kind == "history" for each in source.message_ids),
        removed=(),
        tokens_before=tokens,
        tokens_after=tokens,
        budget=None,
        over_budget=False,
        counter=counter.name,
        recalled=tuple(_recalled(given, rows)),
    )
    return View(messages=list(map(to_openai, records)), sources=sources, text="", report=report)


def _record(seq: int, message: NewMessage, source: GivenSource, rows: Mapping[CallerId, UUID]) -> Record:
    record = Record(
        id="",
        seq=seq,
        role=message.role,  # type: ignore[arg-type]  # one of ROLES
        content=message.content,
        tool_calls=message.tool_calls or (),
        tool_call_id=message.tool_call_id,
        name=message.name,
        kind=source.kind,
        message_ids=[str(rows[each]) for each in source.message_ids if each in rows],
        score=source.score if source.score is not None else _best(source.scores),
    )
    if rows.keys() >= set(source.message_ids):
        return record
    return replace(record, content=DELETED, tool_calls=(), tool_call_id=None, name=None)


def _best(scores: Sequence[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


def _recalled(given: Sequence[GivenSource], rows: Mapping[CallerId, UUID]) -> list[Recalled]:
    """Each recalled message and its score, which is the source's if the source is this message alone."""
    return [
        Recalled(message_id=str(rows[each]), score=score)
        for source in given
        if source.kind == "recall"
        for each, score in zip(source.message_ids, _scores_of(source), strict=True)
        if each in rows
    ]


def _scores_of(source: GivenSource) -> Sequence[float | None]:
    ids = len(source.message_ids)
    return source.scores or ([source.score] if ids == 1 else [None] * ids)
