"""The thread of a conversation with branches: from one message back to where it began.

A parent is an id, NIL ("whatever came just before") or None (the thread begins here). `thread` follows them by an id
map, so that no order of rows and no equal timestamps change it. `dify_thread` is Dify's single pass over the newest
rows first, kept to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from memorybase.conversation.view.records import UUID_NIL, Record
from memorybase.errors import NotFound

BROKEN_LINK = "broken_link"  # a parent is missing: deleted, or not among the rows
CYCLE = "cycle"


class Linked(Protocol):
    """A row of a conversation: a record, or a whole turn."""

    @property
    def id(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def parent_id(self) -> str | None: ...


Row = TypeVar("Row", bound=Linked)


@dataclass(frozen=True, slots=True)
class Thread(Generic[Row]):
    """Oldest first, with what was found wrong on the way."""

    rows: list[Row]
    flags: tuple[str, ...] = ()


def thread(
    rows: Sequence[Row], leaf_id: str | None = None, *, parents: Mapping[str, str | None] | None = None
) -> Thread[Row]:
    """The thread that ends at the leaf, by default the newest row by seq; raises NotFound for an unknown leaf.
    `parents`, by id, are followed in place of the rows' own."""
    ordered = sorted(rows, key=lambda row: (row.seq, row.id))
    if not ordered:
        return Thread([])
    place_of = {row.id: index for index, row in enumerate(ordered)}
    if leaf_id is not None and leaf_id not in place_of:
        raise NotFound("The conversation has no such message.", field="leaf_id", value=leaf_id)
    index: int | None = len(ordered) - 1 if leaf_id is None else place_of[leaf_id]
    found: list[Row] = []
    visited: set[int] = set()
    flags: tuple[str, ...] = ()
    while index is not None:
        if index in visited:
            flags = (CYCLE,)
            break
        visited.add(index)
        row = ordered[index]
        found.append(row)
        parent = row.parent_id if parents is None else parents[row.id]
        if not parent:
            break
        if parent == UUID_NIL:
            index = index - 1 if index else None
            continue
        index = place_of.get(parent)
        if index is None:
            flags = (BROKEN_LINK,)
    found.reverse()
    return Thread(found, flags)


def dify_thread(newest_first: Sequence[Row]) -> list[Row]:
    """Newest first, as Dify finds it: any row without a parent ends the walk, whether or not it is on the way."""
    found: list[Row] = []
    wanted: str | None = None
    for row in newest_first:
        if not row.parent_id:
            found.append(row)
            break
        if wanted is None or wanted in {row.id, UUID_NIL}:
            found.append(row)
            wanted = row.parent_id
    return found


def inferred_parents(records: Sequence[Record]) -> dict[str, str | None]:
    """A parent for each record by its id, for logs in which few or none name one.

    A record without a parent follows the one before it in its run. The first of a run follows what is older, until the
    conversation has named a parent once: from then on it begins a thread, as after regenerating a first answer. A user
    message whose parent is another run's user message means that whole turn, answer included.
    """
    ordered = sorted(records, key=lambda record: (record.seq, record.id))
    last_of_run = {record.run_id: record for record in ordered}
    by_id = {record.id: record for record in ordered}
    before_in_run: dict[str | None, Record] = {}
    has_links = False
    parents: dict[str, str | None] = {}
    for record in ordered:
        before = before_in_run.get(record.run_id) if record.run_id is not None else None
        parent = record.parent_id
        if parent is not None:
            has_links = True
            parent = _turn_end(record, by_id.get(parent), last_of_run) or parent
        elif before is not None:
            parent = before.id
        elif not has_links:
            parent = UUID_NIL
        before_in_run[record.run_id] = record
        parents[record.id] = parent
    return parents


def _turn_end(record: Record, parent: Record | None, last_of_run: dict[str | None, Record]) -> str | None:
    if parent is None or parent.run_id is None or parent.run_id == record.run_id:
        return None
    return last_of_run[parent.run_id].id if record.role == parent.role == "user" else None
