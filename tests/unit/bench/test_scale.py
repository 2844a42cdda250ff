"""The texts, vectors and report of the benchmark of scale; what it measures needs a quiet machine, not a test."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import scale
from scaling import report
from scaling.texts import Vocabulary, turns

pytestmark = pytest.mark.slow  # It tests a benchmark.


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary()


def texts(vocabulary: Vocabulary, *, long: bool, topic: int = 5, count: int = 400) -> list[str]:
    return [turn.text for turn in turns(vocabulary, np.random.default_rng(1), count, topic, long=long)]


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
