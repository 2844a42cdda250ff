"""The headers of answers, and Idempotency-Key."""

from __future__ import annotations

from typing import Any

from api import idempotency
from api.contract.parts import operations
from memorybase.idempotency import KEY_LENGTH

_INTEGER, _TEXT = {"type": "integer", "minimum": 0}, {"type": "string"}
HEADERS: dict[str, dict[str, Any]] = {
    idempotency.REPLAYED: {
        "description": "`true` if this answer is that of an earlier request with the same `Idempotency-Key`.",
        "schema": {"type": "string", "const": "true"},
    },
    "Location": {
        "description": "The path of what was created.",
        "required": True,
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "RateLimit": {
        "description": "Calls that this key may still make at once (`r`), and seconds until it may make all of them "
        'again (`t`), in this process: a structured field such as `"calls";r=998;t=1`. Absent without a limit.',
        "schema": _TEXT,
    },
    "RateLimit-Policy": {
        "description": "The limit: `q` calls in `w` seconds.",
        "schema": _TEXT,
    },
    "Retry-After": {
        "description": "Seconds until a retry can succeed. Present if the error is retryable.",
        "schema": _INTEGER,
    },
    "X-Request-Id": {
        "description": "The request's id, as in the log: the caller's, or a new one.",
        "required": True,
        "schema": _TEXT,
    },
}
KEY: dict[str, Any] = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "A random string, new for each request and the same in its repetitions, which get the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH},
}
# The Location of a sign-in link would put its token into logs of headers.
WITHOUT_LOCATION = frozenset({"create_sign_in_link"})


def add_headers(document: dict[str, Any]) -> None:
    """Say which headers each answer has, and which operations take a key."""
    document["components"]["headers"] = HEADERS
    for operation in operations(document):
        if operation["operationId"] in idempotency.OPERATIONS:
            operation.setdefault("parameters", []).append(dict(KEY))
        for status, answer in operation["responses"].items():
            names = list(_names(operation, status))
            answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in sorted(names)}


def _names(operation: dict[str, Any], status: str) -> list[str]:
    names = ["X-Request-Id"]
    if operation.get("security"):
        names += ["RateLimit", "RateLimit-Policy"]
    if status[0] in "45":
        names.append("Retry-After")
    elif operation["operationId"] in idempotency.OPERATIONS:
        names.append(idempotency.REPLAYED)
    if status == "201" and operation["operationId"] not in WITHOUT_LOCATION:
        names.append("Location")
    return names
