"""What many tests do: fill a session, edit a message, work with one worker, and die of a text."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from harness.doubles import AtOnce
from harness.world import WORKER, WorkerKilled, World
from memorybase.core import errors
from memorybase.core.ingestion import job_runner
from memorybase.core.services import JobMessage
from memorybase.core.sessions import edits
from memorybase.core.vectors.store import VectorRecord


def texts(count: int, start: int = 0) -> list[str]:
    return [f"message number {n}" for n in range(start, start + count)]


def filled(world: World, count: int = 5, session_id: str = "s") -> UUID:
    base = world.new_base(threshold=1)
    world.say(session_id, *texts(count))
    world.settle()
    world.assert_all_ingested(base)
    return base


def edit(world: World, message_id: UUID, content: str) -> list[UUID]:
    return edits.edit_message(world.services, world.user_id, message_id, {"content": content})


def run_batch(world: World) -> None:
    """One worker, from the first notification until nothing waits."""

    def run(message: JobMessage) -> job_runner.JobOutcome:
        return job_runner.run_jobs(world.services, message, owner=WORKER, may_continue=lambda: True, new_thread=AtOnce)

    world.queue.drain(run)


def die_of_poison(texts: Sequence[str]) -> None:
    """A hook of the embedder."""
    if any("poison" in text for text in texts):
        raise WorkerKilled


def refuse_poison(_: object, records: Sequence[VectorRecord]) -> None:
    """A hook of the vector store."""
    if any("poison" in record.text for record in records):
        raise errors.VectorRejected(status=413)
