"""Where and on what the figures were taken: without it they mean nothing."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from ingesting.figures import Figures
from ingesting.texts import Corpus
from memorybase import __version__
from memorybase.core.settings import Settings

PACKAGES = ("chromadb", "celery", "fastapi", "onnxruntime", "sqlalchemy")


def machine() -> Figures:
    """The command, when, the machine, its load and the versions."""
    return {
        "command": " ".join(["python", *sys.argv]),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{_processor()}, {_cores()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load_before": round(os.getloadavg()[0], 2),
        "memorybase": __version__,
        "versions": {package: version(package) for package in PACKAGES},
    }


def about(corpus: Corpus, settings: Settings) -> Figures:
    return machine() | {
        "model": settings.embedding_model,
        "backend": settings.embedding_backend,
        "data": corpus.source,
        "data_sha256": corpus.sha256,
        "texts": corpus.distinct,
    }


def _cores() -> int:
    """Those that we may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    """The processor's name; where it is not told, its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
