"""How the sync client waits. memorybase_client/_async/waiting.py has the same names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import sleep
from typing import TypeVar

__all__ = ["fail_after", "in_thread", "sleep"]

Answer = TypeVar("Answer")


def in_thread(function: Callable[[], Answer]) -> Answer:
    """Call it: the caller may wait."""
    return function()


def fail_after(delay: float) -> AbstractContextManager[None]:
    """Nothing: the timeouts of the connection end a call."""
    del delay
    return nullcontext()
