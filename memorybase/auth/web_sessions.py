"""Signing in to the web page: an API key, or a link that somebody with a key made, opens a session in a cookie.

Both are tickets, known by a token of which only the SHA-256 is kept. A ticket acts in the name of its key: with the
key's scopes, and not a moment longer than the key works.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.auth import api_keys, queries
from memorybase.auth.api_keys import Principal
from memorybase.models import WebTicket
from memorybase.services import Services

LINK_LASTS = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A token, which is shown this once, and when it ends."""

    token: str = field(repr=False)
    expires_at: datetime


def open_session(services: Services, secret: str) -> Ticket:
    """A session for whoever has this API key; raises Unauthorized as `keys.authenticate` does."""
    principal = api_keys.authenticate(services, secret)
    with services.database.transaction() as db:
        return _issue(db, principal.key_id, "session", _session_lasts(services))


def make_link(services: Services, principal: Principal) -> Ticket:
    """For one use, within the hour."""
    with services.database.transaction() as db:
        return _issue(db, principal.key_id, "link", LINK_LASTS)


def enter(services: Services, token: str) -> Ticket:
    """A session for the token of a link, which is used up; raises Unauthorized."""
    with services.database.transaction() as db:
        key_id = queries.take_link(db, api_keys.hash_of(token), datetime.now(UTC))
        if key_id is None:
            raise errors.Unauthorized("This link has been used or is too old. For a new one run: memorybase sign-in")
        return _issue(db, key_id, "session", _session_lasts(services))


def principal_of(services: Services, token: str) -> Principal:
    """In whose name a session acts; raises Unauthorized, the same for an unknown, expired and closed one and for one
    whose key no longer works."""
    with services.database.reading(snapshot=False) as db:
        key = queries.key_of_session(db, api_keys.hash_of(token), datetime.now(UTC))
    if key is None:
        raise errors.Unauthorized("You are not signed in, or no longer. Sign in again.")
    return Principal(user_id=key.user_id, key_id=key.id, scopes=frozenset(key.scopes))


def close(services: Services, token: str) -> None:
    """Sign out."""
    with services.database.transaction() as db:
        queries.delete_session(db, api_keys.hash_of(token))


def _session_lasts(services: Services) -> timedelta:
    return timedelta(hours=services.settings.web_session_hours)


def _issue(db: OrmSession, key_id: UUID, kind: Literal["link", "session"], lasts: timedelta) -> Ticket:
    now = datetime.now(UTC)
    ticket = Ticket(token=secrets.token_urlsafe(32), expires_at=now + lasts)
    db.add(
        WebTicket(
            token_hash=api_keys.hash_of(ticket.token),
            key_id=key_id,
            kind=kind,
            created_at=now,
            expires_at=ticket.expires_at,
        )
    )
    return ticket
