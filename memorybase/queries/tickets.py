"""Statements about what opens the web page: links and sessions, each in the name of a key."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import ApiKey, WebTicket


def take_link(session: OrmSession, token_hash: bytes, now: datetime) -> UUID | None:
    """Whose key's link this was; it is gone with this answer, so of two who come with it one gets none."""
    statement = sa.delete(WebTicket).where(
        WebTicket.token_hash == token_hash,
        WebTicket.kind == "link",
        WebTicket.expires_at > now,
        WebTicket.key_id.in_(sa.select(ApiKey.id).where(_works(now))),
    )
    return session.execute(statement.returning(WebTicket.key_id)).scalar_one_or_none()


def key_of_session(session: OrmSession, token_hash: bytes, now: datetime) -> ApiKey | None:
    """The key in whose name the session acts, as long as both last."""
    statement = sa.select(ApiKey).join(WebTicket, WebTicket.key_id == ApiKey.id)
    lasts = (WebTicket.kind == "session") & (WebTicket.expires_at > now) & _works(now)
    return session.execute(statement.where(WebTicket.token_hash == token_hash, lasts)).scalar_one_or_none()


def delete_session(session: OrmSession, token_hash: bytes) -> None:
    session.execute(sa.delete(WebTicket).where(WebTicket.token_hash == token_hash, WebTicket.kind == "session"))


def forget_expired(session: OrmSession, now: datetime, *, limit: int) -> int:
    """How many went, at most `limit`; those that another sweeper is at are left to it."""
    doomed = sa.select(WebTicket.token_hash).where(WebTicket.expires_at <= now).limit(limit)
    hashes = session.scalars(doomed.with_for_update(skip_locked=True)).all()
    if hashes:
        session.execute(sa.delete(WebTicket).where(WebTicket.token_hash.in_(hashes)))
    return len(hashes)


def _works(now: datetime) -> sa.ColumnElement[bool]:
    return ApiKey.revoked_at.is_(None) & (ApiKey.expires_at.is_(None) | (ApiKey.expires_at > now))
