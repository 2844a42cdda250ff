"""Vectors in files, found by the text that they belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness.rows import each_row
from numpy.typing import NDArray

from memorybase.core.vectors.saved import FOLDER, SavedVectors, find_saved, save_vectors

TEXTS = [f"text {number}" for number in range(300)]


def vector_of(text: str, dimension: int = 4) -> NDArray[np.float32]:
    vector = np.random.default_rng(abs(hash(text))).normal(size=dimension).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved_in(tmp_path)


def saved_in(parent: Path) -> Path:
    folder = parent / FOLDER
    folder.mkdir()
    with save_vectors(folder) as writer:
        for text in TEXTS:
            writer.add("model-a", text, vector_of(text))
        writer.add("model-b", TEXTS[0], vector_of("another", 8))
        assert writer.count == len(TEXTS) + 1
    return folder


def test_each_text_has_its_own_vector(folder: Path) -> None:
    found = SavedVectors(folder).find("model-a", 4, [*TEXTS, "unknown"])
    assert list(found) == TEXTS
    for text in TEXTS:
        np.testing.assert_array_equal(found[text], vector_of(text))


def test_vectors_of_another_model_or_dimension_are_not_taken(folder: Path) -> None:
    saved = SavedVectors(folder)
    assert saved.find("model-c", 4, TEXTS) == {}
    assert saved.find("model-a", 8, TEXTS) == {}
    assert list(saved.find("model-b", 8, TEXTS)) == [TEXTS[0]]


def test_a_damaged_vector_is_not_taken(folder: Path) -> None:
    raw = np.fromfile(folder / "0.vectors", dtype="<f4").reshape(-1, 4)
    raw[7] = np.nan
    raw[8] *= 2
    raw.tofile(folder / "0.vectors")
    assert set(TEXTS) - SavedVectors(folder).find("model-a", 4, TEXTS).keys() == {TEXTS[7], TEXTS[8]}


@each_row("name", ["index.json", "0.digests", "0.places", "0.vectors"])
def test_a_lost_or_cut_file_means_no_vectors(tmp_path: Path, name: str) -> None:
    folder = saved_in(tmp_path)
    assert find_saved(folder.parent, "model-a", 4, TEXTS)
    (folder / name).write_bytes((folder / name).read_bytes()[:10])
    assert find_saved(folder.parent, "model-a", 4, TEXTS) == {}
    (folder / name).unlink()
    assert find_saved(folder.parent, "model-a", 4, TEXTS) == {}
    assert find_saved(folder, "model-a", 4, TEXTS) == {}
