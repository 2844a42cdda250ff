"""The sweeper's part for deleted messages: after `deleted_retention_days` none can be restored."""

from __future__ import annotations

from datetime import timedelta

from memorybase.core.database.due import change_if_due
from memorybase.core.services import Services
from memorybase.features.retention.budget import Budget, Deleted
from memorybase.features.retention.queries import copies

PAGE = 500  # messages in one transaction


def delete_expired(services: Services) -> int:
    """Delete the copies of deleted messages whose time is over, and return their number."""
    budget = Budget()
    budget.repeat(_delete_page, services)
    return budget.deleted


def _delete_page(services: Services) -> Deleted:
    kept = timedelta(days=services.settings.deleted_retention_days)
    deleted = change_if_due(
        services.database,
        lambda db, now: copies.has_before(db, now - kept),
        lambda db, now: copies.delete_before(db, now - kept, limit=PAGE),
    )
    return Deleted({"restorable_messages": deleted}, is_complete=deleted < PAGE)
