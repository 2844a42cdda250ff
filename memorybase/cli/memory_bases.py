"""Memory bases in commands: found by name, and waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from memorybase_client import errors as client_errors

from memorybase import errors

if TYPE_CHECKING:
    from uuid import UUID

    from memorybase_client import Client, models

STALLED_SECONDS = 120.0  # stop waiting after this long without progress
REFLUSH_SECONDS = 2.0
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.05, 1.0  # each look costs the API milliseconds that a large import needs itself
MAX_NAMED = 20


def find_memory_base(client: Client, name: str) -> models.MemoryBaseView:
    """The memory base with that name. Raises NotFound that lists the existing ones."""
    names = []
    for base in client.list_memory_bases():
        if base.name == name:
            return base
        names.append(base.name)
    existing = f"Existing: {', '.join(sorted(names)[:MAX_NAMED])}" if names else "There are none yet"
    raise errors.NotFound(f"There is no memory base named {name}. {existing}.", field="memory", value=name)


def ingest_pending(
    client: Client, memory_base_id: UUID, progress: Callable[[models.MemoryBaseView], None]
) -> models.MemoryBaseView:
    """Flush until nothing is pending and no job is active; returns the memory base. Raises NotReady if ingestion
    stalls."""
    # Not the client's wait_until_searchable: it shows no progress, and bounds the whole time instead of a standstill.
    progressed = time.monotonic()
    flushed = last = 0.0
    pause = FIRST_LOOK_SECONDS
    while True:
        base = client.get_memory_base(memory_base_id)
        progress(base)
        if base.pending_messages == 0 and base.status == "ready":
            return base
        now = time.monotonic()
        if base.total_processed != last:
            last, progressed = base.total_processed, now
        if now - progressed > STALLED_SECONDS:
            text = f"Nothing was ingested for {STALLED_SECONDS:g} s; {base.pending_messages} are pending."
            raise errors.NotReady(f"{text} Run `memorybase doctor` for fixes.")
        # Flush again only if messages without a job remain, because a flush locks each session that has a job.
        if not flushed or (base.status == "pending" and now - flushed > REFLUSH_SECONDS):
            # Every pending session may have a job already, which may not cover the last message.
            with suppress(client_errors.IngestionActive):
                client.flush_memory_base(memory_base_id)
            flushed = now
        time.sleep(pause)
        pause = min(pause * 1.5, LOOK_SECONDS)
