"""A run as one story: its question, the memory that each node was given, its answer, and when it was searchable.

`uses_of_message` is the other direction: the runs whose models were given a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.conversation.memory_use import record
from memorybase.conversation.memory_use.record import NodeUse
from memorybase.conversation.view.records import Kind
from memorybase.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.ids import CallerId
from memorybase.messages import message_text
from memorybase.models import NodeExecution, Run
from memorybase.queries import coverage, memory_uses, node_executions, runs
from memorybase.queries import messages as message_queries
from memorybase.queries.memory_uses import ids_in
from memorybase.queries.ownership import require
from memorybase.read_models.ingestion import Ingestion, ingestion_of
from memorybase.read_models.sessions import MessageView, message_view
from memorybase.search.scoring import FAIR, GOOD, band_of
from memorybase.services import Services

# not_asked: nothing was looked for; nothing_found: nothing was recalled; the others say it of the best score.
Verdict = Literal["not_asked", "nothing_found", "did_not_help", "may_help", "fits"]


@dataclass(frozen=True, slots=True)
class GivenMemory:
    """A memory that a model was given. `message` is null if it was deleted; `score` if it was not recorded."""

    message_id: UUID
    score: float | None
    edited: bool
    message: MessageView | None


@dataclass(frozen=True, slots=True)
class TokensByKind:
    """The tokens of a view, by where its messages come from."""

    recall: int = 0
    history: int = 0
    summary: int = 0
    predefined: int = 0
    standing: int = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many messages a view left out for one reason."""

    reason: str
    messages: int


@dataclass(frozen=True, slots=True)
class GivenView:
    """The memory that a node's model was given, best memories first."""

    at: datetime
    query: str | None
    verdict: Verdict
    best_score: float | None
    tokens: TokensByKind
    total_tokens: int
    budget: int | None
    memories: list[GivenMemory]
    left_out: list[LeftOut]
    flags: list[str]
    degraded: list[str]


@dataclass(frozen=True, slots=True)
class NodeStory:
    """A node of a run: what its model was given, and the text that it returned, if they were recorded."""

    node_id: str
    given: GivenView | None
    status: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run by both of its ids."""

    run_id: UUID
    external_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """A run from its question to the moment when searches find it. Without `captured_at` the run is not captured yet.

    `previous` and `next` are the runs of the session captured before and after it."""

    run_id: UUID
    external_id: str | None
    flow_id: UUID
    session_id: str | None
    end_user_id: str | None
    captured_at: datetime | None
    question: str | None
    answer: str | None
    nodes: list[NodeStory]
    memories: list[Ingestion]
    previous: RunRef | None
    next: RunRef | None


@dataclass(frozen=True, slots=True)
class MessageUse:
    """A run whose model was given a message: as part of the history, in a summary, or recalled."""

    run_id: UUID
    external_id: str | None
    session_id: str | None
    node_id: str
    kind: Kind
    score: float | None
    query: str | None
    at: datetime


def run_story(services: Services, user_id: UUID, flow_id: UUID, given: CallerId | UUID) -> RunStory:
    """Raises NotFound if the run is not captured and no memory of it is recorded."""
    memory = record.run_memory(services, user_id, flow_id, given)
    with services.database.reading(on_replica=True) as db:
        row = runs.fetch_run_view(db, user_id, memory.run_id)
        row = row if row is not None and row.Run.flow_id == flow_id else None
        nodes = _nodes(db, flow_id, memory.run_id, memory.session_id, memory.nodes)
        if row is None:
            return RunStory(
                run_id=memory.run_id,
                external_id=None,
                flow_id=flow_id,
                session_id=memory.session_id,
                end_user_id=None,
                captured_at=None,
                question=None,
                answer=None,
                nodes=nodes,
                memories=[],
                previous=None,
                next=None,
            )
        run: Run = row.Run
        question, answer = runs.question_and_answer(db, run.id)
        previous, following = runs.neighboring_runs(db, run)
        return RunStory(
            run_id=run.id,
            external_id=run.external_id,
            flow_id=flow_id,
            session_id=run.session_id,
            end_user_id=row.end_user_id,
            captured_at=run.created_at,
            question=_text(question),
            answer=_text(answer),
            nodes=nodes,
            memories=ingestion_of(db, flow_id, coverage.ingestion_by_base(db, flow_id, run_id=run.id)),
            previous=None if previous is None else RunRef(*previous),
            next=None if following is None else RunRef(*following),
        )


def uses_of_message(services: Services, user_id: UUID, message_id: UUID, request: PageRequest) -> Page[MessageUse]:
    """The runs whose models were given a message, latest first. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        row = require(message_queries.fetch_message_view(db, user_id, message_id), "message", message_id)
        found = memory_uses.uses_page(db, row.Message.flow_id, message_id, request)
    return page_of(found, lambda use: _use(use, message_id))


def verdict(query: str | None, scores: Sequence[float | None]) -> Verdict:
    """What recall brought a model, by its best score. Memories without a score were recorded before scores were."""
    if not scores:
        return "not_asked" if query is None else "nothing_found"
    best = _best(scores)
    band = None if best is None else band_of(best)
    if band is None or band is FAIR:
        return "may_help"
    return "fits" if band.low >= GOOD.low else "did_not_help"


def _best(scores: Sequence[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


def _nodes(
    db: OrmSession, flow_id: UUID, run_id: UUID, session_id: str | None, uses: Sequence[NodeUse]
) -> list[NodeStory]:
    """The nodes whose memory or execution is recorded, in the order of time."""
    executions: dict[str, NodeExecution] = {}
    if session_id is not None:
        executions = {each.node_id: each for each in node_executions.executions_of_run(db, flow_id, session_id, run_id)}
    wanted = {message_id for use in uses for message_id in ids_in(_recalled(use.sources))}
    messages = {row.Message.id: message_view(row) for row in message_queries.messages_of_ids(db, flow_id, wanted)}
    views = {use.node_id: (use, _given(use, messages)) for use in uses}
    times = {name: each.created_at for name, each in executions.items()}
    times |= {name: use.at for name, (use, _) in views.items()}
    return [
        _node(name, views[name][1] if name in views else None, executions.get(name))
        for name in sorted(times, key=lambda name: (times[name], name))
    ]


def _node(node_id: str, given: GivenView | None, execution: NodeExecution | None) -> NodeStory:
    if execution is None:
        return NodeStory(node_id, given, None, None)
    text = execution.outputs.get("text")
    return NodeStory(node_id, given, execution.status, text if isinstance(text, str) and text else None)


def _given(use: NodeUse, messages: Mapping[UUID, MessageView]) -> GivenView:
    report, recalled = use.report, _recalled(use.sources)
    scores = {item["message_id"]: item["score"] for item in report.get("recalled") or ()}
    best = _best([source.get("score") for source in recalled])
    memories = []
    for message_id in ids_in(recalled):
        message = messages.get(message_id)
        edited = message is not None and message.edited_at is not None and message.edited_at > use.at
        memories.append(GivenMemory(message_id, scores.get(str(message_id)), edited, message))
    memories.sort(key=lambda each: (-1.0 if each.score is None else each.score, str(each.message_id)), reverse=True)
    tokens = dict.fromkeys(TokensByKind.__slots__, 0)
    for source in use.sources:
        tokens[source["kind"]] = tokens.get(source["kind"], 0) + int(source.get("tokens") or 0)
    reasons = Counter(str(removed.get("reason")) for removed in report.get("removed") or ())
    return GivenView(
        at=use.at,
        query=use.query,
        verdict=verdict(use.query, [best] if recalled else []),
        best_score=best,
        tokens=TokensByKind(**{kind: tokens[kind] for kind in TokensByKind.__slots__}),
        total_tokens=sum(tokens.values()),
        budget=report.get("budget"),
        memories=memories,
        left_out=[LeftOut(reason, messages) for reason, messages in reasons.most_common()],
        flags=list(report.get("flags") or ()),
        degraded=list(report.get("degraded") or ()),
    )


def _recalled(sources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [source for source in sources if source["kind"] == "recall"]


def _use(row: AnyRow, message_id: UUID) -> MessageUse:
    source: dict[str, Any] = next((each for each in row.sources if message_id in ids_in([each])), {})
    recalled = {each["message_id"]: each["score"] for each in row.report.get("recalled") or ()}
    kind = source.get("kind", "history")
    score = recalled.get(str(message_id), source.get("score")) if kind == "recall" else None
    return MessageUse(row.run_id, row.external_id, row.session_id, row.node_id, kind, score, row.query, row.recorded_at)


def _text(content: Any) -> str | None:
    return message_text(content) or None
