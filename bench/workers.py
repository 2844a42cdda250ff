"""Measures how workers add up, and how long a quiet memory base waits beside a long backlog.

    python bench/workers.py [--workers 1,2,4,8,16,32] [--milliseconds 50] [--backlog 20000] [--due 10000]

Real workers, Redis and a PostgreSQL of its own with pgvector; the embedder sleeps for each text instead of computing,
so that the processors are not the limit before many workers run. Sessions of 20 messages are captured while the workers
wait. `per_second`: messages in the ledger, between the tenth and the ninetieth hundredth of them. `linear`: how much of
what so many workers would embed without doing anything else. `busy`: the share of all processors.

Then one flow has a backlog, and ten messages are captured in another: `quiet_seconds` until they are searchable.

--due 10000: so many sessions of two messages become due at once, by a flush; a sweeper queues most of their jobs.
`flush_seconds`: until it is answered; `per_second`: messages in the ledger from then on; `quiet_seconds` of another
flow meanwhile; `ledger`: messages in it at the end, twice the number of sessions unless some were lost.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import psutil
from queueing.stage import Stage, staged

from memorybase.core.ingestion.flush import flush

SESSION = 20  # messages
SECONDS = 10  # of ideal work for each worker
QUIET = 10  # messages of the quiet flow
TRIES = 5


def added_up(stage: Stage, workers: int, text_seconds: float) -> dict[str, float]:
    """The steady rate of so many workers."""
    flow, base = stage.new_base(SESSION)
    sessions = max(round(workers * SECONDS / text_seconds / SESSION), 10)
    with stage.workers(workers):
        psutil.cpu_percent()
        for number in range(sessions):
            stage.capture(flow, f"session {number}", SESSION)
        while stage.ingested(base) < sessions * SESSION:
            time.sleep(0.1)
        busy = psutil.cpu_percent()
    times = stage.ingestion_times(base)
    first, last = (times[int(len(times) * share)] for share in (0.1, 0.9))
    rate = 0.8 * len(times) / max(last - first, 0.001)
    linear = rate * text_seconds / workers
    return {"per_second": round(rate, 1), "linear": round(linear, 2), "busy": round(busy / 100, 2)}


def quiet_beside_noisy(stage: Stage, workers: int, backlog: int) -> dict[str, float]:
    """How long ten messages of one flow wait while another has a backlog."""
    noisy, _ = stage.new_base(SESSION)
    for number in range(backlog // SESSION):
        stage.capture(noisy, f"session {number}", SESSION)
    with stage.workers(workers):
        waited = [quiet_seconds(stage) for _ in range(TRIES)]
    return {"median": round(statistics.median(waited), 2), "most": round(max(waited), 2), "workers": workers}


def quiet_seconds(stage: Stage) -> float:
    """How long the messages wait that make a session of another flow due."""
    flow, base = stage.new_base(SESSION)
    stage.capture(flow, "talk", SESSION - QUIET)
    began = time.monotonic()
    stage.capture(flow, "talk", QUIET)
    while stage.ingested(base) < SESSION:
        time.sleep(0.02)
    return time.monotonic() - began


def due_at_once(stage: Stage, workers: int, sessions: int) -> dict[str, float]:
    """Many sessions that one flush makes due."""
    flow, base = stage.new_base(SESSION)
    for number in range(sessions):
        stage.capture(flow, f"session {number}", 2)
    with stage.workers(workers), stage.sweeper():
        began = time.monotonic()
        flushed = flush(stage.services, stage.user_id, base)
        answered = time.monotonic()
        at_once = stage.ingested(base)
        waited = quiet_seconds(stage)
        while stage.ingested(base) < 2 * sessions:
            time.sleep(0.1)
        seconds = time.monotonic() - answered
    return {
        "workers": workers,
        "sessions": len(flushed.jobs) + flushed.deferred,
        "flush_seconds": round(answered - began, 1),
        "per_second": round((2 * sessions - at_once) / max(seconds, 0.001), 1),
        "quiet_seconds": round(waited, 2),
        "ledger": stage.ingested(base),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", default="1,2,4,8,16,32", help="numbers of workers")
    parser.add_argument("--milliseconds", type=float, default=50.0, help="for a text")
    parser.add_argument("--backlog", type=int, default=20_000, help="messages of the noisy flow; 0: without that part")
    parser.add_argument("--due", type=int, default=0, help="sessions that become due at once; 0: without that part")
    options = parser.parse_args()
    text_seconds = options.milliseconds / 1_000
    with staged(text_seconds) as stage:
        print(json.dumps({"cores": psutil.cpu_count(), "milliseconds_per_text": options.milliseconds}))
        for count in map(int, filter(None, options.workers.split(","))):
            print(json.dumps({"workers": count} | added_up(stage, count, text_seconds)), flush=True)
        if options.backlog:
            print(json.dumps({"quiet_seconds": quiet_beside_noisy(stage, 2, options.backlog)}), flush=True)
        if options.due:
            print(json.dumps({"due_at_once": due_at_once(stage, 2, options.due)}), flush=True)


if __name__ == "__main__":
    main()
