"""Delete the rows of jobs that ended long ago."""

from __future__ import annotations

from datetime import timedelta

from memorybase.database.due import change_if_due
from memorybase.queries import jobs
from memorybase.services import Services

DELETE_LIMIT = 2_000  # rows in one pass


def delete_old(services: Services) -> int:
    """The sweeper's step: delete jobs that ended `job_retention_days` ago; how many."""
    days = services.settings.job_retention_days
    if not days:
        return 0
    kept = timedelta(days=days)
    return change_if_due(
        services.database,
        lambda db, now: jobs.has_ended(db, now - kept),
        lambda db, now: jobs.delete_ended(db, now - kept, limit=DELETE_LIMIT),
        durable=False,
    )
