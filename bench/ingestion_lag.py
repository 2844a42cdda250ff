"""Predicts how long captured messages wait until they are searchable, and checks the prediction against real workers.

    python bench/ingestion_lag.py --runs 10 --workers 2 [--milliseconds 20] [--burst 2000] [--real]

A model by discrete events (bench/queueing) has the rules of thresholds, jobs and workers; embedding takes so many
milliseconds a text. `waited`: seconds from the capture of each job's last message until it is searchable. `others`: the
same without the memory base that has the burst. `embedding`: how much of the workers' time embedding takes without the
burst; above 1 the queue grows for as long as the load lasts.

--real gives the same load to real workers on PostgreSQL with pgvector, whose embedder sleeps, and prints both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from harness.waiting import wait_until
from ingesting.figures import percentile
from queueing.load import Load, Workers, runs
from queueing.simulation import Simulation
from queueing.stage import staged

CLIENTS = 4  # captures at a time
PATIENCE = 600.0


def predicted(load: Load, workers: Workers) -> list[list[float]]:
    """How long the jobs of each memory base waited, in seconds."""
    waited: list[list[float]] = [[] for _ in range(load.bases)]
    for job in Simulation(workers, load.threshold).run(runs(load)):
        waited[job.base].append(job.waited)
    return waited


def measured(load: Load, workers: Workers) -> list[list[float]]:
    """The same with real workers."""
    expected = sum(job.messages for job in Simulation(workers, load.threshold).run(runs(load)))
    with staged(workers.text_seconds) as stage, ThreadPoolExecutor(CLIENTS) as clients:
        bases = [stage.new_base(load.threshold) for _ in range(load.bases)]
        with stage.workers(workers.count):
            began = time.monotonic()
            for run in runs(load):
                time.sleep(max(0, began + run.at - time.monotonic()))
                clients.submit(stage.capture, bases[run.base][0], run.session, run.messages)
            wait_until(
                lambda: sum(stage.ingested(base) for _, base in bases) >= expected,
                PATIENCE,
                "all messages that are due are ingested",
            )
        return [stage.waited(base) for _, base in bases]


def summary(load: Load, waited: Sequence[Sequence[float]]) -> dict[str, object]:
    """Percentiles over all memory bases, and over all but the first if it had a burst."""
    every = [seconds for base in waited for seconds in base]
    figures: dict[str, object] = {"jobs": len(every), "waited": _percentiles(every)}
    if load.burst:
        figures["others"] = _percentiles([seconds for base in waited[1:] for seconds in base])
    return figures


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    return {f"p{round(100 * share)}": round(percentile(values, share), 2) for share in (0.5, 0.95, 0.99)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of load")
    parser.add_argument("--runs", type=float, default=10.0, help="a second, over all memory bases")
    parser.add_argument("--messages", type=int, default=2, help="of a run")
    parser.add_argument("--bases", type=int, default=4, help="memory bases")
    parser.add_argument("--sessions", type=int, default=20, help="of each memory base")
    parser.add_argument("--threshold", type=int, default=10, help="of each memory base, in messages")
    parser.add_argument("--burst", type=int, default=0, help="messages captured at once in the first memory base")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--milliseconds", type=float, default=20.0, help="to embed a text")
    parser.add_argument("--real", action="store_true", help="also with real workers")
    given = parser.parse_args()
    load = Load(given.seconds, given.runs, given.messages, given.bases, given.sessions, given.threshold, given.burst)
    workers = Workers(given.workers, given.milliseconds / 1_000)
    embedding = load.runs_per_second * load.messages_per_run * workers.text_seconds / workers.count
    print(json.dumps({"embedding": round(embedding, 2)} | vars(given)))
    print(json.dumps({"predicted": summary(load, predicted(load, workers))}), flush=True)
    if given.real:
        print(json.dumps({"measured": summary(load, measured(load, workers))}))


if __name__ == "__main__":
    main()
