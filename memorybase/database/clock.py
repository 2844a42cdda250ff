"""The database's clock, the only one used for leases and idle times."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

_POSTGRESQL = sa.text("SELECT clock_timestamp()")


def now(db: OrmSession) -> datetime:
    """The time on the database's clock, in UTC with a time zone."""
    if db.get_bind().dialect.name == "sqlite":
        return datetime.now(UTC)  # SQLite runs in this process and uses its clock
    moment: datetime = db.execute(_POSTGRESQL).scalar_one()
    return moment.astimezone(UTC)
