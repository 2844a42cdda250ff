"""API keys: create, authenticate, revoke. Only the SHA-256 of a key is stored, so a stolen database grants no access.

A key is 256 random bits: its unsalted hash cannot be reversed, and one indexed query finds it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.auth import limits
from memorybase.core.auth.limits import KeyLimits
from memorybase.core.cache import Cache
from memorybase.core.callers import Caller, caller_of
from memorybase.core.database import engine
from memorybase.core.models import ID_LENGTH, NAME_LENGTH, ApiKey
from memorybase.core.queries import credentials
from memorybase.core.queries.ownership import not_found
from memorybase.core.services import Services
from memorybase.core.validation import check_text

SCOPES = ("read", "write", "admin", "metrics")
LOCAL_USER = "local"
MARK_USED_EVERY = timedelta(minutes=1)  # a write per request would turn every read into a write
MAX_OVERLAP_SECONDS = 30 * 86_400
DEFAULT_OVERLAP_SECONDS = 86_400
VALID_SECONDS = 1.0  # a key is looked up once in this time; another process may use a revoked one for as long

_SECRET_PREFIX = "mb_"  # noqa: S105 - lets secret scanners recognise keys
_SHOWN_PREFIX = 8
_SHORT_SECRET = 24  # no prefix is shown of shorter keys, which were chosen by hand
MOST_KEPT = 1_000  # valid keys in memory


@dataclass(frozen=True, slots=True)
class TokenOf:
    """Whose access token a caller brings, and the flows that it was issued for; None: for the whole server."""

    subject: str
    flow_ids: frozenset[UUID] | None


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller. All data is scoped to the user; every endpoint requires one of the scopes. `limits`:
    what a limited key may touch of it; `charged`: the quotas that its calls count for. `token`: of a caller without an
    API key, whose `key_id` is that of no row."""

    user_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    name: str = ""
    limits: KeyLimits | None = None
    charged: Caller | None = None
    token: TokenOf | None = None

    @property
    def stored_key_id(self) -> UUID | None:
        """The row of the caller's key, for what refers to one."""
        return self.key_id if self.token is None else None

    def require(self, scope: str) -> None:
        """Raises Forbidden."""
        if scope not in self.scopes:
            kind, other = ("API key", "a key") if self.token is None else ("access token", "one")
            raise errors.Forbidden(f"This {kind} lacks the scope '{scope}'. Use {other} with that scope", scope=scope)


class _ValidKeys:
    """The callers of keys that were valid a moment ago, by the keys' hashes. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: Cache[bytes, tuple[Principal, datetime | None]] = Cache(MOST_KEPT)
        self.revocations = 0

    def get(self, key_hash: bytes) -> Principal | None:
        principal, expires_at = self._kept.get(key_hash) or (None, None)
        return principal if expires_at is None or expires_at > datetime.now(UTC) else None

    def add(self, key_hash: bytes, principal: Principal, expires_at: datetime | None, *, as_of: int) -> None:
        """Keep a key that was looked up after `as_of` revocations, unless another was revoked since: perhaps this."""
        with self._mutex:
            if as_of == self.revocations:
                self._kept.put(key_hash, (principal, expires_at), VALID_SECONDS)

    def forget(self) -> None:
        """A key was revoked, and that is committed: look all up again."""
        with self._mutex:
            self.revocations += 1
            self._kept.clear()


def create_key(
    services: Services,
    user_id: UUID,
    *,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    flow_ids: Sequence[UUID] | None = None,
    end_user_id: str | None = None,
    quotas: Mapping[str, int] | None = None,
    before_commit: Callable[[OrmSession, ApiKey], object] | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which cannot be read again; raises InvalidRequest. `flow_ids` and `end_user_id` limit
    it; raises NotFound for an unknown flow. `before_commit` is called in the transaction that creates it."""
    now = datetime.now(UTC)
    _check(name, scopes, expires_at, now)
    _check_end_user(end_user_id)
    secret = _SECRET_PREFIX + secrets.token_urlsafe(32)
    values = _values(user_id, name=name, secret=secret, scopes=scopes, now=now)
    values |= limits.stored(values["scopes"], flow_ids, end_user_id)
    key = ApiKey(**values, expires_at=expires_at, quotas=quotas)
    with services.database.transaction() as db:
        if flow_ids is not None or end_user_id is not None:
            limits.check_new(db, user_id, scopes, flow_ids)
        db.add(key)
        engine.created(db, key_id=key.id)
        if before_commit is not None:
            before_commit(db, key)
    return key, secret


def rotate_key(
    services: Services,
    user_id: UUID,
    key_id: UUID,
    *,
    overlap_seconds: int = DEFAULT_OVERLAP_SECONDS,
    expires_at: datetime | None = None,
    before_commit: Callable[[OrmSession, ApiKey], object] | None = None,
) -> tuple[ApiKey, str]:
    """A new key with the name, scopes, limits and quotas of this one, which stays valid for the overlap. Both use the
    same quotas. The new key expires when the old one would have, unless `expires_at` says otherwise.

    Raises NotFound, InvalidRequest for a person, and KeyRotated if the key has a successor.
    """
    _check_overlap(overlap_seconds)
    now = datetime.now(UTC)
    secret = _SECRET_PREFIX + secrets.token_urlsafe(32)
    with services.database.transaction() as db:
        old = credentials.lock_key(db, user_id, key_id, now)
        if old is None:
            raise not_found("key", key_id)
        if old.is_person:
            raise errors.InvalidRequest(
                "key_id must be of a key: a person who signs in has no secret", field="key_id", value=key_id
            )
        if old.rotated_to is not None:
            raise errors.KeyRotated(field="key_id", value=key_id, existing_id=str(old.rotated_to))
        key = _successor(old, secret, expires_at, now)
        db.add(key)
        until = now + timedelta(seconds=overlap_seconds)
        old.expires_at = until if old.expires_at is None else min(old.expires_at, until)
        old.rotated_to = key.id
        engine.created(db, key_id=key.id)
        if before_commit is not None:
            before_commit(db, key)
    services.state.of(_ValidKeys).forget()
    return key, secret


def _successor(old: ApiKey, secret: str, expires_at: datetime | None, now: datetime) -> ApiKey:
    scopes = limits.scopes_of(old)
    _check(old.name, scopes, expires_at, now)
    return ApiKey(
        **_values(old.user_id, name=old.name, secret=secret, scopes=scopes, now=now)
        | {"scopes": old.scopes, "limited_scopes": old.limited_scopes, "flow_ids": old.flow_ids},
        end_user_id=old.end_user_id,
        expires_at=expires_at or old.expires_at,
        quotas=old.quotas,
        quota_subject=old.quota_subject or old.id,
    )


def authenticate(services: Services, secret: str) -> Principal:
    """The caller with this key; raises the same Unauthorized for an unknown, expired and revoked key.

    A valid key is not looked up again for VALID_SECONDS.
    """
    digest, valid = hash_of(secret), services.state.of(_ValidKeys)
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
    principal = Principal(
        user_id=key.user_id,
        key_id=key.id,
        scopes=frozenset(key.scopes or key.limited_scopes or ()),
        name=key.name,
        limits=limits.limits_of(key.flow_ids, key.end_user_id),
        charged=caller_of(services.settings, key.user_id, key.user_quotas, key.quota_subject or key.id, key.quotas),
    )
    valid.add(digest, principal, key.expires_at, as_of=as_of)
    return principal


def valid_hashes(services: Services, hashes: Collection[bytes]) -> set[bytes]:
    """The hashes of valid keys and sign-in links among these."""
    with services.database.reading() as db:
        valid = credentials.valid_hashes(db, hashes, datetime.now(UTC))
    configured = services.settings.api_key
    return valid | ({hash_of(configured)} & set(hashes) if configured else set())  # stored on its first use


def revoke_key(services: Services, user_id: UUID, key_id: UUID) -> None:
    """Raises NotFound."""
    with services.database.transaction() as db:
        if not credentials.revoke_key(db, user_id, key_id, now=datetime.now(UTC)):
            raise not_found("key", key_id)
    services.state.of(_ValidKeys).forget()


def list_keys(services: Services, user_id: UUID) -> Sequence[ApiKey]:
    """The user's keys that are not revoked, oldest first."""
    with services.database.reading() as db:
        return credentials.active_keys(db, user_id)


def ensure_local_user(services: Services, secret: str) -> UUID:
    """Create the user "local" and this key with all scopes. Idempotent; a revoked key stays revoked."""
    now = datetime.now(UTC)
    with services.database.transaction() as db:
        user_id = insert_local_user(db, now)
        values = _values(user_id, name=LOCAL_USER, secret=secret, scopes=SCOPES, now=now)
        credentials.insert_key_if_absent(db, values)
    return user_id


def insert_local_user(db: OrmSession, now: datetime) -> UUID:
    """The id of the user "local", which is created if there is none."""
    credentials.insert_user_if_absent(db, {"id": uuid4(), "name": LOCAL_USER, "created_at": now})
    user_id = credentials.user_by_name(db, LOCAL_USER)
    if user_id is None:
        raise errors.DatabaseUnavailable("The local user is missing after its insert. Try again")
    return user_id


def hash_of(secret: str) -> bytes:
    """The hash that is stored."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def _look_up(services: Services, digest: bytes) -> credentials.StoredKey | None:
    """The valid key with this hash, marked as used; None if there is none. Raises Unauthorized for an invalid one."""
    now = datetime.now(UTC)
    with services.database.reading(snapshot=False) as db:
        key = credentials.key_by_hash(db, digest)
    if key is None or not hmac.compare_digest(key.key_hash, digest):
        return None
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        raise errors.Unauthorized
    if key.last_used_at is None or now - key.last_used_at >= MARK_USED_EVERY:
        # The key is valid; for this mark the call must neither fail nor wait. A later one tries again.
        with suppress(errors.DatabaseUnavailable), services.database.transaction(apart=True, wait=False) as db:
            credentials.mark_key_used(db, key.id, now=now, unless_after=now - MARK_USED_EVERY)
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


def _check_overlap(seconds: int) -> None:
    if not 0 <= seconds <= MAX_OVERLAP_SECONDS:
        raise errors.InvalidRequest(
            f"overlap_seconds must be 0 to {MAX_OVERLAP_SECONDS}",
            field="overlap_seconds",
            value=seconds,
            limit=[0, MAX_OVERLAP_SECONDS],
        )


def _check_end_user(end_user_id: str | None) -> None:
    if end_user_id is None:
        return
    check_text(end_user_id, "end_user_id")
    if not end_user_id.strip() or len(end_user_id) > ID_LENGTH:
        raise errors.InvalidRequest(
            f"end_user_id must have 1 to {ID_LENGTH} characters",
            field="end_user_id",
            value=len(end_user_id),
            limit=ID_LENGTH,
        )
