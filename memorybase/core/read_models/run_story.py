"""A run as one story: its question, the memory that each node was given, its answer, and when it was searchable.

`uses_of_message` is the other direction: the runs whose models were given a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.memory_use import record
from memorybase.core.conversation.memory_use.record import NodeUse
from memorybase.core.conversation.view.records import Kind
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import EndUserId, ExternalId, FlowId, MessageId, NodeId, RunId
from memorybase.core.ids import CallerId
from memorybase.core.messages import message_text
from memorybase.core.models import NodeExecution, Run
from memorybase.core.queries import coverage, memory_uses, message_changes, node_executions, runs
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.memory_uses import ids_in
from memorybase.core.queries.ownership import require
from memorybase.core.read_models.ingestion import Ingestion, ingestion_of
from memorybase.core.read_models.sessions import MessageView, message_view
from memorybase.core.read_models.views import view_of
from memorybase.core.search.bands import FAIR, GOOD, band_of
from memorybase.core.services import Services

# not_asked: nothing was looked for; nothing_found: nothing was recalled; the others say it of the best score.
Verdict = Literal["not_asked", "nothing_found", "did_not_help", "may_help", "fits"]


@dataclass(frozen=True, slots=True)
class GivenMemory:
    """A memory that a model was given."""

    message_id: MessageId
    score: Annotated[
        float | None,
        Field(
            description="The score of the memory; null if it was not recorded, or for a message that is shown "
            "next to a better one."
        ),
    ]
    edited: Annotated[bool, Field(description="Whether the message was edited since: the model received other text.")]
    message: Annotated[MessageView | None, Field(description="The message as it is now; null if it was deleted.")]


@dataclass(frozen=True, slots=True)
class TokensByKind:
    """The tokens of a view, by where its messages come from."""

    recall: Annotated[int, Field(description="Tokens of memories.")] = 0
    history: Annotated[int, Field(description="Tokens of history.")] = 0
    summary: Annotated[int, Field(description="Tokens of the summary.")] = 0
    predefined: Annotated[int, Field(description="Tokens of predefined messages.")] = 0
    standing: Annotated[int, Field(description="Tokens of standing statements.")] = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Number of messages that a view left out for one reason."""

    reason: Annotated[str, Field(description="Why, such as `limit` or `summarised`.")]
    messages: Annotated[int, Field(description="Number of messages.")]


@dataclass(frozen=True, slots=True)
class GivenView:
    """The memory that a node's model was given, best memories first."""

    at: Annotated[datetime, Field(description="When the memory was read.")]
    query: Annotated[str | None, Field(description="What was looked for; null if nothing was.")]
    verdict: Annotated[
        Verdict,
        Field(
            description="What recall brought: `not_asked`, nothing was looked for; `nothing_found`; or by the "
            "best score `did_not_help`, `may_help` or `fits`."
        ),
    ]
    best_score: Annotated[float | None, Field(description="The best score of the memories; null without one.")]
    tokens: Annotated[TokensByKind, Field(description="Tokens of the view, by where they come from.")]
    total_tokens: Annotated[int, Field(description="Tokens of the view.")]
    budget: Annotated[int | None, Field(description="Maximum tokens of the view; null without a limit.")]
    memories: Annotated[list[GivenMemory], Field(description="The recalled memories, best first.")]
    left_out: Annotated[list[LeftOut], Field(description="Messages that the view left out, by reason.")]
    flags: Annotated[list[str], Field(description="What else there is to know, such as `gap` or `broken_link`.")]
    degraded: Annotated[
        list[str], Field(description="Parts that were unavailable, such as `recall`; the rest is complete.")
    ]


@dataclass(frozen=True, slots=True)
class NodeStory:
    """A node of a run: the memory that its model was given, and the text that it returned, if they were recorded."""

    node_id: NodeId
    given: Annotated[
        GivenView | None,
        Field(description="The memory that the model of the node received; null if none was recorded."),
    ]
    status: Annotated[
        str | None, Field(description="How the last recorded execution of the node ended; null without one.")
    ]
    answer: Annotated[str | None, Field(description="The text that it returned; null without one.")]


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run by both of its ids."""

    run_id: RunId
    external_id: ExternalId


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """A run from its question to the moment when searches find it."""

    run_id: RunId
    external_id: ExternalId
    flow_id: FlowId
    session_id: Annotated[str | None, Field(description="The session's id, chosen by the caller.")]
    end_user_id: EndUserId
    captured_at: Annotated[
        datetime | None, Field(description="When the run was captured; null if only its memory is recorded.")
    ]
    question: Annotated[str | None, Field(description="The text of its first user message; null without one.")]
    answer: Annotated[str | None, Field(description="The text of its last assistant message; null without one.")]
    nodes: Annotated[
        list[NodeStory], Field(description="The nodes whose memory or execution is recorded, in the order of time.")
    ]
    memories: Annotated[
        list[Ingestion], Field(description="Its messages in each memory base of the flow, oldest first.")
    ]
    previous: Annotated[
        RunRef | None, Field(description="The run of the session captured before it; null for the first.")
    ]
    next: Annotated[RunRef | None, Field(description="The run of the session captured after it; null for the last.")]


@dataclass(frozen=True, slots=True)
class MessageUse:
    """A run whose model was given a message: as part of the history, in a summary, or recalled."""

    run_id: Annotated[UUID, Field(description="The run: its UUID. It may not be captured.")]
    external_id: ExternalId
    session_id: Annotated[str | None, Field(description="The session of the run; null if it is unknown.")]
    node_id: Annotated[str, Field(description="The node whose model received it.")]
    kind: Annotated[
        Kind,
        Field(
            description="How it was given: as `history`, in a `summary`, by `recall`, as `standing` statement, or "
            "`predefined`."
        ),
    ]
    score: Annotated[float | None, Field(description="The score of the memory; null for other kinds.")]
    query: Annotated[str | None, Field(description="What was looked for; null if nothing was.")]
    at: Annotated[datetime, Field(description="When the memory was read.")]


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
        return view_of(
            RunStory,
            run,
            row,
            run_id=run.id,
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
    """A verdict on the recalled memories, by their best score. Memories without a score were recorded before scores
    were."""
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
    views = {use.node_id: (use, _given(use, messages, _edited(db, flow_id, use, messages))) for use in uses}
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


def _edited(db: OrmSession, flow_id: UUID, use: NodeUse, messages: Mapping[UUID, MessageView]) -> set[UUID]:
    """The recalled messages whose text is another one than the model was given."""
    recalled = (messages[each] for each in ids_in(_recalled(use.sources)) if each in messages)
    later = {each.id: each.content for each in recalled if each.edited_at is not None and each.edited_at > use.at}
    return message_changes.edited_since(db, flow_id, later, use.at)


def _given(use: NodeUse, messages: Mapping[UUID, MessageView], edited: Set[UUID]) -> GivenView:
    report, recalled = use.report, _recalled(use.sources)
    scores = {item["message_id"]: item["score"] for item in report.get("recalled") or ()}
    best = _best([source.get("score") for source in recalled])
    memories = [
        GivenMemory(each, scores.get(str(each)), each in edited, messages.get(each)) for each in ids_in(recalled)
    ]
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
