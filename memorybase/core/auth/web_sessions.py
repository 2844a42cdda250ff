"""Sign-in to the web page: an API key, or a link that a key's owner created, opens a session kept in a cookie.

Links and sessions are tickets with a token; only the SHA-256 of the token is stored. A ticket has the scopes of its key
and is valid only while the key is.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.core.auth.api_keys import Principal
from memorybase.core.callers import caller_of
from memorybase.core.models import WebTicket
from memorybase.core.queries import credentials
from memorybase.core.services import Services

LINK_LIFETIME = timedelta(hours=1)
SESSION_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A token, which cannot be read again, and its expiry."""

    token: str = field(repr=False)
    expires_at: datetime


def open_session(services: Services, secret: str) -> Ticket:
    """Open a session with an API key; raises Unauthorized like `api_keys.authenticate`, and Forbidden for a limited
    key."""
    principal = api_keys.authenticate(services, secret)
    _check_unlimited(principal)
    with services.database.transaction() as db:
        return issue(db, principal.key_id, "session", SESSION_LIFETIME)


def make_link(services: Services, principal: Principal) -> Ticket:
    """Create a link that works once, within LINK_LIFETIME. Raises Forbidden for a limited key."""
    _check_unlimited(principal)
    with services.database.transaction() as db:
        return issue(db, principal.key_id, "link", LINK_LIFETIME)


def enter(services: Services, token: str) -> Ticket:
    """Exchange a link for a session; raises Unauthorized for a used or expired link."""
    with services.database.transaction() as db:
        key_id = credentials.take_link(db, api_keys.hash_of(token), datetime.now(UTC))
        if key_id is None:
            raise errors.Unauthorized("This link was used or has expired. Run `memorybase sign-in` for a new one")
        return issue(db, key_id, "session", SESSION_LIFETIME)


def principal_of(services: Services, token: str) -> Principal:
    """The caller of a session; raises the same Unauthorized for an unknown, expired or closed session and for an
    invalid key."""
    with services.database.reading(snapshot=False) as db:
        found = credentials.key_of_session(db, api_keys.hash_of(token), datetime.now(UTC))
    if found is None or found[0].limited_scopes is not None:
        raise errors.Unauthorized("You are not signed in. Sign in again.")
    key, of_user = found
    charged = caller_of(services.settings, key.user_id, of_user, key.quota_subject or key.id, key.quotas)
    return Principal(user_id=key.user_id, key_id=key.id, scopes=frozenset(key.scopes), name=key.name, charged=charged)


def _check_unlimited(principal: Principal) -> None:
    """The page shows every flow and every end user, and a session ends with its key."""
    if principal.token is not None:
        raise errors.Forbidden("An access token cannot sign in to the page. Use an API key")
    if principal.limits is not None:
        raise errors.Forbidden("A key that is limited to flows or to an end user cannot sign in to the page")


def close(services: Services, token: str) -> None:
    """Sign out."""
    with services.database.transaction() as db:
        credentials.delete_session(db, api_keys.hash_of(token))


def issue(db: OrmSession, key_id: UUID, kind: Literal["link", "session"], lifetime: timedelta) -> Ticket:
    """A new ticket of this key."""
    now = datetime.now(UTC)
    ticket = Ticket(token=secrets.token_urlsafe(32), expires_at=now + lifetime)
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
