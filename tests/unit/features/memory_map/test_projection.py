"""Vectors to two dimensions, the sample of messages, and the clusters with their words."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import numpy as np
import pytest
from harness.rows import each_row
from numpy.typing import NDArray

from memorybase.features.memory_map import clusters, projection
from memorybase.features.memory_map.job import Sample
from memorybase.features.memory_map.projection import Projection
from memorybase.features.memory_map.queries import Entry

SEED = UUID(int=7)


def vectors(count: int, dimension: int, *, seed: int = 1) -> NDArray[np.float32]:
    """Points that differ most along the first axes."""
    scale = 1 / np.arange(1, dimension + 1)
    return (np.random.default_rng(seed).standard_normal((count, dimension)) * scale + 3).astype(np.float32)


@each_row(("count", "dimension"), [(300, 8), (300, 200), (20, 400), (3, 3), (2, 1)])
def test_the_components_are_those_of_an_exact_decomposition(count: int, dimension: int) -> None:
    points = vectors(count, dimension)
    fitted = projection.fit(points)
    _, spread, exact = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    for found, wanted in zip(fitted.components, exact[: min(2, count - 1)], strict=False):
        assert abs(float(found @ wanted)) == pytest.approx(1, abs=1e-3)
    assert fitted.explained == pytest.approx(float((spread[:2] ** 2).sum() / (spread**2).sum()), abs=1e-3)


def test_equal_vectors_are_one_point() -> None:
    fitted = projection.fit(np.ones((20, 4), dtype=np.float32))
    assert fitted.explained == 0
    assert not fitted.place(np.ones((1, 4), dtype=np.float32)).any()


def test_a_map_is_not_mirrored_when_it_is_computed_again_with_one_more_message() -> None:
    points = vectors(400, 30)
    before, after = projection.fit(points[:-1]).place(points[:-1]), projection.fit(points).place(points[:-1])
    assert np.abs(before - after).max() < 0.2


def test_a_stored_projection_places_as_before() -> None:
    points = vectors(50, 16)
    fitted = projection.fit(points)
    loaded = Projection.from_bytes(fitted.to_bytes(), fitted.explained)
    assert np.allclose(loaded.place(points), fitted.place(points), atol=1e-5)


def test_near_vectors_share_a_cluster_and_the_largest_comes_first() -> None:
    middles = np.repeat(np.eye(3, dtype=np.float32) * 10, [10, 50, 30], axis=0)
    points = middles + np.random.default_rng(2).standard_normal(middles.shape).astype(np.float32) * 0.01
    found, distances = clusters.group(points)
    groups = [set(part.tolist()) for part in (found[:10], found[10:60], found[60:])]
    assert sum(len(each) for each in groups) == len(set.union(*groups)), "no cluster has members of two groups"
    sizes = Counter(found.tolist())
    assert [sizes[each] for each in sorted(sizes)] == sorted(sizes.values(), reverse=True)
    assert len(set(found.tolist())) <= clusters.MAX_CLUSTERS
    assert float(distances.max()) < 1


def test_equal_vectors_are_one_cluster() -> None:
    found, _ = clusters.group(np.ones((30, 4), dtype=np.float32))
    assert set(found.tolist()) == {0}


def test_a_label_has_the_words_that_set_a_cluster_apart() -> None:
    said = {
        0: ["The berths have power, please", "A berth with power 12", "Berths cost more, please"],
        1: ["Pumps take cards, please", "The pump takes a card", "Which pump, please?"],
        2: ["one", "two", "three"],
    }
    labels = clusters.labels(said, "english")
    assert labels[0][:2] == ["berths", "power"]
    assert labels[1][0] in {"pump", "pumps"}
    assert "please" not in labels[0] + labels[1]
    assert labels[2] == [], "no word is in two of its messages"


def entries(session: int, count: int) -> list[Entry]:
    return [Entry(UUID(int=session), UUID(int=session * 1_000_000 + each), 1) for each in range(count)]


def sampled(given: list[list[Entry]], limit: int, seed: UUID = SEED) -> list[Entry]:
    sample = Sample(seed, {each[0].progress_id: len(each) for each in given}, limit=limit)
    for each in given:
        sample.add(each)
    return sample.entries


def test_below_the_limit_every_message_is_on_the_map() -> None:
    given = [entries(1, 5), entries(2, 3)]
    assert sampled(given, 8) == sorted(given[0] + given[1])


def test_a_long_session_does_not_push_the_others_off_the_map() -> None:
    given = [entries(1, 20_000), *(entries(2 + each, 10) for each in range(40))]
    chosen = Counter(entry.progress_id for entry in sampled(given, 500))
    assert sum(chosen.values()) == 500
    assert len(chosen) == 41
    assert chosen[UUID(int=1)] < 450, "in proportion it would have 490"


def test_the_seed_and_the_ids_decide_and_not_the_order() -> None:
    given = [entries(1, 2_000), entries(2, 2_000)]
    assert sampled(given, 100) == sampled(given[::-1], 100)
    assert sampled(given, 100) != sampled(given, 100, UUID(int=8))
