"""The thread of a conversation with branches: from one message back to its first.

A parent is an id, NIL (the message just before) or None (the thread begins here). `thread` follows ids, so neither the
order of rows nor equal timestamps change the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from memorybase.core.conversation.view.records import UUID_NIL, Record
from memorybase.core.errors import NotFound

BROKEN_LINK = "broken_link"  # a parent is deleted, or not among the rows
CYCLE = "cycle"


class Linked(Protocol):
    """A record, or another row of a conversation."""

    @property
    def id(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def parent_id(self) -> str | None: ...


Row = TypeVar("Row", bound=Linked)


@dataclass(frozen=True, slots=True)
class Thread(Generic[Row]):
    """Rows, oldest first, and flags for what is wrong with the thread."""

    rows: list[Row]
    flags: tuple[str, ...] = ()


def thread(
    rows: Sequence[Row], leaf_id: str | None = None, *, parents: Mapping[str, str | None] | None = None
) -> Thread[Row]:
    """The thread that ends at the leaf, by default the row with the highest seq. `parents`, by id, replace those of the
    rows. Raises NotFound for an unknown leaf."""
    ordered = sorted(rows, key=lambda row: (row.seq, row.id))
    if not ordered:
        return Thread([])
    index_of = {row.id: index for index, row in enumerate(ordered)}
    if leaf_id is not None and leaf_id not in index_of:
        raise NotFound("leaf_id must be a message of the conversation", field="leaf_id", value=leaf_id)
    index: int | None = len(ordered) - 1 if leaf_id is None else index_of[leaf_id]
    path: list[Row] = []
    visited: set[int] = set()
    flags: tuple[str, ...] = ()
    while index is not None:
        if index in visited:
            flags = (CYCLE,)
            break
        visited.add(index)
        row = ordered[index]
        path.append(row)
        parent = row.parent_id if parents is None else parents[row.id]
        if not parent:
            break
        if parent == UUID_NIL:
            index = index - 1 if index else None
            continue
        index = index_of.get(parent)
        if index is None:
            flags = (BROKEN_LINK,)
    path.reverse()
    return Thread(path, flags)


def inferred_parents(records: Sequence[Record]) -> dict[str, str | None]:
    """The parent of each record by its id, for logs in which few records or none name one.

    The same rule as `queries.threads` has for stored messages. A record without a parent follows the one before it in
    its run. The first of a run follows the one before it in the log, until a record has named a parent: from then on it
    begins a thread, as after regenerating a first answer. If its `parent_rule` is "linked", it does so as soon as a
    record names a parent at all, also later; if it is "none", in any case. If a user message names a user message of
    another run, it follows that whole turn, answer included, unless its `parent_rule` is "exact".
    """
    ordered = sorted(records, key=lambda record: (record.seq, record.id))
    by_id = {record.id: record for record in ordered}
    last_of_run = {record.run_id: record for record in ordered}
    first_link = next((index for index, record in enumerate(ordered) if record.parent_id is not None), len(ordered))
    before_in_run: dict[str | None, Record] = {}
    parents: dict[str, str | None] = {}
    for index, record in enumerate(ordered):
        before = before_in_run.get(record.run_id) if record.run_id is not None else None
        if record.parent_id is not None:
            parent = _turn_end(record, by_id.get(record.parent_id), last_of_run) or record.parent_id
        elif record.parent_rule == "none":
            parent = None
        elif before is not None:
            parent = before.id
        else:
            begins = first_link < (len(ordered) if record.parent_rule == "linked" else index)
            parent = None if begins else UUID_NIL
        before_in_run[record.run_id] = record
        parents[record.id] = parent
    return parents


def _turn_end(record: Record, parent: Record | None, last_of_run: dict[str | None, Record]) -> str | None:
    if parent is None or parent.run_id is None or parent.run_id == record.run_id or record.parent_rule == "exact":
        return None
    return last_of_run[parent.run_id].id if record.role == parent.role == "user" else None
