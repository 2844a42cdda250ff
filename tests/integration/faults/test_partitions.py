"""Which links the nemesis breaks: those that are used, and never the observer's."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from chaos.cluster import OBSERVER, Plan
from chaos.partitions import Partitions
from harness.rows import each_row

pytestmark = pytest.mark.slow  # It tests the harness's faults.

PLAN = Plan(seed=1, seconds=1, database="postgresql", apis=2, workers=3, network=True)


def cluster() -> Any:
    def names(prefix: str) -> list[str]:
        return [name for name in PLAN.nodes() if name.startswith(prefix)]

    return SimpleNamespace(plan=PLAN, stores=["postgres", "redis", "chroma"], names=names)


KINDS = tuple(Partitions(cluster(), random.Random(0)).kinds)


@each_row("kind", KINDS)
def test_every_fault_breaks_some_links_and_none_of_the_observer(kind: str) -> None:
    make, weight = Partitions(cluster(), random.Random(kind)).kinds[kind]
    assert weight > 0
    for _ in range(50):
        fault = make()
        assert fault.links
        assert not any(OBSERVER in link for link in fault.links)
        assert all(one != other for one, other in fault.links)
        assert fault.rule.cuts == (
            kind in {"cut_pair", "half_cut_pair", "isolate_node", "half_isolate_node", "cut_role", "split_in_two"}
        )
        assert fault.seconds > 0


def test_half_cuts_have_one_direction() -> None:
    partitions = Partitions(cluster(), random.Random(1))
    for _ in range(50):
        ((one, other),) = partitions.half_cut_pair().links
        assert one != other
        links = partitions.half_isolate_node().links
        assert not any((b, a) in links for a, b in links)
        assert len({a for a, _ in links}) == 1 or len({b for _, b in links}) == 1


def test_a_seed_repeats_its_choices() -> None:
    def chosen(seed: int) -> list[str]:
        partitions = Partitions(cluster(), random.Random(seed))
        return [make().text for _ in range(5) for make, _ in partitions.kinds.values()]

    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)
