"""Groups, turns, and messages that no model accepts."""

from __future__ import annotations

from harness.records import ids, log, record
from harness.rows import each_row

from memorybase.conversation.view.turns import drop_unpaired_tool_messages, groups_of, open_question, turns_of


@each_row(
    ("words", "expected"),
    [
        ("u1 a1", [(0,), (1,)]),
        ("u1 A1[t1,t2] T1 T2 a1", [(0,), (1, 2, 3), (4,)]),
        ("u1 A1[t1] u2 T1 a2", [(0,), (1, 3), (2,), (4,)]),  # the result came behind another question
        ("T1 u1", [(0,), (1,)]),
        ("", []),
    ],
)
def test_a_call_and_its_results_are_one_group(words: str, expected: list[tuple[int, ...]]) -> None:
    assert groups_of(log(words)) == expected


def test_a_result_belongs_to_the_newest_call_with_its_id() -> None:
    first, second = log("u1 A1[t1] T1 a1"), log("u2 A2[t1] T1 a2")

    assert groups_of([*first, *second]) == [(0,), (1, 2), (3,), (4,), (5, 6), (7,)]


def test_turns_start_with_a_user_message() -> None:
    assert turns_of(log("s1 a1 u1 A1[t1] T1 a2 u2")) == [[(0,), (1,)], [(2,), (3, 4), (5,)], [(6,)]]


@each_row(
    ("words", "expected"),
    [
        ("u1 a1", None),
        ("u1 a1 u2", 2),
        ("u1 a1 u2 A2[t2]", 2),
        ("u1 a1 u2 A2[t2] T2", 2),
        ("u1 a1 u2 a2 s1", None),
        ("a1", None),
        ("", None),
    ],
)
def test_a_question_is_open_until_an_answer_without_calls(words: str, expected: int | None) -> None:
    assert open_question(log(words)) == expected


@each_row(
    ("words", "left", "removed"),
    [
        ("u1 A1[t1,t2] T1 T2 a1", "u1 A1 T1 T2 a1", []),
        ("u1 T1 a1", "u1 a1", [("T1", "tool_result_without_call")]),
        ("u1 A1[t1] T1 T1 a1", "u1 A1 T1 a1", [("T1", "tool_result_without_call")]),
        ("u1 A1[t1] T1 A2[t2]", "u1 A1 T1 A2", []),  # its result may still come
        ("u1 A1[t1,t2] T1", "u1 A1 T1", []),
    ],
)
def test_results_without_a_call_are_removed(words: str, left: str, removed: list[tuple[str, str]]) -> None:
    paired = drop_unpaired_tool_messages(log(words))

    assert ids(paired.records) == left
    assert [(one.id, reason) for one, reason in paired.removed] == removed
    assert not paired.stripped


def test_an_unanswered_call_is_removed_and_its_text_stays() -> None:
    paired = drop_unpaired_tool_messages(log("u1 A1[t1,t2] T1 u2 a2"))
    assert ids(paired.records) == "u1 A1 T1 u2 a2"
    assert [call["id"] for call in paired.records[1].tool_calls] == ["t1"]
    assert paired.stripped

    silent = [record("u1", 1), record("A1[t1]", 2).with_content(None), record("u2", 3)]
    paired = drop_unpaired_tool_messages(silent)
    assert ids(paired.records) == "u1 u2"
    assert [(one.id, reason) for one, reason in paired.removed] == [("A1", "tool_call_without_result")]
