"""The passage of each hit that matched, and its position in the message's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from memorybase.keyword_index.analyzer import analyzer
from memorybase.messages import message_text
from memorybase.models import Message
from memorybase.queries.search import Held, Target
from memorybase.search.passages import Reader, Span, rarities
from memorybase.search.request import SearchRequest
from memorybase.search.stored_candidates import Candidate, collection_of
from memorybase.services import Services

SNIPPET_CHARS = 600  # at most


class Snippet(NamedTuple):
    """A passage: `text` is the message's text from `start` up to `end`."""

    text: str
    start: int
    end: int


def snippets_of(
    services: Services,
    request: SearchRequest,
    chosen: Sequence[Candidate],
    messages: Mapping[UUID, Message],
    held: Mapping[Target, Mapping[UUID, Held]],
) -> list[Snippet]:
    """The best passage of each message: whole sentences with the query's terms, preferably from the matched chunk."""
    texts = [message_text(messages[candidate.message_id].content) for candidate in chosen]
    chunks = _chunks(services, chosen, texts, held)
    positions = [position_of(text, chunk) for text, chunk in zip(texts, chunks, strict=True)]
    if not request.passages:
        return [_span_snippet(text, position) for text, position in zip(texts, positions, strict=True)]
    stemmer = analyzer(services.settings.keyword_language).of(request.query)
    terms = stemmer.asked(request.query).terms
    readers = [
        Reader(text, terms, stemmer, max_chars=SNIPPET_CHARS, matched=position)
        for text, position in zip(texts, positions, strict=True)
    ]
    weights = rarities(terms, [reader.terms for reader in readers])
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
    held: Mapping[Target, Mapping[UUID, Held]],
) -> list[str | None]:
    """The chunk that matched of each message longer than a snippet, read from the store."""
    chunk_ids: dict[Target, list[str]] = {}
    for candidate, text in zip(chosen, texts, strict=True):
        if candidate.text is None and len(text) > SNIPPET_CHARS and not _is_only_chunk(candidate, held):
            chunk_ids.setdefault(candidate.target, []).append(candidate.chunk_id)
    stored = {
        id_: record.text
        for target, ids in chunk_ids.items()
        for id_, record in services.vectors.fetch(collection_of(target), ids).items()
    }
    return [candidate.text or stored.get(candidate.chunk_id) for candidate in chosen]


def _is_only_chunk(candidate: Candidate, held: Mapping[Target, Mapping[UUID, Held]]) -> bool:
    """Whether the message has one chunk, so that the chunk is the full text."""
    stored = held[candidate.target].get(candidate.message_id)
    return stored is not None and (stored.version, stored.chunks, candidate.chunk) == (candidate.version, 1, 0)
