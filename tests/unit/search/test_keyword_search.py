"""How long a search keeps a count of messages or sessions."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.search.keyword_search import seconds_cached


@each_row(
    ("size", "seconds"),
    [(1_000, 0), (1_001, 10), (10_000, 10), (50_000, 50), (250_000, 250), (1_000_000, 300), (10_000_000, 300)],
)
def test_a_larger_count_is_kept_for_longer(size: int, seconds: int) -> None:
    assert seconds_cached(size) == seconds
