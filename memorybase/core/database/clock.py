"""The database's clock, the only one used for leases and idle times."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import engine

_POSTGRESQL = sa.text("SELECT clock_timestamp()")


def now(db: OrmSession) -> datetime:
    """The time on the database's clock, in UTC with a time zone."""
    connection = engine.connection(db)
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)  # SQLite runs in this process and uses its clock
    moment: datetime = connection.execute(_POSTGRESQL).scalar_one()
    return moment.astimezone(UTC)
