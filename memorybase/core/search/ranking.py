"""Ranks candidates: one score from all their signals, then an order with exact matches and pinned messages first,
repetitions below what they repeat, and alike ones folded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from memorybase.core.messages import message_text
from memorybase.core.queries.search import Target
from memorybase.core.search import bands, demotion, exact_matches, scoring, signals
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.demotion import Contents, normalized
from memorybase.core.search.query_parser import Question
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.signals import Signals
from memorybase.core.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.core.embedding import Reranker

RERANKED = 50  # messages: the search waits while the model reads each of them
RERANKED_CHARS = 2_000  # of a message; more than these models read
NON_ANSWER = 0.02  # the factor of a reranked non-answer
FOLDED = 128  # of the best candidates; others are not counted
# In mode dense the cosine loses this much each time the length grows e-fold above 40 terms; .08 to .10 do equally well.
LENGTH_COST = 0.08
SAME_SESSION_COST = 0.5  # log-odds that a candidate loses for each one of its session that is chosen already
_SMALLEST = 1e-7


def weights_for(request: SearchRequest, target: Target) -> scoring.Weights:
    """The memory base's own weights unless the request wants the default ones, times the request's factors."""
    weights = scoring.DEFAULT
    if not request.default_weights:
        weights = scoring.weights_of(target.search_weights, weights.name)
    return weights if request.weights is None else request.weights.applied(weights)


def score(
    request: SearchRequest, question: Question, candidates: Sequence[Candidate], read: Signals | None
) -> list[Candidate]:
    """The candidates of one target with their fused scores, and the signals' values if the request explains; weak ones
    too, since an answer may repeat one."""
    if read is None:
        return []
    target, columns = candidates[0].target, read.columns
    weights = weights_for(request, target)
    shares, bias = weights.scores(columns)
    half_life = request.half_life_days
    if half_life is None and not request.default_weights:
        half_life = scoring.half_life_of(target.search_weights)
    recency = np.array([_recency(half_life, each.features.timestamp, question.asked_at) for each in candidates])
    evidence, recallable = _evidence(request, question, read, scoring.DEFAULT.sums(columns))
    shares = shares * recency
    scores = shares if evidence is None else scoring.scores_of(shares, evidence, read, recallable)
    return [
        candidate._replace(
            score=round(float(scores[index]), SCORE_DIGITS),
            values={name: float(column[index]) for name, column in columns.items()} if request.explain else None,
            bias=bias,
            weights=weights,
            recency=float(recency[index]),
            evidence=evidence,
            coverage=float(read.covered[index]),
            is_non_answer=index in read.non_answers,
            lacks_name=recallable is not None and not recallable[index],
            other_terms=float(read.other_terms[index]),
        )
        for index, candidate in enumerate(candidates)
    ]


def _evidence(
    request: SearchRequest, question: Question, read: Signals, sums: scoring.Floats
) -> tuple[float | None, scoring.Mask | None]:
    """The chance that the store answers the question, by the `sums` of the default weights: it was fitted on these. And
    the candidates that may be recalled, if not all.

    None in mode keyword: words alone do not tell, except for small talk.
    """
    if question.is_small_talk:
        return scoring.LEAST_EVIDENCE, None
    if request.mode == "keyword":
        return None, None
    evidence = scoring.EVIDENCE.of(read, sums)
    best = np.argsort(-sums, kind="stable")[: scoring.BEST]
    is_of_time = question.is_time_alone and np.max(read.columns["date"]) >= 1.0
    # A sentence: a single word or a code is near to any short text.
    is_only_near = not question.is_keywords and scoring.is_near_among_few(read, read.terms.collected.documents)
    if evidence >= scoring.ENOUGH_EVIDENCE or is_of_time or is_only_near:
        return max(evidence, scoring.EVIDENT if is_of_time or is_only_near else 0.0), None
    has_name = read.columns["named"] >= scoring.RARE_NAME
    if not has_name[best].any():
        return evidence, None
    return scoring.EVIDENT, has_name  # nothing speaks for the others


def _recency(half_life_days: float | None, timestamp: datetime, now: datetime) -> float:
    """The factor for age: half of the score fades if there is a half-life."""
    if not half_life_days:
        return 1.0
    age = max(0.0, (now - timestamp).total_seconds() / 86_400)
    return 0.5 + 0.5 * float(0.5 ** min(age / half_life_days, 1_000))


def corrected_for_length(
    candidates: Sequence[Candidate], question: Question, request: SearchRequest
) -> list[Candidate]:
    """In mode dense, lower the cosines of long messages, since the best of many chunks is near by chance.

    If the question asks what the other side said, the length costs nothing: answers are long.
    """
    lengths = np.array([candidate.features.terms for candidate in candidates], dtype=np.float64)
    penalties = LENGTH_COST * signals.long(lengths) * (not question.asks_other_side)
    corrected = []
    for candidate, penalty in zip(candidates, penalties, strict=True):
        score = round(max(0.0, candidate.score - float(penalty)), SCORE_DIGITS)
        if score >= (request.min_score or 0):
            corrected.append(candidate._replace(score=score, cosine=candidate.score))
    return corrected


def leads(request: SearchRequest, score: float, *, pinned: bool) -> bool:
    """Whether a message comes before all that are not pinned: a pin lifts no message that a search would call weak."""
    return pinned and score >= max(bands.min_score_of(request.mode), request.min_score or 0)


def _distinct(request: SearchRequest, candidates: Iterable[Candidate], enough: int | None = None) -> list[Candidate]:
    """The best candidate of each message: those with a lead first, then relevant pinned messages, then the others."""

    def key(candidate: Candidate) -> tuple[float, bool, tuple[float, float, int, bool, int]]:
        is_led = leads(request, candidate.score, pinned=candidate.features.pinned)
        return exact_matches.place_of(candidate.lead), not is_led, candidate.order

    best: dict[UUID, Candidate] = {}
    for candidate in sorted(candidates, key=key):
        best.setdefault(candidate.message_id, candidate)
        if len(best) == enough:
            break
    return list(best.values())


def top(
    request: SearchRequest, question: Question, candidates: Iterable[Candidate], contents: Contents
) -> list[Candidate]:
    """The top_k candidates of one flow, each message once; repetitions below what they repeat, and alike ones folded if
    the request says so."""
    found = _distinct(request, candidates)
    if request.mode != "dense":
        originals = demotion.originals_of(found, contents, question.analyzer)
        if originals:
            found = _distinct(request, demotion.echoes_lowered(found, originals))
        found = [candidate for candidate in found if candidate.score >= (request.min_score or 0)]
    if request.mode != "dense" and question.asks_order:
        found = over_sessions(found, len(found) if request.fold_alike else request.top_k)
    return _folded(found, contents, request.top_k) if request.fold_alike else found[: request.top_k]


# A reranker reads query and text together. Off unless a model is set: models trained on web searches make results worse
# on conversations.


def to_rerank(request: SearchRequest, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that the reranker reads. The others are left out, because their scores would not compare."""
    return _distinct(request, candidates, max(RERANKED, request.top_k))


def rerank(
    reranker: Reranker, request: SearchRequest, candidates: Sequence[Candidate], contents: Contents
) -> list[Candidate]:
    """The candidates with the reranker's score instead of the fused one. Age counts as before.

    It reads the chunk that a message's vector found, else the beginning of the message. Raises ModelUnavailable.
    """
    found = contents([candidate.message_id for candidate in candidates])
    beginnings = {id_: message_text(content)[:RERANKED_CHARS] for id_, content in found.items()}
    texts = beginnings | {candidate.message_id: candidate.text for candidate in candidates if candidate.text}
    readable = [candidate for candidate in candidates if candidate.message_id in texts]
    if not readable:
        return []
    scores = reranker.scores(request.query, [texts[candidate.message_id] for candidate in readable])
    scored = [
        candidate._replace(
            score=round(float(score) * _kept_of(candidate), SCORE_DIGITS),
            reranked=float(score),
        )
        for candidate, score in zip(readable, scores, strict=True)
    ]
    return [candidate for candidate in scored if candidate.score >= (request.min_score or 0)]


def _kept_of(candidate: Candidate) -> float:
    """The part of a reranked score that age and saying nothing leave."""
    return candidate.recency * (NON_ANSWER if candidate.is_non_answer else 1.0)


def over_sessions(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """So many of the candidates, best first, for a question about an order: further ones of a session count less."""
    left = list(candidates)
    chosen: list[Candidate] = []
    of_session: Counter[str] = Counter()
    while left and len(chosen) < count:
        best = max(range(len(left)), key=lambda number: _worth(left[number], of_session))
        chosen.append(left.pop(best))
        of_session[chosen[-1].features.session_id] += 1
    return chosen


def _worth(candidate: Candidate, of_session: Counter[str]) -> float:
    if candidate.lead is not None:
        return math.inf
    score = min(max(candidate.score, _SMALLEST), 1 - _SMALLEST)
    return math.log(score / (1 - score)) - SAME_SESSION_COST * of_session[candidate.features.session_id]


def _folded(candidates: Sequence[Candidate], contents: Contents, top_k: int) -> list[Candidate]:
    """The top_k candidates (best first, each message once), each with how many others have the same text."""
    compared = candidates[:FOLDED]
    shapes = Counter(_shape(candidate) for candidate in compared)
    ids = [candidate.message_id for candidate in compared if shapes[_shape(candidate)] > 1]
    texts = contents(ids) if ids else {}
    best: dict[str | UUID, Candidate] = {}
    for candidate in compared:
        # Without a text that is like no other: or it was deleted since its verification.
        key = normalized(message_text(texts.get(candidate.message_id))) or candidate.message_id
        first = best.setdefault(key, candidate)
        if first is not candidate:
            best[key] = first._replace(alike=first.alike + 1)
    return list(best.values())[:top_k]


def _shape(candidate: Candidate) -> tuple[int, float]:
    """The properties that messages with the same text share, as far as they are known without the text."""
    return candidate.features.terms, round(candidate.coverage, 6)
