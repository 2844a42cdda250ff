"""How alike short texts are, on a scale that means the same with every embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memorybase.embedding.probe import PAIRS
from memorybase.search.query_vectors import LatestByOwner

if TYPE_CHECKING:
    from memorybase.embedding import Embedder


class Likeness:
    """The likeness of each pair of these texts: 1 for the same text, about 0 for unrelated ones.

    The cosine of unrelated texts is .0 with some models and .75 with others, so it is measured once for each model.
    Raises what the embedder raises.
    """

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        self._rows = {text: row for row, text in enumerate(distinct)}
        vectors = embedder.embed(distinct)
        unrelated = _unrelated.get(embedder, "cosine", lambda: _cosine_of_unrelated(embedder))
        self._matrix = (vectors @ vectors.T - unrelated) / (1.0 - unrelated)

    def of(self, one: str, other: str) -> float:
        return float(self._matrix[self._rows[one], self._rows[other]])


_unrelated: LatestByOwner[str, float] = LatestByOwner(1)


def _cosine_of_unrelated(embedder: Embedder) -> float:
    vectors = embedder.embed([passage for _, passage in PAIRS])
    cosines = vectors @ vectors.T
    return float(cosines[~np.eye(len(cosines), dtype=bool)].mean())
