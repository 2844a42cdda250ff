"""API keys: create, authenticate, revoke. Only the SHA-256 of a key is stored, so a stolen database grants no access.

A key is 256 random bits: its unsalted hash cannot be reversed, and one indexed query finds it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.auth import queries
from memorybase.database.engine import Database
from memorybase.models import NAME_LENGTH, ApiKey
from memorybase.queries.ownership import not_found
from memorybase.services import Services
from memorybase.validation import check_text

SCOPES = ("read", "write", "admin")
LOCAL_USER = "local"
MARK_USED_EVERY = timedelta(minutes=1)  # a write per request would turn every read into a write
VALID_SECONDS = 1.0  # a key is looked up once in this time; another process may use a revoked one for as long

_SECRET_PREFIX = "mb_"  # noqa: S105 - lets secret scanners recognise keys
_SHOWN_PREFIX = 8
_SHORT_SECRET = 24  # no prefix is shown of shorter keys, which were chosen by hand
_MOST_KEPT = 1_000  # valid keys in memory; beyond that all are looked up again


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller. All data is scoped to the user; every endpoint requires one of the scopes."""

    user_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    name: str = ""

    def require(self, scope: str) -> None:
        """Raises Forbidden."""
        if scope not in self.scopes:
            raise errors.Forbidden(f"This API key lacks the scope '{scope}'. Use a key with that scope", scope=scope)


class _ValidKeys:
    """The callers of keys that were valid a moment ago, by the keys' hashes. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: dict[bytes, tuple[Principal, float, datetime | None]] = {}
        self.revocations = 0

    def get(self, key_hash: bytes) -> Principal | None:
        with self._mutex:
            principal, until, expires_at = self._kept.get(key_hash, (None, 0.0, None))
        if time.monotonic() >= until or (expires_at is not None and expires_at <= datetime.now(UTC)):
            return None
        return principal

    def add(self, key_hash: bytes, principal: Principal, expires_at: datetime | None, *, as_of: int) -> None:
        """Keep a key that was looked up after `as_of` revocations, unless another was revoked since: perhaps this."""
        with self._mutex:
            if as_of != self.revocations:
                return
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key_hash] = principal, time.monotonic() + VALID_SECONDS, expires_at

    def forget(self, key_id: UUID) -> None:
        """The key was revoked, and that is committed."""
        with self._mutex:
            self.revocations += 1
            self._kept = {key_hash: kept for key_hash, kept in self._kept.items() if kept[0].key_id != key_id}


_VALID: WeakKeyDictionary[Database, _ValidKeys] = WeakKeyDictionary()


def create_key(
    services: Services,
    user_id: UUID,
    *,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    before_commit: Callable[[OrmSession, ApiKey], object] | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which cannot be read again; raises InvalidRequest. `before_commit` is called in the
    transaction that creates it."""
    now = datetime.now(UTC)
    _check(name, scopes, expires_at, now)
    secret = _SECRET_PREFIX + secrets.token_urlsafe(32)
    values = _values(user_id, name=name, secret=secret, scopes=scopes, now=now) | {"expires_at": expires_at}
    key = ApiKey(**values)
    with services.database.transaction() as db:
        db.add(key)
        if before_commit is not None:
            before_commit(db, key)
    return key, secret


def authenticate(services: Services, secret: str) -> Principal:
    """The caller with this key; raises the same Unauthorized for an unknown, expired and revoked key.

    A valid key is not looked up again for VALID_SECONDS.
    """
    digest, valid = hash_of(secret), _valid_keys(services)
    principal = valid.get(digest)
    if principal is not None:
        return principal
    as_of = valid.revocations
    key = _look_up(services, digest)
    if key is None and _is_configured(services, secret):
        # Store the key of the settings on its first use: the database may have started after the API.
        ensure_local_user(services, secret)
        key = _look_up(services, digest)
    if key is None:
        raise errors.Unauthorized
    principal = Principal(user_id=key.user_id, key_id=key.id, scopes=frozenset(key.scopes), name=key.name)
    valid.add(digest, principal, key.expires_at, as_of=as_of)
    return principal


def valid_hashes(services: Services, hashes: Collection[bytes]) -> set[bytes]:
    """Those of these hashes that are of a valid key or sign-in link."""
    with services.database.reading() as db:
        valid = queries.valid_hashes(db, hashes, datetime.now(UTC))
    configured = services.settings.api_key
    return valid | ({hash_of(configured)} & set(hashes) if configured else set())  # stored on its first use


def revoke_key(services: Services, user_id: UUID, key_id: UUID) -> None:
    """Raises NotFound."""
    with services.database.transaction() as db:
        if not queries.revoke_key(db, user_id, key_id, now=datetime.now(UTC)):
            raise not_found("key", key_id)
    _valid_keys(services).forget(key_id)


def list_keys(services: Services, user_id: UUID) -> Sequence[ApiKey]:
    """The user's keys that are not revoked, oldest first."""
    with services.database.reading() as db:
        return queries.active_keys(db, user_id)


def ensure_local_user(services: Services, secret: str) -> UUID:
    """Create the user "local" and this key with all scopes. Idempotent; a revoked key stays revoked."""
    now = datetime.now(UTC)
    with services.database.transaction() as db:
        queries.insert_user_if_absent(db, {"id": uuid4(), "name": LOCAL_USER, "created_at": now})
        user_id = queries.user_by_name(db, LOCAL_USER)
        if user_id is None:
            raise errors.DatabaseUnavailable("The local user is missing after its insert. Try again")
        values = _values(user_id, name=LOCAL_USER, secret=secret, scopes=SCOPES, now=now)
        queries.insert_key_if_absent(db, values)
    return user_id


def hash_of(secret: str) -> bytes:
    """The hash that is stored."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def _valid_keys(services: Services) -> _ValidKeys:
    return _VALID.setdefault(services.database, _ValidKeys())


def _look_up(services: Services, digest: bytes) -> queries.StoredKey | None:
    """The valid key with this hash, marked as used."""
    now = datetime.now(UTC)
    with services.database.reading(snapshot=False) as db:
        key = queries.key_by_hash(db, digest)
    if key is None or not hmac.compare_digest(key.key_hash, digest):
        return None
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        return None
    if key.last_used_at is None or now - key.last_used_at >= MARK_USED_EVERY:
        # The key is valid; a busy database must not fail the call for this mark.
        with suppress(errors.DatabaseUnavailable), services.database.transaction() as db:
            queries.mark_key_used(db, key.id, now=now)
    return key


def _is_configured(services: Services, secret: str) -> bool:
    configured = services.settings.api_key
    return bool(configured) and hmac.compare_digest(hash_of(configured or ""), hash_of(secret))


def _values(user_id: UUID, *, name: str, secret: str, scopes: Sequence[str], now: datetime) -> dict[str, Any]:
    return {
        "id": uuid4(),
        "user_id": user_id,
        "name": name,
        "prefix": secret[:_SHOWN_PREFIX] if len(secret) >= _SHORT_SECRET else "",
        "key_hash": hash_of(secret),
        "scopes": [scope for scope in SCOPES if scope in scopes],
        "created_at": now,
    }


def _check(name: str, scopes: Sequence[str], expires_at: datetime | None, now: datetime) -> None:
    check_text(name, "name")
    if not name.strip() or len(name) > NAME_LENGTH:
        raise errors.InvalidRequest(
            f"name must have 1 to {NAME_LENGTH} characters", field="name", value=len(name), limit=NAME_LENGTH
        )
    if not scopes or not set(scopes) <= set(SCOPES):
        raise errors.InvalidRequest(f"scopes must be one or more of {', '.join(SCOPES)}", field="scopes")
    if expires_at is not None and (expires_at.tzinfo is None or expires_at <= now):
        raise errors.InvalidRequest("expires_at must be in the future and have a time zone", field="expires_at")
