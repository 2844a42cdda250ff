"""Databases bound the parameters of one statement, and whoever waits for a lock bounds its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

T = TypeVar("T")

IDS_A_QUERY = 500


def pages(values: Iterable[T], size: int = IDS_A_QUERY) -> Iterator[list[T]]:
    """The values, as many at once as a statement takes for parameters; none for no values."""
    listed = list(values)
    return (listed[start : start + size] for start in range(0, len(listed), size))


def delete_some(session: OrmSession, table: type[Any], which: sa.ColumnElement[bool], *, limit: int) -> bool:
    """Delete up to `limit` of these rows; False: there were none."""
    key = sa.inspect(table).primary_key
    doomed = sa.select(*key).where(which).limit(limit)
    gone = session.execute(
        sa.delete(table).where(sa.tuple_(*key).in_(doomed)), execution_options={"synchronize_session": False}
    )
    # Whoever deletes the same page beside us may have been quicker: then nothing went, and more may be there.
    return gone.rowcount > 0 or session.scalar(sa.select(sa.exists().where(which))) is True  # type: ignore[attr-defined]
