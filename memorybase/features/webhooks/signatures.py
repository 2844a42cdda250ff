"""Secrets and signatures of the Standard Webhooks specification: HMAC-SHA256 of id, time and body, as `v1`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32  # the specification asks for 24 to 64


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, webhook_id: str, timestamp: int, body: str) -> str:
    """One signature, with its version."""
    key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    signed = f"{webhook_id}.{timestamp}.{body}".encode()
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def headers(secrets_: Sequence[str], webhook_id: str, timestamp: int, body: str) -> dict[str, str]:
    """The headers of a request: one signature for each secret, so that receivers may know either during a rotation."""
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(each, webhook_id, timestamp, body) for each in secrets_),
    }
