"""The texts, vectors and report of the benchmark of scale; what it measures needs a quiet machine, not a test."""

from __future__ import annotations

from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import scale
from scaling import embedder as embedder_module
from scaling import report
from scaling.long_runs import imported_lines
from scaling.rows import session_lengths
from scaling.texts import TOPICS, Vocabulary, turns

pytestmark = pytest.mark.slow  # It tests a benchmark.


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary()


def texts(vocabulary: Vocabulary, *, long: bool, topic: int = 5, count: int = 400) -> list[str]:
    return [turn.text for turn in turns(vocabulary, np.random.default_rng(1), count, topic, long=long)]


def test_two_people_are_brief_and_an_assistant_is_not(vocabulary: Vocabulary) -> None:
    brief, long = texts(vocabulary, long=False), texts(vocabulary, long=True)
    assert 6 <= np.median([len(text.split()) for text in brief]) <= 12
    assert all(text.endswith("?") for text in long[::2])
    assert 90 <= np.median([len(text.split()) for text in long[1::2]]) <= 150
    assert 0.2 <= np.mean(["```" in text for text in long[1::2]]) <= 0.4


def test_the_frequency_of_a_word_falls_with_its_rank(vocabulary: Vocabulary) -> None:
    words = vocabulary.draw(np.random.default_rng(2), 50_000, topic=5)
    counts = [count for word, count in Counter(words).most_common() if word not in vocabulary.topic_of]
    assert 5 <= counts[0] / counts[19] <= 12  # Mandelbrot's constant flattens the first ones
    assert 0.5 <= counts[50] / counts[100] * 0.5 <= 2


def test_vectors_of_one_topic_are_nearer_than_others(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_module, "NOISE", 1_000)
    embedder = embedder_module.MadeEmbedder(vocabulary)
    one, same, other = (
        embedder.embed(texts(vocabulary, long=True, topic=topic, count=count))
        for topic, count in ((5, 60), (5, 80), (9, 60))
    )
    assert np.allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)
    assert np.median(one @ same.T) > 0.25
    assert abs(np.median(one @ other.T)) < 0.2


def test_sessions_have_unequal_lengths_that_add_up() -> None:
    lengths = session_lengths(np.random.default_rng(4), 5_000, 100)
    assert (sum(lengths), len(lengths)) == (5_000, 100)
    assert min(lengths) >= 2
    assert max(lengths) > 4 * np.median(lengths)


def test_a_topic_has_words_of_its_own(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.topic_of) == TOPICS * 100


def test_imported_lines_have_new_ids() -> None:
    run = "8f7d4d6e-0000-4000-8000-000000000001"
    lines = [b'{"type": "run", "id": "%s", "flow_id": "f"}' % run.encode()]
    assert run not in imported_lines(lines).decode()
    assert imported_lines(lines) == imported_lines(lines)


def test_a_session_has_at_least_two_messages() -> None:
    chosen = scale.parser().parse_args(["--stores", "sqlite-chroma", "--sizes", "100,1_000", "--sessions", "1,400"])
    found = [(store, size.messages, size.sessions) for store, size in scale.cells(chosen)]
    assert found == [("sqlite-chroma", 100, 1), ("sqlite-chroma", 1_000, 1), ("sqlite-chroma", 1_000, 400)]


def test_an_unknown_store_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scale.parser().parse_args(["--stores", "oracle"])
    assert "must be some of sqlite-chroma, postgresql-chroma" in capsys.readouterr().err


def cell(messages: int, own_ms: float, server_ms: float | None) -> dict[str, Any]:
    operation = {
        "calls": 5,
        "p50_ms": 3.0,
        "p95_ms": 4.0,
        "own_ms": own_ms,
        "server_ms": server_ms,
        "sqlite_steps": 1_000 * messages,
    }
    once = {"seconds": 2.0, "own_seconds": 1.0, "server_seconds": 0.5, "note": "ok"}
    return {
        "store": "sqlite-chroma",
        "messages": messages,
        "sessions": 10,
        "filled_seconds": 1.0,
        "operations": {"capture": operation},
        "long": {"export": once},
        "bytes_a_message": {"messages": 500.0},
        "processes": {"this process": {"memory_mb": 100.0}},
    }


FOUND = {
    "about": {
        "command": "python bench/scale.py",
        "machine": "two cores",
        "system": "Linux",
        "load_before": 0.1,
        "at": "now",
        "data": "made texts",
    },
    "cells": [cell(10_000, 2.0, 1.0), cell(100_000, 2.5, 2.0)],
}


def test_the_table_adds_up_the_processors_and_says_how_much_it_grew() -> None:
    table = report.markdown(FOUND)
    assert "| milliseconds | 10,000 | 100,000 | growth | p50 | p95 |" in table
    assert "| capture | 3.00 | 4.50 | 1.50 | 3.0 | 4.0 |" in table
    assert "| capture | 10,000,000 | 100,000,000 |" in table
    assert "| export | 1.50 | 1.50 |" in table


def test_the_plot_has_a_line_for_each_operation() -> None:
    root = ET.fromstring(report.svg(FOUND))
    lines = [each for each in root.iter() if each.tag.endswith("polyline")]
    assert len(lines) == 1
    points = [tuple(map(int, point.split(","))) for point in lines[0].attrib["points"].split()]
    assert points[0][0] < points[1][0]
    assert points[0][1] > points[1][1]  # upwards is more
