"""What a history may not have is seen: each test changes one thing in a correct one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chaos.history import Entry, History, check_history, read_history
from harness.rows import each_row

pytestmark = pytest.mark.slow  # It tests what `make chaos` looks for.

SESSION = {"flow": "f", "session": "own-0-1", "life": 0}


def correct() -> list[Entry]:
    """Two captures, one after the other, a third beside the second; a deletion; a read; a cursor that advances."""
    return [
        {"what": "capture", "began": 0.0, "at": 1.0, "ids": ["a", "b"], "seqs": [1, 2], **SESSION},
        {"what": "capture", "began": 2.0, "at": 4.0, "ids": ["c"], "seqs": [4], **SESSION},
        {"what": "capture", "began": 3.0, "at": 5.0, "ids": ["d"], "seqs": [3], **SESSION},
        {"what": "cursor", "at": 5.0, "row": "r", "cursor": 2, "epoch": 1},
        {"what": "remove", "began": 5.5, "at": 6.0, "ids": ["b"]},
        {"what": "read", "began": 7.0, "at": 8.0, "ids": ["d", "c", "a"], **SESSION},
        {"what": "cursor", "at": 9.0, "row": "r", "cursor": 4, "epoch": 1},
        {"what": "cursor", "at": 9.0, "row": "other", "cursor": 0, "epoch": 0},
    ]


def test_a_correct_history() -> None:
    assert check_history(correct()) == []


def test_calls_that_overlap_may_have_either_order() -> None:
    entries = correct()
    entries[5] |= {"began": 0.5, "ids": []}  # a read that began before anything was acknowledged
    assert check_history(entries) == []
    entries[5] |= {"began": 5.8, "ids": ["a", "b", "c", "d"]}  # and one beside the deletion
    assert check_history(entries) == []


Change = Callable[[list[Entry]], object]


@each_row(
    ("change", "expected"),
    [
        (lambda entries: entries[1].update(began=1.5, seqs=[0]), "session own-0-1: position 0 was given after 2"),
        (lambda entries: entries[2].update(seqs=[4]), "session own-0-1: two messages at one position"),
        (lambda entries: entries[5].update(ids=["d", "c"]), "session own-0-1: a read missed 1 messages, such as a"),
        (
            lambda entries: entries[5].update(ids=["d", "c", "b", "a"]),
            "session own-0-1: a read had 1 deleted messages, such as b",
        ),
        (lambda entries: entries[6].update(cursor=1), "row r: cursor 2 became 1"),
        (lambda entries: entries[6].update(epoch=0), "row r: cursor 2 became 4"),
    ],
)
def test_each_contradiction_is_named(change: Change, expected: str) -> None:
    entries = correct()
    change(entries)
    assert check_history(entries) == [expected]


def test_a_session_that_was_deleted_counts_from_the_beginning() -> None:
    entries = correct()
    entries[1] |= {"life": 1, "seqs": [1]}
    entries[2] |= {"life": 1, "seqs": [2]}
    entries[5] |= {"life": 1, "ids": ["c", "d"]}
    assert check_history(entries) == []


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.write("cursor", row="r", cursor=2, epoch=1)
    history.write("cursor", row="r", cursor=1, epoch=1)
    history.close()
    first, second = read_history(history.path)
    assert first["at"] <= second["at"]
    assert check_history([first, second]) == ["row r: cursor 2 became 1"]
