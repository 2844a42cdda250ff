"""What the stack takes: seconds to start, the memory of each of its processes, and the processor while nobody asks."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psutil

from ingesting.figures import Figures
from ingesting.target import Target, new_base
from ingesting.texts import Corpus
from memorybase.stack.children import NAMES, STORES

MEGABYTE = 1_000_000
SETTLE_SECONDS, REST_SECONDS = 10.0, 60.0


def startup(target: Target) -> Figures:
    """Call it right after the start. From the worker's own start on, everything that answers behind it is included:
    its first sign of life, the sweeper's, and the API."""
    processes = _processes(target)
    worker = processes.get("worker", processes["memorybase"])
    return {
        "stack_ready_seconds": round(target.ready_seconds, 2),
        "processor_seconds": round(sum(map(_processor_seconds, processes.values())), 2),
        "worker_ready_seconds": round(target.started_at + target.ready_seconds - worker.create_time(), 2),
        "torch_loaded": {name: has_torch(each.pid) for name, each in processes.items() if name not in STORES},
        "memory_mb": memory(target),
    }


def memory(target: Target) -> Figures:
    """Megabytes of each process, and of all: resident, and, where the system tells, its share of what several
    processes have in common counted once."""
    found = {name: _memory(process) for name, process in _processes(target).items()}
    kinds = next(iter(found.values()))
    return found | {"all": {kind: round(sum(each[kind] for each in found.values()), 1) for kind in kinds}}


def at_rest(target: Target, corpus: Corpus) -> Figures:
    """After a first search: memory, and the processor's time in a minute without requests, in percent of a core."""
    base = new_base(target.client, "rest", threshold=1)
    base.capture("session", corpus.take(2))
    base.wait_ingested(2)
    base.search("a first search")
    time.sleep(SETTLE_SECONDS)
    processes = _processes(target).values()
    before, began = sum(map(_processor_seconds, processes)), time.monotonic()
    time.sleep(REST_SECONDS)
    took = sum(map(_processor_seconds, processes)) - before
    percent = round(100 * took / (time.monotonic() - began), 2)
    return {"processor_percent": percent, "memory_mb": memory(target)["all"]}


def has_torch(pid: int) -> bool | None:
    """Whether torch's library is in the process; None where the system does not say."""
    try:
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return None


def _processes(target: Target) -> dict[str, psutil.Process]:
    """Those of the stack and, as `memorybase`, the one that runs them, or that is all of it."""
    pids = {"memorybase": target.pid}
    pids |= {name: int(target.data.pid_file(name).read_text()) for name in NAMES if target.data.pid_file(name).exists()}
    return {name: psutil.Process(pid) for name, pid in pids.items()}


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _memory(process: psutil.Process) -> Figures:
    figures = {"rss": 0.0, "pss": 0.0}
    with contextlib.suppress(psutil.Error):
        full = process.memory_full_info()
        figures = {"rss": full.rss / MEGABYTE, "pss": getattr(full, "pss", 0) / MEGABYTE}
    return {name: round(value, 1) for name, value in figures.items()}
