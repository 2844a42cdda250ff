"""Answers that repeat what somebody said earlier, mostly because it was recalled to the assistant: they rank below it.

The signal `repeats` does the same for questions that were asked before.
"""

from __future__ import annotations

from collections.abc import Sequence

from memorybase.keyword_index.analyzer import Analyzer, analyzer
from memorybase.messages import message_text
from memorybase.queries import search as search_queries
from memorybase.search.alike import normalized
from memorybase.search.stored_candidates import Candidate
from memorybase.services import Services

COMPARED = 16  # of the best candidates
ASSISTANT = "assistant"
MAX_CHARS = 8_000  # of a message that is compared


def originals_first(services: Services, query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, best first, of one flow; each answer below the earlier message that it repeats."""
    ordered = list(candidates)
    pairs = [
        (answer, original)
        for answer in range(min(COMPARED, len(ordered)))
        for original in range(answer + 1, min(COMPARED, len(ordered)))
        if _may_repeat(ordered[answer], ordered[original])
    ]
    if not pairs:
        return ordered
    words = _Words(services, query, ordered, {number for pair in pairs for number in pair})
    places = list(range(len(ordered)))  # of each candidate
    for answer, original in pairs:
        if places[answer] < places[original] and words.repeats(answer, original):
            places[answer], places[original] = places[original], places[answer]
    return _placed(ordered, places)


def _may_repeat(answer: Candidate, original: Candidate) -> bool:
    """What can be known without the texts: an assistant's message, and an earlier one with as much of the question."""
    later, earlier = answer.facts, original.facts
    if later is None or earlier is None or later.pinned:
        return False
    return (
        later.role == ASSISTANT != earlier.role
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


class _Words:
    """The words of some candidates."""

    def __init__(self, services: Services, query: str, ordered: Sequence[Candidate], numbers: set[int]) -> None:
        ids = {number: ordered[number].message_id for number in numbers}
        with services.database.reading(on_replica=True) as db:
            contents = search_queries.fetch_contents(db, ordered[0].target.flow_id, list(ids.values()))
        self._analyzer: Analyzer = analyzer(services.settings.keyword_language).of(query)
        self._texts = {
            number: message_text(contents[id_])[:MAX_CHARS] for number, id_ in ids.items() if id_ in contents
        }
        self._terms: dict[int, frozenset[str]] = {}

    def repeats(self, answer: int, original: int) -> bool:
        """Whether the answer has all words of the original."""
        if answer not in self._texts or original not in self._texts:  # deleted since its verification
            return False
        return normalized(self._texts[original]) in normalized(self._texts[answer]) or (
            self._of(original) <= self._of(answer)
        )

    def _of(self, number: int) -> frozenset[str]:
        if number not in self._terms:
            self._terms[number] = frozenset(self._analyzer.terms(self._texts[number]))
        return self._terms[number]
