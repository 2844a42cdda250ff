"""What is done once in a while, each once on the filled store."""

from __future__ import annotations

import json
import resource
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from harness.doubles import AtOnce, InMemoryQueue
from harness.postgres import PostgresServer

from memorybase.core.import_export import exporter, importer
from memorybase.core.ingestion import job_runner
from memorybase.core.keyword_index import partitions
from memorybase.core.memory_bases import consistency, reconcile, regenerate
from memorybase.core.models import MemoryBase
from memorybase.core.operations import sweeper, vector_indexes
from memorybase.core.sessions import edits
from scaling.report import long_line
from scaling.rows import LEAVING
from scaling.stage import Stage
from scaling.storage import folder_bytes

Figures = dict[str, Any]


def measure(stage: Stage, found: dict[str, Figures]) -> None:
    """Add each with its seconds, those of the processors, and a note of how much it did."""
    services, user_id, base_id = stage.services, stage.user_id, stage.base_id

    def once(name: str, call: Callable[[], str]) -> None:
        found[name] = _measured(stage, name, call)

    once("mismatch", lambda: consistency.check_mismatch(services, user_id, base_id).state)
    once("reconcile", lambda: _reconciled(stage))
    body = imported_lines(list(_export(stage, LEAVING)))
    once("erasure of a person", lambda: _erased(stage))
    once("import of 200 messages", lambda: str(importer.import_lines(services, user_id, body).messages.created))
    once("backup", lambda: f"{_backup(stage):,} bytes")
    once("restore", lambda: _restore(stage))
    once("export", lambda: f"{sum(map(len, _export(stage))):,} bytes")


def partition(stage: Stage, number: int) -> None:
    """Divide the keyword index of PostgreSQL."""
    _measured(stage, "partition", lambda: f"{sum(partitions.partition(stage.services.database, number)):,} rows")


def measure_regenerate(stage: Stage, found: dict[str, Figures]) -> None:
    """Add a Regenerate, which takes three milliseconds a message."""
    name = "regenerate, vectors taken over"
    found[name] = _measured(stage, name, lambda: _regenerated(stage))


def _measured(stage: Stage, name: str, call: Callable[[], str]) -> Figures:
    servers, wall, own = stage.server_seconds(), time.perf_counter(), _own_seconds()
    note = call()
    figures = {
        "seconds": round(time.perf_counter() - wall, 2),
        "own_seconds": round(_own_seconds() - own, 2),
        "server_seconds": round(stage.server_seconds() - servers, 2),
        "note": note,
    }
    print(long_line(name, figures), flush=True)
    return figures


def _own_seconds() -> float:
    """This process's, and those of the commands that it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _reconciled(stage: Stage) -> str:
    found = reconcile.reconcile_base(stage.services, stage.base_id, repair=False)
    if found is None:
        return "gone"
    # The store is filled without the look for each record, by which the product finds what no query reaches.
    return f"{found.state}, {found.expected:,} chunks, of which no query reaches {found.hidden}"


def _export(stage: Stage, end_user_id: str | None = None) -> Any:
    return exporter.export(stage.services, exporter.ExportScope(stage.user_id, stage.flow_id, end_user_id))


def imported_lines(lines: list[bytes]) -> bytes:
    """The lines of an export with other ids, so that all of it is new."""
    found = []
    for raw in lines:
        line = json.loads(raw)
        for name in ("id", "flow_id", "run_id"):
            if line.get(name) is not None:
                line[name] = str(uuid5(NAMESPACE_URL, line[name]))
        found.append(json.dumps(line))
    return "\n".join(found).encode()


def _erased(stage: Stage) -> str:
    """With the repairs that take the chunks out of the store."""
    erased = edits.erase_end_user(stage.services, stage.user_id, LEAVING)
    _work(stage)
    return f"{erased.messages} messages, {erased.chunks} chunks"


def _regenerated(stage: Stage) -> str:
    """Until the new generation serves."""
    result = regenerate.regenerate(stage.services, stage.user_id, stage.base_id)
    _work(stage)
    with stage.services.database.reading() as db:
        serving = db.get_one(MemoryBase, stage.base_id).serving
    if serving != result.generation:
        raise AssertionError(f"generation {serving} serves, not {result.generation}")
    return consistency.check_mismatch(stage.services, stage.user_id, stage.base_id).state


def _work(stage: Stage) -> None:
    """One worker, and a sweeper between its jobs, until nothing is left."""
    queue = stage.services.queue
    assert isinstance(queue, InMemoryQueue)
    while True:
        handled = queue.drain(
            lambda job: job_runner.run_jobs(
                stage.services, job, owner="bench", may_continue=lambda: True, new_thread=AtOnce
            )
        )
        report = sweeper.sweep(stage.services)
        built = vector_indexes.build_indexes(stage.services)
        if not handled and not report.done["notified"] and not report.done["planned"] and not built:
            return


def _backup(stage: Stage) -> int:
    """SQLite's own backup, or pg_dump in its custom format; vectors in Chroma are rebuilt from SQL. Its bytes."""
    target = stage.directory / "backup"
    if stage.services.database.is_sqlite:
        source = sqlite3.connect(str(stage.services.database.url.database))
        with closing(source), closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
        return target.stat().st_size
    _postgresql(stage, "pg_dump", "-Fd", "-f", _dumped(stage), str(stage.services.database.url.database))
    return folder_bytes(_server(stage).directory / "backup")


def _restore(stage: Stage) -> str:
    """Into another database."""
    if stage.services.database.is_sqlite:
        shutil.copy(stage.directory / "backup", stage.directory / "restored")
        with closing(sqlite3.connect(stage.directory / "restored")) as copy:
            return str(copy.execute("PRAGMA quick_check").fetchone()[0])
    name = _server(stage).create_database()
    _postgresql(stage, "pg_restore", "-d", name, _dumped(stage))
    _server(stage).drop_database(name)
    return "ok"


def _server(stage: Stage) -> PostgresServer:
    server = stage.servers["postgresql"]
    assert isinstance(server, PostgresServer)
    return server


def _dumped(stage: Stage) -> str:
    return str(_server(stage).directory / "backup")


def _postgresql(stage: Stage, program: str, *arguments: str) -> None:
    server = _server(stage)
    command = [str(server.bin / program), "-h", str(server.directory), "-U", "memorybase", *arguments]
    subprocess.run(command, check=True, **server.popen_options())
