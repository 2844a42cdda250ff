"""The latest vectors of queries, of each model."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memorybase.search.embedded import LatestByOwner


class Owner:
    pass


def test_the_least_recently_used_value_is_dropped() -> None:
    latest: LatestByOwner[str, str] = LatestByOwner(2)
    owner = Owner()
    made: list[str] = []

    def value(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key

        return latest.get(owner, key, make)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert value(key) == key
    assert made == ["a", "b", "c", "b"]


def test_owners_share_no_value_and_a_failure_is_not_kept() -> None:
    latest: LatestByOwner[str, int] = LatestByOwner(2)
    one, two = Owner(), Owner()
    assert (latest.get(one, "a", lambda: 1), latest.get(two, "a", lambda: 2)) == (1, 2)
    with pytest.raises(ZeroDivisionError):
        latest.get(one, "b", lambda: 1 // 0)
    assert latest.get(one, "b", lambda: 3) == 3


def test_threads_that_ask_for_one_value_at_once_make_it_once() -> None:
    latest: LatestByOwner[str, int] = LatestByOwner(2)
    owner, asked, answer = Owner(), threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> int:
        asked.set()
        answer.wait(10)
        made.append(1)
        return 7

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(latest.get, owner, "a", make)
        asked.wait(10)
        second = threads.submit(latest.get, owner, "a", make)
        answer.set()
        assert (first.result(), second.result(), made) == (7, 7, [1])


def test_who_waited_for_a_value_that_failed_makes_it() -> None:
    latest: LatestByOwner[str, int] = LatestByOwner(2)
    owner, asked, answer = Owner(), threading.Event(), threading.Event()

    def fail() -> int:
        asked.set()
        answer.wait(10)
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(latest.get, owner, "a", fail)
        asked.wait(10)
        second = threads.submit(latest.get, owner, "a", lambda: 3)
        answer.set()
        with pytest.raises(ZeroDivisionError):
            first.result()
        assert second.result() == 3
