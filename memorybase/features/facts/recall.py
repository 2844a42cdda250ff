"""The facts that are about a question, found next to a search of messages.

A fact's score says how much its vector and its words share with the question, not how sure the fact is: facts are
derived, and their sources are named so that they can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.core import errors
from memorybase.core.keyword_index.analyzer import Analyzer, analyzer
from memorybase.core.queries import memory_bases
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.search import cut_query
from memorybase.features.facts.models import Fact
from memorybase.features.facts.queries import facts as fact_rows

log = get_logger(__name__)

CANDIDATES = 2_000  # the latest facts within the filters: each is compared, which takes some 50 ms
BY_VECTOR, BY_WORDS = 0.6, 0.4
MAX_FACTS = 20  # next to a search's messages, and in a context
MIN_SCORE = 0.25  # below it a fact is not about the question


@dataclass(frozen=True, slots=True, kw_only=True)
class FactHit:
    """A fact about a question, and the messages that it rests on."""

    fact_id: UUID
    memory_base_id: UUID
    session_id: str
    who: str
    what: str
    when: str | None
    said_at: datetime
    score: float
    source_message_ids: list[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactQuery:
    """A question about facts, and the scope: `session_id` and `end_user_id` as in a search."""

    query: str
    base_ids: Sequence[UUID]
    session_id: str | None = None
    end_user_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    top_k: int = 5


def recall(services: Services, query: FactQuery) -> list[FactHit]:
    """The best facts, best first. The caller has checked that the memory bases are the user's."""
    if not query.base_ids or not query.top_k:
        return []
    with services.database.reading() as db:
        facts = fact_rows.recallable(
            db,
            query.base_ids,
            session_id=query.session_id,
            end_user_id=query.end_user_id,
            since=query.since,
            until=query.until,
            as_of=query.as_of,
            limit=CANDIDATES,
        )
        base = memory_bases.fetch_any_base(db, query.base_ids[0]) if facts else None
        model = None if base is None else memory_bases.fetch_generation(db, base.id, base.serving).embedding_model
    if not facts:
        return []
    question = cut_query(query.query)
    scores = _scores(facts, question, *_question(services, question, model), analyzer(_language(services)))
    best = sorted(range(len(facts)), key=lambda index: (-scores[index], facts[index].id))[: query.top_k]
    chosen = [(facts[index], scores[index]) for index in best if scores[index] >= MIN_SCORE]
    with services.database.reading() as db:
        sources = fact_rows.sources_of(db, [fact.id for fact, _ in chosen])
    return [
        FactHit(
            fact_id=fact.id,
            memory_base_id=fact.memory_base_id,
            session_id=fact.session_id,
            who=fact.who,
            what=fact.what,
            when=fact.when_text,
            said_at=fact.said_at,
            score=round(score, 4),
            source_message_ids=[each.message_id for each in sources if each.fact_id == fact.id],
        )
        for fact, score in chosen
    ]


def _language(services: Services) -> str:
    return services.settings.keyword_language


def _question(services: Services, query: str, model: str | None) -> tuple[NDArray[np.float32] | None, str | None]:
    """The question's vector and its embedder; None without the model: then words decide alone."""
    try:
        embedder = services.embedders.get(model)
        return embedder.embed_query(query), embedder.identity
    except (errors.EnvironmentFailure, errors.MessageFailure) as error:
        log.warning("fact_recall_degraded", error_code=error.code)
        return None, None


def _scores(
    facts: Sequence[Fact], query: str, vector: NDArray[np.float32] | None, embedder: str | None, words: Analyzer
) -> list[float]:
    asked = set(words.terms(query))
    scores = []
    for fact in facts:
        shared = len(asked.intersection(words.terms(f"{fact.who} {fact.what}"))) / len(asked) if asked else 0.0
        if vector is None or fact.vector is None or fact.embedder != embedder:
            scores.append(shared)
        else:
            near = max(0.0, float(vector @ np.frombuffer(fact.vector, dtype=np.float32)))
            scores.append(BY_VECTOR * near + BY_WORDS * shared)
    return scores
