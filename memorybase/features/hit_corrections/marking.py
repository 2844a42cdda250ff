"""Marks the hits of a search that a later message corrects, and ranks the later one before the earlier one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
from cachetools import LRUCache, cached

from memorybase.core import errors, telemetry, tracing
from memorybase.core.embedding.endpoint import PREFIX as AT_AN_ENDPOINT
from memorybase.core.embedding.probe import PAIRS
from memorybase.core.extension import Comparison
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.messages import message_text
from memorybase.core.queries.search import Target
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.hits import CorrectionOf, Hit
from memorybase.core.search.query_parser import Question
from memorybase.core.search.request import SearchRequest
from memorybase.core.services import Services
from memorybase.features.hit_corrections import pairs
from memorybase.features.hit_corrections.pairs import COMPARED, Correction, Said, Sought

if TYPE_CHECKING:
    from memorybase.core.embedding import Embedder

log = telemetry.get_logger(__name__)

PEOPLE = "user"  # whose messages are compared: an assistant repeats what it is told
# A later value further down is seldom of the same thing, even if the sentences are alike.
PLACES = 5
MODELS = 16  # whose cosine of unrelated texts is kept

NOTHING = Sought(frozenset())


def comparison(services: Services, request: SearchRequest) -> Comparison | None:
    """How the hits of this search are compared; None if later messages correct nothing that it asks for."""
    sought = sought_by(services, request)
    return Comparison(widened(request), partial(corrected, services, request, sought)) if sought else None


def sought_by(services: Services, request: SearchRequest) -> Sought:
    """The values that later messages can correct for this request; none outside of hybrid search, or if it is turned
    off."""
    if request.mode != "hybrid" or request.corrections is False:
        return NOTHING
    return pairs.sought_by(request.query, analyzer(services.settings.keyword_language))


def widened(request: SearchRequest) -> SearchRequest:
    """The request with enough results for comparison: a correction may itself have a low score."""
    return replace(request, top_k=max(request.top_k, COMPARED), min_score=None)


def corrected(
    services: Services,
    request: SearchRequest,
    sought: Sought,
    question: Question,
    chosen: Sequence[Candidate],
    hits: Sequence[Hit],
) -> list[Hit]:
    """The hits of a widened request with their corrections, narrowed to what was requested; `chosen` are their
    candidates.

    If the model fails only now, the hits are returned without corrections.
    """
    end_users = {each.message_id: each.features.end_user_id for each in chosen}
    messages = [_said(hit, number, end_users.get(hit.message_id)) for number, hit in enumerate(hits[:COMPARED])]
    found = _corrections(services, request, question, chosen[0].target, sought, messages)
    marked = _marked(hits, found)
    return [hit for hit in _ordered(marked, hits, found) if hit.score >= (request.min_score or 0)][: request.top_k]


def _corrections(
    services: Services,
    request: SearchRequest,
    question: Question,
    target: Target,
    sought: Sought,
    messages: Sequence[Said],
) -> list[Correction]:
    if request.corrections is None and target.embedding_model.startswith(AT_AN_ENDPOINT):
        return []  # a further request, which costs money and time
    stated = pairs.stated(messages, request.query, sought, question.analyzer)
    if not stated:
        return []
    try:
        with tracing.span("compare_statements"):
            embedder = services.embedders.get(target.embedding_model)
            likeness = Likeness(embedder, [request.query, *(each.text for each in stated)])
    except (errors.EnvironmentFailure, errors.MessageFailure) as error:
        log.warning("corrections_skipped", error_code=error.code)
        return []
    return pairs.find(messages, stated, request.query, likeness.of, question.analyzer)


def _said(hit: Hit, number: int, end_user_id: str | None) -> Said:
    # An assistant's message has a unique speaker, so that nothing compares with it.
    speaker = (end_user_id, hit.sender_name) if hit.role == PEOPLE else number
    return Said(speaker, (hit.timestamp, hit.seq), message_text(hit.content))


def _marked(hits: Sequence[Hit], found: Iterable[Correction]) -> dict[UUID, Hit]:
    """The hits by id: each with the best hit that it corrects, and the latest that corrects it.

    A hit whose value returned has a later one in its place, which says nothing else.
    """
    marked = {hit.message_id: hit for hit in hits}
    superseded: set[UUID] = set()
    by_rank = sorted(found, key=lambda each: each.older)
    for each in sorted(by_rank, key=lambda each: (hits[each.newer].timestamp, hits[each.newer].seq), reverse=True):
        older, newer = (marked[hits[number].message_id] for number in (each.older, each.newer))
        if older.message_id not in superseded:
            superseded.add(older.message_id)
            older = replace(
                older,
                corrected_by=None if each.is_return else CorrectionOf(newer.message_id, each.kind, each.was, each.now),
                superseded_by=None if each.kind == "denial" else newer.message_id,
            )
        if newer.corrects is None and not each.is_return:
            newer = replace(newer, corrects=CorrectionOf(older.message_id, each.kind, each.was, each.now))
        marked |= {older.message_id: older, newer.message_id: newer}
    return marked


def _ordered(marked: dict[UUID, Hit], hits: Sequence[Hit], found: Iterable[Correction]) -> list[Hit]:
    """The hits, a later value directly before the earlier one and with its score. Denials,
    pins and exact matches leave the order."""
    order = [hit.message_id for hit in hits]
    for each in sorted(found, key=lambda each: (each.older, each.newer)):
        older, newer = hits[each.older].message_id, hits[each.newer].message_id
        is_near = each.older < each.newer and (each.kind == "statement" or each.newer <= each.older + PLACES)
        stays = any(hit.exact_match or hit.reply_to for hit in (marked[older], marked[newer]))
        moves = each.kind != "denial" and is_near and not marked[older].pinned and not stays
        if moves and order.index(newer) > order.index(older):
            order.remove(newer)
            order.insert(order.index(older), newer)
            marked[newer] = _raised(marked[newer], marked[older])
    return [marked[message_id] for message_id in order]


def _raised(hit: Hit, older: Hit) -> Hit:
    """The hit with the score of the earlier one, and among the parts its own and whose place it took."""
    parts = None if hit.parts is None else {"own_score": hit.score, **hit.parts, "place_of": older.message_id}
    return replace(hit, score=max(hit.score, older.score), parts=parts)


class Likeness:
    """The likeness of each pair of these texts: 1 for the same text, about 0 for unrelated ones.

    The cosine of unrelated texts is .0 with some models and .75 with others, so it is measured once for each model.
    Raises what the embedder raises.
    """

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        self._rows = {text: row for row, text in enumerate(distinct)}
        vectors = embedder.embed(distinct)
        unrelated = _cosine_of_unrelated(embedder)
        self._matrix = (vectors @ vectors.T - unrelated) / (1.0 - unrelated)

    def of(self, one: str, other: str) -> float:
        return float(self._matrix[self._rows[one], self._rows[other]])


@cached(LRUCache(MODELS), condition=threading.Condition())
def _cosine_of_unrelated(embedder: Embedder) -> float:
    vectors = embedder.embed([passage for _, passage in PAIRS])
    cosines = vectors @ vectors.T
    return float(cosines[~np.eye(len(cosines), dtype=bool)].mean())
