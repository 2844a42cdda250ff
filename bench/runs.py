"""What a benchmark leaves behind with --results FOLDER, so that others can check its figures.

`run.json` says what was run, on which data and machine, and the figures; `results.jsonl.gz` has one line for each
question, request or fault, in the order in which they were asked. bench/tables.py makes the tables of the docs of these
folders.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import psutil

from memorybase import __version__
from memorybase.core.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
SIMD = ("amx_int8", "avx512_vnni", "avx_vnni", "avx512f", "avx2", "asimddp", "asimd")  # the fastest for int8 first
PACKAGES = ("celery", "chromadb", "fastapi", "numpy", "onnxruntime", "sqlalchemy", "tokenizers")
NAMED_SETTINGS = frozenset({"embedding_model", "embedding_backend", "keyword_language", "vector_store"})
CODE = (".", ":(exclude)bench/results", ":(exclude)*.md")  # of a commit: what a run depends on
DIGITS = 16  # of a question's digest
RUN, RESULTS = "run.json", "results.jsonl.gz"

Line = dict[str, Any]


def add_option(arguments: argparse.ArgumentParser) -> None:
    arguments.add_argument("--results", type=Path, help="write each question's result and what was run to this folder")


@dataclass(slots=True)
class Run:
    """A run of a benchmark. `report` has the key `about`; each of `lines` is what one question got."""

    report: dict[str, Any] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    def add(self, **line: Any) -> None:
        """Whole values only: what is rounded is rounded by the caller."""
        self.lines.append(line)

    def write(self, folder: Path) -> None:
        """The same lines make the same bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RUN).write_text(json.dumps(self.report, indent=2) + "\n", encoding="utf-8")
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in self.lines)
        (folder / RESULTS).write_bytes(gzip.compress(text.encode(), mtime=0))

    @classmethod
    def read(cls, folder: Path) -> Self:
        text = gzip.decompress((folder / RESULTS).read_bytes()).decode()
        report = json.loads((folder / RUN).read_text(encoding="utf-8"))
        return cls(report, [json.loads(line) for line in text.splitlines()])


def asked(question: str, *, ours: bool) -> Line:
    """The question, or its digest where the text is not ours to publish."""
    return {"question": question} if ours else {"question_sha256": _sha256(question.encode())[:DIGITS]}


def found(ids: Sequence[str], scores: Iterable[float] = ()) -> Line:
    """What a search found, best first."""
    rounded = [round(score, 4) for score in scores]
    return {"found": list(ids)} | ({"scores": rounded} if rounded else {})


def machine() -> dict[str, Any]:
    """The command, when, the machine, its load and the versions."""
    return {
        "command": " ".join(["python", *map(_without_folder, sys.argv)]),
        "commit": _commit(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{_processor()}, {_cores()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load_before": round(os.getloadavg()[0], 2),
        "memorybase": __version__,
        "versions": {package: version(package) for package in PACKAGES} | {"sqlite": sqlite3.sqlite_version},
    }


def about(settings: Settings, files: Sequence[Path] = ()) -> dict[str, Any]:
    """`machine()`, the settings that differ from their default, and the data."""
    return machine() | {
        "model": settings.embedding_model,
        "settings": {name: getattr(settings, name) for name in settings.changed if _is_shown(settings, name)},
        "data_sha256": {file.name: digest(file) for file in files},
    }


def digest(data: Path) -> str:
    """The SHA-256 of a file; of a folder, that of its files' digests and names, as `sha256sum` prints them."""
    if not data.is_dir():
        with data.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(each for each in data.rglob("*") if each.is_file())
    return _sha256("".join(f"{digest(each)}  {each.relative_to(data).as_posix()}\n" for each in files).encode())


def _is_shown(settings: Settings, name: str) -> bool:
    """Numbers and names of models and stores; no address, folder or secret."""
    return name in NAMED_SETTINGS or isinstance(getattr(settings, name), (bool, int, float))


def _without_folder(argument: str) -> str:
    """A path below this repository as seen from there, any other as its name: others have other folders."""
    option, equals, value = argument.rpartition("=")
    path = Path(value)
    if not path.is_absolute() and not path.exists():
        return argument
    inside = path.resolve().is_relative_to(ROOT)
    return f"{option}{equals}{path.resolve().relative_to(ROOT).as_posix() if inside else path.name}"


def _commit() -> str | None:
    """The commit, with a + after it if tracked files differ; none outside of a repository."""
    try:
        head = _git("rev-parse", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", *CODE) else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _cores() -> int:
    """Those that we may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    """The processor's name; where it is not told, its kind. And its fastest instructions for int8, which decide how
    fast texts are embedded."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = told.get("flags", told.get("features", "")).split()
    return ", ".join([told.get("model name", platform.machine()), *[name for name in SIMD if name in flags][:1]])
