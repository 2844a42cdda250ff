"""SQL of quotas."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import engine, records
from memorybase.core.database.upsert import core, insert, insert_if_absent, insert_into, rows_affected
from memorybase.core.models import ApiKey, Chat, ChatRecord, Flow, Message, Run, Session, User
from memorybase.features.quotas.models import QuotaCounter, QuotaEndUser

NO_WINDOW = datetime(1970, 1, 1, tzinfo=UTC)  # of the quotas of what is stored


class Due(NamedTuple):
    """A counter of what is stored that is to be compared with the rows."""

    subject_id: UUID
    quota: str
    user_id: UUID
    epoch: int

    @property
    def key_id(self) -> UUID | None:
        return None if self.subject_id == self.user_id else self.subject_id


_KEY = (QuotaCounter.subject_id, QuotaCounter.quota, QuotaCounter.window_start)

# Quotas.


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


# Counters. Without `window_start`: of what is stored.

_UNIQUE = ("subject_id", "quota", "window_start")


def charge_window(
    db: OrmSession, subject_id: UUID, quota: str, window_start: datetime, user_id: UUID, units: int, limit: int
) -> bool:
    """Add the units, unless more than the limit would be used then. Returns whether they were added: the counter stays
    locked until the transaction ends."""
    row = {"subject_id": subject_id, "quota": quota, "window_start": window_start, "user_id": user_id, "granted": units}
    statement = _charge_window(engine.connection(db).dialect.name)
    return units <= limit and records.execute(db, statement, row | {"most": limit}).rowcount == 1


@lru_cache
def _charge_window(dialect: str) -> sa.Executable:
    statement = insert_into(dialect, core(QuotaCounter))
    used = _C.granted + statement.excluded.granted
    statement = statement.on_conflict_do_update(
        index_elements=_UNIQUE, set_={"granted": used}, where=used <= sa.bindparam("most")
    )
    return statement.execution_options(preserve_rowcount=True)


def charge_stored(db: OrmSession, subject_id: UUID, quota: str, units: int, limit: int) -> bool:
    """`charge_window` for what is stored. False also without a counter."""
    given = {"subject": subject_id, "name": quota, "units": units, "most": limit}
    return records.execute(db, _CHARGE_STORED, given).rowcount == 1


_C = core(QuotaCounter).c
_CHARGED: sa.ColumnElement[int] = _C.granted + sa.bindparam("units")
_CHARGE_STORED = (
    sa.update(core(QuotaCounter))
    .where(_C.subject_id == sa.bindparam("subject"), _C.quota == sa.bindparam("name"), _C.window_start == NO_WINDOW)
    .where(sa.bindparam("most") >= _CHARGED)
    .values(granted=_CHARGED)
)


def used(db: OrmSession, subject_id: UUID, quota: str, window_start: datetime = NO_WINDOW) -> int | None:
    """None without a row."""
    return db.scalar(sa.select(QuotaCounter.granted).where(*_counter(subject_id, quota, window_start)))


def lock_counter(db: OrmSession, subject_id: UUID, quota: str, *, epoch: int | None = None) -> int | None:
    """What is used; the row stays locked until the transaction ends. None without a row, and if it was recounted
    after that epoch."""
    statement = sa.select(QuotaCounter.granted).where(*_counter(subject_id, quota, NO_WINDOW))
    if epoch is not None:
        statement = statement.where(QuotaCounter.epoch == epoch)
    return db.scalar(statement.with_for_update())


def lock_end_user_counters(db: OrmSession, user_id: UUID) -> None:
    """Those of the user and its keys, in the order in which captures lock them."""
    mine = (QuotaCounter.user_id == user_id, QuotaCounter.quota == "end_users")
    is_of_key = QuotaCounter.subject_id != QuotaCounter.user_id
    ordered = sa.select(QuotaCounter.subject_id).where(*mine).order_by(is_of_key, QuotaCounter.subject_id)
    db.execute(ordered.with_for_update())


def add_counter(db: OrmSession, subject_id: UUID, quota: str, user_id: UUID, used: int, recount_at: datetime) -> bool:
    """A counter of what is stored. Returns whether there was none."""
    row = {"subject_id": subject_id, "quota": quota, "window_start": NO_WINDOW, "user_id": user_id}
    return insert_if_absent(db, QuotaCounter, row | {"granted": used, "recount_at": recount_at}, *_UNIQUE)


def change(db: OrmSession, subject_id: UUID, quota: str, *, by: int) -> None:
    """Count more or less of what is stored."""
    changed = sa.update(QuotaCounter).where(*_counter(subject_id, quota, NO_WINDOW))
    db.execute(changed.values(granted=_not_below_zero(by)))


class Used(NamedTuple):
    """A counter of a current window, whose it is, and the quotas that its rows state."""

    quota: str
    used: int
    of_user: dict[str, int] | None
    key_id: UUID | None
    key_name: str | None
    of_key: dict[str, int] | None


def used_now(db: OrmSession, windows: Collection[datetime], user_id: UUID | None) -> list[Used]:
    """What is used of the user's quotas, or of every user, without those of revoked keys."""
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
        .where(QuotaCounter.window_start.in_(windows), QuotaCounter.granted > 0)
        .where(sa.or_(~is_key, ApiKey.id.is_not(None)))
        .order_by(is_key, QuotaCounter.quota, ApiKey.created_at)
    )
    if user_id is not None:
        statement = statement.where(QuotaCounter.user_id == user_id)
    return [Used(*row) for row in db.execute(statement)]


def delete_counters(db: OrmSession, *, before: datetime, after: datetime, limit: int) -> int:
    """Delete at most `limit` counters of windows that began before or after these times, and return their number. Those
    without a window stay."""
    found = sa.select(*_KEY).where(*_over(before, after)).limit(limit)
    return rows_affected(db, sa.delete(QuotaCounter).where(sa.tuple_(*_KEY).in_(found)))


def has_counters(db: OrmSession, *, before: datetime, after: datetime) -> bool:
    """Whether `delete_counters` would delete one."""
    return db.execute(sa.select(*_KEY).where(*_over(before, after)).limit(1)).first() is not None


def due_recounts(db: OrmSession, now: datetime, *, limit: int) -> list[Due]:
    """Counters to compare with what is stored, those first that have waited longest."""
    columns = (QuotaCounter.subject_id, QuotaCounter.quota, QuotaCounter.user_id, QuotaCounter.epoch)
    due = sa.select(*columns).where(QuotaCounter.recount_at <= now).order_by(QuotaCounter.recount_at)
    return [Due(*row) for row in db.execute(due.limit(limit))]


def correct(db: OrmSession, due: Due, *, by: int, recount_at: datetime) -> None:
    """Nothing happens if the counter was recounted meanwhile."""
    unchanged = (*_counter(due.subject_id, due.quota, NO_WINDOW), QuotaCounter.epoch == due.epoch)
    values = {"granted": _not_below_zero(by), "epoch": due.epoch + 1, "recount_at": recount_at}
    db.execute(sa.update(QuotaCounter).where(*unchanged).values(values))


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


def add_end_user(db: OrmSession, subject_id: UUID, end_user_id: str, user_id: UUID, now: datetime) -> bool:
    """Returns whether it was not there."""
    row = {"subject_id": subject_id, "end_user_id": end_user_id, "user_id": user_id, "first_seen_at": now}
    return insert_if_absent(db, QuotaEndUser, row, "subject_id", "end_user_id")


def add_end_users_of_user(db: OrmSession, user_id: UUID, now: datetime) -> int:
    """Add every end user with stored data of the user, unless they are there. Returns the number added."""
    people = _people(user_id).subquery()
    columns = (sa.literal(user_id, sa.Uuid()), people.c.end_user_id, sa.literal(user_id, sa.Uuid()), sa.literal(now))
    known = insert(db, QuotaEndUser).from_select(
        ["subject_id", "end_user_id", "user_id", "first_seen_at"], sa.select(*columns).where(sa.true())
    )
    return rows_affected(db, known.on_conflict_do_nothing(index_elements=["subject_id", "end_user_id"]))


def delete_end_users_without_data(db: OrmSession, subject_id: UUID, user_id: UUID) -> None:
    gone = QuotaEndUser.end_user_id.not_in(_people(user_id))
    db.execute(sa.delete(QuotaEndUser).where(QuotaEndUser.subject_id == subject_id, gone))


def delete_end_user(db: OrmSession, user_id: UUID, end_user_id: str) -> list[UUID]:
    """Delete the end user from the user's and its keys' counters. Returns the subjects that it counted for."""
    mine = (QuotaEndUser.user_id == user_id, QuotaEndUser.end_user_id == end_user_id)
    return list(db.scalars(sa.delete(QuotaEndUser).where(*mine).returning(QuotaEndUser.subject_id)))


def count_end_users(db: OrmSession, subject_id: UUID) -> int:
    return db.scalar(sa.select(sa.func.count()).where(QuotaEndUser.subject_id == subject_id)) or 0


def forget_counters(db: OrmSession, subject_id: UUID, quotas: Iterable[str]) -> None:
    """Quotas of what is stored that are unlimited now: they are counted again from the start if they are set again."""
    for quota in quotas:
        db.execute(sa.delete(QuotaCounter).where(*_counter(subject_id, quota, NO_WINDOW)))
        if quota == "end_users":
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


def _not_below_zero(by: int) -> sa.ColumnElement[int]:
    return sa.case((QuotaCounter.granted + by > 0, QuotaCounter.granted + by), else_=0)


def _counter(subject_id: UUID, quota: str, window_start: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        QuotaCounter.subject_id == subject_id,
        QuotaCounter.quota == quota,
        QuotaCounter.window_start == window_start,
    )
