"""Ids and keys for what the caller sent without: with them a repetition is known to the server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

MAX_ID_CHARS = 128  # the server's bound for ids of sessions, end users and messages


def new_key() -> str:
    """An Idempotency-Key."""
    return str(uuid4())


def with_run_id(run: Mapping[str, Any]) -> dict[str, Any]:
    """The run with an id. The server derives those of its messages from it and their positions."""
    return {**run, "run_id": run.get("run_id") or str(uuid4())}


def with_message_ids(post: Mapping[str, Any]) -> dict[str, Any]:
    """The post with an id for each message."""
    return {**post, "messages": [_with_id(message) for message in post["messages"]]}


def _with_id(message: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(message.get("data"), Mapping):  # LangChain's nested form
        return {**message, "data": _with_id(message["data"])}
    return {**message, "id": message.get("id") or str(uuid4())}


def id_of(*parts: str) -> str:
    """An id within the server's bound, the same for the same parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def storable_id(given: str) -> str:
    """A host's id of a session, or one derived from it if the server would refuse it."""
    is_storable = given.strip() and len(given) <= MAX_ID_CHARS and given.isprintable()
    return given if is_storable else id_of("session", given)
