"""Requests under an Idempotency-Key: each is carried out once, and its repetitions get the first answer.

A request is claimed with a token and a short lease before anything is done. Its answer is stored by a statement that
finds the row only while it has that token: in the transaction of the operation itself, so either both are committed or
neither, and a process that has lost its claim commits nothing. Operations that cannot do so derive ids from the
`operation_id`, which stays the same in each attempt. `api/idempotency.py` says which operation does what. Times are
from the database's clock.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.due import change_if_due
from memorybase.core.models import IdempotencyKey
from memorybase.core.queries import idempotency_keys
from memorybase.core.services import Services

FIELD = "Idempotency-Key"
KEY_LENGTH = 255
# After a process died, repetitions wait this long. A client that retries after RETRY_SECONDS a few times outlasts it.
LEASE = timedelta(seconds=10)
KEPT = timedelta(hours=24)  # the answer, for repetitions
RENEW_SECONDS = 3.0
RETRY_SECONDS = 3
EXPIRED_LIMIT = 5_000  # in one pass of the sweeper


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that repetitions get. `body` is JSON."""

    status: int
    body: str
    location: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry a request out. `operation_id` is the same for each attempt at it."""

    user_id: UUID
    key_hash: bytes
    token: UUID
    operation_id: UUID


def claim(services: Services, user_id: UUID, key: str, fingerprint: bytes) -> Claim | Answer:
    """The right to carry the request out, or the answer that it had.

    Raises IdempotencyKeyReused if another request had this key, IdempotencyInProgress while the first is running.
    """
    key_hash = hashlib.sha256(key.encode()).digest()
    # Not durable: the operation's own commit is, and no commit is undone without those after it.
    with services.database.transaction(durable=False) as db:
        now = clock.now(db)
        new = _new_row(fingerprint, now)
        if idempotency_keys.insert_key(db, {"user_id": user_id, "key_hash": key_hash, **new}):
            return Claim(user_id, key_hash, new["token"], new["operation_id"])
        row = idempotency_keys.lock_key(db, user_id, key_hash)
        if row is None:  # rejected or expired between the two statements
            raise errors.IdempotencyInProgress(field=FIELD)
        if row.expires_at > now:
            _check_free(row, fingerprint, now)
            if row.status is not None:
                return Answer(row.status, row.body or "", row.location)
            if row.fingerprint == fingerprint:
                # An attempt failed, or its process died, perhaps after it had stored something.
                new = {name: new[name] for name in ("token", "lease_until")}
        for name, value in new.items():
            setattr(row, name, value)
        return Claim(user_id, key_hash, new["token"], row.operation_id)


def _new_row(fingerprint: bytes, now: datetime) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint,
        "operation_id": uuid4(),
        "token": uuid4(),
        "lease_until": now + LEASE,
        "status": None,
        "body": None,
        "location": None,
        "created_at": now,
        "expires_at": now + KEPT,
    }


def _check_free(row: IdempotencyKey, fingerprint: bytes, now: datetime) -> None:
    is_running = row.lease_until is not None and row.lease_until > now
    if row.fingerprint != fingerprint and (is_running or row.status is not None):
        raise errors.IdempotencyKeyReused(field=FIELD)
    if is_running:
        raise errors.IdempotencyInProgress(field=FIELD)


def renew(services: Services, claimed: Claim) -> None:
    """Keep the claim for another LEASE, unless it is lost."""
    with services.database.transaction(durable=False) as db:
        _update(db, claimed, lease_until=clock.now(db) + LEASE)


def keep(db: OrmSession, claimed: Claim, answer: Answer) -> None:
    """Store the answer in the transaction of the operation, and end the claim.

    Raises IdempotencyInProgress if the claim is lost: another attempt carries the request out, so this one must not.
    """
    if not _keep(db, claimed, answer):
        message = "This request took so long that another attempt at it has started. Send it again for its answer"
        raise errors.IdempotencyInProgress(message, field=FIELD)


def keep_afterwards(services: Services, claimed: Claim, answer: Answer) -> None:
    """Store the answer of an operation that has ended, unless the claim is lost."""
    with services.database.transaction() as db:
        _keep(db, claimed, answer)


def release(services: Services, claimed: Claim, *, was_rejected: bool) -> None:
    """Let the next request with this key be carried out. A rejected one has stored nothing, so all of it is forgotten;
    else the `operation_id` stays, for a repetition of a request that may have stored something."""
    with services.database.transaction(durable=False) as db:
        if was_rejected:
            idempotency_keys.delete_claimed(db, claimed.user_id, claimed.key_hash, claimed.token)
        else:
            _update(db, claimed, token=None, lease_until=None)


def delete_expired(services: Services) -> int:
    """Delete expired requests, and return their number."""
    delete = partial(idempotency_keys.delete_expired, limit=EXPIRED_LIMIT)
    return change_if_due(services.database, idempotency_keys.has_expired, delete)


def _keep(db: OrmSession, claimed: Claim, answer: Answer) -> bool:
    stored = {"status": answer.status, "body": answer.body, "location": answer.location}
    return _update(db, claimed, token=None, lease_until=None, **stored)


def _update(db: OrmSession, claimed: Claim, **values: Any) -> bool:
    return idempotency_keys.update_claimed(db, claimed.user_id, claimed.key_hash, claimed.token, values)
