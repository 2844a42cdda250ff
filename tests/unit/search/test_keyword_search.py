"""How long a search keeps a count of messages or sessions."""

from __future__ import annotations

import pytest
from harness.rows import each_row

from memorybase.search import keyword_search


@each_row(
    ("size", "seconds"),
    [(1_000, 0), (1_001, 10), (10_000, 10), (50_000, 50), (250_000, 250), (1_000_000, 300), (10_000_000, 300)],
)
def test_a_larger_count_is_kept_for_longer(monkeypatch: pytest.MonkeyPatch, size: int, seconds: int) -> None:
    now = [5.0]
    monkeypatch.setattr(keyword_search.time, "monotonic", lambda: now[0])
    counts = keyword_search._CountCache()
    counts.put("term", size, size)
    if seconds:
        now[0] += seconds - 1
        assert counts.get("term") == size
        now[0] += 1
    assert counts.get("term") is None


def test_a_new_count_replaces_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(keyword_search.time, "monotonic", lambda: now[0])
    counts = keyword_search._CountCache()
    counts.put("term", 20_000, 20_000)
    counts.put("term", 30_000, 30_000)
    now[0] += 25
    assert counts.get("term") == 30_000
