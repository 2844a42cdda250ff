"""Histories as corpora, and the fit of the evidence."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recalling import corpora, evidence
from recalling.evidence import Asked

from memorybase.core.search.scoring import EVIDENCE, UNSURE

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
DOCUMENT = {
    "today": "2026-03-10",
    "sessions": [
        {
            "session_id": "s",
            "start": "2026-03-09T10:00:00+00:00",
            "messages": [{"id": "a", "role": "user", "content": "x"}, {"id": "b", "role": "assistant", "content": "y"}],
        }
    ],
    "questions": [{"kind": "when did", "question": "What was yesterday?", "answers": ["a"], "pattern": "x"}],
}


def test_the_times_of_a_history_are_moved_by_whole_weeks() -> None:
    found = corpora.history("lives", "one", DOCUMENT, NOW)
    first, second = (datetime.fromisoformat(message["timestamp"]) for message in found.messages)
    today = datetime(2026, 3, 10, tzinfo=UTC)
    moved = first - datetime(2026, 3, 9, 10, tzinfo=UTC)
    assert moved % timedelta(weeks=1) == timedelta()
    assert NOW - timedelta(weeks=1) < today + moved <= NOW
    assert second - first == timedelta(minutes=2)
    (question,) = found.questions
    assert (question.text, question.category, question.evidence) == ("What was yesterday?", "when did", {"a"})


def test_the_values_of_a_fit_are_what_evidence_multiplies() -> None:
    read = SimpleNamespace(
        columns={"dense": np.array([0.2, 0.6])},
        covered=np.array([0.9, 0.1]),
        fluency=0.75,
        unsaid=0.25,
    )
    shown: Any = (read, np.array([3.0, 31.0]))
    values = evidence.values_of(*shown)
    assert evidence.chance(EVIDENCE, values) == pytest.approx(EVIDENCE.of(*shown))
    assert dict(zip(evidence.NAMES, values, strict=True)) == pytest.approx(
        {"bias": 1, "cosine": 0.6, "total": 31, "unsaid": 0.25 * (1 - UNSURE * 0.25), "covered": 0.25 * 0.9}
    )


def test_a_fit_tells_questions_with_an_answer_from_others_of_left_out_conversations() -> None:
    rng = random.Random(1)
    asked = []
    for number in range(400):
        is_answered = number % 4 == 0
        total = rng.gauss(12.0 if is_answered else 6.0, 1.5)
        values = (1.0, rng.random(), total, rng.random(), 0.0)
        asked.append(Asked(values, is_answered, group=f"g{number % 3}", conversation=f"c{number % 5}"))
    found = evidence.report(asked)
    assert found["weights"]["total"] > 0
    assert found["weights"]["covered"] == 0, "it never differed"
    for how in ("fitted", "left out"):
        assert found[how]["answered"] > 0.9
        assert found[how]["not answered"] < 0.1
