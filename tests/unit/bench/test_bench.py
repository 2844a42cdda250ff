"""The benchmarks: every script can start, and the formulas behind published figures are right.

What they measure needs a quiet machine. NDCG and recall are in `memorybase.features.lab`, with its tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import context
import pytest
from ingesting import figures
from queueing.load import Load, Workers, runs
from queueing.simulation import Simulation
from recalling.corpora import Conversation, Corpus, Question
from runs import Run

BENCH = Path(__file__).parents[3] / "bench"
MESSAGES = [
    {"id": "a", "role": "user", "content": "zebra " + "word " * 300},
    {"id": "b", "role": "user", "content": "A zebra and a berth."},
    {"id": "c", "role": "user", "content": "Nothing."},
]
QUESTIONS = [
    Question("zebra berth", "fact", frozenset({"a", "b"})),
    Question("Nothing", "fact", frozenset({"c"})),
    Question("unanswered", "abstention", frozenset()),
]
CORPUS = Corpus("made", [Conversation("made", "one", [{"messages": MESSAGES}], QUESTIONS)])


IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except (ImportError, AttributeError) as error:
        print(f"{name}: {error!r}")
"""


@pytest.mark.slow
def test_every_script_imports() -> None:
    """Nothing else runs them: without this, only the next release would see that they use what was renamed."""
    names = [
        ".".join(path.relative_to(BENCH).with_suffix("").parts).removesuffix(".__init__")
        for path in BENCH.rglob("*.py")
    ]
    # In a process of its own: adapters of peers turn logging off.
    run = [sys.executable, "-c", IMPORT_ALL, *names]
    paths = os.pathsep.join(str(BENCH.parent / name) for name in ("bench", "tests", "clients/python/src", "examples"))
    problems = subprocess.run(
        run, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, check=True
    )
    assert problems.stdout == ""


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [figures.percentile(values, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 100]
    assert figures.percentile([7.0], 0.5) == 7
    found = figures.latencies([0.01, 0.02])
    assert found == {"count": 2, "p50_ms": 10.0, "p95_ms": 20.0, "p99_ms": 20.0, "each_ms": [10.0, 20.0]}
    report = {"search": {"one_process": {"20_messages": found}, "rate": 3.5}}
    assert [each["ms"] for each in figures.requests(report)] == [10.0, 20.0]
    assert {each["section"] for each in figures.requests(report)} == {"search.one_process.20_messages"}
    assert "each_ms" not in figures.without_requests(report)["search"]["one_process"]["20_messages"]
    assert figures.latencies([]) == {"count": 0}


def test_rates_are_compared_with_the_limit_with_peers_and_with_the_beginning() -> None:
    # One disturbed pair does not move the share.
    found = figures.share_of_limit([(90, 100), (10, 100), (180, 200)])
    assert (found["share_of_limit"], found["messages_per_second"], found["limit_per_second"]) == (0.9, 90, 100)
    assert figures.compared(300, {"mem0": {"messages_per_second": 30.0}}) == {
        "mem0": {"messages_per_second": 30.0, "memorybase_is_times_as_fast": 10.0}
    }
    assert figures.growth([9, 1, 1, 1, 1, 2, 2, 2]) == 2
    assert figures.growth([1, 3]) == 3
    assert figures.growth([5]) == 1


def test_a_context_counts_by_the_share_of_its_answers_that_was_brought() -> None:
    measured = context.Measured()
    measured.add(QUESTIONS[0], ["b", "c", "b"], 0.5, 20.0)
    measured.add(QUESTIONS[1], [], 0.7, 40.0)
    assert measured.as_dict() == {
        "questions": 2,
        "brought": 0.25,
        "used": 0.6,
        "messages": 1.0,
        "took_ms_p50": 30.0,
        "took_ms_p95": 39.0,
    }
    assert [len(questions) for _, questions in context.questions_of(CORPUS, 1)] == [2], "an answer is needed"
    assert [len(questions) for _, questions in context.questions_of(CORPUS, 2)] == [1]
    for budget, brought, messages in ((10, 0.75, 1), (400, 1.0, 1.5)):
        naive = context.measure_naive(CORPUS, [budget], 1, Run())[budget].as_dict()
        assert (naive["brought"], naive["messages"]) == (brought, messages), budget
        assert naive["used"] <= 1
    assert 200 <= context._cost(MESSAGES[0]) <= 250  # its first 200 words, about a token each


def test_the_simulated_queue_ingests_every_message_that_is_due_once() -> None:
    load = Load(seconds=30, runs_per_second=20, messages_per_run=2, bases=3, sessions=5, threshold=10, burst=500)
    arriving = runs(load)
    workers = Workers(count=4, text_seconds=0.1, claim_seconds=0.01, end_seconds=0.05, notify_seconds=0.02)
    due = sum(run.messages for run in arriving)
    done = sum(job.messages for job in Simulation(workers, 10).run(arriving))
    assert due - load.bases * load.sessions * load.threshold < done <= due
    assert arriving == runs(load)
