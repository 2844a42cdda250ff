"""Pinned messages come first, where they are relevant: a pin lifts no message that the search would call weak."""

from __future__ import annotations

from collections.abc import Iterable

from memorybase.search.request import SearchRequest
from memorybase.search.scoring import min_score_of
from memorybase.search.stored_candidates import Candidate

PINNED_CANDIDATES = 64  # pinned messages, the last captured first, that a search scores whatever else it finds


def leads(request: SearchRequest, score: float, *, pinned: bool) -> bool:
    """Whether a message comes before all that are not pinned."""
    return pinned and score >= max(min_score_of(request.mode), request.min_score or 0)


def ordered(request: SearchRequest, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first: relevant pinned messages, then the others."""

    def key(candidate: Candidate) -> tuple[bool, tuple[float, float, str, bool, str]]:
        pinned = candidate.facts is not None and candidate.facts.pinned
        return not leads(request, candidate.score, pinned=pinned), candidate.order

    return sorted(candidates, key=key)
