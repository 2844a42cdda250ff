"""The cache, and what a process remembers."""

from __future__ import annotations

from memorybase.core.cache import Cache
from memorybase.core.services import ProcessState


def test_the_least_recently_used_value_is_dropped() -> None:
    kept: Cache[str, int] = Cache(2)
    for value, key in enumerate("abac"):
        kept.put(key, value)
    assert [kept.get(key) for key in "abc"] == [2, None, 3]
    kept.get("a")
    kept.put("d", 4)
    assert [kept.get(key) for key in "acd"] == [2, None, 4]
    kept.drop("a")
    kept.drop("a")
    assert [kept.get(key) for key in "ad"] == [None, 4]
    kept.clear()
    assert kept.get("d") is None


def test_each_value_is_kept_for_its_time() -> None:
    now = [5.0]
    kept: Cache[str, int] = Cache(3, clock=lambda: now[0])
    kept.put("a", 1, seconds=10)
    kept.put("b", 2, seconds=20)
    kept.put("c", 3, seconds=0)
    assert [kept.get(key) for key in "abc"] == [1, 2, None]
    kept.put("b", 4, seconds=30)
    now[0] += 10
    assert [kept.get(key) for key in "ab"] == [None, 4]
    kept.put("b", 5, seconds=0)
    assert kept.get("b") is None


def test_a_process_has_one_object_of_each_class() -> None:
    class One: ...

    class Other: ...

    state = ProcessState()
    assert isinstance(state.of(One), One)
    assert state.of(One) is state.of(One)
    assert isinstance(state.of(Other), Other)
    assert ProcessState().of(One) is not state.of(One)
