"""The sweeper's part for memory uses: those whose run was never captured, and old ones if a setting says so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.queries import memory_uses
from memorybase.core.queries.memory_uses import LATEST_CAPTURE
from memorybase.core.services import Services
from memorybase.features.retention import receipts
from memorybase.features.retention.budget import NOTHING, Budget, Deleted
from memorybase.features.retention.queries import holds, uses
from memorybase.features.retention.queries import receipts as receipt_rows
from memorybase.features.retention.queries.uses import DueUse, OldUse
from memorybase.features.retention.receipts import Subject

PAGE = 200  # uses in one transaction: each may hold a whole prompt, and on SQLite all other writers wait
RECEIPT = timedelta(hours=1)  # what goes in this time is one receipt for each flow: a sweep finds a few uses each time


@dataclass(slots=True)
class _LastSeen:
    """Where the next pass of this process continues: held uses stay, and each pass would read all of them first."""

    use: OldUse | None = None


def delete_expired(services: Services) -> int:
    """Delete the uses whose run was not captured within a day, and those older than the setting says. Returns the
    number deleted."""
    budget = Budget()
    budget.repeat(_settle_page, services)
    if services.settings.memory_use_days:
        budget.repeat(_delete_old_page, services)
    _close_receipts(services)
    return budget.deleted


def _settle_page(services: Services) -> Deleted:
    with services.database.reading(snapshot=False) as db:
        if not uses.has_due(db, clock.now(db)):
            return NOTHING
    with services.database.transaction() as db:
        due = uses.due_uses(db, clock.now(db), limit=PAGE)
        return Deleted({"memory_uses": _settle(db, due)}, is_complete=len(due) < PAGE)


def _settle(db: OrmSession, due: Collection[DueUse]) -> int:
    """Keep the uses whose run is captured, in its session if theirs is not stored, and delete the others. Returns the
    number deleted."""
    captured = [use for use in due if use.captured_in is not None]
    uses.set_run_due(db, [use.id for use in captured], None)
    for use in captured:
        if not use.is_known and use.captured_in is not None:
            uses.move_to_session(db, use.id, use.captured_in, use.captured_for)
    lost = [use for use in due if use.captured_in is None]
    deleted = _delete_free(db, {use.user_id for use in lost}, [use.id for use in lost])
    if deleted < len(lost):  # legal holds keep the rest
        uses.set_run_due(db, [use.id for use in lost], clock.now(db) + LATEST_CAPTURE)
    return deleted


def _delete_old_page(services: Services) -> Deleted:
    days, last_seen, deleted = services.settings.memory_use_days, services.state.of(_LastSeen), 0
    with services.database.reading(snapshot=False) as db:
        before = clock.now(db) - timedelta(days=days)
        old = uses.old_uses(db, before, after=last_seen.use, limit=PAGE)
    free = [use for use in old if not use.is_held]
    if free:
        with services.database.transaction() as db:
            deleted = _delete_with_receipts(db, free, before, days)
    last_seen.use = old[-1] if len(old) == PAGE else None
    return Deleted({"memory_uses": deleted}, is_complete=last_seen.use is None)


def _delete_with_receipts(db: OrmSession, old: Collection[OldUse], before: datetime, days: int) -> int:
    """Delete those that no legal hold keeps, with a receipt for each flow. Returns the number deleted."""
    deleted, now = 0, clock.now(db)
    holds.share_users(db, {use.user_id for use in old})
    by_flow = groupby(sorted(old, key=_flow_of), key=_flow_of)
    for (flow_id, user_id), of_flow in by_flow:
        count = memory_uses.delete_uses(db, [use.id for use in of_flow], holds.use_held())
        receipts.add(db, Subject("memory_use", user_id, flow_id, days), before, {"memory_uses": count}, now)
        deleted += count
    return deleted


def _flow_of(use: OldUse) -> tuple[UUID, UUID]:
    return use.flow_id, use.user_id


def _close_receipts(services: Services) -> None:
    database = services.database
    with database.reading(snapshot=False) as db:
        flow_ids = receipt_rows.open_subjects(db, "memory_use", before=clock.now(db) - RECEIPT, limit=PAGE)
    for flow_id in flow_ids:
        with database.transaction() as db:
            receipts.close(db, services, "memory_use", flow_id, clock.now(db))


def _delete_free(db: OrmSession, user_ids: Collection[UUID], ids: Collection[UUID]) -> int:
    """Delete those of these uses that no legal hold keeps. Returns the number deleted."""
    holds.share_users(db, user_ids)
    return memory_uses.delete_uses(db, ids, holds.use_held()) if ids else 0
