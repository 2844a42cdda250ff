"""Candidates of keyword search and vector search: messages that may answer a query, each verified in SQL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from memorybase.core.queries.search import Features, Target
from memorybase.core.search.passages import Span
from memorybase.core.search.scoring import Weights
from memorybase.core.vectors import chunk_ids

if TYPE_CHECKING:
    from memorybase.core.search.exact_matches import Lead

UNKNOWN_COSINE = -1.0  # the score of a candidate before it is compared with the query, or without a vector


class Candidate(NamedTuple):
    """A message's best chunk. A tuple: a search copies hundreds of them."""

    target: Target
    features: Features
    score: float
    text: str | None  # the chunk's; None: read it from the store; empty: the chunk is not known
    chunk: int
    source: Literal["store", "pending"]
    values: Mapping[str, float] | None = None  # of each signal, if a fused score is to be explained
    weights: Weights | None = None
    bias: float = 0.0
    recency: float = 1.0
    evidence: float | None = None  # of the whole search that the store answers the question; None: words alone
    reranked: float | None = None  # the reranker's score, if there is one
    cosine: float | None = None  # in mode dense, before the correction for length
    passage: Span | None = None  # of a long message: its nearest one, if several were compared
    alike: int = 0  # other candidates with the same text that are folded into it
    coverage: float = 0.0  # the share of the question's words that the message has; 0 if it says nothing
    own_score: float | None = None  # before it was lowered
    echo_of: UUID | None = None  # the earlier message that it repeats, so that it ranks below it
    is_non_answer: bool = False  # says only that something is not known
    lacks_name: bool = False  # the question is answered by a rare name alone, which it does not have
    # Terms besides the question's of a message with all of these, or with only some of them; infinite for others.
    other_terms: float = math.inf
    lead: Lead | None = None  # it comes before others, whatever its score

    @property
    def message_id(self) -> UUID:
        return self.features.id

    @property
    def chunk_id(self) -> str:
        return chunk_ids.chunk_id(self.target.memory_base_id, self.features.id, self.features.version, self.chunk)

    @property
    def order(self) -> tuple[float, float, int, bool, int]:
        """Best first. A stored chunk sorts before the same pending one."""
        sent = self.features.timestamp.timestamp()
        return (-self.score, -sent, self.features.id.int, self.source == "pending", self.target.memory_base_id.int)
