"""What takes the place of a secret: its kind, and a hash by which two that are the same can be told.

The hash is keyed with a random key of the installation, so that nobody who reads a placeholder can try out what the
secret was. The key is in the database, like other secrets that all processes need. A backup that lacked it
would make equal secrets look different after a restore.
"""

from __future__ import annotations

import hmac
import secrets
from weakref import WeakKeyDictionary

from memorybase.core.database import clock
from memorybase.core.database.engine import Database
from memorybase.core.services import Services
from memorybase.features.secret_redaction import finder, queries

KEY_BYTES = 32
HASH_LETTERS = 12  # 48 bits: among a million secrets two that differ look equal with a chance of 1 in 500
_KEYS: WeakKeyDictionary[Database, bytes] = WeakKeyDictionary()


def placeholder(key: bytes, kind: str, secret: str) -> str:
    """`[redacted KIND HASH]`: without quotes and backslashes, so it may stand in JSON within a text."""
    digest = hmac.digest(key, secret.encode(errors="surrogatepass"), "sha256").hex()[:HASH_LETTERS]
    return f"{finder.MARK}{kind} {digest}]"


def key_of(services: Services) -> bytes:
    """The installation's key, created if there is none. Not within a transaction."""
    key = _KEYS.get(services.database)
    if key is None:
        key = _KEYS[services.database] = _stored(services.database)
    return key


def _stored(database: Database) -> bytes:
    with database.reading() as db:
        key = queries.fetch_key(db)
    if key is None:
        with database.transaction() as db:
            queries.add_key(db, secrets.token_bytes(KEY_BYTES), clock.now(db))
            key = queries.fetch_key(db)
    if key is None:
        raise RuntimeError("The key of placeholders was not stored")
    return key
