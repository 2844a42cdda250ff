"""Calls of the API, with the standard library alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memorybase_client.coding_agents.events import Json

REQUEST_SECONDS = 10.0


class Away(Exception):
    """A repetition may succeed: memory is unreachable, busy, or does not know the key or the flow."""


class Refused(Exception):
    """Memory will never accept this. `stored` counts what it took beside it."""

    def __init__(self, reason: str, stored: int = 0) -> None:
        super().__init__(reason)
        self.stored = stored


def call(
    config: Json, path: str, body: Json | None, method: str = "POST", *, headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Call memory; the status and the answer. Raises OSError, HTTPException, or ValueError for an answer that is no
    JSON."""
    from http.client import HTTPConnection, HTTPSConnection
    from urllib.parse import urlsplit

    url = urlsplit(config["url"])
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=float(config.get("request_seconds", REQUEST_SECONDS)))
    try:
        own = {"Content-Type": "application/json", "Authorization": b"Bearer " + config["key"].encode()}
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        connection.request(method, url.path.rstrip("/") + path, sent, {**own, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None
    finally:
        connection.close()
