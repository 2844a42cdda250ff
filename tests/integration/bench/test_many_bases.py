"""The benchmark of many memory bases, shortened."""

from __future__ import annotations

import many_bases
import pytest


@pytest.mark.slow
def test_each_store_is_measured_in_the_same_way() -> None:
    pgvector, chroma = many_bases.in_pgvector(3, 5), many_bases.in_chroma(2, 5)

    assert pgvector.keys() == chroma.keys() - {"open_files"}
    assert (pgvector["bases"], chroma["bases"]) == (3, 2)
    for figures in (pgvector, chroma):
        assert figures["search"].keys() == {"server_ms", "own_ms", "p50", "p95"}
        assert figures["search"]["p95"] >= figures["search"]["p50"] > 0


@pytest.mark.slow
def test_an_index_is_compared_with_an_exact_search() -> None:
    figures = many_bases.large(1_000)

    assert figures["recall_at_10"] > 0.9
    assert figures["build"]["server_ms"] > 0
