"""Memory bases in commands: found by name, and waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from memorybase_client import errors as client_errors

from memorybase.core import errors

if TYPE_CHECKING:
    from uuid import UUID

    from memorybase_client import Client, models

STALLED_SECONDS = 120.0  # stop waiting after this long without progress, unless a worker works: a message may be long
REFLUSH_SECONDS = 2.0
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.05, 1.0  # each look costs the API milliseconds that a large import needs itself
MAX_NAMED = 20
_REASONS = ("part", "overdue", "paused")  # problems that keep messages from being ingested


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
    """Flush until nothing is pending and no job is active; returns the memory base. It may still have pending messages:
    if no worker works and nothing is known to be wrong. Raises NotReady with what is wrong."""
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
        if base.status == "paused" or now - progressed > STALLED_SECONDS:
            if base.status != "paused" and _is_working(client):
                progressed = now
            elif (wrong := _what_is_wrong(client, base)) is not None:
                raise errors.NotReady(wrong)
            else:
                return base
        # Flush again only if messages without a job remain, because a flush locks each session that has a job.
        if not flushed or (base.status == "pending" and now - flushed > REFLUSH_SECONDS):
            # Every pending session may have a job already, which may not cover the last message.
            with suppress(client_errors.IngestionActive):
                client.flush_memory_base(memory_base_id)
            flushed = now
        time.sleep(pause)
        pause = min(pause * 1.5, LOOK_SECONDS)


def _is_working(client: Client) -> bool:
    """Whether a worker runs a job, maybe of another memory base."""
    return client.list_all_jobs(state="running", size=1).page().total > 0


def _what_is_wrong(client: Client, base: models.MemoryBaseView) -> str | None:
    """Why nothing is ingested, as far as the stack knows."""
    pending = f"{base.pending_messages} messages of the memory base {base.name} are not ingested"
    for problem in client.list_problems().problems:
        if problem.kind in _REASONS and problem.memory_base_id in {None, base.id}:
            return f"{pending}. {problem.title}: {problem.text} Run `memorybase doctor` for fixes."
    return None
