"""Ranks candidates: one score from all their signals, then an order with pinned messages first, repetitions below what
they repeat, and alike ones folded."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from memorybase.keyword_index.analyzer import analyzer
from memorybase.messages import message_text
from memorybase.queries.search import Target
from memorybase.search import query_parser, scoring, signals
from memorybase.search.candidates import Candidate
from memorybase.search.keyword_search import Floats
from memorybase.search.query_parser import Question
from memorybase.search.request import SearchRequest
from memorybase.search.signals import Signals
from memorybase.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.embedding import Reranker

RERANKED = 50  # messages: the search waits while the model reads each of them
RERANKED_CHARS = 2_000  # of a message; more than these models read
ECHOES_COMPARED = 16  # of the best candidates
ECHO_CHARS = 8_000  # of a message that is compared
FOLDED = 128  # of the best candidates; others are not counted
# In mode dense the cosine loses this much each time the length grows e-fold above 40 terms; .08 to .10 do equally well.
LENGTH_COST = 0.08
SAME_SESSION_COST = 0.5  # log-odds that a candidate loses for each one of its session that is chosen already
ASSISTANT = "assistant"
_SMALLEST = 1e-7
_NOT_WORDS = re.compile(r"[\W_]+")

Contents = Callable[[Collection[UUID]], Mapping[UUID, Any]]  # what these messages say; those deleted since are left out


def weights_for(request: SearchRequest, target: Target) -> scoring.Weights:
    """The memory base's own weights unless the request wants the default ones, times the request's factors."""
    weights = scoring.DEFAULT
    if not request.default_weights:
        weights = scoring.weights_of(target.search_weights, weights.name)
    return weights if request.weights is None else request.weights.applied(weights)


def score(
    request: SearchRequest, question: Question, candidates: Sequence[Candidate], read: Signals | None
) -> list[Candidate]:
    """The candidates of one target with their fused scores, and the signals' values if the request explains."""
    if read is None:
        return []
    target, columns = candidates[0].target, read.columns
    weights = weights_for(request, target)
    shares, bias = weights.scores(columns)
    half_life = request.half_life_days
    if half_life is None and not request.default_weights:
        half_life = scoring.half_life_of(target.search_weights)
    recency = np.array([_recency(half_life, each.features.timestamp, question.asked_at) for each in candidates])
    evidence = _evidence(request, question, read, weights.sums(columns))
    scores = shares * recency if evidence is None else scoring.scores_of(shares * recency, evidence)
    fused: list[Candidate] = []
    for index, candidate in enumerate(candidates):
        total = round(float(scores[index]), SCORE_DIGITS)
        if total >= (request.min_score or 0):
            values = {name: float(column[index]) for name, column in columns.items()} if request.explain else None
            fused.append(
                candidate._replace(
                    score=total,
                    values=values,
                    bias=bias,
                    weights=weights,
                    recency=float(recency[index]),
                    evidence=evidence,
                    coverage=float(read.covered[index]),
                )
            )
    return fused


def _evidence(request: SearchRequest, question: Question, read: Signals, sums: Floats) -> float | None:
    """The chance that the store answers the question. None in mode keyword: words alone do not tell, except for small
    talk."""
    if question.is_small_talk:
        return scoring.LEAST_EVIDENCE
    if request.mode == "keyword":
        return None
    return scoring.EVIDENCE.of(read.columns, sums, read.covered, read.fluency, read.unsaid)


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
    return pinned and score >= max(scoring.min_score_of(request.mode), request.min_score or 0)


def _distinct(request: SearchRequest, candidates: Iterable[Candidate], enough: int | None) -> list[Candidate]:
    """The best candidate of each message: relevant pinned messages first, then the others."""

    def key(candidate: Candidate) -> tuple[bool, tuple[float, float, int, bool, int]]:
        return not leads(request, candidate.score, pinned=candidate.features.pinned), candidate.order

    best: dict[UUID, Candidate] = {}
    for candidate in sorted(candidates, key=key):
        best.setdefault(candidate.message_id, candidate)
        if len(best) == enough:
            break
    return list(best.values())


def top(request: SearchRequest, candidates: Iterable[Candidate], contents: Contents, language: str) -> list[Candidate]:
    """The top_k candidates of one flow, each message once; repetitions below what they repeat, and alike ones folded if
    the request says so."""
    spreads = request.mode != "dense" and query_parser.asks_order(request.query, language)
    takes_all = request.fold_alike or spreads
    found = _distinct(request, candidates, None if takes_all else max(request.top_k, ECHOES_COMPARED))
    if request.mode != "dense":
        found = _originals_first(found, contents, request.query, language)
    if spreads:
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
        candidate._replace(score=round(float(score) * candidate.recency, SCORE_DIGITS), reranked=float(score))
        for candidate, score in zip(readable, scores, strict=True)
    ]
    return [candidate for candidate in scored if candidate.score >= (request.min_score or 0)]


# An assistant's answer that repeats what somebody said earlier, mostly because it was recalled to the assistant, ranks
# below it. The signal `repeats` does so for questions that were asked before.


def _originals_first(candidates: Sequence[Candidate], contents: Contents, query: str, language: str) -> list[Candidate]:
    """The candidates, best first; each answer below the earlier message that it repeats."""
    ordered = list(candidates)
    pairs = [
        (answer, original)
        for answer in range(min(ECHOES_COMPARED, len(ordered)))
        for original in range(answer + 1, min(ECHOES_COMPARED, len(ordered)))
        if _may_repeat(ordered[answer], ordered[original])
    ]
    if not pairs:
        return ordered
    ids = {number: ordered[number].message_id for number in {number for pair in pairs for number in pair}}
    repetitions = _Repetitions(contents(list(ids.values())), query, language)
    places = list(range(len(ordered)))  # of each candidate
    for answer, original in pairs:
        if places[answer] < places[original] and repetitions.has(ids[answer], ids[original]):
            places[answer], places[original] = places[original], places[answer]
    return _placed(ordered, places)


def _may_repeat(answer: Candidate, original: Candidate) -> bool:
    """What can be known without the texts: an assistant's message, and an earlier one with as much of the question."""
    later, earlier = answer.features, original.features
    return (
        not later.pinned
        and later.role == ASSISTANT != earlier.role
        and (earlier.timestamp, earlier.position) < (later.timestamp, later.position)
        and 1 < earlier.terms <= later.terms
        and 0 < answer.coverage <= original.coverage
    )


def _placed(ordered: Sequence[Candidate], places: Sequence[int]) -> list[Candidate]:
    """Each candidate at its place and with the score of that place, so that sorting by score gives the same order."""
    placed = list(ordered)
    for number, place in enumerate(places):
        if place != number:
            moved, there = ordered[number], ordered[place]
            placed[place] = moved._replace(score=there.score, own_score=moved.score)
    return placed


class _Repetitions:
    """Which of these messages repeat others."""

    def __init__(self, contents: Mapping[UUID, Any], query: str, language: str) -> None:
        self._analyzer = analyzer(language).of(query)
        self._texts = {id_: message_text(content)[:ECHO_CHARS] for id_, content in contents.items()}
        self._terms: dict[UUID, frozenset[str]] = {}

    def has(self, answer: UUID, original: UUID) -> bool:
        """Whether the answer has all words of the original."""
        if answer not in self._texts or original not in self._texts:
            return False
        return normalized(self._texts[original]) in normalized(self._texts[answer]) or (
            self._terms_of(original) <= self._terms_of(answer)
        )

    def _terms_of(self, message_id: UUID) -> frozenset[str]:
        if message_id not in self._terms:
            self._terms[message_id] = frozenset(self._analyzer.terms(self._texts[message_id]))
        return self._terms[message_id]


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
    score = min(max(candidate.score, _SMALLEST), 1 - _SMALLEST)
    return math.log(score / (1 - score)) - SAME_SESSION_COST * of_session[candidate.features.session_id]


def normalized(text: str) -> str:
    """The text without case, punctuation and repeated spaces. Texts with the same result are alike."""
    return _NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


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


def _shape(candidate: Candidate) -> tuple[int, int, float]:
    """What messages with the same text have in common, as far as it is known without the text."""
    features = candidate.features
    return features.terms, features.first_person, round(candidate.coverage, 6)
