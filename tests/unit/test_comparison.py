"""How two statements compare, whoever compares them."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.comparison import Limits, Relation, Said, compare, covered, shared

LIMITS = Limits(same=0.6, changed=0.4, words=2)
BOAT = frozenset({"boat", "berth"})


@each_row(
    ("older", "newer", "alike", "expected"),
    [
        (Said(BOAT), Said(BOAT), None, Relation.REPEATS),
        (Said(frozenset({"boat"})), Said(frozenset({"boat"})), None, Relation.NONE),  # too short to be said again
        (Said(BOAT), Said(frozenset({"rent"})), None, Relation.NONE),
        (Said(BOAT), Said(frozenset({"rent"})), 0.6, Relation.REPEATS),
        (Said(BOAT, frozenset({"12"})), Said(BOAT, frozenset({"31"})), None, Relation.REPLACES),
        (Said(BOAT), Said(BOAT, denials=frozenset({"not"})), None, Relation.REPLACES),
        (Said(BOAT), Said(BOAT), 0.5, Relation.NONE),
        (Said(BOAT), Said(BOAT, tells_change=True), 0.5, Relation.REPLACES),
        (Said(frozenset({"sam"}), subject="name"), Said(frozenset({"alex"}), subject="name"), None, Relation.REPLACES),
        (Said(frozenset({"sam"}), subject="name"), Said(frozenset({"alex"}), subject="units"), None, Relation.NONE),
    ],
)
def test_a_later_statement_repeats_or_replaces_an_earlier_one(
    older: Said, newer: Said, alike: float | None, expected: Relation
) -> None:
    assert compare(newer, older, LIMITS, alike) is expected


def test_limits_that_are_not_set_are_never_met() -> None:
    assert not Limits().are_met(1.0, tells_change=True)
    assert not Limits(changed=0.4).are_met(1.0)


def test_shares_of_words() -> None:
    assert shared({"a", "b"}, {"b", "c"}) == 1 / 3
    assert shared((), ()) == 0.0
    assert covered({"a", "b"}, {"b"}) == 0.5
    assert covered((), {"b"}) == 1.0
