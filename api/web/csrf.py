"""The token in each form and each request of htmx, without which nothing is changed (CSRF).

It is derived from the visitor's session, so the server stores none. Each page masks it with other random bytes:
compressed answers would otherwise tell it by their length (BREACH).
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

FIELD = "csrf"
HEADER = "X-CSRF"
_BYTES = 16


def issue(session_token: str) -> str:
    """A token for the pages of this session."""
    mask = secrets.token_bytes(_BYTES)
    return urlsafe_b64encode(mask + _xor(mask, _secret(session_token))).decode()


def is_valid(token: str, session_token: str) -> bool:
    try:
        given = urlsafe_b64decode(token)
    except ValueError:
        return False
    return len(given) == 2 * _BYTES and hmac.compare_digest(
        _xor(given[:_BYTES], given[_BYTES:]), _secret(session_token)
    )


def _secret(session_token: str) -> bytes:
    return hmac.digest(session_token.encode(), b"forms", "sha256")[:_BYTES]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
