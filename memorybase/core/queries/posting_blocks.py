"""Blocks of postings: one row for all that a term occurs in a session within 1,024 positions.

A row of an index takes some hundred bytes, whatever it says, and a message has twenty. A block is a text with two
characters for each posting: the offset of its position in the block, and how often the term occurs. Characters, because
every database counts them and finds one of them. The row's `position` is the number of the block as a negative number,
so that it is no message's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from memorybase.core.database import engine
from memorybase.core.database.batches import is_among
from memorybase.core.database.upsert import core
from memorybase.core.models import Message, Posting, Session
from memorybase.core.models.sessions import BLOCK

_FIRST_OFFSET = 0x200  # up to 0x5FF: two bytes in UTF-8
_FIRST_TIMES = ord("0")  # one byte up to "~"; the largest count, 255, is below the first offset

Position = TypeVar("Position", int, sa.SQLColumnExpression[int], NDArray[np.int64])
_Table = Posting.__table__.c  # without the mapped class, as where postings are read

# How many postings a row has.
SIZE: sa.ColumnElement[int] = sa.case((_Table.packed.is_(None), 1), else_=sa.func.length(_Table.packed) // 2)

# On PostgreSQL arrays instead of hundreds of rows, as where postings are added.
_WRITE_ARRAYS = sa.text(
    """
    INSERT INTO postings (term, position, times, packed)
    SELECT term, position, 0, packed
    FROM unnest(CAST(:terms AS bigint[]), CAST(:positions AS bigint[]), CAST(:texts AS text[]))
        AS given (term, position, packed)
    ON CONFLICT (term, position) DO UPDATE SET packed = excluded.packed
    """
)
_DELETE_ARRAYS = sa.text(
    """
    DELETE FROM postings USING unnest(CAST(:terms AS bigint[]), CAST(:positions AS bigint[])) AS given (term, position)
    WHERE postings.term = given.term AND postings.position = given.position
    """
)
_WRITE_ROWS = """
    INSERT INTO postings (term, position, times, packed) VALUES (?, ?, 0, ?)
    ON CONFLICT (term, position) DO UPDATE SET packed = excluded.packed
"""
_DELETE_ROWS = "DELETE FROM postings WHERE term = ? AND position = ?"
_WHERE = _Table.position.between(sa.bindparam("first"), sa.bindparam("last"))
_SINGLE = sa.select(_Table.term, _Table.position, _Table.times).where(_WHERE)
_PACKED = sa.select(_Table.term, _Table.position, _Table.packed).where(_WHERE)

_IN_ORDER = (_Table.position, _Table.term)


def key(position: Position) -> Position:
    """The `position` of the rows of the block that this position is in."""
    return -1 - position // BLOCK


def pack(postings: Iterable[Sequence[int]]) -> str:
    """The text of one block with these postings: (position, times)."""
    return "".join(
        chr(_FIRST_OFFSET + position % BLOCK) + chr(_FIRST_TIMES + times)
        for position, times in sorted(postings, key=itemgetter(0))
    )


def unpack(keys: Sequence[int], texts: Sequence[str]) -> NDArray[np.int64]:
    """The postings of several blocks, as rows (position, times)."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.int64).reshape(-1, 2)
    starts = (-1 - np.array(keys, dtype=np.int64)) * BLOCK
    positions = np.repeat(starts, [len(text) // 2 for text in texts]) + codes[:, 0] - _FIRST_OFFSET
    return np.column_stack((positions, codes[:, 1] - _FIRST_TIMES))


class _HasOffset(FunctionElement[Any]):
    """Whether a block's text has the character of an offset."""

    name = "has_offset"
    inherit_cache = True
    type = sa.types.NullType()


@compiles(_HasOffset)
def _strpos(element: _HasOffset, compiler: SQLCompiler, **options: Any) -> str:
    text, offset = (compiler.process(clause, **options) for clause in element.clauses)
    return f"strpos({text}, chr(CAST({_FIRST_OFFSET} + {offset} AS INTEGER))) > 0"


@compiles(_HasOffset, "sqlite")
def _instr(element: _HasOffset, compiler: SQLCompiler, **options: Any) -> str:
    text, offset = (compiler.process(clause, **options) for clause in element.clauses)
    return f"instr({text}, char({_FIRST_OFFSET} + {offset})) > 0"


def contains(position: sa.SQLColumnExpression[int]) -> sa.ColumnElement[bool]:
    """Whether a row is a block that has a posting at this position."""
    return sa.and_(_Table.position == key(position), _HasOffset(_Table.packed, position % BLOCK))


def _write(db: OrmSession, blocks: Sequence[tuple[int, int, str]]) -> None:
    """Insert blocks, (term, key, text), or replace their texts."""
    _execute_many(db, _WRITE_ARRAYS, _WRITE_ROWS, ("terms", "positions", "texts"), blocks)


def _delete_rows(db: OrmSession, keys: Sequence[tuple[int, int]]) -> None:
    _execute_many(db, _DELETE_ARRAYS, _DELETE_ROWS, ("terms", "positions"), keys)


def _execute_many(
    db: OrmSession, arrays: sa.TextClause, rows: str, names: Sequence[str], values: Sequence[tuple[Any, ...]]
) -> None:
    connection = engine.connection(db)
    if not values:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(arrays, dict(zip(names, map(list, zip(*values, strict=True)), strict=True)))
    else:
        connection.exec_driver_sql(rows, list(values))


def remove(db: OrmSession, first: int, last: int) -> None:
    """Remove the postings in blocks from one position to another."""
    whole = range(-(-first // BLOCK), (last + 1) // BLOCK)
    if whole:
        between = Posting.position.between(key(whole[-1] * BLOCK), key(whole[0] * BLOCK))
        db.execute(sa.delete(Posting).where(between).execution_options(synchronize_session=False))
    for number in {first // BLOCK, last // BLOCK}:
        if number not in whole:
            _remove_from(db, key(number * BLOCK), first, last)


def _remove_from(db: OrmSession, block: int, first: int, last: int) -> None:
    conditions = [_Table.position == block]
    if first == last:  # an edit: of the session's terms it is about twenty
        conditions.append(_HasOffset(_Table.packed, sa.literal(first % BLOCK)))
    left = [
        (term, pack(each for each in unpack([block], [text]).tolist() if not first <= each[0] <= last))
        for term, text in engine.connection(db).execute(sa.select(_Table.term, _Table.packed).where(*conditions))
    ]
    _delete_rows(db, [(term, block) for term, text in left if not text])
    _write(db, [(term, block, text) for term, text in left if text])


def pack_positions(db: OrmSession, first: int, last: int) -> None:
    """Pack the postings of a session from one position to another, with those in their blocks that are rows yet. A term
    that occurs once in a block stays a row, which is as short."""
    connection = engine.connection(db)
    rows: dict[tuple[int, int], list[Sequence[int]]] = {}
    for term, position, times in connection.execute(_SINGLE, {"first": first // BLOCK * BLOCK, "last": last}):
        rows.setdefault((term, key(position)), []).append((position, times))
    blocks = connection.execute(_PACKED, {"first": key(last), "last": key(first)})
    packed = {(term, block): text for term, block, text in blocks}
    moved = {at: found for at, found in rows.items() if len(found) > 1 or at in packed}
    _delete_rows(db, [(term, position) for (term, _), found in moved.items() for position, _ in found])
    for at in moved.keys() & packed.keys():
        moved[at] += unpack([at[1]], [packed[at]]).tolist()
    _write(db, [(term, block, pack(found)) for (term, block), found in moved.items()])


class Place(NamedTuple):
    """Position of a row in the index on positions: blocks first."""

    position: int
    term: int


class StoredRow(NamedTuple):
    """A posting, or a block of them."""

    place: Place
    packed: str | None


def rows_after(db: OrmSession, place: Place, *, limit: int, lock: bool = False) -> list[StoredRow]:
    """The next rows of the index; with `lock` those that no other transaction has locked."""
    beyond = sa.tuple_(*_IN_ORDER) > sa.tuple_(*(sa.literal(each, sa.BigInteger()) for each in place))
    statement = sa.select(*_IN_ORDER, _Table.packed).where(beyond).order_by(*_IN_ORDER).limit(limit)
    if lock:
        statement = statement.with_for_update(skip_locked=True)
    rows = engine.connection(db).execute(statement)
    return [StoredRow(Place(position, term), packed) for position, term, packed in rows]


def without_message(db: OrmSession, rows: Sequence[StoredRow]) -> set[int]:
    """The positions in these rows that no message has."""
    singles = [row.place.position for row in rows if row.packed is None]
    blocks = [(row.place.position, row.packed) for row in rows if row.packed is not None]
    in_blocks = unpack([position for position, _ in blocks], [packed for _, packed in blocks])[:, 0]
    named = set(np.unique(in_blocks).tolist()).union(singles)
    exist = sa.select(core(Message).c.position).where(is_among(core(Message).c.position, "positions"))
    return named.difference(engine.connection(db).scalars(exist, {"positions": list(named)}))


def remove_without_message(db: OrmSession, rows: Sequence[StoredRow]) -> int:
    """Delete these postings as far as no message has their position, and return the number of changed rows. The caller
    has locked the rows: a capture's addition to one is committed together with its message."""
    gone = without_message(db, rows)
    deleted: list[tuple[int, int]] = []
    shortened: list[tuple[int, int, str]] = []
    for (position, term), packed in rows:
        postings = [(position, 0)] if packed is None else unpack([position], [packed]).tolist()
        left = [each for each in postings if each[0] not in gone]
        if not left:
            deleted.append((term, position))
        elif len(left) < len(postings):
            shortened.append((term, position, pack(left)))
    _delete_rows(db, deleted)
    _write(db, shortened)
    return len(deleted) + len(shortened)


class Unpacked(NamedTuple):
    """A session with messages whose postings are rows."""

    flow_id: UUID
    session_id: str


def unpacked_sessions(db: OrmSession, *, messages: int, idle_since: datetime, limit: int) -> list[Unpacked]:
    """Sessions with at least `messages` such messages, and all of those that are idle, the longest idle first."""
    is_due = sa.or_(Session.last_seq - Session.packed_seq >= messages, Session.last_captured_at <= idle_since)
    of_session = sa.select(Session.flow_id, Session.session_id).where(Session.last_seq > Session.packed_seq, is_due)
    rows = db.execute(of_session.order_by(Session.last_captured_at).limit(limit)).all()
    return [Unpacked(*row) for row in rows]
