"""SQL of users, API keys and web tickets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.batches import pages
from memorybase.core.database.upsert import core, insert
from memorybase.core.models import ApiKey, User, WebTicket


class StoredKey(NamedTuple):
    """The stored key, as far as a call needs it."""

    id: UUID
    user_id: UUID
    name: str
    key_hash: bytes
    scopes: list[str]
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    limited_scopes: list[str] | None
    flow_ids: list[str] | None
    end_user_id: str | None
    quotas: dict[str, int] | None
    quota_subject: UUID | None
    user_quotas: dict[str, int] | None


_KEYS, _USERS = core(ApiKey).c, core(User).c
_OF_KEY = [_KEYS[name] for name in StoredKey._fields if name != "user_quotas"]
_BY_HASH = (
    sa.select(*_OF_KEY, _USERS.quotas.label("user_quotas"))
    .join(core(User), _USERS.id == _KEYS.user_id)
    .where(_KEYS.key_hash == sa.bindparam("key_hash"))
)


def key_by_hash(db: OrmSession, key_hash: bytes) -> StoredKey | None:
    return records.fetch_one(db, StoredKey, _BY_HASH, {"key_hash": key_hash})


def quotas_of_user(db: OrmSession, user_id: UUID) -> dict[str, int] | None:
    found: dict[str, int] | None = records.execute(db, _QUOTAS_OF_USER, {"user_id": user_id}).scalar()
    return found


_QUOTAS_OF_USER = sa.select(_USERS.quotas).where(_USERS.id == sa.bindparam("user_id"))


def valid_hashes(db: OrmSession, hashes: Collection[bytes], now: datetime) -> set[bytes]:
    """The hashes of valid keys, and of links of such keys, among these."""
    valid: set[bytes] = set()
    link = (WebTicket.kind == "link") & (WebTicket.expires_at > now)
    for some in pages(hashes):
        valid.update(db.scalars(sa.select(ApiKey.key_hash).where(ApiKey.key_hash.in_(some), _is_valid_key(now))))
        links = sa.select(WebTicket.token_hash).join(ApiKey, WebTicket.key_id == ApiKey.id)
        valid.update(db.scalars(links.where(WebTicket.token_hash.in_(some), link, _is_valid_key(now))))
    return valid


def mark_key_used(db: OrmSession, key_id: UUID, *, now: datetime, unless_after: datetime) -> None:
    """Unless another process has marked it since `unless_after`."""
    is_due = ApiKey.last_used_at.is_(None) | (ApiKey.last_used_at <= unless_after)
    db.execute(sa.update(ApiKey).where(ApiKey.id == key_id, is_due).values(last_used_at=now))


def active_keys(db: OrmSession, user_id: UUID) -> Sequence[ApiKey]:
    statement = sa.select(ApiKey).where(ApiKey.user_id == user_id, ApiKey.revoked_at.is_(None))
    return db.execute(statement.order_by(ApiKey.created_at, ApiKey.id)).scalars().all()


def lock_key(db: OrmSession, user_id: UUID, key_id: UUID, now: datetime) -> ApiKey | None:
    """The user's key, if it is valid."""
    mine = (ApiKey.id == key_id, ApiKey.user_id == user_id, _is_valid_key(now))
    return db.execute(sa.select(ApiKey).where(*mine).with_for_update()).scalar_one_or_none()


def revoke_key(db: OrmSession, user_id: UUID, key_id: UUID, *, now: datetime) -> bool:
    """Whether the key existed and was not revoked yet."""
    mine = (ApiKey.id == key_id) & (ApiKey.user_id == user_id) & ApiKey.revoked_at.is_(None)
    statement = sa.update(ApiKey).where(mine).values(revoked_at=now).returning(ApiKey.id)
    return db.execute(statement).scalar_one_or_none() is not None


def user_by_name(db: OrmSession, name: str) -> UUID | None:
    return db.execute(sa.select(User.id).where(User.name == name)).scalar_one_or_none()


def insert_user_if_absent(db: OrmSession, values: Mapping[str, Any]) -> None:
    """Two processes may start at once: the unique constraint lets one insert succeed, and the other does nothing."""
    db.execute(insert(db, User).values(**values).on_conflict_do_nothing(index_elements=["name"]))


def insert_key_if_absent(db: OrmSession, values: Mapping[str, Any]) -> None:
    db.execute(insert(db, ApiKey).values(**values).on_conflict_do_nothing(index_elements=["key_hash"]))


def put_person(db: OrmSession, values: Mapping[str, Any]) -> bool:
    """Store the row of a person who has signed in, or what has changed of it. False if it was revoked."""
    statement = insert(db, ApiKey).values(**values)
    changes = {name: values[name] for name in ("name", "scopes", "expires_at", "last_used_at")}
    statement = statement.on_conflict_do_update(index_elements=["id"], set_=changes, where=ApiKey.revoked_at.is_(None))
    return db.execute(statement.returning(ApiKey.id)).scalar_one_or_none() is not None


def restore_person(db: OrmSession, user_id: UUID, person_id: UUID) -> bool:
    """Whether the person was revoked. The sessions of before stay closed."""
    mine = (ApiKey.id == person_id) & (ApiKey.user_id == user_id) & ApiKey.revoked_at.is_not(None)
    statement = sa.update(ApiKey).where(mine).values(revoked_at=None).returning(ApiKey.id)
    db.execute(sa.delete(WebTicket).where(WebTicket.key_id == person_id))
    return db.execute(statement).scalar_one_or_none() is not None


def take_link(db: OrmSession, token_hash: bytes, now: datetime) -> UUID | None:
    """Delete a link and return the id of its key; None if it is invalid. Of two concurrent calls one gets None."""
    statement = sa.delete(WebTicket).where(
        WebTicket.token_hash == token_hash,
        WebTicket.kind == "link",
        WebTicket.expires_at > now,
        WebTicket.key_id.in_(sa.select(ApiKey.id).where(_is_valid_key(now))),
    )
    return db.execute(statement.returning(WebTicket.key_id)).scalar_one_or_none()


def key_of_session(db: OrmSession, token_hash: bytes, now: datetime) -> tuple[ApiKey, dict[str, int] | None] | None:
    """The key of a session, and the quotas of its user; None once the session or the key has expired or the key was
    revoked."""
    statement = sa.select(ApiKey, User.quotas).join(WebTicket, WebTicket.key_id == ApiKey.id)
    is_valid = (WebTicket.kind == "session") & (WebTicket.expires_at > now) & _is_valid_key(now)
    statement = statement.join(User, User.id == ApiKey.user_id).where(WebTicket.token_hash == token_hash, is_valid)
    row = db.execute(statement).one_or_none()
    return None if row is None else (row[0], row[1])


def delete_session(db: OrmSession, token_hash: bytes) -> None:
    db.execute(sa.delete(WebTicket).where(WebTicket.token_hash == token_hash, WebTicket.kind == "session"))


def has_expired(db: OrmSession, now: datetime) -> bool:
    """Whether a ticket has expired."""
    return db.scalar(_expired(now).limit(1)) is not None


def forget_expired(db: OrmSession, now: datetime, *, limit: int) -> int:
    """Delete at most `limit` expired tickets, without those that another sweeper has locked. Returns the number
    deleted."""
    hashes = db.scalars(_expired(now).limit(limit).with_for_update(skip_locked=True)).all()
    if hashes:
        db.execute(sa.delete(WebTicket).where(WebTicket.token_hash.in_(hashes)))
    return len(hashes)


def _expired(now: datetime) -> sa.Select[bytes]:
    return sa.select(WebTicket.token_hash).where(WebTicket.expires_at <= now)


def _is_valid_key(now: datetime) -> sa.ColumnElement[bool]:
    return ApiKey.revoked_at.is_(None) & (ApiKey.expires_at.is_(None) | (ApiKey.expires_at > now))
