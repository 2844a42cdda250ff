"""Hits: the chosen messages as they are, or were on a date, each with the passage that matched and the turns around
it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.described import MemoryBaseId, MessageId, RunId, SenderName, Seq, SessionId, SpeakerRole, WrittenAt
from memorybase.core.messages import message_text
from memorybase.core.queries import message_changes
from memorybase.core.queries import search as search_queries
from memorybase.core.queries.search import FoundMessage, Neighbour, Target
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.corrections import Kind
from memorybase.core.search.exact_matches import Extent
from memorybase.core.search.passages import PassageTerms, Reader, Span, rarities
from memorybase.core.search.request import MAX_SNIPPET_CHARS, SearchRequest
from memorybase.core.services import Services
from memorybase.core.vectors.search import SCORE_DIGITS


@dataclass(frozen=True, slots=True)
class CorrectionOf:
    """The other message of a correction, with both values as they were written; a denial has none. Of kind "statement"
    the values are both sentences."""

    message_id: MessageId
    kind: Annotated[
        Kind | Literal["statement", "denial"],
        Field(
            description="What the two messages differ in: a `date`, `time`, `percent`, `number` or `name`; "
            "`statement`, if the later one says in other words that something changed; or `denial`, "
            "if one denies what the other claims."
        ),
    ]
    was: Annotated[
        str | None,
        Field(
            description="The value of the earlier message, as it was written, or its sentence for a `statement`; "
            "null for a denial."
        ),
    ]
    now: Annotated[
        str | None,
        Field(
            description="The value of the later message, as it was written, or its sentence for a `statement`; "
            "null for a denial."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message."""

    message_id: MessageId
    memory_base_id: MemoryBaseId
    session_id: SessionId
    run_id: RunId
    seq: Seq
    role: SpeakerRole
    sender_name: SenderName
    content: Annotated[Any, Field(description="The content of the message.")]
    snippet: Annotated[str, Field(description="The matching passage: whole sentences, of `snippet_chars` at most.")]
    snippet_start: Annotated[int, Field(description="Where the passage begins in the message's text, in characters.")]
    snippet_end: Annotated[int, Field(description="Where the passage ends.")]
    timestamp: WrittenAt
    score: Annotated[float, Field(description="From 0 to 1, higher is better; null if nothing was searched.")]
    pending: Annotated[bool, Field(description="Whether the message, or its newest version, is not ingested yet.")]
    metadata: Annotated[dict[str, Any], Field(description="The metadata of the message.")]
    before: Annotated[
        list[dict[str, Any]], Field(description="The turns before the message, in conversation order; see `neighbors`.")
    ] = field(default_factory=list)
    after: Annotated[list[dict[str, Any]], Field(description="The turns after the message, in conversation order.")] = (
        field(default_factory=list)
    )
    parts: Annotated[
        dict[str, Any] | None, Field(description="How the score was computed; null unless `explain` was set.")
    ] = None
    alike: Annotated[
        int,
        Field(
            description="Number of other messages with the same text that are folded into this result, with "
            "`fold_alike`."
        ),
    ] = 0
    pinned: Annotated[bool, Field(description="Whether the message is pinned: it comes first if it is relevant.")] = (
        False
    )
    exact_match: Annotated[
        Extent | None,
        Field(
            description="`whole` if the message has the text of the query, `part` if one of the two contains the "
            "other's text. Up to three of them come first, whatever their score, in a search without `min_score`; null "
            "in others, and in mode `dense`."
        ),
    ] = None
    reply_to: Annotated[
        UUID | None,
        Field(
            description="The result with an `exact_match` that this message replies to: it comes directly behind it."
        ),
    ] = None
    corrects: Annotated[
        CorrectionOf | None,
        Field(
            description="An earlier message that says something else about what the query asks for: this result "
            "is the later one."
        ),
    ] = None
    corrected_by: Annotated[
        CorrectionOf | None,
        Field(description="A later message that says something else about what the query asks for."),
    ] = None
    superseded_by: Annotated[
        UUID | None,
        Field(
            description="The later message that holds in place of this one: that of `corrected_by`, unless it is "
            "a denial, or the one that states the value of this one again after it had changed; null for most results."
        ),
    ] = None


class Snippet(NamedTuple):
    """A passage: `text` is the message's text from `start` up to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that hits show, read in the snapshot in which their candidates were chosen."""

    messages: Mapping[UUID, FoundMessage]
    turns: Sequence[Neighbour]

    def contents(self, ids: Collection[UUID]) -> dict[UUID, Any]:
        return {id_: self.messages[id_].content for id_ in ids if id_ in self.messages}


NO_ROWS = Rows({}, ())


def read_rows(db: OrmSession, request: SearchRequest, chosen: Sequence[Candidate]) -> Rows:
    """The rows of these messages of one flow, and of their neighbors."""
    if not chosen:
        return NO_ROWS
    by_target: dict[Target, list[UUID]] = {}
    for candidate in chosen:
        by_target.setdefault(candidate.target, []).append(candidate.message_id)
    messages: dict[UUID, FoundMessage] = {}
    for target, ids in by_target.items():
        messages |= search_queries.fetch_found(db, target, ids)
    positions = [(m.session_id, m.seq) for m in messages.values()] if request.neighbors else []
    flow_id = chosen[0].target.flow_id
    then = _former_contents(db, flow_id, messages, request)
    messages |= {id_: messages[id_]._replace(content=content) for id_, content in then.items()}
    return Rows(messages, _neighbors(db, flow_id, positions, request))


def read_contents(db: OrmSession, flow_id: UUID, request: SearchRequest, ids: Collection[UUID]) -> dict[UUID, Any]:
    """What these messages of the flow say, without muted ones."""
    found = search_queries.fetch_contents(db, flow_id, ids)
    return found | _former_contents(db, flow_id, found, request)


def _former_contents(db: OrmSession, flow_id: UUID, ids: Collection[UUID], request: SearchRequest) -> dict[UUID, Any]:
    return {} if request.as_of is None else message_changes.former_contents(db, flow_id, ids, request.as_of)


def _neighbors(
    db: OrmSession, flow_id: UUID, positions: Sequence[tuple[str, int]], request: SearchRequest
) -> list[Neighbour]:
    found = search_queries.neighbours(db, flow_id, positions, count=request.neighbors)
    turns = [
        turn
        for turn in found
        if turn.id not in request.exclude_message_ids and (request.as_of is None or turn.timestamp <= request.as_of)
    ]
    then = _former_contents(db, flow_id, [turn.id for turn in turns], request)
    return [turn._replace(content=then[turn.id]) if turn.id in then else turn for turn in turns]


def hits_of(
    services: Services, request: SearchRequest, sought: PassageTerms, chosen: Sequence[Candidate], rows: Rows
) -> list[Hit]:
    """The hits of these candidates, without messages that were edited or deleted since their verification."""
    current = [
        candidate
        for candidate in chosen
        if (message := rows.messages.get(candidate.message_id)) is not None
        and message.version == candidate.features.version
    ]
    snippets = _snippets(services, request, sought, current, rows.messages)
    around = _turns_by_message(rows.turns, request)
    return [
        _hit(candidate, rows.messages[candidate.message_id], snippet, around, explain=request.explain)
        for candidate, snippet in zip(current, snippets, strict=True)
    ]


def _hit(
    candidate: Candidate,
    message: FoundMessage,
    snippet: Snippet,
    around: Callable[[FoundMessage | Hit], tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    *,
    explain: bool,
) -> Hit:
    before, after = around(message)
    return Hit(
        message_id=message.id,
        memory_base_id=candidate.target.memory_base_id,
        session_id=message.session_id,
        run_id=message.run_id,
        seq=message.seq,
        role=message.role,
        sender_name=message.sender_name,
        content=message.content,
        snippet=snippet.text,
        snippet_start=snippet.start,
        snippet_end=snippet.end,
        timestamp=message.timestamp,
        score=candidate.score,
        pending=message.chunks is None,
        metadata=message.metadata,
        before=before,
        after=after,
        parts=_parts(candidate) if explain else None,
        alike=candidate.alike,
        pinned=message.pinned,
        exact_match=None if candidate.lead is None else candidate.lead.exact_match,
        reply_to=None if candidate.lead is None else candidate.lead.reply_to,
    )


def _parts(candidate: Candidate) -> dict[str, Any]:
    """The parts of the score: the cosine alone, or each signal's value and share of the sum before the logistic."""
    match: dict[str, Any] = {"chunk": candidate.chunk, "source": candidate.source}
    if candidate.values is None or candidate.weights is None:
        return {"dense": candidate.score if candidate.cosine is None else candidate.cosine, **match}
    shares = candidate.weights.shares(candidate.values)
    signals = {
        name: {"value": round(value, SCORE_DIGITS), "share": round(shares[name], SCORE_DIGITS)}
        for name, value in candidate.values.items()
    }
    parts = {
        "signals": signals,
        "bias": round(candidate.bias, SCORE_DIGITS),
        "weights": "tuned" if candidate.weights.tuned else "default",
        "weight_set": candidate.weights.name,
        "recency": candidate.recency,
        "evidence": None if candidate.evidence is None else round(candidate.evidence, SCORE_DIGITS),
        **match,
    }
    moved = {
        "own_score": candidate.own_score,
        "echo_of": candidate.echo_of,
        "non_answer": candidate.is_non_answer or None,
        "lacks_name": candidate.lacks_name or None,
    }
    parts |= {name: value for name, value in moved.items() if value is not None}
    return parts if candidate.reranked is None else {"reranker": round(candidate.reranked, SCORE_DIGITS), **parts}


def _turns_by_message(
    turns: Sequence[Neighbour], request: SearchRequest
) -> Callable[[FoundMessage | Hit], tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """A function that returns a message's nearest turns before and after it, in conversation order."""
    by_session: dict[str, list[Neighbour]] = {}
    for turn in turns:
        by_session.setdefault(turn.session_id, []).append(turn)

    def around(message: FoundMessage | Hit) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        session = by_session.get(message.session_id, [])
        before = [turn for turn in session if turn.seq < message.seq][-request.neighbors :] if request.neighbors else []
        after = [turn for turn in session if turn.seq > message.seq][: request.neighbors]
        return [_as_dict(turn) for turn in before], [_as_dict(turn) for turn in after]

    return around


def _as_dict(turn: Neighbour) -> dict[str, Any]:
    return {
        "message_id": turn.id,
        "run_id": turn.run_id,
        "seq": turn.seq,
        "role": turn.role,
        "sender_name": turn.sender_name,
        "content": turn.content,
        "timestamp": turn.timestamp,
    }


def turns_around(
    services: Services, flow_id: UUID, hits: Sequence[Hit], request: SearchRequest
) -> list[tuple[Hit, list[dict[str, Any]]]]:
    """The `request.neighbors` turns before and after each hit, nearest first; on ties the later turn, because an answer
    follows its question."""
    with services.database.reading(on_replica=True) as db:
        turns = _neighbors(db, flow_id, [(hit.session_id, hit.seq) for hit in hits], request)
    around = _turns_by_message(turns, request)
    return [
        (hit, sorted(itertools.chain(*around(hit)), key=lambda turn: (abs(turn["seq"] - hit.seq), -turn["seq"])))
        for hit in hits
    ]


def _snippets(
    services: Services,
    request: SearchRequest,
    sought: PassageTerms,
    chosen: Sequence[Candidate],
    messages: Mapping[UUID, FoundMessage],
) -> list[Snippet]:
    """The best passage of each message: whole sentences with the sought terms, preferably from the matched chunk."""
    texts = [message_text(messages[candidate.message_id].content) for candidate in chosen]
    chunks = _chunks(services, chosen, texts, messages)
    positions = [
        candidate.passage or position_of(text, chunk)
        for candidate, text, chunk in zip(chosen, texts, chunks, strict=True)
    ]
    if not request.passages:
        return [_span_snippet(text, position) for text, position in zip(texts, positions, strict=True)]
    readers = [
        Reader(text, sought, max_chars=request.snippet_chars, matched=position)
        for text, position in zip(texts, positions, strict=True)
    ]
    weights = rarities(sought.terms, [reader.terms for reader in readers])
    snippets: list[Snippet] = []
    for text, reader in zip(texts, readers, strict=True):
        passage = reader.next_passage(weights)
        snippets.append(Snippet("", 0, 0) if passage is None else Snippet(passage.of(text), passage.start, passage.end))
    return snippets


def _span_snippet(text: str, position: Span | None) -> Snippet:
    start, end = position or Span(0, len(text))
    return Snippet(text[start:end], start, end)


def position_of(text: str, chunk: str | None) -> Span | None:
    """The chunk's position in the message's text; None if it is not known."""
    start = text.find(chunk) if chunk else -1
    return Span(start, start + len(chunk or "")) if start >= 0 else None


def _chunks(
    services: Services,
    chosen: Sequence[Candidate],
    texts: Sequence[str],
    messages: Mapping[UUID, FoundMessage],
) -> list[str | None]:
    """The chunk that matched of each message longer than any snippet, read from the store."""
    chunk_ids: dict[Target, list[str]] = {}
    for candidate, text in zip(chosen, texts, strict=True):
        is_known = candidate.text is not None or candidate.passage is not None
        if not is_known and len(text) > MAX_SNIPPET_CHARS and not _is_only_chunk(candidate, messages):
            chunk_ids.setdefault(candidate.target, []).append(candidate.chunk_id)
    stored = {
        id_: record.text
        for target, ids in chunk_ids.items()
        for id_, record in services.vectors.fetch(target.collection, ids).items()
    }
    return [candidate.text or stored.get(candidate.chunk_id) for candidate in chosen]


def _is_only_chunk(candidate: Candidate, messages: Mapping[UUID, FoundMessage]) -> bool:
    """Whether the message has one chunk, so that the chunk is the full text."""
    return (messages[candidate.message_id].chunks, candidate.chunk) == (1, 0)
