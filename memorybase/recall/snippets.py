"""What is shown of a found message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from memorybase.messages import message_text
from memorybase.models import Message
from memorybase.queries.recall import Held, Target
from memorybase.recall.stored import Candidate, collection_of
from memorybase.services import Services

SNIPPET_CHARS = 1_000


def snippets_of(
    services: Services,
    chosen: Sequence[Candidate],
    messages: Mapping[UUID, Message],
    held: Mapping[Target, Mapping[UUID, Held]],
) -> list[str]:
    """The chunk that matched. Only for one of several chunks the store is asked: a message's only chunk is its text."""
    wanted: dict[Target, list[str]] = {}
    for each in chosen:
        if each.text is None and not _is_whole(each, held):
            wanted.setdefault(each.target, []).append(each.chunk_id)
    stored = {
        id_: record.text
        for target, ids in wanted.items()
        for id_, record in services.vectors.fetch(collection_of(target), ids).items()
    }
    snippets: list[str] = []
    for each in chosen:
        whole = message_text(messages[each.message_id].content)
        chunk = each.text
        if chunk is None:
            chunk = whole.strip() if _is_whole(each, held) else stored.get(each.chunk_id)
        snippets.append(chunk or whole[:SNIPPET_CHARS])
    return snippets


def _is_whole(candidate: Candidate, held: Mapping[Target, Mapping[UUID, Held]]) -> bool:
    stored = held[candidate.target].get(candidate.message_id)
    return stored is not None and (stored.version, stored.chunks, candidate.chunk) == (candidate.version, 1, 0)
