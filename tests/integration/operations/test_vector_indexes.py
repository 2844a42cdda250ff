"""A build in a store that indexes afterwards serves once it is indexed; what has grown is indexed in turns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

import pytest
from harness.doubles import InMemoryVectors
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases.regenerate import regenerate
from memorybase.core.operations import vector_indexes
from memorybase.core.vectors.store import EXPECTED_CHUNKS, CollectionRef


class IndexingVectors(InMemoryVectors):
    """Indexes collections of more than two chunks."""

    def __init__(self) -> None:
        super().__init__()
        self.indexed: list[UUID] = []
        self.left: list[set[UUID]] = []
        self.is_busy = False

    def needs_index(self, chunks: int) -> bool:
        return chunks > 2

    def index(self, ref: CollectionRef) -> bool:
        if self.away:
            raise errors.VectorStoreUnavailable
        if not self.is_busy:
            self.indexed.append(ref.id)
        return not self.is_busy

    def maintain(self, *, leave: Collection[UUID] = ()) -> int:
        self.left.append(set(leave))
        return 0


@pytest.fixture
def vectors(world: World) -> IndexingVectors:
    vectors = IndexingVectors()
    world.services = replace(world.services, vectors=vectors)
    return vectors


def built(world: World, messages: int) -> UUID:
    """A memory base whose second generation has every message."""
    base = world.new_base(threshold=1)
    for number in range(messages):
        world.say("s", f"text {number}")
    world.settle()
    regenerate(world.services, world.user_id, base)
    world.settle()
    return base


def test_a_large_build_serves_once_it_is_indexed(world: World, vectors: IndexingVectors) -> None:
    base = built(world, 3)
    assert (world.base(base).serving, world.base(base).building) == (1, 2)
    (building,) = [each for each in vectors.list_collections() if "-g2-" in each.ref.name]
    assert building.metadata[EXPECTED_CHUNKS] == 3

    assert vector_indexes.build_indexes(world.services) == 1

    assert vectors.indexed == [building.ref.id]
    assert vectors.left == [{building.ref.id}]
    world.assert_all_ingested(base)
    assert world.base(base).serving == 2


def test_a_small_build_serves_at_once(world: World, vectors: IndexingVectors) -> None:
    assert world.base(built(world, 2)).serving == 2
    assert vector_indexes.build_indexes(world.services) == 0
    assert vectors.indexed == []


@pytest.mark.usefixtures("vectors")
def test_messages_that_come_while_it_waits_are_ingested(world: World) -> None:
    base = built(world, 3)
    world.say("s", "late")
    world.settle()

    vector_indexes.build_indexes(world.services)

    world.assert_all_ingested(base)
    assert len(world.stored(base)) == 4


@pytest.mark.parametrize("reason", ["busy", "away"])
def test_a_build_waits_until_its_index_can_be_built(world: World, vectors: IndexingVectors, reason: str) -> None:
    base = built(world, 3)
    vectors.is_busy, vectors.away = reason == "busy", reason == "away"
    if vectors.away:
        with pytest.raises(errors.VectorStoreUnavailable):
            vector_indexes.build_indexes(world.services)
    else:
        assert vector_indexes.build_indexes(world.services) == 0
    assert world.base(base).serving == 1

    vectors.is_busy = vectors.away = False
    assert vector_indexes.build_indexes(world.services) == 1
    assert world.base(base).serving == 2


def test_sweepers_look_in_turns_for_what_has_grown(world: World, vectors: IndexingVectors) -> None:
    for _ in range(3):
        vector_indexes.build_indexes(world.services)

    assert vectors.left == [set()]
