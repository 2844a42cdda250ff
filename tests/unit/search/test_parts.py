"""The parts of a score, texts that are alike, and the latest values of an owner."""

from __future__ import annotations

import pytest
from harness.rows import each_row

from memorybase.search.alike import normalized
from memorybase.search.query_vectors import LatestByOwner
from memorybase.search.scoring import (
    KIND,
    PARTS,
    SIGNALS,
    SIGNALS_OF,
    WITH_TOKENS,
    PartWeights,
    part_of,
    shares_by_part,
)


def test_every_signal_belongs_to_one_part() -> None:
    named = [signal for signals in SIGNALS_OF.values() for signal in signals]
    assert len(named) == len(set(named))
    assert set(named) < set(SIGNALS)
    assert {part_of(signal) for signal in SIGNALS} == set(PARTS)
    assert part_of("date") == KIND


def test_the_shares_of_the_parts_add_up() -> None:
    shares = {signal: float(number) for number, signal in enumerate(SIGNALS)}
    assert sum(shares_by_part(shares).values()) == sum(shares.values())


def test_factors_of_one_change_no_weight() -> None:
    assert PartWeights().applied(WITH_TOKENS) == WITH_TOKENS
    assert PartWeights().changes_nothing
    assert not PartWeights(around=0.5).changes_nothing


@each_row("text", ["Berth 12 is free.", "  berth  12, IS free!", "Berth 12 is free"])
def test_case_punctuation_and_spaces_do_not_count(text: str) -> None:
    assert normalized(text) == "berth 12 is free"


def test_other_numbers_are_another_text() -> None:
    assert normalized("Berth 12 is free") != normalized("Berth 13 is free")


class Owner:
    pass


def test_the_least_recently_used_value_is_dropped() -> None:
    latest: LatestByOwner[str, str] = LatestByOwner(2)
    owner = Owner()
    made: list[str] = []

    def value(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key

        return latest.get(owner, key, make)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert value(key) == key
    assert made == ["a", "b", "c", "b"]


def test_owners_share_no_value_and_a_failure_is_not_kept() -> None:
    latest: LatestByOwner[str, int] = LatestByOwner(2)
    one, two = Owner(), Owner()
    assert (latest.get(one, "a", lambda: 1), latest.get(two, "a", lambda: 2)) == (1, 2)
    with pytest.raises(ZeroDivisionError):
        latest.get(one, "b", lambda: 1 // 0)
    assert latest.get(one, "b", lambda: 3) == 3
