"""Likeness means the same with every embedding model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from harness.doubles import FakeEmbedder
from harness.rows import each_row
from numpy.typing import NDArray

from memorybase.features.hit_corrections.marking import Likeness


class Narrow(FakeEmbedder):
    """A model whose vectors all point nearly the same way, as those of e5 do."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = super().embed(texts) + 3.0 * np.eye(1, self.dimension, dtype=np.float32)
        normal: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normal


TEXTS = ("the pilot starts in October", "the pilot starts in November", "soup with leeks")


@each_row("embedder", [FakeEmbedder(), Narrow()], ids=["wide", "narrow"])
def test_unrelated_texts_are_near_zero_and_the_same_text_is_one(embedder: FakeEmbedder) -> None:
    likeness = Likeness(embedder, TEXTS)
    assert likeness.of(TEXTS[0], TEXTS[0]) == pytest.approx(1.0, abs=1e-5)
    assert likeness.of(TEXTS[0], TEXTS[1]) > 0.5
    assert likeness.of(TEXTS[0], TEXTS[2]) < 0.3


def test_each_text_is_embedded_once_and_the_model_measured_once() -> None:
    embedder = FakeEmbedder()
    Likeness(embedder, [*TEXTS, *TEXTS])
    calls = embedder.calls
    assert embedder.embedded[:3] == list(TEXTS)
    Likeness(embedder, TEXTS)
    assert embedder.calls == calls + 1
