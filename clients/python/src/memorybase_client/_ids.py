"""Ids for what the caller sent without: with them a repetition is known to the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4


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
