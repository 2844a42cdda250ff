"""Removes what was deleted from the files of the embedded stack: its database, Chroma's and Redis's.

Databases only mark what is deleted as free, and a log keeps it: the bytes stay until something is written over them.
"""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

from memorybase import wiring
from memorybase.core.queries import heartbeats, residues
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.chroma_in_process import InProcessChroma
from memorybase.core.vectors.stores import store_named
from memorybase.stack import chroma_files
from memorybase.stack.state import DataDir

log = get_logger(__name__)

TURN = "turn:compaction"
# Between two compactions, so that Chroma waits for less than a hundredth of the time: each megabyte takes it 30 ms.
EVERY = timedelta(minutes=1)
EVERY_PER_MEGABYTE = timedelta(seconds=3)
LOG_TURN = "turn:write-ahead log"
LOG_EVERY = timedelta(minutes=1)


def compact(services: Services) -> bool:
    """Overwrite deleted data, if there is any and it is time. Returns whether it did.

    Any number of processes may call it. Raises EnvironmentFailure; a later call does the rest.
    """
    chroma = services.settings.data_dir / "chroma"
    embedded = is_embedded(services)
    every = EVERY + EVERY_PER_MEGABYTE * (chroma_files.size(chroma) / 1_000_000 if embedded else 0)
    with services.database.reading() as db:
        due = residues.files_due(db)
    is_turn = due is not None and heartbeats.take_turn(services.database, TURN, every)
    if due is not None and is_turn:
        if embedded:
            started = time.monotonic()
            _compact_files(services, chroma)
            log.info("files_compacted", seconds=round(time.monotonic() - started, 3))
        with services.database.transaction(durable=False) as db:
            residues.remove(db, due)
    if is_turn or heartbeats.take_turn(services.database, LOG_TURN, LOG_EVERY):
        _truncate_log(services)
    return is_turn


def _compact_files(services: Services, chroma: Path) -> None:
    if services.settings.one_process:
        store = store_named(services.vectors, "chroma")
        if isinstance(store, InProcessChroma):  # else the process that has it compacts it
            store.closed_during(lambda: chroma_files.compact(chroma))
        return
    from memorybase.core.redis_locks import rewrite_log

    chroma_files.compact(chroma)
    rewrite_log(wiring.redis_client(services.settings))


def _truncate_log(services: Services) -> None:
    if not services.database.truncate_log():
        with services.database.transaction(durable=False) as db:
            heartbeats.delete(db, LOG_TURN)  # the next call tries again


def is_embedded(services: Services) -> bool:
    """Whether the services are those of a stack that runs in the data directory."""
    running = DataDir(services.settings.data_dir).running()
    if services.settings.one_process:
        return True
    return running is not None and running.redis_url == services.settings.redis_url
