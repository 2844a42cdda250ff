"""The latest vectors of queries."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from harness.doubles import FakeEmbedder

from memorybase.core.errors import EmbeddingFailed
from memorybase.core.search.embedded import CACHED_QUERIES, vectors_of


def test_the_least_recently_used_query_is_embedded_again() -> None:
    embedder = FakeEmbedder()
    for query in ("first", *map(str, range(CACHED_QUERIES - 2)), "last", "first", "one more", "first", "0"):
        vectors_of(embedder, query, None)
    assert embedder.embedded[-2:] == ["one more", "0"]


def test_embedders_share_no_vectors_and_a_failure_is_not_kept() -> None:
    one, two = FakeEmbedder(), FakeEmbedder()
    one.fail_with(EmbeddingFailed())
    with pytest.raises(EmbeddingFailed):
        vectors_of(one, "query", None)
    one.fail_with(None)
    for embedder in (one, two, one, two):
        vectors_of(embedder, "query", None)
    assert (one.embedded, two.embedded) == (["query"], ["query"])


@pytest.mark.parametrize("failure", [None, EmbeddingFailed()])
def test_threads_that_ask_for_one_query_at_once_embed_it_once_or_until_it_succeeds(failure: Any) -> None:
    embedder, asked, answer = FakeEmbedder(), threading.Event(), threading.Event()
    embedder.fail_with(failure)

    def wait(_texts: Sequence[str]) -> None:
        asked.set()
        answer.wait(10)

    embedder.before_embed = wait
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(vectors_of, embedder, "query", None)
        asked.wait(10)
        second = threads.submit(vectors_of, embedder, "query", None)
        answer.set()
        failures = [first.exception(), second.exception()]
    assert (failures, embedder.calls) == (([None, None], 1) if failure is None else ([failure, failure], 2))
