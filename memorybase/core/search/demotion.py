"""Finds messages of an assistant that add nothing, and lowers those that repeat what somebody said earlier.

Most repeat it because it was recalled to the assistant. What says only that something is not known has the signal
`says_nothing`, as have questions that were asked before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.messages import message_text
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.non_answers import is_non_answer
from memorybase.core.vectors.search import SCORE_DIGITS

COMPARED = 16  # of the best candidates
CHARS = 8_000  # of a message that is compared
EXAMINED = 128  # candidates among which non-answers are looked for
NON_ANSWER_TERMS = 40  # a longer message says something
ASSISTANT = "assistant"
_NOT_WORDS = re.compile(r"[\W_]+")

Contents = Callable[[Collection[UUID]], Mapping[UUID, Any]]  # what these messages say; those deleted since are left out


def non_answers(candidates: Sequence[Candidate], contents: Contents) -> set[UUID]:
    """Messages that say only that something is not known, looked for from the best candidate on, until there are
    COMPARED others."""
    found: set[UUID] = set()
    for start in range(0, min(len(candidates), EXAMINED), COMPARED):
        page = candidates[start : start + COMPARED]
        suspects = [each.message_id for each in page if _may_be_non_answer(each)]
        texts = contents(suspects) if suspects else {}
        found |= {id_ for id_, content in texts.items() if is_non_answer(message_text(content))}
        if start + len(page) - len(found) >= COMPARED:
            break
    return found


def _may_be_non_answer(candidate: Candidate) -> bool:
    features = candidate.features
    return features.role == ASSISTANT and not features.pinned and features.terms <= NON_ANSWER_TERMS


def _lowered(candidate: Candidate, score: float) -> Candidate:
    own_score = candidate.score if candidate.own_score is None else candidate.own_score
    return candidate._replace(score=round(max(0.0, score), SCORE_DIGITS), own_score=own_score)


def originals_of(candidates: Sequence[Candidate], contents: Contents, analyzer: Analyzer) -> dict[UUID, list[UUID]]:
    """For each answer, the earlier messages below it that it repeats. The candidates are sorted, best first."""
    compared = candidates[:COMPARED]
    pairs = [
        (answer.message_id, original.message_id)
        for place, answer in enumerate(compared)
        for original in compared[place + 1 :]
        if _may_repeat(answer, original)
    ]
    if not pairs:
        return {}
    repetitions = _Repetitions(contents(list({id_ for pair in pairs for id_ in pair})), analyzer)
    found: dict[UUID, list[UUID]] = {}
    for answer, original in pairs:
        if repetitions.has(answer, original):
            found.setdefault(answer, []).append(original)
    return found


def echoes_lowered(candidates: Sequence[Candidate], originals: Mapping[UUID, Sequence[UUID]]) -> list[Candidate]:
    """The candidates; each answer with less than the score of what it repeats."""
    found = {each.message_id: each for each in candidates}
    # From the lowest on: an original may itself be an answer that repeats an earlier one.
    for answer in reversed(list(originals)):
        last = min((found[original] for original in originals[answer]), key=lambda each: each.score)
        if found[answer].score >= last.score:
            lowered = _lowered(found[answer], last.score - 10**-SCORE_DIGITS)
            found[answer] = lowered._replace(echo_of=last.message_id)
    return list(found.values())


def _may_repeat(answer: Candidate, original: Candidate) -> bool:
    """Whether it may repeat, as far as is known without the texts: an assistant's message, and an earlier one with as
    much of the question."""
    later, earlier = answer.features, original.features
    return (
        not later.pinned
        and later.role == ASSISTANT != earlier.role
        and (earlier.timestamp, earlier.position) < (later.timestamp, later.position)
        and 1 < earlier.terms <= later.terms
        and 0 < answer.coverage <= original.coverage
    )


class _Repetitions:
    """Which of these messages repeat others."""

    def __init__(self, contents: Mapping[UUID, Any], analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._texts = {id_: message_text(content)[:CHARS] for id_, content in contents.items()}
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


def normalized(text: str) -> str:
    """The text without case, punctuation and repeated spaces. Texts with the same result are alike."""
    return _NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
