"""How well a model knows a question's words, and what passages add to a message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from harness.rows import each_row

from memorybase.core.embedding import QueryTokens
from memorybase.core.search.signals import Signals, fluency_of


def tokens(count: int, chars: int = 100) -> QueryTokens:
    """As many tokens of the first characters, which are of no account each."""
    return QueryTokens(np.zeros((count, 2), np.float32), [(0, chars)] * count)


@each_row(
    ("query", "count", "fluency"),
    [
        ("Where is the boat moored?", 5, 1.0),  # a token for each word
        ("Wo liegt das Segelboot?", 9, 0.0),  # 19 letters, words in pieces
        ("Hvor ligger båten?", 5, 0.57),
        ("x", 1, 0.0),
        ("!?", 2, 0.0),
        ("船停在哪里", 5, 0.0),  # a character counts as two letters
        ("船停在哪里", 3, 0.81),
        ("", 0, 0.0),
    ],
)
def test_a_model_that_splits_words_into_pieces_does_not_know_them(query: str, count: int, fluency: float) -> None:
    assert fluency_of(query, tokens(count)) == pytest.approx(fluency, abs=0.01)


@each_row(
    ("spans", "fluency"), [([(0, 2), (3, 4), (5, 9), (10, 11), (12, 15)], 1.0), ([(5, 7), (7, 9), (12, 15)], 0.62)]
)
def test_short_words_are_known_if_they_are_whole(spans: list[tuple[int, int]], fluency: float) -> None:
    read = QueryTokens(np.zeros((len(spans), 2), np.float32), spans)
    assert fluency_of("Do I have a dog?", read) == pytest.approx(fluency, abs=0.01)


@each_row(("count", "chars"), [(0, 0), (1, 1), (2, 2)])
def test_characters_without_a_token_are_not_known(count: int, chars: int) -> None:
    assert fluency_of("船停在哪里", tokens(count, chars)) == 0.0


def test_without_tokens_the_model_counts_as_fluent() -> None:
    assert fluency_of("Wo liegt das Segelboot?", None) == 1.0


def test_a_long_message_is_as_near_as_its_nearest_passage_and_has_its_words_alone() -> None:
    added: list[tuple[int, bytes]] = []
    matched: Any = SimpleNamespace(add=lambda *each: added.append(each), matches=lambda: np.array([0.5, 0.9, 0.7]))
    columns = {"dense": np.array([0.2, 0.6, 0.3]), "topic": np.array([0.2, 0.6, 0.6])}
    columns |= {"nearby": np.array([0.9, 0.1, 0.5])}
    terms: Any = SimpleNamespace(best_possible=2.0)
    unknown = np.full(3, np.inf)
    signals = Signals(columns, np.zeros(3), unknown, 0.75, (), terms, np.arange(3), np.ones(3, bool), tokens=matched)
    signals.add_passage(0, 0.8, 0.8, b"one")
    signals.add_passage(1, 0.6, 0.4, b"two")
    signals.update_matches()
    # The model knows three quarters of the question, so words count more.
    assert signals.columns["dense"] == pytest.approx([0.6, 0.6, 0.3])
    assert signals.columns["topic"] == pytest.approx([0.6, 0.6, 0.6])
    assert signals.columns["nearby"] == pytest.approx([0.4 * 1.175, 0.1, 0.5])
    assert signals.columns["match"].tolist() == [0.5, 0.9, 0.7]
    assert added == [(0, b"one"), (1, b"two")]
