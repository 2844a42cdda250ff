"""The model of the queue keeps the rules that real jobs keep."""

from __future__ import annotations

from dataclasses import replace

import pytest
from queueing.load import Load, Run, Workers, runs
from queueing.simulation import JOB_MAX_MESSAGES, Ingested, Simulation

WORKERS = Workers(count=1, text_seconds=0.1, claim_seconds=0.01, end_seconds=0.05, notify_seconds=0.02)


def ingested(*arriving: Run, workers: Workers = WORKERS, threshold: int = 2) -> list[Ingested]:
    return Simulation(workers, threshold).run(arriving)


def test_a_job_waits_for_its_notification_its_claim_its_texts_and_its_end() -> None:
    (job,) = ingested(Run(5.0, 0, "s", 4))
    assert job.messages == 4
    assert job.waited == pytest.approx(0.02 + 0.01 + 0.4 + 0.05)


def test_messages_below_the_threshold_wait_for_the_run_that_reaches_it() -> None:
    assert ingested(Run(0.0, 0, "s", 1)) == []
    (job,) = ingested(Run(0.0, 0, "s", 1), Run(60.0, 0, "s", 1))
    assert job.messages == 2
    assert job.waited < 1  # of its last message


def test_a_session_has_one_job_at_a_time_of_bounded_length() -> None:
    jobs = ingested(Run(0.0, 0, "s", 2 * JOB_MAX_MESSAGES + 1), workers=replace(WORKERS, count=3))
    assert [job.messages for job in jobs] == [JOB_MAX_MESSAGES, JOB_MAX_MESSAGES, 1]
    assert jobs[-1].waited > 0.1 * (2 * JOB_MAX_MESSAGES + 1)


def test_two_workers_halve_the_time_of_a_backlog() -> None:
    backlog = [Run(0.0, 0, f"s{n}", 10) for n in range(40)]
    alone, together = (max(job.waited for job in ingested(*backlog, workers=replace(WORKERS, count=n))) for n in (1, 2))
    assert together == pytest.approx(alone / 2, rel=0.1)


def test_a_quiet_base_does_not_wait_for_the_backlog_of_another_one() -> None:
    backlog = [Run(0.0, 0, f"s{n}", 10) for n in range(100)]
    jobs = ingested(*backlog, Run(20.0, 1, "quiet", 10))
    (quiet,) = [job for job in jobs if job.base == 1]
    assert quiet.waited < 4  # what runs, and its own second
    assert max(job.waited for job in jobs) > 100


def test_every_message_that_is_due_is_ingested_once() -> None:
    load = Load(seconds=30, runs_per_second=20, messages_per_run=2, bases=3, sessions=5, threshold=10, burst=500)
    arriving = runs(load)
    due = sum(run.messages for run in arriving)
    done = sum(job.messages for job in ingested(*arriving, workers=replace(WORKERS, count=4), threshold=10))
    assert due - load.bases * load.sessions * load.threshold < done <= due
    assert arriving == runs(load)
