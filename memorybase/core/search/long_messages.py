"""The passages of long messages, compared with the question when it is asked.

A memory base holds the vectors of a message's first tokens and of its chunks of a page each, in which a sentence in the
middle of a mail is lost. So of the few best long candidates the passage with the most of the question's terms
is embedded during the search: a message is as near as its nearest passage, wherever that stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np

from memorybase.core import errors
from memorybase.core.messages import message_text
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.passages import Reader, Span
from memorybase.core.search.query_parser import Question
from memorybase.core.search.scoring import Weights
from memorybase.core.search.signals import Signals

if TYPE_CHECKING:
    from memorybase.core.search.embedded import Embedded

READ = 8  # candidates; more find no more (`make bench-lives`, `make bench-recall`)
READ_OF_ALL = 3  # whoever said them
READ_CHARS = 40_000  # of all of them
PASSAGE_CHARS = 600  # about 150 tokens: 3 ms of two cores


@dataclass(frozen=True, slots=True)
class LongCandidates:
    """The long ones among one target's best candidates, by their index, with the question's best passage of each."""

    signals: Signals
    query: Embedded
    passages: Mapping[int, LocatedText]

    def compare(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with these passages, embedded and counted in the signals. No transaction is open here."""
        compared = list(candidates)
        if not self.passages:
            return compared
        texts = [each.text for each in self.passages.values()]
        try:
            vectors, packed = self.query.embedder.embed_with_tokens(texts, range(len(texts)))
        except (errors.MessageFailure, errors.EmbeddingFailed):
            return compared  # the search has what is stored of these messages
        cosines = np.clip(vectors @ self.query.vector, 0.0, 1.0)
        for number, (index, passage) in enumerate(self.passages.items()):
            self.signals.add_passage(index, passage.weight, float(cosines[number]), packed.get(number, b""))
            compared[index] = compared[index]._replace(passage=passage.span)
        self.signals.update_matches()
        return compared


class LocatedText(NamedTuple):
    """A part of a message's text. `weight`: the rarity of the question's terms in it."""

    text: str
    span: Span
    weight: float


def best_of(candidates: Sequence[Candidate], signals: Signals, weights: Weights) -> list[int]:
    """The indexes of the best candidates of which more is to be known than their first tokens.

    Of an assistant's only the very best: its answers have words of every question, and are long far more often than
    they hold what somebody said.
    """
    if signals.tokens is None:
        return []
    cut = [int(index) for index in weights.best(signals.columns) if signals.tokens.is_cut[index]]
    said = [index for index in cut[READ_OF_ALL:] if candidates[index].features.role != "assistant"]
    return (cut[:READ_OF_ALL] + said)[:READ]


def passages_of(
    candidates: Sequence[Candidate],
    indexes: Sequence[int],
    contents: Mapping[UUID, Any],
    question: Question,
    rarities: Mapping[str, float],
) -> dict[int, LocatedText]:
    """For each of these candidates the passage with the most of the question's terms, by their rarity in the flow and
    in the message; none without any.

    Words choose the passage, not vectors, because every passage of a contract is near a question about the contract.
    """
    sought = question.sought._replace(terms=rarities)
    found: dict[int, LocatedText] = {}
    left = READ_CHARS
    for index in indexes:
        text = message_text(contents.get(candidates[index].message_id))
        left -= len(text)
        if left < 0 and found:
            break
        reader = Reader(text, sought, max_chars=PASSAGE_CHARS, weights=rarities)
        passage = reader.next_passage(rarities)
        if passage is not None and passage.score > 0:
            weight = sum(rarities[term] for term in reader.terms_in(passage))
            found[index] = LocatedText(passage.of(text), Span(passage.start, passage.end), weight)
    return found
