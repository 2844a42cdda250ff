"""Pages of a list: by number, or by a cursor, which names the last row and is stable under inserts and deletes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.models import UtcDateTime
from memorybase.core.validation import why_unstorable

Item = TypeVar("Item")
Value = TypeVar("Value")
Condition = sa.ColumnElement[bool]
# A statement or row of any columns.
AnySelect = sa.Select[*tuple[Any, ...]]
AnyRow = sa.Row[*tuple[Any, ...]]

DEFAULT_SIZE = 50
MAX_SIZE = 200
MAX_SKIP = 10_000_000  # rows; beyond this, use a cursor
MAX_TOTAL = 100_000  # rows; a list counts no further, so that a page of a large flow costs no more
MAX_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list. `offset` is added to the page's start; a cursor excludes page and offset."""

    page: int = 1
    size: int = DEFAULT_SIZE
    offset: int = 0
    cursor: str | None = None

    def __post_init__(self) -> None:
        _check_bounds("page", self.page, 1, MAX_SKIP)
        _check_bounds("size", self.size, 1, MAX_SIZE)
        _check_bounds("offset", self.offset, 0, MAX_SKIP)
        if self.cursor is not None and (self.page != 1 or self.offset):
            raise errors.InvalidRequest("A cursor cannot be combined with page or offset", field="cursor")

    @property
    def skip(self) -> int:
        return (self.page - 1) * self.size + self.offset


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list. More items may follow a page that names the next one."""

    items: Annotated[list[Item], Field(description="The items of this page.")]
    total: Annotated[int, Field(description="Number of items in all pages.")]
    page: Annotated[int, Field(description="Number of this page, from 1.")]
    size: Annotated[int, Field(description="Maximum items of a page.")]
    next_cursor: Annotated[
        str | None,
        Field(exclude_if=lambda value: value is None),
        Field(description="Send it as `cursor` to get the next page; null on the last one."),
    ] = None
    total_capped: Annotated[
        bool, Field(exclude_if=lambda value: not value), Field(description="Whether `total` is a lower bound.")
    ] = False


@dataclass(frozen=True, slots=True)
class Keyset:
    """The order of a list: columns that are unique together. The name distinguishes cursors of different lists."""

    name: str
    columns: Sequence[sa.ColumnElement[Any] | InstrumentedAttribute[Any]]
    descending: bool = False

    def order(self) -> list[sa.ColumnElement[Any]]:
        return [column.desc() if self.descending else column.asc() for column in self.columns]

    def beyond(self, cursor: str) -> sa.ColumnElement[bool]:
        """The rows after the cursor's. Raises InvalidRequest for a cursor of another list."""
        row_key, cursor_key = self._keys(cursor)
        return row_key < cursor_key if self.descending else row_key > cursor_key

    def through(self, cursor: str) -> sa.ColumnElement[bool]:
        """The rows up to the cursor's, with it."""
        row_key, cursor_key = self._keys(cursor)
        return row_key >= cursor_key if self.descending else row_key <= cursor_key

    def encode(self, values: Sequence[Any]) -> str:
        plain = [v if isinstance(v, int) else v.isoformat() if isinstance(v, datetime) else str(v) for v in values]
        text = json.dumps([self._label(), *plain], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def _keys(self, cursor: str) -> tuple[sa.Tuple, sa.Tuple]:
        values = self._decode(cursor)
        cursor_key = sa.tuple_(*(sa.literal(v, c.type) for v, c in zip(values, self.columns, strict=True)))
        return sa.tuple_(*self.columns), cursor_key

    def _decode(self, cursor: str) -> list[Any]:
        try:
            text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            label, *plain = json.loads(text)
            read = [key_part(v, c.type) for v, c in zip(plain, self.columns, strict=True)]
        except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error) as exc:
            raise errors.InvalidRequest("cursor is not valid; start again without one", field="cursor") from exc
        if label != self._label():
            raise errors.InvalidRequest("cursor is of another list or order; start again without one", field="cursor")
        return read

    def _label(self) -> str:
        return f"{self.name}:{'down' if self.descending else 'up'}"


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of one page."""

    rows: Sequence[AnyRow]
    total: int
    request: PageRequest
    next_cursor: str | None = field(default=None)
    total_capped: bool = False


View = TypeVar("View")


def given(value: Value | None, condition: Callable[[Value], Condition] | InstrumentedAttribute[Any]) -> list[Condition]:
    """The condition for a filter's value: that the column equals it, or what the function returns. Empty for None."""
    if value is None:
        return []
    return [condition == value if isinstance(condition, InstrumentedAttribute) else condition(value)]


def within(column: InstrumentedAttribute[Any], since: datetime | None, until: datetime | None) -> list[Condition]:
    """The conditions for a time from `since` to `until`, both inclusive. None means no bound."""
    return [*given(since, lambda at: column >= at), *given(until, lambda at: column <= at)]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list: its rows, their order, and a cheaper statement with the same rows to count them (default: the last
    column of the order, from the same tables)."""

    rows: AnySelect
    order: Keyset
    counting: AnySelect | None = None

    def page(
        self,
        db: OrmSession,
        request: PageRequest,
        *conditions: Condition,
        keep: Sequence[Condition] = (),
        chunks: Sequence[int] = (),
    ) -> Found:
        """One page of the rows that match. `keep`: further conditions, which no index answers; `chunks`: see
        `scan_page`."""
        if keep:
            rows = self.rows.where(*conditions)
            return scan_page(db, rows, self.order, request, sa.and_(*keep), chunks=chunks)
        counting = self.rows.with_only_columns(self.order.columns[-1]) if self.counting is None else self.counting
        return fetch_page(db, self.rows.where(*conditions), counting.where(*conditions), self.order, request)


def fetch_page(
    db: OrmSession,
    statement: AnySelect,
    counting: AnySelect,
    keyset: Keyset,
    request: PageRequest,
    *,
    with_total: bool = False,
) -> Found:
    """One page of the statement, in the keyset's order. `counting` is a cheaper statement with the same rows.
    `with_total`: the statement counts them itself, in a column `total`."""
    keyed = _ordered(statement, keyset).limit(request.size + 1)
    keyed = keyed.offset(request.skip) if request.cursor is None else keyed.where(keyset.beyond(request.cursor))
    rows = db.execute(keyed).all()
    if with_total and rows:
        total = rows[0].total
    else:
        counted = counting.limit(MAX_TOTAL + 1).subquery()
        total = db.execute(sa.select(sa.func.count()).select_from(counted)).scalar_one()
    following = None
    if len(rows) > request.size:
        rows = rows[: request.size]
        following = _cursor_of(rows[-1], keyset)
    return Found(rows, min(total, MAX_TOTAL), request, following, total > MAX_TOTAL)


def scan_page(
    db: OrmSession,
    statement: AnySelect,
    keyset: Keyset,
    request: PageRequest,
    keep: sa.ColumnElement[bool],
    *,
    chunks: Sequence[int],
) -> Found:
    """One page of the statement's rows that also match `keep`, which no index answers.

    Looks through the statement's rows in the keyset's order, in chunks, until the page is full, and through no more
    rows than the chunks have together; without chunks, through all. The cursor of a page that is not full continues
    there.
    """
    wanted = request.skip + request.size + 1
    rows: list[AnyRow] = []
    reached = request.cursor
    for chunk in chunks or (None,):
        remaining = statement if reached is None else statement.where(keyset.beyond(reached))
        reached = None if chunk is None else _cursor_at(db, remaining, keyset, chunk - 1)
        inside = remaining.where(keep) if reached is None else remaining.where(keep, keyset.through(reached))
        rows += db.execute(_ordered(inside, keyset).limit(wanted - len(rows)))
        if reached is None or len(rows) == wanted:
            break
    found = len(rows)
    following = _cursor_of(rows[-2], keyset) if found == wanted else reached
    is_capped = following is not None or request.cursor is not None
    return Found(rows[request.skip : wanted - 1], found, request, following, is_capped)


def _ordered(statement: AnySelect, keyset: Keyset) -> AnySelect:
    """The statement in the keyset's order, with its columns as key_0, key_1."""
    keys = (column.label(f"key_{index}") for index, column in enumerate(keyset.columns))
    return statement.add_columns(*keys).order_by(*keyset.order())


def _cursor_of(row: AnyRow, keyset: Keyset) -> str:
    return keyset.encode([getattr(row, f"key_{index}") for index in range(len(keyset.columns))])


def _cursor_at(db: OrmSession, statement: AnySelect, keyset: Keyset, offset: int) -> str | None:
    """The cursor of the row at this offset, if there is one."""
    row = db.execute(_ordered(statement, keyset).offset(offset).limit(1)).one_or_none()
    return None if row is None else _cursor_of(row, keyset)


def key_part(value: Any, kind: sa.types.TypeEngine[Any]) -> Any:
    """A value of a column from a caller's cursor. Raises TypeError, ValueError, OverflowError for any other."""
    if isinstance(kind, sa.Integer):
        if type(value) is not int or abs(value) > MAX_INTEGER:
            raise ValueError("not an integer of 64 bits")
        return value
    if not isinstance(value, str):
        raise TypeError("not a string")
    if why_unstorable(value):
        raise ValueError("not a string that a database can have")
    if isinstance(kind, UtcDateTime):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError("a time without a time zone")
        return moment.astimezone(UTC)
    return value if isinstance(kind, sa.String) else UUID(value)


def _check_bounds(name: str, value: int, low: int, high: int) -> None:
    if value < low:
        raise errors.InvalidRequest(f"{name} must be at least {low}", field=name, value=value, limit=low)
    if value > high:
        raise errors.InvalidRequest(f"{name} must be at most {high}", field=name, value=value, limit=high)


def page_of(found: Found, view: Callable[[AnyRow], View]) -> Page[View]:
    request = found.request
    return Page(
        [view(row) for row in found.rows],
        found.total,
        request.page,
        request.size,
        found.next_cursor,
        found.total_capped,
    )
