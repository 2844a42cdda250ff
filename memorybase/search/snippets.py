"""What is shown of a found message: the passage that matched, and its place in the message's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from memorybase.keyword_index.analyzer import analyzer
from memorybase.messages import message_text
from memorybase.models import Message
from memorybase.search.passages import Reader, Span, rarities
from memorybase.search.queries import Held, Target
from memorybase.search.request import SearchRequest
from memorybase.search.stored_candidates import Candidate, collection_of
from memorybase.services import Services

SNIPPET_CHARS = 600  # at most


class Snippet(NamedTuple):
    """`text` is what stands from the character `start` up to `end` of the message's text."""

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
    """The best passage of each message, near the chunk that matched: whole sentences with the query's words."""
    texts = [message_text(messages[each.message_id].content) for each in chosen]
    chunks = _chunks(services, chosen, texts, held)
    positions = [position_of(text, chunk) for text, chunk in zip(texts, chunks, strict=True)]
    if not request.passages:
        return [_whole(text, position) for text, position in zip(texts, positions, strict=True)]
    words = analyzer(services.settings.keyword_language)
    terms = list(dict.fromkeys(words.terms(request.query)))
    readers = [
        Reader(text, terms, words, max_chars=SNIPPET_CHARS, near=position)
        for text, position in zip(texts, positions, strict=True)
    ]
    weights = rarities(terms, [reader.terms for reader in readers])
    found: list[Snippet] = []
    for text, reader in zip(texts, readers, strict=True):
        passage = reader.take(weights)
        found.append(Snippet("", 0, 0) if passage is None else Snippet(passage.of(text), passage.start, passage.end))
    return found


def _whole(text: str, position: Span | None) -> Snippet:
    start, end = position or Span(0, len(text))
    return Snippet(text[start:end], start, end)


def position_of(text: str, chunk: str | None) -> Span | None:
    """Where the chunk stands in the message's text; None where that is not known."""
    start = text.find(chunk) if chunk else -1
    return Span(start, start + len(chunk or "")) if start >= 0 else None


def _chunks(
    services: Services,
    chosen: Sequence[Candidate],
    texts: Sequence[str],
    held: Mapping[Target, Mapping[UUID, Held]],
) -> list[str | None]:
    """The chunk that matched of each message that is longer than a passage. The store is asked for those."""
    wanted: dict[Target, list[str]] = {}
    for each, text in zip(chosen, texts, strict=True):
        if each.text is None and len(text) > SNIPPET_CHARS and not _is_whole(each, held):
            wanted.setdefault(each.target, []).append(each.chunk_id)
    stored = {
        id_: record.text
        for target, ids in wanted.items()
        for id_, record in services.vectors.fetch(collection_of(target), ids).items()
    }
    return [each.text or stored.get(each.chunk_id) for each in chosen]


def _is_whole(candidate: Candidate, held: Mapping[Target, Mapping[UUID, Held]]) -> bool:
    """Whether its only chunk is the whole text."""
    stored = held[candidate.target].get(candidate.message_id)
    return stored is not None and (stored.version, stored.chunks, candidate.chunk) == (candidate.version, 1, 0)
