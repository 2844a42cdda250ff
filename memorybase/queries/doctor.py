"""What a diagnosis asks of the whole database, across users."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import IS_ACTIVE, IngestionJob


def active_jobs(session: OrmSession) -> tuple[int, datetime | None]:
    """How many jobs are queued or running, and when the oldest of them was made."""
    statement = sa.select(sa.func.count(), sa.func.min(IngestionJob.created_at))
    count, oldest = session.execute(statement.where(IS_ACTIVE)).one()
    return count, oldest
