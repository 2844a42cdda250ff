"""Puts files that were copied for a restore into their place in the data directory of a stack that is stopped.

    restore.part     the files are copied here and verified; nothing else has changed yet
    restore.ready    the same folder under another name: from here on the restore happens, whoever is killed
    replaced-TIME    what was there before
    restored         says that the vector store must follow, and holds saved vectors until it has

`complete_restore` moves the files of restore.ready into place. The next `memorybase up` or `memorybase restore` does
that too, after a kill.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from memorybase.core.database.sqlite_copy import sync
from memorybase.stack.state import DATABASE, PART, READY, RESTORED, DataDir

PLAN = "plan.json"
FILES = "files"
MOVED = "moved"  # what was there before is set aside
# Entries of a stack that are replaced. Models stay: they depend on the installation.
REPLACED = (f"{DATABASE}*", "chroma", "redis-*", "knowledge_bases", "node_memory", "api_key", RESTORED)

Report = Callable[[str], None]


def present(data: DataDir, *, keep_chroma: bool) -> Iterator[str]:
    """The entries of the data directory that a restore replaces."""
    for pattern in REPLACED:
        if not (keep_chroma and pattern == "chroma"):
            yield from (path.name for path in data.path.glob(pattern))


def _set_aside(path: Path, replaced: Path) -> None:
    replaced.mkdir(mode=0o700, exist_ok=True)
    number = sum(each.name.partition("~")[0] == path.name for each in replaced.iterdir())
    path.rename(replaced / (f"{path.name}~{number}" if number else path.name))


def complete_restore(data: DataDir, report: Report) -> str | None:
    """Finish a restore that has begun, and remove one that has not; the id of the backup that was restored.

    The caller has locked the directory.
    """
    shutil.rmtree(data.path / PART, ignore_errors=True)
    ready = data.path / READY
    if not (ready / PLAN).exists():
        shutil.rmtree(ready, ignore_errors=True)  # its plan is the last thing to go
        return None
    plan = json.loads((ready / PLAN).read_text(encoding="utf-8"))
    replaced = data.path / plan["replaced"]
    if not (ready / MOVED).exists():
        for name in sorted(present(data, keep_chroma=plan["keep_chroma"])):
            _set_aside(data.path / name, replaced)
        (ready / MOVED).touch()
        sync(ready)
    # Last the folder that says that the vector store must follow.
    for path in sorted((ready / FILES).iterdir(), key=lambda path: path.name == RESTORED):
        target = data.path / path.name
        if path.name == "models" and target.exists():
            continue
        if path.name == DATABASE:  # another database's log must never be applied to this one
            for log in data.path.glob(f"{DATABASE}-*"):
                _set_aside(log, replaced)
        if target.exists():  # made by a program that did not look
            _set_aside(target, replaced)
        path.rename(target)
    sync(data.path)
    (ready / PLAN).unlink()
    shutil.rmtree(ready)
    if replaced.exists():
        report(f"what was there before is in {replaced}; delete it when the restored stack works")
    return str(plan["backup"])
