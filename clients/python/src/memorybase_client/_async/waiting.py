"""Waiting in the async client. memorybase_client/_sync/waiting.py has the same names."""

from __future__ import annotations

from anyio import fail_after, sleep
from anyio.to_thread import run_sync as in_thread

__all__ = ["fail_after", "in_thread", "sleep"]
