"""Scores the best fused candidates again with a model that reads query and text together.

Off unless a model is set: models trained on web searches make results worse on conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from memorybase.messages import message_text
from memorybase.queries import search as search_queries
from memorybase.search import pins
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
    """The best candidates with the reranker's score instead of the fused one. Age counts as before.

    The others are left out, because their scores would not compare. Raises ModelUnavailable.
    """
    best: dict[UUID, Candidate] = {}
    for candidate in pins.ordered(request, candidates):
        best.setdefault(candidate.message_id, candidate)
    chosen = list(best.values())[: max(RERANKED, request.top_k)]
    if not chosen:
        return []
    texts = _texts(services, chosen)
    readable = [candidate for candidate in chosen if candidate.message_id in texts]
    scores = reranker.scores(request.query, [texts[candidate.message_id] for candidate in readable])
    scored = [
        candidate._replace(score=round(float(score) * candidate.recency, SCORE_DIGITS), reranked=float(score))
        for candidate, score in zip(readable, scores, strict=True)
    ]
    return [candidate for candidate in scored if candidate.score >= (request.min_score or 0)]


def _texts(services: Services, chosen: Sequence[Candidate]) -> dict[UUID, str]:
    """The text of each message to score: the chunk that its vector found, else its beginning."""
    without_text = [candidate.message_id for candidate in chosen if not candidate.text]
    with services.database.reading(on_replica=True) as db:
        messages = search_queries.fetch_messages(db, chosen[0].target.flow_id, without_text) if without_text else {}
    beginnings = {id_: message_text(message.content)[:CHARS] for id_, message in messages.items()}
    return beginnings | {candidate.message_id: candidate.text for candidate in chosen if candidate.text}
