"""Token vectors in 2 bits per number, and their projection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memorybase.core.embedding.token_vectors import (
    DEFAULT_PROJECTION,
    DIMENSIONS,
    Projection,
    calibration_texts,
    pack,
    unpack,
)


def units(seed: int, count: int, dimensions: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@given(st.integers(0, 999), st.integers(0, 40), st.sampled_from([32, 96, 128]))
def test_unpacked_vectors_are_close_to_the_originals(seed: int, count: int, dimensions: int) -> None:
    vectors = units(seed, count, dimensions)
    packed = pack(vectors)
    assert len(packed) == count * dimensions // 4
    back, lengths = unpack(packed, dimensions)
    assert back.shape == vectors.shape
    np.testing.assert_allclose(lengths, np.linalg.norm(back, axis=1), rtol=1e-5)
    assert ((back * vectors).sum(axis=1) > 0.85 * lengths).all()


def test_a_token_takes_32_bytes() -> None:
    assert len(pack(units(1, 10, DIMENSIONS))) == 320


def test_a_projection_keeps_the_principal_directions(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    basis = np.linalg.qr(drawn.normal(size=(300, 40)))[0]
    states = (drawn.normal(size=(2_000, 40)) @ basis.T + 5).astype(np.float32)
    projection = Projection.fitted(states)
    shown = projection.apply(states[:50])
    centered = states[:50] - states.mean(axis=0)
    centered /= np.linalg.norm(centered, axis=1, keepdims=True)
    np.testing.assert_allclose(shown @ shown.T, centered @ centered.T, atol=0.02)
    assert (shown.shape[1], projection.encoding.partition("/")[0]) == (128, "int2x128")

    projection.write(tmp_path / "own.npz")
    again = Projection.read(tmp_path / "own.npz")
    np.testing.assert_allclose(again.apply(states[:5]), shown[:5], atol=1e-6)
    assert again.encoding == projection.encoding


def test_all_numbers_of_token_vectors_vary_alike() -> None:
    drawn = np.random.default_rng(6).normal(size=(3_000, 200)) / np.sqrt(1 + np.arange(200))
    states = drawn.astype(np.float32)
    deviations = Projection.fitted(states).apply(states).std(axis=0)
    assert deviations.max() < 1.5 * deviations.min()  # the principal directions themselves: ten times


def test_a_small_model_has_fewer_dimensions_per_token() -> None:
    projection = Projection.fitted(units(2, 200, 33))
    assert projection.encoding.partition("/")[0] == "int2x32"
    assert projection.apply(units(3, 4, 33)).shape == (4, 32)


def test_the_published_projection_is_identified_by_its_digest() -> None:
    published = Projection.read(DEFAULT_PROJECTION)
    assert published.encoding == "int2x128/9041b0a9"  # another encoding requires a regenerate of every memory base
    assert len(calibration_texts()) > 500


def test_other_numbers_give_another_published_encoding(tmp_path: Path) -> None:
    one, other = (Projection.fitted(units(seed, 300, 64)) for seed in (4, 5))
    for name, projection in (("one", one), ("other", other), ("again", one)):
        projection.write(tmp_path / f"{name}.npz", published=True)
    names = {name: Projection.read(tmp_path / f"{name}.npz").encoding for name in ("one", "other", "again")}
    assert names["one"] == names["again"] != names["other"]


@each_row("dimensions", [4, 128])
def test_no_vectors_pack_to_no_bytes(dimensions: int) -> None:
    vectors, lengths = unpack(pack(np.empty((0, dimensions), dtype=np.float32)), dimensions)
    assert (vectors.shape, lengths.shape) == ((0, dimensions), (0,))
