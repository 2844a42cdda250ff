"""The passages of long messages, compared with the question when it is asked.

A memory base holds the vectors of a message's first tokens and of its chunks of a page each, in which a sentence in the
middle of a mail is lost. So of the few best long candidates the passage with the most of the question's terms is
embedded during the search: a message is as near as its nearest passage, wherever that stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from memorybase import errors
from memorybase.keyword_index.analyzer import analyzer
from memorybase.messages import message_text
from memorybase.search.candidates import Candidate
from memorybase.search.keyword_search import QueryTerms
from memorybase.search.passages import Reader
from memorybase.search.scoring import Weights
from memorybase.search.signals import Passages, Signals

if TYPE_CHECKING:
    from memorybase.search.embedded import Embedded

READ = 8  # candidates; more find no more (`make bench-lives`, `make bench-recall`)
READ_CHARS = 40_000  # of all of them
PASSAGE_CHARS = 600  # about 150 tokens: 3 ms of two cores


@dataclass(frozen=True, slots=True)
class LongCandidates:
    """The long ones among one target's best candidates, by their index, with the question's best passage of each."""

    signals: Signals
    query: Embedded
    texts: Mapping[int, str]

    def compare(self) -> None:
        """Embed the passages and count them in the signals. No transaction is open: a model works here."""
        if not self.texts:
            return
        texts = list(self.texts.values())
        try:
            vectors, packed = self.query.embedder.embed_with_tokens(texts, range(len(texts)))
        except (errors.MessageFailure, errors.EmbeddingFailed):
            return  # the search has what is stored of these messages
        cosines = np.clip(vectors @ self.query.vector, 0.0, 1.0)
        self.signals.add_passages(
            {
                index: Passages(float(cosine), packed.get(number, b""))
                for number, (index, cosine) in enumerate(zip(self.texts, cosines, strict=True))
            }
        )


def best_of(signals: Signals, weights: Weights) -> list[int]:
    """The indexes of the best candidates of which more is to be known than their first tokens."""
    if signals.tokens is None:
        return []
    order = np.argsort(-weights.sums(signals.columns), kind="stable")
    return [int(index) for index in order if signals.tokens.is_cut[index]][:READ]


def passages_of(
    candidates: Sequence[Candidate],
    indexes: Collection[int],
    contents: Mapping[UUID, Any],
    terms: QueryTerms,
    query: str,
    language: str,
) -> dict[int, str]:
    """For each of these candidates the passage with the most of the question's terms, by rarity; none without any."""
    stemmer, rarities = analyzer(language).of(query), terms.rarities
    found: dict[int, str] = {}
    left = READ_CHARS
    for index in indexes:
        text = message_text(contents.get(candidates[index].message_id))
        left -= len(text)
        if left < 0 and found:
            break
        reader = Reader(text, rarities, stemmer, max_chars=PASSAGE_CHARS, weights=rarities)
        passage = reader.next_passage(rarities)
        if passage is not None and passage.score > 0:
            found[index] = passage.of(text)
    return found
