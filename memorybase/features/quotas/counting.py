"""Counts what is stored: when a quota of it is new, and again by the sweeper, which also deletes old windows."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.database.due import change_if_due
from memorybase.core.services import Services
from memorybase.features.quotas import queries
from memorybase.features.quotas.bounds import Bound
from memorybase.features.quotas.queries import Due

RECOUNT_EVERY = timedelta(minutes=1)
SUBJECTS = 100  # of one pass
PART_OF_TIME = 20  # a count of the messages takes at most this part of the sweeper's time
MOST_PAUSE = timedelta(days=1)
WINDOWS_KEPT = timedelta(days=2)
WINDOWS_LIMIT = 5_000


def start(bound: Bound, services: Services) -> None:
    """Count what is stored already, since the quota is new."""
    key_id = bound.subject_id if bound.whose == "key" else None
    stored = 0
    if bound.quota == "stored_messages":
        with services.database.reading() as db:
            stored = queries.stored_messages(db, bound.user_id, key_id)
    with services.database.transaction(apart=True) as db:
        now = clock.now(db)
        is_new = queries.add_counter(db, *bound.counter, bound.user_id, stored, now + RECOUNT_EVERY)
        if is_new and bound.quota == "end_users":
            people = _end_users(db, bound.subject_id, bound.user_id, key_id, now)
            queries.change(db, *bound.counter, by=people)


def recount(services: Services) -> int:
    """Compare due counters with the rows, and return the number compared. Deletions lower them here, whoever
    deleted."""
    with services.database.reading() as db:
        due = queries.due_recounts(db, clock.now(db), limit=SUBJECTS)
    for counter in due:
        if counter.quota == "end_users":
            _recount_end_users(services, counter)
        else:
            _recount_messages(services, counter)
    return len(due)


def forget_windows(services: Services) -> int:
    """Delete counters of windows that are over, or lie ahead because the clock was stepped back. Returns the number
    deleted."""
    return change_if_due(
        services.database,
        lambda db, now: queries.has_counters(db, before=now - WINDOWS_KEPT, after=now),
        lambda db, now: queries.delete_counters(db, before=now - WINDOWS_KEPT, after=now, limit=WINDOWS_LIMIT),
    )


def forget_end_user(db: OrmSession, user_id: UUID, end_user_id: str) -> None:
    """The end user was erased, and counts no more."""
    queries.lock_end_user_counters(db, user_id)  # before the rows, like whoever counts end users
    for subject_id in queries.delete_end_user(db, user_id, end_user_id):
        queries.change(db, subject_id, "end_users", by=-1)


def _recount_messages(services: Services, due: Due) -> None:
    started = time.monotonic()
    with services.database.reading() as db:
        # One snapshot has a charge and what was stored with it, or neither: the difference is what was deleted. What is
        # charged from here on is added to it.
        used = queries.used(db, due.subject_id, due.quota)
        stored = queries.stored_messages(db, due.user_id, due.key_id)
    if used is not None:
        with services.database.transaction() as db:
            now = clock.now(db)
            queries.correct(db, due, by=stored - used, recount_at=now + _pause(started))


def _recount_end_users(services: Services, due: Due) -> None:
    started = time.monotonic()
    with services.database.transaction() as db:
        used = queries.lock_counter(db, due.subject_id, due.quota, epoch=due.epoch)
        if used is None:
            return
        now = clock.now(db)
        queries.delete_end_users_without_data(db, due.subject_id, due.user_id)
        stored = _end_users(db, due.subject_id, due.user_id, due.key_id, now)
        queries.correct(db, due, by=stored - used, recount_at=now + _pause(started))


def _end_users(db: OrmSession, subject_id: UUID, user_id: UUID, key_id: UUID | None, now: datetime) -> int:
    """How many end users count, with every one of the user that has stored data."""
    if key_id is None:
        queries.add_end_users_of_user(db, user_id, now)
    return queries.count_end_users(db, subject_id)


def _pause(started: float) -> timedelta:
    took = timedelta(seconds=time.monotonic() - started)
    return min(max(RECOUNT_EVERY, took * PART_OF_TIME), MOST_PAUSE)
