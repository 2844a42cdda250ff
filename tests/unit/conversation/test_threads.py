"""Threads: what Dify finds, and what is correct."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from harness.records import ids, log, numbered
from harness.rows import each_row
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybase.core.conversation import UUID_NIL, Record
from memorybase.core.conversation.view.threads import BROKEN_LINK, CYCLE, inferred_parents, thread
from memorybase.core.errors import NotFound


@dataclass(frozen=True)
class Row:
    id: str
    seq: int
    parent_id: str | None


def rows(drawing: str) -> list[Row]:
    """Rows from `id<-parent`, newest first; the ids are their seqs."""
    pairs = [word.split("<-") for word in drawing.split()]
    parents = {"NIL": UUID_NIL, "None": None}
    return [Row(identity, int(identity), parents.get(parent, parent)) for identity, parent in pairs]


def dify_thread(newest_first: list[Row]) -> list[Row]:
    """Dify's single pass: any row without a parent ends the thread, even if it is on another one."""
    path: list[Row] = []
    next_id: str | None = None
    for row in newest_first:
        if not row.parent_id:
            path.append(row)
            break
        if next_id is None or next_id in {row.id, UUID_NIL}:
            path.append(row)
            next_id = row.parent_id
    return path


VECTORS = [
    # drawing, what Dify finds, what is right, flags
    ("1<-NIL", "1", "1", ()),
    ("5<-4 4<-3 3<-2 2<-1 1<-NIL", "5 4 3 2 1", "5 4 3 2 1", ()),
    ("4<-2 3<-2 2<-1 1<-NIL", "4 2 1", "4 2 1", ()),
    ("", "", "", ()),
    ("3<-2 2<-1 1<-0", "3 2 1", "3 2 1", (BROKEN_LINK,)),
    ("3<-NIL 2<-NIL 1<-NIL", "3 2 1", "3 2 1", ()),
    ("5<-4 4<-2 3<-2 2<-NIL 1<-NIL", "5 4 2 1", "5 4 2 1", ()),
    ("2<-None 1<-NIL", "2", "2", ()),
    ("4<-3 3<-None 2<-1 1<-None", "4 3", "4 3", ()),
    ("3<-1 2<-None 1<-None", "3 2", "3 1", ()),  # Dify: the sibling of the root leaks in
    ("3<-2 1<-None 2<-1", "3 1", "3 2 1", ()),  # Dify: equal timestamps lose a message
    ("3<-x 2<-1 1<-None", "3 1", "3", (BROKEN_LINK,)),  # Dify: a root of another thread leaks in
    ("3<-x 2<-1 1<-NIL", "3", "3", (BROKEN_LINK,)),
    ("2<-2 1<-NIL", "2", "2", (CYCLE,)),
    ("2<-1 1<-2", "2 1", "2 1", (CYCLE,)),
    ("3<-2 2<-1 1<-3", "3 2 1", "3 2 1", (CYCLE,)),
    ("4<-NIL 3<-1 2<-1 1<-NIL", "4 3 1", "4 3 1", ()),
]


@each_row(("drawing", "dify", "right", "flags"), VECTORS)
def test_threads_and_those_that_dify_finds(drawing: str, dify: str, right: str, flags: tuple[str, ...]) -> None:
    found = thread(rows(drawing))

    assert " ".join(row.id for row in reversed(found.rows)) == right
    assert found.flags == flags
    assert " ".join(row.id for row in dify_thread(rows(drawing))) == dify


def test_a_thread_ends_at_the_requested_leaf() -> None:
    tree = rows("4<-2 3<-2 2<-1 1<-None")

    assert [row.id for row in thread(tree, "3").rows] == ["1", "2", "3"]
    with pytest.raises(NotFound) as caught:
        thread(tree, "9")
    assert (caught.value.field, caught.value.value) == ("leaf_id", "9")


@st.composite
def trees(draw: st.DrawFn) -> list[Row]:
    size = draw(st.integers(1, 12))
    parents = st.sampled_from([None, UUID_NIL, "gone", *map(str, range(1, size + 1))])
    return [Row(str(seq), seq, draw(parents)) for seq in range(1, size + 1)]


@settings(max_examples=60, deadline=None)
@given(trees(), st.randoms(use_true_random=False))
def test_a_thread_does_not_depend_on_the_order_of_rows(tree: list[Row], chance: random.Random) -> None:
    expected = thread(tree)
    shuffled = tree[:]
    chance.shuffle(shuffled)

    assert thread(shuffled) == expected
    assert expected.rows[-1] == tree[-1]
    assert len({row.id for row in expected.rows}) == len(expected.rows)


def run(records: list[Record], run_id: str, parent_id: str | None = None) -> list[Record]:
    first, *others = [replace(record, run_id=run_id) for record in records]
    return [replace(first, parent_id=parent_id), *others]


def followed(records: list[Record], leaf_id: str | None = None) -> list[Record]:
    return thread(records, leaf_id, parents=inferred_parents(records)).rows


def test_a_log_without_parents_is_one_thread() -> None:
    messages = [*run(log("u1 a1"), "r1"), *run(log("u2 a2"), "r2")]
    assert ids(followed([replace(message, seq=seq) for seq, message in enumerate(messages)])) == "u1 a1 u2 a2"
    assert ids(followed(numbered(4))) == "m1 m2 m3 m4"


@each_row("named", ["u1", "a1"])  # a runtime may name the turn by its question or by its answer
def test_regenerating_the_first_answer_starts_a_thread(named: str) -> None:
    messages = [
        *run(log("u1 a1"), "r1"),
        *run(log("u2 a2"), "r2", named),
        *run(log("u3 a3"), "r3"),
        *run(log("u4 a4"), "r4", named.replace("1", "3")),
    ]
    line = [replace(message, seq=seq) for seq, message in enumerate(messages)]

    assert ids(followed(line)) == "u3 a3 u4 a4"
    assert ids(followed(line, "a2")) == "u1 a1 u2 a2"


def test_a_regenerated_answer_leaves_out_the_answer_before_it() -> None:
    messages = [
        *run(log("u1 a1"), "r1"),
        *run(log("u2 a2"), "r2", "a1"),
        *run(log("a3"), "r3", "u1"),
        *run(log("u4 a4"), "r4", "a3"),
    ]
    assert ids(followed([replace(message, seq=seq) for seq, message in enumerate(messages)])) == "u1 a3 u4 a4"


@each_row(("start", "expected"), [(None, "u1 a1 u2 a2 u3 a3"), ("linked", "u2 a2 u3 a3")])
def test_a_null_parent_begins_a_thread_once_the_session_names_parents(start: str | None, expected: str) -> None:
    again = [replace(each, parent_rule=start if each.id == "u2" else None) for each in run(log("u2 a2"), "r2")]
    messages = [*run(log("u1 a1"), "r1"), *again, *run(log("u3 a3"), "r3", "a2")]
    line = [replace(message, seq=seq) for seq, message in enumerate(messages)]

    assert ids(followed(line)) == expected
    assert ids(followed(line[:4])) == "u1 a1 u2 a2", "no parent is named yet"


def test_messages_before_the_first_named_parent_stay_on_the_thread() -> None:
    messages = [*run(log("u1 a1"), "r1"), *run(log("u2 a2"), "r2"), *run(log("u3 a3"), "r3", "a2")]
    line = [replace(message, seq=seq) for seq, message in enumerate(messages)]

    assert ids(followed(line)) == "u1 a1 u2 a2 u3 a3"
