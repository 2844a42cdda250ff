"""Spreads results over sessions, for questions about the order of topics. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memorybase.search.stored_candidates import Candidate

REPEATED = 0.5  # log-odds that a candidate loses for each one of its session that is chosen already
_SMALLEST = 1e-7


def over_sessions(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """So many of the candidates, best first; the further ones of a session count less."""
    left = list(candidates)
    chosen: list[Candidate] = []
    of_session: Counter[str | None] = Counter()
    while left and len(chosen) < count:
        best = max(range(len(left)), key=lambda number: _worth(left[number], of_session))
        chosen.append(left.pop(best))
        of_session[_session(chosen[-1])] += 1
    return chosen


def _worth(candidate: Candidate, of_session: Counter[str | None]) -> float:
    score = min(max(candidate.score, _SMALLEST), 1 - _SMALLEST)
    return math.log(score / (1 - score)) - REPEATED * of_session[_session(candidate)]


def _session(candidate: Candidate) -> str | None:
    return candidate.facts.session_id if candidate.facts else None
