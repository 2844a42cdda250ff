"""The database's clock: the only one that leases and idle times are read from."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

_POSTGRESQL = sa.text("SELECT clock_timestamp()")


def now(db: OrmSession) -> datetime:
    """The moment on the database's clock, aware, in UTC."""
    if db.get_bind().dialect.name == "sqlite":
        return datetime.now(UTC)  # SQLite runs in this process: its clock is this one
    moment: datetime = db.execute(_POSTGRESQL).scalar_one()
    return moment.astimezone(UTC)
