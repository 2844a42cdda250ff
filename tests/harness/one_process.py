"""`memorybase up --one-process` as all parts of a Topology, and what it has in Chroma's files."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx

from harness.gates import with_gates
from harness.model import MODEL_DIR
from harness.process import PortServer
from harness.stack import ROOT, environment, memorybase
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.vectors.store import CollectionRef

BUSY_SECONDS = 60.0
IDS = """
SELECT embedding_id FROM embeddings JOIN segments ON segments.id = embeddings.segment_id WHERE segments.collection = ?
"""


class OneProcess(PortServer):
    """API, worker and sweeper over the data directory of the settings. It answers once all of them do."""

    name = "process"

    def __init__(self, settings: Settings, key: str, changes: Mapping[str, str] | None = None) -> None:
        super().__init__(settings.data_dir)
        self.settings, self.key, self.changes = settings, key, changes or {}

    def command(self) -> list[str]:
        return memorybase("up", "--one-process", "--port", str(self.port), "--data-dir", str(self.settings.data_dir))

    def environment(self) -> dict[str, str]:
        own = {
            "MEMORYBASE_API_KEY": self.key,
            "MEMORYBASE_WEB": "false",
            "MEMORYBASE_MODEL_DIR": str(self.settings.model_dir or MODEL_DIR),
            "XDG_STATE_HOME": str(self.directory / "state"),
            **self.changes,
        }
        path = {"PYTHONPATH": environment()["PYTHONPATH"]}
        return with_gates(path | self.settings.child_environment() | own, self.gates)

    def popen_options(self) -> dict[str, Any]:
        return {"cwd": ROOT}

    @property
    def gates(self) -> Path:
        return self.directory / "gates"

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/v1"

    def answers(self) -> bool:
        try:
            answer = httpx.get(f"http://{self.host}:{self.port}/health/ready", trust_env=False, timeout=60)
        except httpx.TransportError:
            return False
        return answer.status_code == httpx.codes.OK


def beside(services: Services) -> Services:
    """Services of a test of the one process: it sees what is in the files of Chroma, and changes nothing there."""
    files: Any = ChromaFiles(services.settings.data_dir / "chroma")
    return replace(services, vectors=files)


class ChromaFiles:
    """Read beside the process that has them open, which is no business of another Chroma. What it has of a VectorStore
    is what tests ask for."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "chroma.sqlite3"

    def list_collections(self) -> list[Any]:
        rows = self._rows("SELECT name, id FROM collections")
        return [SimpleNamespace(ref=CollectionRef(name, UUID(id_))) for name, id_ in rows]

    def count(self, ref: CollectionRef) -> int:
        return len(self._ids(ref))

    def iter_ids(self, ref: CollectionRef) -> Iterator[list[str]]:
        yield self._ids(ref)

    def stored_ids(self, ref: CollectionRef, ids: Collection[str]) -> set[str]:
        return set(self._ids(ref)) & set(ids)

    def _ids(self, ref: CollectionRef) -> list[str]:
        return [id_ for (id_,) in self._rows(IDS, str(ref.id))]

    def _rows(self, statement: str, *values: str) -> list[Any]:
        if not self._file.exists():
            return []
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as db:
            return db.execute(statement, values).fetchall()
