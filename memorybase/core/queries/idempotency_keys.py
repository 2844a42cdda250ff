"""Statements on requests under an Idempotency-Key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.upsert import insert_if_absent, rows_affected
from memorybase.core.models import IdempotencyKey


def insert_key(db: OrmSession, values: Mapping[str, Any]) -> bool:
    """False if the user has sent a request with this key."""
    return insert_if_absent(db, IdempotencyKey, values, "user_id", "key_hash")


def lock_key(db: OrmSession, user_id: UUID, key_hash: bytes) -> IdempotencyKey | None:
    found = sa.select(IdempotencyKey).where(IdempotencyKey.user_id == user_id, IdempotencyKey.key_hash == key_hash)
    return db.scalar(found.with_for_update())


def update_claimed(db: OrmSession, user_id: UUID, key_hash: bytes, token: UUID, values: Mapping[str, Any]) -> bool:
    """Whether the row had this token."""
    return rows_affected(db, sa.update(IdempotencyKey).where(_claimed(user_id, key_hash, token)).values(values)) == 1


def delete_claimed(db: OrmSession, user_id: UUID, key_hash: bytes, token: UUID) -> None:
    db.execute(sa.delete(IdempotencyKey).where(_claimed(user_id, key_hash, token)))


def has_expired(db: OrmSession, now: datetime) -> bool:
    """Whether a row has expired."""
    return db.execute(_expired(now).limit(1)).first() is not None


def delete_expired(db: OrmSession, now: datetime, *, limit: int) -> int:
    """Delete at most `limit` expired rows, without those that another sweeper has locked. Returns the number
    deleted."""
    # In a separate statement: as a subquery of the deletion, PostgreSQL may run it again for each row,
    # and each run skips what the one before has locked.
    keys = [tuple(row) for row in db.execute(_expired(now).limit(limit).with_for_update(skip_locked=True))]
    key = sa.tuple_(IdempotencyKey.user_id, IdempotencyKey.key_hash)
    for some in batches.pages(keys):
        db.execute(sa.delete(IdempotencyKey).where(key.in_(some)).execution_options(synchronize_session=False))
    return len(keys)


def _expired(now: datetime) -> sa.Select[UUID, bytes]:
    return sa.select(IdempotencyKey.user_id, IdempotencyKey.key_hash).where(IdempotencyKey.expires_at <= now)


def _claimed(user_id: UUID, key_hash: bytes, token: UUID) -> sa.ColumnElement[bool]:
    return sa.and_(
        IdempotencyKey.user_id == user_id, IdempotencyKey.key_hash == key_hash, IdempotencyKey.token == token
    )
