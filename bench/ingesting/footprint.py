"""What the stack takes: seconds to start, and the memory of each of its processes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

from ingesting.figures import Figures
from ingesting.target import Target
from memorybase.stack.children import NAMES

MEGABYTE = 1_000_000


def startup(target: Target) -> Figures:
    """Call it right after the start. From the worker's own start on, everything that answers behind it is included:
    its first sign of life, the sweeper's, and the API."""
    worker = _process(target, "worker")
    return {
        "stack_ready_seconds": round(target.ready_seconds, 2),
        "worker_ready_seconds": round(target.started_at + target.ready_seconds - worker.create_time(), 2),
        "torch_loaded": {name: has_torch(_process(target, name).pid) for name in ("api", "worker")},
        "memory_mb": memory(target),
    }


def memory(target: Target) -> Figures:
    """Megabytes of each process with its children: resident, and, where the system tells, its share of what several
    processes have in common counted once."""
    return {name: _memory(_process(target, name)) for name in NAMES}


def has_torch(pid: int) -> bool | None:
    """Whether torch's library is in the process; None where the system does not say."""
    try:
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return None


def _process(target: Target, name: str) -> psutil.Process:
    return psutil.Process(int(target.data.pid_file(name).read_text()))


def _memory(process: psutil.Process) -> Figures:
    figures = {"rss": 0.0, "pss": 0.0}
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            full = each.memory_full_info()
            figures["rss"] += full.rss / MEGABYTE
            figures["pss"] += getattr(full, "pss", 0) / MEGABYTE
    return {name: round(value, 1) for name, value in figures.items() if value}
