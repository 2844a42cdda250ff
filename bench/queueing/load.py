"""The load that the model and real workers get alike: who captures what, and when."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

BURST_PAUSE = 0.02  # seconds between the runs of a burst: a machine captures no faster


@dataclass(frozen=True, slots=True)
class Load:
    """Runs arrive at random (Poisson), each in a random session of a random memory base.

    `burst` more messages are captured in the first base from the beginning, in sessions of one job each.
    """

    seconds: float
    runs_per_second: float
    messages_per_run: int
    bases: int
    sessions: int  # of each base
    threshold: int
    burst: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Workers:
    """Workers that embed one text after the other; what a job costs besides was measured."""

    count: int
    text_seconds: float
    claim_seconds: float = 0.008
    end_seconds: float = 0.03
    notify_seconds: float = 0.02


@dataclass(frozen=True, slots=True)
class Run:
    """Messages captured together; `at` in seconds since the beginning."""

    at: float
    base: int
    session: str
    messages: int


def runs(load: Load) -> list[Run]:
    """All runs in the order of time, the same ones for the same load."""
    burst = [
        Run(number * BURST_PAUSE, 0, f"burst {number}", load.threshold)
        for number in range(load.burst // load.threshold)
    ]
    return sorted([*burst, *_random_runs(load)], key=lambda run: run.at)


def _random_runs(load: Load) -> Iterator[Run]:
    drawn = random.Random(load.seed)
    at = drawn.expovariate(load.runs_per_second)
    while at < load.seconds:
        session = f"session {drawn.randrange(load.sessions)}"
        yield Run(at, drawn.randrange(load.bases), session, load.messages_per_run)
        at += drawn.expovariate(load.runs_per_second)
