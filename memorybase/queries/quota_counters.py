"""SQL of quotas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert, insert_if_absent, rows_affected
from memorybase.models import (
    ApiKey,
    Chat,
    ChatRecord,
    Flow,
    Message,
    QuotaCounter,
    QuotaEndUser,
    Run,
    Session,
    User,
)


class Counter(NamedTuple):
    """Granted units of a quota, since which recount."""

    granted: int
    epoch: int


class Subject(NamedTuple):
    """Owner of a counter that is due for a recount."""

    subject_id: UUID
    quota: str
    user_id: UUID

    @property
    def key_id(self) -> UUID | None:
        return None if self.subject_id == self.user_id else self.subject_id


_KEY = (QuotaCounter.subject_id, QuotaCounter.quota, QuotaCounter.window_start)

# Quotas.


def quotas_of_user(db: OrmSession, user_id: UUID) -> dict[str, int] | None:
    return db.scalar(sa.select(User.quotas).where(User.id == user_id))


def lock_quotas_of_user(db: OrmSession, user_id: UUID) -> dict[str, int] | None:
    return db.scalar(sa.select(User.quotas).where(User.id == user_id).with_for_update(key_share=True))


def set_quotas_of_user(db: OrmSession, user_id: UUID, quotas: Mapping[str, int] | None) -> bool:
    """Whether the user exists."""
    return rows_affected(db, sa.update(User).where(User.id == user_id).values(quotas=quotas)) == 1


def key_of_user(db: OrmSession, user_id: UUID, key_id: UUID) -> ApiKey | None:
    """The user's key, unless it is revoked."""
    mine = (ApiKey.id == key_id, ApiKey.user_id == user_id, ApiKey.revoked_at.is_(None))
    return db.scalar(sa.select(ApiKey).where(*mine).execution_options(populate_existing=True))


def set_quotas_of_key(db: OrmSession, subject_id: UUID, quotas: Mapping[str, int] | None) -> None:
    """Set the quotas of the key and of those that it was rotated into: during an overlap several are valid."""
    rotated = (ApiKey.id == subject_id) | (ApiKey.quota_subject == subject_id)
    db.execute(sa.update(ApiKey).where(rotated).values(quotas=quotas))


# Counters.


def lock_counter(db: OrmSession, subject_id: UUID, quota: str, window_start: datetime) -> Counter | None:
    """The row stays locked until the transaction ends. None without a row."""
    row = db.execute(_counted(subject_id, quota, window_start).with_for_update()).one_or_none()
    return None if row is None else Counter(row.granted, row.epoch)


def add_counter(db: OrmSession, row: Mapping[str, Any]) -> None:
    insert_if_absent(db, QuotaCounter, row, "subject_id", "quota", "window_start")


def set_granted(db: OrmSession, subject_id: UUID, quota: str, window_start: datetime, granted: int) -> None:
    changed = sa.update(QuotaCounter).where(*_counter(subject_id, quota, window_start))
    db.execute(changed.values(granted=granted))


def give_back(db: OrmSession, subject_id: UUID, quota: str, window_start: datetime, units: int, epoch: int) -> None:
    """Nothing happens if the row is gone, because its window is over, or was recounted meanwhile."""
    changed = sa.update(QuotaCounter).where(*_counter(subject_id, quota, window_start), QuotaCounter.epoch == epoch)
    left = QuotaCounter.granted - units
    db.execute(changed.values(granted=sa.case((left > 0, left), else_=0)))


def counter(db: OrmSession, subject_id: UUID, quota: str, window_start: datetime) -> Counter | None:
    """None without a row."""
    row = db.execute(_counted(subject_id, quota, window_start)).one_or_none()
    return None if row is None else Counter(row.granted, row.epoch)


class Granted(NamedTuple):
    """A counter of a current window, whose it is, and the quotas that its rows state."""

    quota: str
    granted: int
    of_user: dict[str, int] | None
    key_id: UUID | None
    key_name: str | None
    of_key: dict[str, int] | None


def granted_now(db: OrmSession, windows: Collection[datetime], user_id: UUID | None) -> list[Granted]:
    """Granted units of the user, or of every user, without those of revoked keys."""
    is_key = QuotaCounter.subject_id != QuotaCounter.user_id
    mine = sa.func.coalesce(ApiKey.quota_subject, ApiKey.id) == QuotaCounter.subject_id
    is_valid = sa.and_(is_key, mine, ApiKey.user_id == QuotaCounter.user_id, ApiKey.revoked_at.is_(None))
    statement = (
        sa.select(
            QuotaCounter.quota,
            QuotaCounter.granted,
            User.quotas,
            ApiKey.id,
            ApiKey.name,
            ApiKey.quotas.label("of_key"),
        )
        .join(User, User.id == QuotaCounter.user_id)
        .outerjoin(ApiKey, is_valid)
        .where(
            QuotaCounter.window_start.in_(windows), QuotaCounter.granted > 0, sa.or_(~is_key, ApiKey.id.is_not(None))
        )
        .order_by(is_key, QuotaCounter.quota, ApiKey.created_at)
    )
    if user_id is not None:
        statement = statement.where(QuotaCounter.user_id == user_id)
    return [Granted(*row) for row in db.execute(statement)]


def one_less(db: OrmSession, subject_id: UUID, quota: str, window_start: datetime) -> None:
    """Take one unit off a counter of which no process holds slices."""
    changed = sa.update(QuotaCounter).where(*_counter(subject_id, quota, window_start), QuotaCounter.granted > 0)
    db.execute(changed.values(granted=QuotaCounter.granted - 1))


def delete_counters(db: OrmSession, *, before: datetime, after: datetime, limit: int) -> int:
    """Delete at most `limit` counters of windows that began before or after these times, and return their number. Those
    without a window stay."""
    found = sa.select(*_KEY).where(*_over(before, after)).limit(limit)
    return rows_affected(db, sa.delete(QuotaCounter).where(sa.tuple_(*_KEY).in_(found)))


def has_counters(db: OrmSession, *, before: datetime, after: datetime) -> bool:
    """Whether `delete_counters` would delete one."""
    return db.execute(sa.select(*_KEY).where(*_over(before, after)).limit(1)).first() is not None


def due_recounts(db: OrmSession, now: datetime, *, limit: int) -> list[Subject]:
    """Counters to compare with what is stored, those first that have waited longest."""
    columns = (QuotaCounter.subject_id, QuotaCounter.quota, QuotaCounter.user_id)
    due = sa.select(*columns).where(QuotaCounter.recount_at <= now).order_by(QuotaCounter.recount_at)
    return [Subject(*row) for row in db.execute(due.limit(limit))]


def put_off_recount(db: OrmSession, subject_id: UUID, quota: str, recount_at: datetime) -> int | None:
    """Claim the recount of a counter until then, and return the granted units. None if the counter is gone."""
    mine = (QuotaCounter.subject_id == subject_id, QuotaCounter.quota == quota)
    changed = sa.update(QuotaCounter).where(*mine).values(recount_at=recount_at)
    return db.scalar(changed.returning(QuotaCounter.granted))


def correct(db: OrmSession, subject_id: UUID, quota: str, *, by: int, recount_at: datetime) -> None:
    mine = (QuotaCounter.subject_id == subject_id, QuotaCounter.quota == quota)
    right = QuotaCounter.granted + by
    granted = sa.case((right > 0, right), else_=0)
    values = {"granted": granted, "recount_at": recount_at, "epoch": QuotaCounter.epoch + 1}
    db.execute(sa.update(QuotaCounter).where(*mine).values(**values))


# What is stored.


def stored_messages(db: OrmSession, user_id: UUID, key_id: UUID | None) -> int:
    """Captured messages and records of chats, of all flows; with a key, those that came with it."""
    captured = sa.select(sa.func.count()).select_from(Message)
    records = sa.select(sa.func.count()).select_from(ChatRecord)
    if key_id is None:
        flows = sa.select(Flow.id).where(Flow.user_id == user_id)
        captured, records = captured.where(Message.flow_id.in_(flows)), records.where(ChatRecord.flow_id.in_(flows))
    else:
        captured = captured.join(Run, Run.id == Message.run_id).where(Run.key_id == key_id)
        records = records.where(ChatRecord.key_id == key_id)
    return (db.scalar(captured) or 0) + (db.scalar(records) or 0)


# End users.


def knows_end_user(db: OrmSession, subject_id: UUID, end_user_id: str) -> bool:
    mine = (QuotaEndUser.subject_id == subject_id, QuotaEndUser.end_user_id == end_user_id)
    return db.scalar(sa.select(QuotaEndUser.subject_id).where(*mine)) is not None


def add_end_user(db: OrmSession, row: Mapping[str, Any]) -> None:
    insert_if_absent(db, QuotaEndUser, row, "subject_id", "end_user_id")


def add_end_users_of_user(db: OrmSession, user_id: UUID, now: datetime) -> int:
    """Add every end user with stored data of the user, unless they are there. Returns the number added."""
    people = _people(user_id).subquery()
    columns = (sa.literal(user_id, sa.Uuid()), people.c.end_user_id, sa.literal(user_id, sa.Uuid()), sa.literal(now))
    known = insert(db, QuotaEndUser).from_select(
        ["subject_id", "end_user_id", "user_id", "first_seen_at"], sa.select(*columns).where(sa.true())
    )
    return rows_affected(db, known.on_conflict_do_nothing(index_elements=["subject_id", "end_user_id"]))


def delete_end_users_without_data(db: OrmSession, subject_id: UUID, user_id: UUID, before: datetime) -> int:
    """Delete end users that were first seen before then and have no stored data. Returns the number deleted."""
    gone = QuotaEndUser.end_user_id.not_in(_people(user_id))
    mine = (QuotaEndUser.subject_id == subject_id, QuotaEndUser.first_seen_at < before)
    return rows_affected(db, sa.delete(QuotaEndUser).where(*mine, gone))


def delete_end_user(db: OrmSession, user_id: UUID, end_user_id: str) -> list[UUID]:
    """Delete the end user from the user's and its keys' counters. Returns the subjects that it counted for."""
    mine = (QuotaEndUser.user_id == user_id, QuotaEndUser.end_user_id == end_user_id)
    return list(db.scalars(sa.delete(QuotaEndUser).where(*mine).returning(QuotaEndUser.subject_id)))


def count_end_users(db: OrmSession, subject_id: UUID) -> int:
    return db.scalar(sa.select(sa.func.count()).where(QuotaEndUser.subject_id == subject_id)) or 0


def forget_gauges(db: OrmSession, subject_id: UUID, quotas: Collection[str]) -> None:
    """Quotas of what is stored that are unlimited now: they are counted again from the start if they are set again."""
    if quotas:
        mine = (QuotaCounter.subject_id == subject_id, QuotaCounter.quota.in_(quotas))
        db.execute(sa.delete(QuotaCounter).where(*mine))
    if "end_users" in quotas:
        db.execute(sa.delete(QuotaEndUser).where(QuotaEndUser.subject_id == subject_id))


def _people(user_id: UUID) -> sa.CompoundSelect[Any]:
    flows = sa.select(Flow.id).where(Flow.user_id == user_id)
    of_sessions = sa.select(Session.end_user_id.label("end_user_id")).where(
        Session.flow_id.in_(flows), Session.end_user_id.is_not(None), Session.deleted_at.is_(None)
    )
    of_chats = sa.select(Chat.end_user_id).where(Chat.flow_id.in_(flows), Chat.end_user_id.is_not(None))
    return sa.union(of_sessions, of_chats)


def _over(before: datetime, after: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    over = (QuotaCounter.window_start < before) | (QuotaCounter.window_start > after)
    return over, QuotaCounter.recount_at.is_(None)


def _counted(subject_id: UUID, quota: str, window_start: datetime) -> sa.Select[int, int]:
    return sa.select(QuotaCounter.granted, QuotaCounter.epoch).where(*_counter(subject_id, quota, window_start))


def _counter(subject_id: UUID, quota: str, window_start: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        QuotaCounter.subject_id == subject_id,
        QuotaCounter.quota == quota,
        QuotaCounter.window_start == window_start,
    )
