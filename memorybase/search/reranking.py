"""The best of the fused candidates, scored again by a model that reads query and text together.

Off unless a model is set: one that was trained on web searches makes results worse on conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from memorybase.messages import message_text
from memorybase.search import queries
from memorybase.search.request import SearchRequest
from memorybase.search.stored_candidates import Candidate
from memorybase.services import Services
from memorybase.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.embedding import Reranker

RERANKED = 50  # messages: the search waits while the model reads each of them
CHARS = 2_000  # of a message; more than these models read


def rerank(
    services: Services, reranker: Reranker, request: SearchRequest, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """The best candidates with the reranker's score in place of the fused one; the others are left out.

    Their scores would not mean the same. Age counts as before. Raises ModelUnavailable.
    """
    best: dict[UUID, Candidate] = {}
    for each in sorted(candidates, key=lambda candidate: candidate.order):
        best.setdefault(each.message_id, each)
    chosen = list(best.values())[: max(RERANKED, request.top_k)]
    if not chosen:
        return []
    read = _texts(services, chosen)
    there = [each for each in chosen if each.message_id in read]
    scores = reranker.scores(request.query, [read[each.message_id] for each in there])
    scored = [
        each._replace(score=round(float(score) * each.recency, SCORE_DIGITS), reranked=float(score))
        for each, score in zip(there, scores, strict=True)
    ]
    return [each for each in scored if each.score >= (request.min_score or 0)]


def _texts(services: Services, chosen: Sequence[Candidate]) -> dict[UUID, str]:
    """What of each message is read: the chunk that its vector found, else its beginning."""
    unread = [each.message_id for each in chosen if not each.text]
    with services.database.reading() as db:
        messages = queries.fetch_messages(db, chosen[0].target.flow_id, unread) if unread else {}
    beginnings = {id_: message_text(message.content)[:CHARS] for id_, message in messages.items()}
    return beginnings | {each.message_id: each.text for each in chosen if each.text}
