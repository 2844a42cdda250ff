"""Which messages fit: tables for every kind of limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from harness.records import Flat, ids, log, numbered, record
from harness.rows import each_row
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybase.core.conversation import Cut, Limits, Record, TrimThreshold
from memorybase.core.conversation.view.limits import Replay, Size, TrimResult, Unit, trim
from memorybase.core.conversation.view.turns import groups_of, open_question
from memorybase.core.errors import InvalidRequest

COUNTER = Flat(10)
TOOLS = "u1 A1[t1,t2] T1 T2 a1 u2 a2"
TURNS = "u1 a1 u2 a2"


def kept(records: list[Record], limits: Limits, **options: Any) -> tuple[str, bool]:
    trimmed = trim(records, [COUNTER.count(one) for one in records], limits, **options)
    return ids(records[index] for index in trimmed.kept), trimmed.over


def last(count: int, total: int = 10) -> str:
    return ids(numbered(total)[total - count :])


@each_row(("limit", "expected"), [(6, last(6)), (3, last(3)), (1, last(1)), (0, ""), (10, last(10)), (99, last(10))])
def test_drop_oldest_keeps_the_newest(limit: int, expected: str) -> None:
    assert kept(numbered(10), Limits(max_messages=limit)) == (expected, False)


@each_row(
    ("limit", "expected"),
    [
        (6, "m1 m2 m7 m8 m9 m10"),
        (5, "m1 m2 m8 m9 m10"),
        (3, "m1 m9 m10"),
        (2, "m1 m10"),
        (1, "m10"),
        (0, ""),
        (10, last(10)),
    ],
)
def test_drop_middle_keeps_the_first_and_the_newest(limit: int, expected: str) -> None:
    assert kept(numbered(10), Limits(max_messages=limit, strategy="drop_middle")) == (expected, False)


@each_row(
    ("strategy", "limit", "expected"),
    [
        ("drop_oldest", 7, "u1 A1 T1 T2 a1 u2 a2"),
        ("drop_oldest", 6, "A1 T1 T2 a1 u2 a2"),
        ("drop_oldest", 5, "a1 u2 a2"),
        ("drop_oldest", 4, "a1 u2 a2"),
        ("drop_oldest", 3, "a1 u2 a2"),
        ("drop_oldest", 2, "u2 a2"),
        ("drop_oldest", 1, "a2"),
        ("drop_middle", 6, "u1 a1 u2 a2"),
        ("drop_middle", 5, "u1 a1 u2 a2"),
        ("drop_middle", 4, "u1 a1 u2 a2"),
        ("drop_middle", 3, "u1 u2 a2"),
    ],
)
def test_a_call_and_its_results_stay_together(strategy: Any, limit: int, expected: str) -> None:
    assert kept(log(TOOLS), Limits(max_messages=limit, strategy=strategy)) == (expected, False)


@each_row(
    ("limit", "minimum", "expected", "over"),
    [
        (25, 0, "m5 m6", False),
        (25, 4, "m3 m4 m5 m6", True),
        (5, 0, "", True),
        (5, 1, "m6", True),
        (60, 0, "m1 m2 m3 m4 m5 m6", False),
    ],
)
def test_a_minimum_of_messages_overrides_the_tokens(limit: int, minimum: int, expected: str, over: bool) -> None:
    assert kept(numbered(6), Limits(max_tokens=limit, min_messages=minimum)) == (expected, over)


@each_row(
    ("limit", "by_message", "by_turn"),
    [
        *[(limit, TURNS, TURNS) for limit in (41, 40)],
        *[(limit, "a1 u2 a2", "u2 a2") for limit in (39, 30)],
        *[(limit, "u2 a2", "u2 a2") for limit in (29, 20)],
        *[(limit, "a2", "") for limit in (19, 10, 9, 0)],
    ],
)
def test_whole_turns_are_dropped_and_dify_keeps_an_answer_without_its_question(
    limit: int, by_message: str, by_turn: str
) -> None:
    records = log(TURNS)

    assert kept(records, Limits(max_tokens=limit, prune="message")) == (by_message, limit < 10)
    assert kept(records, Limits(max_tokens=limit, prune="turn")) == (by_turn, not by_turn)


def test_an_answer_above_the_limit_is_dropped_with_its_question() -> None:
    records = [record("u1", 1).with_content("5"), record("a1", 2).with_content("3000")]

    assert kept(records, Limits(max_tokens=2000, prune="message")) == ("a1", True)
    assert kept(records, Limits(max_tokens=2000, prune="turn")) == ("", True)
    assert kept(records[:1], Limits(max_tokens=1, prune="message")) == ("u1", True)


def test_a_threshold_lets_a_log_grow_and_then_cuts_it() -> None:
    limits = Limits(threshold=TrimThreshold(trigger=5, target=2))
    seen = [kept(numbered(count), limits)[0] for count in range(1, 12)]

    assert [len(one.split()) for one in seen] == [1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2]
    assert (seen[4], seen[7]) == ("m4 m5", "m7 m8")


def test_a_threshold_with_a_target_of_zero_keeps_nothing() -> None:
    limits = Limits(threshold=TrimThreshold(trigger=3, target=0))

    assert [kept(numbered(count), limits)[0] for count in range(1, 7)] == ["m1", "m1 m2", "", "m4", "m4 m5", ""]


def test_a_threshold_is_checked_after_a_complete_write() -> None:
    limits = Limits(threshold=TrimThreshold(trigger=3, target=1))
    records = [replace(one, run_id=f"r{(one.seq + 1) // 2}") for one in numbered(4)]

    assert kept(records[:3], limits)[0] == "m1 m2 m3"  # its answer is awaited
    assert kept(records, limits)[0] == "m4"


def test_a_threshold_that_drops_the_middle_keeps_the_first() -> None:
    limits = Limits(threshold=TrimThreshold(trigger=8, target=5), strategy="drop_middle")

    assert kept(numbered(8), limits)[0] == "m1 m2 m6 m7 m8"
    assert kept(numbered(10), limits)[0] == "m1 m2 m6 m7 m8 m9 m10"
    assert kept(numbered(11), limits)[0] == "m1 m2 m9 m10 m11"


def test_a_replay_cuts_only_at_its_trigger_and_keeps_what_its_first_cut_kept_at_the_start() -> None:
    def replayed(threshold: TrimThreshold, keep_first: int | None, units: list[Unit]) -> list[list[int]]:
        replay, left = Replay(threshold, keep_first), []
        for unit in units:
            replay.write(unit)
            replay.cut()
            left.append([index for unit in replay.left for index in unit.members])
        return left

    singles = [Unit(members=(index,), messages=1) for index in range(1, 8)]
    large = [Unit(members=(1,), messages=1), Unit(members=(2, 3, 4), messages=3)]

    threshold = TrimThreshold(trigger=5, target=3)
    assert replayed(threshold, None, singles)[3:] == [[1, 2, 3, 4], [3, 4, 5], [3, 4, 5, 6], [5, 6, 7]]
    assert replayed(threshold, 1, singles)[3:] == [[1, 2, 3, 4], [1, 4, 5], [1, 4, 5, 6], [1, 6, 7]]
    assert replayed(TrimThreshold(trigger=4, target=2), None, large) == [[1], [2, 3, 4]]
    assert replayed(TrimThreshold(trigger=4, target=0), None, large) == [[1], []]


def test_a_threshold_never_cuts_a_group_larger_than_its_target() -> None:
    limits = Limits(threshold=TrimThreshold(trigger=4, target=2))

    assert kept(log("u1 A1[t1,t2] T1 T2"), limits)[0] == "A1 T1 T2"


@each_row(
    ("options", "field", "value", "limit"),
    [
        ({"max_messages": -1}, "max_messages", -1, 0),
        ({"max_tokens": -5}, "max_tokens", -5, 0),
        ({"max_messages": 2, "min_messages": 3}, "min_messages", 3, 2),
        ({"max_turns": 3}, "prune", "group", "turn"),
    ],
)
def test_contradictory_limits_are_refused_with_their_field(
    options: dict[str, Any], field: str, value: object, limit: object
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Limits(**options)

    assert (caught.value.field, caught.value.value, caught.value.limit) == (field, value, limit)


def test_a_trigger_at_its_target_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        TrimThreshold(trigger=3, target=3)

    assert (caught.value.field, caught.value.value, caught.value.limit) == ("trigger", 3, 4)


def test_max_turns_does_not_count_an_unfinished_turn() -> None:
    finished, under_way = log("u1 a1 u2 a2"), log("u1 a1 u2 a2 u3")
    limits = Limits(max_turns=1, prune="turn")

    assert kept(finished, limits)[0] == "u2 a2"
    assert kept(under_way, limits)[0] == "u2 a2 u3"
    assert kept(under_way, Limits(max_turns=0, prune="turn"))[0] == "u3"


@each_row(("limit", "expected"), [(10, "u2"), (29, "u2"), (30, "u2 A2 T2"), (49, "u2 A2 T2"), (50, "u1 a1 u2 A2 T2")])
def test_the_open_question_is_kept_before_tool_results(limit: int, expected: str) -> None:
    assert kept(log("u1 a1 u2 A2[t2] T2"), Limits(max_tokens=limit, prune="turn")) == (expected, False)


def test_an_open_question_that_is_too_large_alone_keeps_nothing_and_sets_over() -> None:
    assert kept([*log("u1 a1"), record("u2", 3).with_content("100")], Limits(max_tokens=50)) == ("", True)


def test_the_question_is_kept_even_if_nothing_is_left_for_it() -> None:
    records = log("u1 a1 u2")

    assert kept(records, Limits(max_messages=2), used=Size(messages=1))[0] == "u2"
    assert kept(records, Limits(max_messages=1), used=Size(messages=1)) == ("u2", True)


@st.composite
def conversations(draw: st.DrawFn) -> list[Record]:
    """Whole turns with and without tools; the last one may be unfinished."""
    words: list[str] = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        words.append(f"u{number}")
        for step in range(draw(st.integers(0, 2))):
            words += [f"A{number}{step}[t{number}{step}]", f"T{number}{step}"]
        words.append(f"a{number}")
    del words[len(words) - draw(st.integers(0, 1)) :]
    costs = st.integers(1, 30).map(str)
    return [one.with_content(draw(costs)) for one in log(" ".join(words))]


LIMITS = st.builds(
    Limits,
    max_messages=st.none() | st.integers(4, 12),
    max_tokens=st.none() | st.integers(0, 200),
    min_messages=st.integers(0, 3),
    strategy=st.sampled_from(["drop_oldest", "drop_middle"]),
    prune=st.sampled_from(["turn", "group"]),
)


def trimmed(records: list[Record], limits: Limits) -> TrimResult:
    return trim(records, [COUNTER.count(one) for one in records], limits)


@settings(max_examples=150, deadline=None)
@given(conversations(), LIMITS)
def test_kept_messages_satisfy_every_limit(records: list[Record], limits: Limits) -> None:
    result = trimmed(records, limits)
    chosen = [records[index] for index in result.kept]
    tokens = sum(COUNTER.count(one) for one in chosen)

    assert result.kept == sorted(set(result.kept))
    for group in groups_of(records):
        assert len(set(group) & set(result.kept)) in {0, len(group)}
    assert result.over or limits.max_tokens is None or tokens <= limits.max_tokens
    assert result.over or limits.max_messages is None or len(chosen) <= limits.max_messages
    assert len(chosen) >= min(limits.min_messages, len(records))
    question = open_question(records)
    if question is not None and question not in result.kept:
        assert result.over
        assert limits.max_tokens is not None
        assert COUNTER.count(records[question]) > limits.max_tokens
    assert [chosen[index].id for index in trimmed(chosen, limits).kept] == [one.id for one in chosen]


@settings(max_examples=100, deadline=None)
@given(conversations(), st.integers(0, 150), st.integers(0, 60), st.sampled_from(["turn", "group"]))
def test_a_larger_limit_never_keeps_less(records: list[Record], limit: int, more: int, prune: Any) -> None:
    small = trimmed(records, Limits(max_tokens=limit, prune=prune, min_messages=1))
    large = trimmed(records, Limits(max_tokens=limit + more, prune=prune, min_messages=1))

    assert set(small.kept) <= set(large.kept)


def test_earlier_cuts_stay_out_and_predefined_messages_stay() -> None:
    records = [record("u9", 0), *numbered(6)]
    cuts = (Cut(0, 1), Cut(2, 4))
    assert kept(records, Limits(cuts=cuts), leading=1) == ("u9 m2 m5 m6", False)
    assert kept(records, Limits(cuts=cuts, max_messages=2), leading=1) == ("m5 m6", False)
    assert kept(records, Limits(cuts=cuts, threshold=TrimThreshold(trigger=3, target=1)), leading=1) == (
        "u9 m2 m5 m6",
        False,
    )
