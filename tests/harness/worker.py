from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from harness.constants import AT_START
from harness.process import Server
from harness.stack import CLIENT, ROOT
from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.models import Heartbeat
from memorybase.core.settings import Settings

# What two words do to the model.
DEADLY, NOT_A_NUMBER = "volcano", "whirlpool"
BROKEN_MODEL = f"""
import os, signal
from memorybase.core.embedding.onnx import OnnxEmbedder

run = OnnxEmbedder._run

def broken(self, batch, *, with_states):
    vectors, states = run(self, batch, with_states=with_states)
    for place, ids in enumerate(batch):
        text = self._tokenizer.decode(ids)
        if "{DEADLY}" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "{NOT_A_NUMBER}" in text:
            vectors[place] = float("nan")
    return vectors, states

OnnxEmbedder._run = broken
"""


def sabotage(folder: Path, code: str) -> dict[str, str]:
    """Changes of the environment of a process which lets it run this code when it starts."""
    folder.mkdir()
    # Python runs it where its folder is on PYTHONPATH, and no other file of this name.
    (folder / "sitecustomize.py").write_text((AT_START / "sitecustomize.py").read_text() + code)
    return {"PYTHONPATH": os.pathsep.join((str(folder), str(ROOT), str(CLIENT)))}


class WorkerServer(Server):
    """`celery -A worker.app worker` as a user starts it. It answers once its heartbeat is in the database."""

    name = "worker"

    def __init__(
        self, settings: Settings, *, flags: tuple[str, ...] = (), changes: dict[str, str] | None = None
    ) -> None:
        super().__init__(settings.data_dir)
        self.settings = settings
        self.flags = flags
        self.changes = changes or {}
        self.database = Database(settings.resolved_database_url, pool_size=1)

    def command(self) -> list[str]:
        return [sys.executable, "-m", "celery", "-A", "worker.app", "worker", *self.flags]

    def environment(self) -> dict[str, str]:
        return self.settings.child_environment() | self.changes

    def popen_options(self) -> dict[str, Any]:
        return {"cwd": ROOT}

    def answers(self) -> bool:
        return self.heartbeat() is not None

    def heartbeat(self) -> str | None:
        """The name of this process's heartbeat; None without one, or without a database."""
        try:
            with self.database.reading() as db:
                # Of the name alone: in the database of an older version a heartbeat may lack a column.
                return db.scalar(sa.select(Heartbeat.name).where(Heartbeat.name.contains(f":{self.pid}:")))
        except errors.DatabaseUnavailable:
            return None

    def close(self) -> None:
        super().close()
        self.database.dispose()
