"""Readiness that says more than can be true is seen, and only that."""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx
import pytest
from chaos.readiness import Readiness
from harness.rows import each_row

from memorybase.core.operations.health import CHECK_SECONDS

pytestmark = pytest.mark.slow  # It tests the harness's own check of readiness, which `make chaos` uses.

STALE = 5.0
LONG = STALE + CHECK_SECONDS + 1


class Known:
    """Links that were cut so many seconds ago."""

    def __init__(self, **seconds: float) -> None:
        self._since = {name: time.monotonic() - ago for name, ago in seconds.items()}

    def cut_since(self, one: str, other: str) -> float | None:
        return self._since.get(f"{one}_{other}")


def watch(links: Known, down: Mapping[str, float] | None = None) -> Readiness:
    ago = {name: time.monotonic() - seconds for name, seconds in (down or {}).items()}
    processes = {"worker": ["w0", "w1"], "sweeper": ["s0"]}
    return Readiness("a", "http://api", links, ago, ["postgres", "redis"], processes, STALE)


def looked(readiness: Readiness, status: int = 200) -> list[str]:
    with httpx.Client(base_url="http://api", transport=httpx.MockTransport(lambda _: httpx.Response(status))) as client:
        readiness.look(client)
    return [violation.partition(" for ")[0] for violation in readiness.violations]


@each_row(
    ("cut", "down", "expected"),
    [
        ({"a_redis": LONG}, {}, "without redis"),
        ({}, {"redis": LONG}, "without redis"),
        ({"a_redis": 0.1}, {"redis": LONG}, "without redis"),
        ({"w0_postgres": LONG, "w1_postgres": LONG}, {}, "without a worker"),
        ({"w0_postgres": LONG}, {"w1": LONG}, "without a worker"),
        ({}, {"s0": LONG}, "without a sweeper"),
    ],
)
def test_ready_although_it_was_broken_for_long(cut: dict[str, float], down: dict[str, float], expected: str) -> None:
    readiness = watch(Known(**cut), down)
    assert looked(readiness) == [f"a said ready, {expected}"]
    assert (readiness.looks, readiness.not_ready, readiness.certain) == (1, 0, 1)
    refused = watch(Known(**cut), down)
    assert looked(refused, status=503) == []
    assert (refused.looks, refused.not_ready, refused.certain) == (1, 1, 1)


@each_row(
    ("cut", "down"),
    [
        ({}, {}),
        ({"a_redis": CHECK_SECONDS / 2}, {}),  # it may take so long to notice
        ({"b_redis": LONG}, {}),  # another API's link
        ({"w0_postgres": LONG}, {}),  # the other worker is there
        ({"w0_postgres": LONG, "w1_postgres": STALE}, {}),
        ({"w0_redis": LONG, "w1_redis": LONG}, {}),  # heartbeats are in the database
    ],
)
def test_what_may_be_true(cut: dict[str, float], down: dict[str, float]) -> None:
    assert looked(watch(Known(**cut), down)) == []


def test_an_api_that_never_answers_is_a_violation() -> None:
    readiness = watch(Known())

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with httpx.Client(base_url="http://api", transport=httpx.MockTransport(refuse)) as client:
        readiness.look(client)
    readiness.start()
    readiness.stop()
    assert readiness.violations == ["readiness of a: no answer was ever seen"]
