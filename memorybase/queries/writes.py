"""Statements that both dialects spell alike but import apart."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session as OrmSession


def insert(session: OrmSession, table: type[Any]) -> postgresql.Insert:
    """An INSERT with ON CONFLICT for the session's dialect."""
    if session.get_bind().dialect.name == "sqlite":
        # Same methods, same meaning; the two classes share no base that has them.
        return sqlite.insert(table)  # type: ignore[return-value]
    return postgresql.insert(table)


def new_id(session: OrmSession) -> sa.ColumnElement[Any]:
    """A random UUID, another one for each row that an INSERT ... SELECT makes."""
    if session.get_bind().dialect.name == "sqlite":
        return sa.func.lower(sa.func.hex(sa.func.randomblob(16)))
    return sa.func.gen_random_uuid()
