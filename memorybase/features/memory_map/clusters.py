"""Groups of near messages, and the words that name a group. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memorybase.core.keyword_index.analyzer import analyzer

MAX_CLUSTERS = 8  # as many colors as people distinguish
LABEL_WORDS = 3
_ROUNDS = 50
_MIN_WORD = 3  # letters; two of a language without spaces are a pair of characters


def group(vectors: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Each vector's cluster, the largest cluster first, and its squared distance from the cluster's middle.

    k-means with seeded, spread beginnings (Arthur and Vassilvitskii, 2007).
    """
    count = max(2, min(MAX_CLUSTERS, round(math.sqrt(len(vectors) / 3))))
    centers = _beginnings(vectors, count)
    nearest = np.full(len(vectors), -1)
    for _ in range(_ROUNDS):
        distances = _distances(vectors, centers)
        before, nearest = nearest, distances.argmin(axis=1)
        if np.array_equal(before, nearest):
            break
        for index in range(len(centers)):
            members = vectors[nearest == index]
            if len(members):
                centers[index] = members.mean(axis=0)
    sizes = np.bincount(nearest, minlength=len(centers))
    rank = np.empty_like(sizes)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[nearest], _distances(vectors, centers)[np.arange(len(vectors)), nearest]


def _beginnings(vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    random = np.random.default_rng(0)
    chosen = [int(random.integers(len(vectors)))]
    gaps = _distances(vectors, vectors[chosen])[:, 0]
    while len(chosen) < count and gaps.sum() > 0:  # equal vectors are one cluster
        chosen.append(int(random.choice(len(vectors), p=gaps / gaps.sum())))
        gaps = np.minimum(gaps, _distances(vectors, vectors[chosen[-1:]])[:, 0])
    return vectors[chosen].astype(np.float32)


def _distances(vectors: NDArray[np.float32], centers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared distances: (vectors, centers)."""
    squares = np.square(vectors).sum(axis=1)[:, None] + np.square(centers).sum(axis=1)
    distances: NDArray[np.float32] = np.maximum(squares - 2 * vectors @ centers.T, 0)
    return distances


def labels(texts: Mapping[int, Sequence[str]], language: str) -> dict[int, list[str]]:
    """For each cluster, the words that most of its messages have and few of the others; none if no word stands out."""
    detecting = analyzer(language)
    spellings: dict[str, Counter[str]] = {}
    having: dict[int, Counter[str]] = {}
    for cluster, some in texts.items():
        having[cluster] = Counter()
        for text in some:
            own = detecting.of(text)
            words = [word for word in own.kept(own.words(text)) if _is_label(word)]
            stems = own.stems(words)
            having[cluster].update(set(stems))
            for word, stem in zip(words, stems, strict=True):
                spellings.setdefault(stem, Counter())[word] += 1
    everywhere = sum(having.values(), Counter[str]())
    total = sum(len(some) for some in texts.values())
    return {
        cluster: [
            min(spellings[term], key=lambda word: (-spellings[term][word], word))
            for term in _distinctive(counts, len(texts[cluster]), everywhere, total)
        ]
        for cluster, counts in having.items()
    }


def _is_label(word: str) -> bool:
    return not word.isdigit() and (len(word) >= _MIN_WORD or not word.isascii())


def _distinctive(here: Counter[str], size: int, everywhere: Counter[str], total: int) -> list[str]:
    scores = {}
    for term, count in here.items():
        inside = count / size
        outside = (everywhere[term] - count + 0.5) / (total - size + 1)
        if count > 1 and inside >= 2 * outside:
            scores[term] = inside * math.log(inside / outside)
    return sorted(scores, key=lambda term: (-scores[term], term))[:LABEL_WORDS]
