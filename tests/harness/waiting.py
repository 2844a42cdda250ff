from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


# An event that a test waits for comes within milliseconds, or late on a busy machine. Below the limit of a test, so
# that what did not come is named.
PATIENCE = 50.0


def wait_until(predicate: Callable[[], T], timeout: float = PATIENCE, what: str = "the condition") -> T:
    """Poll until the predicate is truthy and return its value; fail with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = 0.01
    while not (value := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout:g} s (last value: {value!r})")
        time.sleep(pause)
        pause = min(0.1, pause * 1.5)
    return value
