"""Vectors to two dimensions: their mean and their first two principal components. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 2
# A randomized decomposition (Halko, Martinsson, Tropp, 2011) takes a second where an exact one of vectors with 3,000
# dimensions takes minutes. It is exact for fewer dimensions than it looks at.
_EXTRA = 14
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Projection:
    """`explained`: the share of the variance that two dimensions show, 0 to 1."""

    mean: NDArray[np.float32]  # (dimension,)
    components: NDArray[np.float32]  # (2, dimension)
    explained: float

    def place(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The coordinates of vectors: (n, 2)."""
        return ((vectors - self.mean) @ self.components.T).astype(np.float32, copy=False)

    def to_bytes(self) -> bytes:
        return np.vstack([self.mean, self.components]).astype("<f4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, explained: float) -> Self:
        rows = np.frombuffer(data, dtype="<f4").reshape(1 + DIMENSIONS, -1).astype(np.float32)
        return cls(rows[0], rows[1:], explained)


def fit(vectors: NDArray[np.float32]) -> Projection:
    """The projection of these vectors. The same vectors give the same one, also in its signs."""
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    centered = vectors - mean
    total = float(np.square(centered, dtype=np.float64).sum())
    width = min(DIMENSIONS + _EXTRA, *centered.shape)
    basis = np.random.default_rng(0).standard_normal((centered.shape[1], width), dtype=np.float32)
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(centered.T @ (centered @ basis))
    _, spread, rotation = np.linalg.svd(centered @ basis, full_matrices=False)
    components = np.zeros((DIMENSIONS, centered.shape[1]), dtype=np.float32)
    found = (rotation @ basis.T)[:DIMENSIONS]
    components[: len(found)] = found * _signs(found)
    shown = float(np.square(spread[:DIMENSIONS], dtype=np.float64).sum())
    return Projection(mean, components, min(1.0, shown / total) if total else 0.0)


def _signs(components: NDArray[np.float32]) -> NDArray[np.float32]:
    """So that each component's largest part is positive: a map that is computed again is not mirrored."""
    largest = np.abs(components).argmax(axis=1)
    return np.where(components[np.arange(len(components)), largest] < 0, -1, 1).astype(np.float32)[:, None]
