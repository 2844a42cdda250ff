"""Results of questions about an order, spread over sessions; texts that are alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from harness.rows import each_row

from memorybase.core.search import ranking
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.demotion import normalized


def candidate(session: str, score: float) -> Candidate:
    features: Any = SimpleNamespace(session_id=session)
    return Candidate(cast("Any", None), features, score, None, 0, "store")


def sessions(*candidates: Candidate, count: int) -> list[str]:
    return [each.features.session_id for each in ranking.over_sessions(candidates, count)]


def test_further_candidates_of_a_session_count_less() -> None:
    found = [candidate("a", 0.5), candidate("a", 0.49), candidate("a", 0.48), candidate("b", 0.4)]
    assert sessions(*found, count=3) == ["a", "b", "a"]


def test_a_much_better_candidate_of_the_same_session_stays_first() -> None:
    assert sessions(candidate("a", 0.9), candidate("a", 0.8), candidate("b", 0.1), count=3) == ["a", "a", "b"]


def test_extreme_scores_and_few_candidates_are_ranked() -> None:
    assert sessions(candidate("a", 0.0), candidate("b", 1.0), count=5) == ["b", "a"]


@each_row("text", ["Berth 12 is free.", "  berth  12, IS free!", "Berth 12 is free"])
def test_case_punctuation_and_spaces_do_not_count(text: str) -> None:
    assert normalized(text) == "berth 12 is free"


def test_other_numbers_are_another_text() -> None:
    assert normalized("Berth 12 is free") != normalized("Berth 13 is free")
