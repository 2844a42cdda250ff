"""The sweeper's part: compare the quotas of what is stored with what is stored, and forget windows that are over."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import clock
from memorybase.database.due import change_if_due
from memorybase.queries import quota_counters
from memorybase.queries.quota_counters import Subject
from memorybase.quotas.counters import RECOUNT_EVERY
from memorybase.services import Services

SUBJECTS = 100  # of one pass
PART_OF_TIME = 20  # a count of the messages takes at most this part of the sweeper's time
MOST_PAUSE = timedelta(days=1)
WINDOWS_KEPT = timedelta(days=2)
WINDOWS_LIMIT = 5_000


def recount(services: Services) -> int:
    """Compare due counters with the rows, and return the number compared. Deletions lower them here, whoever deleted.

    Slices that processes hold during the count are not in the result. Until the next count a quota may be exceeded by
    that much, which is little if little of it is left."""
    with services.database.reading() as db:
        now = clock.now(db)
        due = quota_counters.due_recounts(db, now, limit=SUBJECTS)
    for subject in due:
        _recount(services, subject)
    return len(due)


def forget_windows(services: Services) -> int:
    """Delete counters of windows that are over, or lie ahead because the clock was stepped back. Returns the number
    deleted."""
    return change_if_due(
        services.database,
        lambda db, now: quota_counters.has_counters(db, before=now - WINDOWS_KEPT, after=now),
        lambda db, now: quota_counters.delete_counters(db, before=now - WINDOWS_KEPT, after=now, limit=WINDOWS_LIMIT),
    )


def _recount(services: Services, subject: Subject) -> None:
    started = time.monotonic()
    with services.database.transaction() as db:
        now = clock.now(db)
        # Claimed for a while: the other sweepers do not count the same. What is granted after this is added.
        granted = quota_counters.put_off_recount(db, subject.subject_id, subject.quota, now + RECOUNT_EVERY)
        if granted is None:
            return
        if subject.quota == "end_users":  # rows under the counter's lock
            stored = _end_users(db, subject, now)
            _correct(db, subject, stored - granted, now, started)
            return
    with services.database.reading() as db:
        stored = quota_counters.stored_messages(db, subject.user_id, subject.key_id)
    with services.database.transaction() as db:
        _correct(db, subject, stored - granted, now, started)


def _end_users(db: OrmSession, subject: Subject, now: datetime) -> int:
    """Number of end users that count, after those without data are deleted and those that other ways brought are
    added."""
    quota_counters.delete_end_users_without_data(db, subject.subject_id, subject.user_id, now - RECOUNT_EVERY)
    if subject.key_id is None:
        quota_counters.add_end_users_of_user(db, subject.user_id, now)
    return quota_counters.count_end_users(db, subject.subject_id)


def _correct(db: OrmSession, subject: Subject, by: int, now: datetime, started: float) -> None:
    took = timedelta(seconds=time.monotonic() - started)
    pause = min(max(RECOUNT_EVERY, took * PART_OF_TIME), MOST_PAUSE)
    quota_counters.correct(db, subject.subject_id, subject.quota, by=by, recount_at=now + pause)
