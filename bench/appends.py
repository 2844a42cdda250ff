"""Checks that no message is lost while several processes append to one node's memory at once.

    python bench/appends.py [--appends 10000] [--processes 2] [--database URL] [--objects URL]

Each process appends its share to the same node memory of the same conversation: to v1, turns in objects, in a temporary
folder or at the URL; and to v2, executions in the database, SQLite in a temporary folder or an empty one at the URL.
Then the benchmark reads everything and exits with status 1 if anything is lost.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import sqlalchemy as sa
from history import services_in

from memorybase.core.auth import api_keys
from memorybase.core.conversation.history import node_executions
from memorybase.core.ids import CallerId
from memorybase.core.models import NodeExecution
from memorybase.core.sessions import flows
from memorybase.features.dify.node_objects import NodeObjectMemory
from memorybase.features.dify.object_store import objects_at

FLOW, SESSION, NODE = "flow", "session", "llm"


@dataclass(frozen=True)
class Place:
    """The memory that all processes append to; each process opens its own services."""

    folder: str
    database: str | None
    objects: str
    user_id: UUID
    flow_id: UUID

    def memory(self) -> NodeObjectMemory:
        return NodeObjectMemory(FLOW, SESSION, NODE, objects=objects_at(self.objects))


def name_of(process: int, number: int) -> str:
    return f"{process}-{number}"


def append_objects(place: Place, process: int, count: int) -> None:
    memory = place.memory()
    for number in range(count):
        memory.add_messages(name_of(process, number), None, f"question {number}", [], "answer", [])
        memory.flush()


def stored_objects(place: Place) -> set[str]:
    report = place.memory().view(None, 10**9).report
    return {*report.kept, *(removed.id for removed in report.removed)}


def append_executions(place: Place, process: int, count: int) -> None:
    services = services_in(Path(place.folder), place.database)
    for number in range(count):
        context = [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": "answer"}]
        raw: dict[str, Any] = {
            "node_id": NODE,
            "index": 0,
            "status": "succeeded",
            "outputs": {"text": "answer", "context": context},
        }
        run_id = uuid5(place.flow_id, name_of(process, number))
        name = name_of(process, number)
        new = node_executions.new_execution(
            place.user_id, raw, given=CallerId.of(place.user_id, "node_execution", name)
        )
        node_executions.put_execution(services, place.user_id, place.flow_id, SESSION, run_id, new)
    services.database.dispose()


def stored_executions(place: Place) -> set[str]:
    services = services_in(Path(place.folder), place.database)
    with services.database.reading() as db:
        found = db.scalars(sa.select(NodeExecution.external_id).where(NodeExecution.flow_id == place.flow_id))
        stored = {name for name in found if name is not None}
    services.database.dispose()
    return stored


APPENDING = {
    "v1, objects": (append_objects, stored_objects),
    "v2, executions": (append_executions, stored_executions),
}


@dataclass(frozen=True)
class Outcome:
    seconds: float
    lost: int


def measured(place: Place, kind: str, appends: int, processes: int) -> Outcome:
    """Append from all processes at once, then read. Raises RuntimeError if a process ends early."""
    append, stored = APPENDING[kind]
    share = appends // processes
    context = multiprocessing.get_context("spawn")  # a fork would share connections
    running = [context.Process(target=append, args=(place, process, share)) for process in range(processes)]
    start = time.perf_counter()
    for process in running:
        process.start()
    for process in running:
        process.join()
    seconds = time.perf_counter() - start
    if any(process.exitcode for process in running):
        raise RuntimeError("a process ended early; see its output above")
    wanted = {name_of(process, number) for process in range(processes) for number in range(share)}
    return Outcome(seconds, len(wanted - stored(place)))


def place_in(folder: str, database: str | None = None, objects: str | None = None) -> Place:
    """Create a flow in an empty database."""
    services = services_in(Path(folder), database)
    user_id = api_keys.ensure_local_user(services, services.settings.api_key or "")
    flow_id = flows.create_flow(services, user_id, name="appends").id
    services.database.dispose()
    return Place(folder, database, objects or folder, user_id, flow_id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--appends", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--database", help="an empty database; SQLite in a temporary folder without one")
    parser.add_argument("--objects", help="a folder or a URL of fsspec; a temporary folder without one")
    arguments = parser.parse_args()
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        place = place_in(folder, arguments.database, arguments.objects)
        print(f"{'node memory':<16} {'appends':>8} {'processes':>10} {'seconds':>8} {'lost':>5}")
        for kind in APPENDING:
            outcome = measured(place, kind, arguments.appends, arguments.processes)
            print(
                f"{kind:<16} {arguments.appends:8} {arguments.processes:10} {outcome.seconds:8.1f} {outcome.lost:5}",
                flush=True,
            )
            lost += outcome.lost
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
