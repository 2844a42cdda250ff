"""Every operator of a condition on every type of value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.rows import each_row

from memorybase.core.errors import InvalidRequest
from memorybase.core.queries.search import Features
from memorybase.core.search.conditions import NEGATIONS, OPERATORS, Conditions, checked_condition
from memorybase.core.search.request import SearchRequest, passes, with_filters

SENT = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
METADATA = {
    "text": "Berth 12",
    "digits": "012",
    "number": 12,
    "fraction": 4.5,
    "yes": True,
    "no": False,
    "zero": 0,
    "tags": ["boat", "harbour"],
    "years": [2024, 2026],
    "day": "2026-11-20",
    "moment": "2026-11-20T12:00:00+01:00",
    "seconds": 1_763_640_000,
    "nothing": None,
    "blank": "",
    "no_tags": [],
    "object": {"a": 1},
    "no_object": {},
    "role": "captain",
    "big": 2**53 + 1,
}


def features(**changes: Any) -> Features:
    known: dict[str, Any] = {
        "id": UUID("0b0f5d8e-5c1c-4b0a-9d2e-2f0a4f1f7c11"),
        "in_flow": True,
        "session_id": "anna-1",
        "end_user_id": "anna",
        "role": "user",
        "version": 1,
        "timestamp": SENT,
        "chunks": 1,
        "metadata": METADATA,
        "seq": 7,
        "position": 7,
        "sender_name": None,
        "terms": 3,
        "traits": 0,
        "first_position": 0,
    }
    return Features(**known | changes)


def holds(name: Any, operator: str, value: Any = None) -> bool:
    return checked_condition(name, operator, value).holds(features())


# Of each operator, with each type of stored value: what fits, and what does not.
FITTING: dict[str, list[tuple[str, Any, Any]]] = {
    "contains": [
        ("text", "erth", "Boat"),
        ("text", "12", 13),
        ("text", "B", "b"),
        ("number", "1", "3"),
        ("number", 2, 5),
        ("fraction", ".5", "5."),
        ("yes", "ru", "no"),
        ("tags", "harb", "ship"),
        ("years", "24", "25"),
        ("day", "2026-11", "2025"),
        ("object", '"a"', "b"),
        ("timestamp", "2026-11-22T10:30", "2026-11-23"),
        ("session_id", "nna", "bob"),
        ("role", "se", "captain"),
        ("metadata.role", "cap", "user"),
    ],
    "start with": [
        ("text", "Ber", "erth"),
        ("number", "1", "2"),
        ("tags", "har", "our"),
        ("yes", "t", "rue"),
        ("timestamp", "2026", "11"),
        ("session_id", "anna-", "1"),
        ("years", 2026, 26),
    ],
    "end with": [
        ("text", "12", "Berth"),
        ("number", 2, 1),
        ("tags", "our", "har"),
        ("no", "lse", "f"),
        ("day", "20", "2026"),
        ("end_user_id", "na", "an"),
    ],
    "is": [
        ("text", "Berth 12", "berth 12"),
        ("digits", "012", "12"),
        ("digits", 12, 13),
        ("number", "12", "13"),
        ("number", 12.0, 12.5),
        ("fraction", "4.50", "4"),
        ("yes", "true", "True"),
        ("yes", True, 1),
        ("no", "false", 0),
        ("zero", 0, False),
        ("tags", "boat", "boats"),
        ("years", 2026, 2025),
        ("day", "2026-11-20", "2026-11-21"),
        ("timestamp", "2026-11-22T10:30:00Z", "2026-11-22"),
        ("timestamp", SENT.timestamp(), 0),
        ("role", "user", "captain"),
        ("metadata.role", "captain", "user"),
        ("seq", 7, 8),
        ("seq", "7", "07x"),
        ("message_id", "0b0f5d8e-5c1c-4b0a-9d2e-2f0a4f1f7c11", "other"),
        ("big", 2**53 + 1, 2**53),
    ],
    "in": [
        ("text", ["x", "Berth 12"], ["Berth"]),
        ("digits", "011, 012", "12, 13"),
        ("number", "11, 12", "1,2"),
        ("number", [12], [13]),
        ("number", 12, 13),
        ("yes", "true", "false"),
        ("tags", ["harbour"], ["ship"]),
        ("years", [2025, 2026], []),
        ("role", ["user", "assistant"], "system"),
        ("timestamp", [SENT.isoformat()], ["x"]),
    ],
    "=": [
        ("number", 12, 11),
        ("number", "12.0", "12,0"),
        ("digits", "12", "13"),
        ("digits", 12.0, 1),
        ("seq", 7, 6),
        ("fraction", 4.5, 4.6),
        ("years", 2024, 2025),
        ("text", "Berth 12", "Berth"),
        ("yes", "true", 1),
        ("timestamp", SENT.isoformat(), "2020-01-01"),
    ],
    ">": [
        ("number", 11, 12),
        ("number", "11.9", "12"),
        ("digits", 11, 12),
        ("fraction", 4, 4.5),
        ("years", 2025, 2026),
        ("zero", -1, 0),
        ("day", "2026-11-19", "2026-11-20"),
        ("moment", "2026-11-20T10:59:59Z", "2026-11-20T11:00:00Z"),
        ("timestamp", "2026-11-22", "2026-11-23"),
        ("seq", 6, 7),
        ("number", 5, "2026-01-01"),
    ],
    "<": [
        ("number", 13, 12),
        ("digits", "13", "12"),
        ("fraction", 5, 4.5),
        ("years", 2025, 2024),
        ("zero", 1, 0),
        ("timestamp", SENT.timestamp() + 1, SENT.timestamp()),
        ("day", "2026-11-21", "2026-11-20"),
        ("seq", 8, 7),
    ],
    "≥": [
        ("number", 12, 13),
        ("fraction", 4.5, 5),
        ("years", 2026, 2027),
        ("timestamp", SENT.isoformat(), 2_000_000_000),
        ("seq", 7, 8),
    ],
    "≤": [
        ("number", 12, 11),
        ("fraction", 4.5, 4),
        ("years", 2024, 2023),
        ("timestamp", SENT.isoformat(), 0),
        ("seq", 7, 6),
    ],
    "before": [
        ("timestamp", "2026-11-23", "2026-11-22"),
        ("timestamp", SENT.timestamp() + 1, SENT.timestamp()),
        ("timestamp", "2026-11-22T11:31:00+01:00", "2026-11-22T11:29:00+01:00"),
        ("day", "2026-11-21", "2026-11-20"),
        ("seconds", "2025-11-21", "2025-11-20"),
        ("seconds", 1_763_640_001, "1763640000"),
    ],
    "after": [
        ("timestamp", "2026-11-22", "2026-11-23"),
        ("timestamp", SENT.timestamp() - 1, SENT.timestamp()),
        ("moment", "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z"),
        ("seconds", "2025-11-20", "2025-11-21"),
    ],
}
# No value of these fields can fit the operators below.
UNFIT = [
    ("text", ">", 1),
    ("text", "after", "2020-01-01"),
    ("yes", ">", 0),
    ("yes", "≥", 1),
    ("object", "<", 5),
    ("tags", "before", "2030-01-01"),
    ("object", "is", "a"),
    ("text", "=", 12),
    ("fraction", "is", "4,5"),
]
EMPTY = ["nothing", "blank", "no_tags", "no_object", "missing", "sender_name", "metadata.missing"]


@each_row(
    ("operator", "name", "fits", "other"),
    [(operator, *case) for operator, cases in FITTING.items() for case in cases],
)
def test_an_operator_and_its_opposite_tell_what_fits(operator: str, name: str, fits: Any, other: Any) -> None:
    assert (holds(name, operator, fits), holds(name, operator, other)) == (True, False)
    for negated in (each for each, positive in NEGATIONS.items() if positive == operator):
        assert (holds(name, negated, fits), holds(name, negated, other)) == (False, True)


@each_row(("name", "operator", "value"), UNFIT)
def test_types_that_do_not_compare_do_not_fit(name: str, operator: str, value: Any) -> None:
    assert not holds(name, operator, value)


@each_row("name", EMPTY)
def test_an_empty_field_fits_only_empty_and_the_negated_operators(name: str) -> None:
    values: dict[str, Any] = {"in": ["x"], "not in": ["x"], "before": 5, "after": 5}
    fitting = {each for each in OPERATORS if holds(name, each, values.get(each, "5"))}
    assert fitting == {"empty", "not contains", "is not", "≠", "not in"}


@each_row("name", sorted(METADATA.keys() - set(EMPTY)))
def test_a_field_with_any_value_is_not_empty(name: str) -> None:
    assert (holds(name, "not empty"), holds(name, "empty")) == (True, False)


def test_every_operator_is_tested() -> None:
    assert {*FITTING, *NEGATIONS, "empty"} == set(OPERATORS)


@each_row(
    ("spelling", "operator"),
    [("!=", "≠"), (">=", "≥"), ("<=", "≤"), ("null", "empty"), ("not null", "not empty")],
)
def test_other_spellings_of_operators(spelling: str, operator: str) -> None:
    assert checked_condition("number", spelling, 12).operator == operator


def test_several_names_are_the_values_of_all_these_fields() -> None:
    assert holds(["missing", "tags"], "is", "boat")
    assert not holds(["missing", "tags"], "is not", "boat")
    assert not holds(["missing", "text"], "empty")
    assert holds(["missing", "blank"], "empty")


def test_and_needs_all_conditions_and_or_one() -> None:
    both = (checked_condition("number", "=", 12), checked_condition("role", "is", "assistant"))
    assert not Conditions(both, "and").hold(features())
    assert Conditions(both, "or").hold(features())
    assert not Conditions(both[1:], "or").hold(features())


@each_row(
    ("name", "operator", "value", "field", "said"),
    [
        ("a", "like", "x", "comparison_operator", "must be one of contains, not contains"),
        ("", "is", "x", "name", "none of them blank"),
        ([], "is", "x", "name", "1 to 100 names"),
        (["a"] * 101, "is", "x", "name", "1 to 100 names"),
        (7, "is", "x", "name", "a name or a list"),
        ("a", "is", None, "value", "must be there for the operator is"),
        ("a", "not in", None, "value", "must be there for the operator not in"),
        ("a", "contains", "", "value", "must not be empty for the operator contains"),
        ("a", "not contains", "", "value", "must not be empty"),
        ("a", "is", ["x"], "value", "must be a text or a number for the operator is"),
        ("a", "is", {"x": 1}, "value", "must be a text, a number or a list"),
        ("a", "empty", {"x": 1}, "value", "must be a text, a number or a list"),
        ("a", "in", [["x"]], "value", "must be a list of texts and numbers"),
        ("a", "in", ["x"] * 101, "value", "at most 100 values (got 101)"),
        ("a", ">", "many", "value", "must be a number or a time for the operator > (got 'many')"),
        ("a", "before", "soon", "value", "must be a time in ISO 8601 or seconds since 1970 (got 'soon')"),
        ("a", "after", -1, "value", "must be a time in ISO 8601 or seconds since 1970 (got '-1')"),
    ],
)
def test_what_would_widen_a_search_is_refused(name: Any, operator: str, value: Any, field: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        checked_condition(name, operator, value, where="conditions[2]")
    assert refused.value.field == f"conditions[2].{field}"
    assert said in refused.value.message


# Narrowing


def request(*conditions: tuple[Any, str, Any], logical: Any = "and", **fields: Any) -> SearchRequest:
    checked = tuple(checked_condition(*each) for each in conditions)
    return SearchRequest(query="q", flow_id=uuid4(), conditions=Conditions(checked, logical), **fields)


def test_conditions_narrow_a_search_to_what_indexes_know() -> None:
    found = with_filters(
        request(
            ("session_id", "is", "anna-1"),
            ("end_user_id", "is", "anna"),
            ("role", "is", "user"),
            ("timestamp", "after", "2026-11-22"),
            ("timestamp", "≤", "2026-11-23"),
            ("text", "is", "x"),
        )
    )
    assert (found.session_id, found.end_user_id, found.roles) == ("anna-1", "anna", ["user"])
    assert found.since is not None
    assert found.until is not None
    assert found.since < datetime(2026, 11, 22, tzinfo=UTC) < datetime(2026, 11, 23, tzinfo=UTC) < found.until


@each_row(
    "asked",
    [
        request(("session_id", "is", "anna-1"), ("role", "is", "user"), logical="or"),
        request(("session_id", "is not", "anna-1")),
        request((["session_id", "text"], "is", "anna-1")),
        request(("role", "is", "captain")),
        request(("timestamp", "after", 300_000_000_000 - 50_000_000_000)),
    ],
)
def test_other_conditions_narrow_nothing(asked: SearchRequest) -> None:
    assert with_filters(asked) == asked


@each_row("operator", [">", "<", "≥", "≤", "before", "after"])
@each_row("step", [-1e-6, 0, 1e-6])
def test_a_narrowed_search_lets_through_all_that_its_condition_does(operator: str, step: float) -> None:
    asked = request(("timestamp", operator, SENT.timestamp() + step))
    message = features()
    wanted = checked_condition("timestamp", operator, SENT.timestamp() + step).holds(message)
    assert passes(message, with_filters(asked)) is wanted


def test_a_filter_of_the_caller_is_not_replaced() -> None:
    asked = request(("end_user_id", "is", "bob"), end_user_id="anna")
    assert with_filters(asked).end_user_id == "anna"
    assert not passes(features(), with_filters(asked))
