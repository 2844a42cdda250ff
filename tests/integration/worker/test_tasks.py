"""The tasks of a worker that has only one thread for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.conversation.session_memory.presets import FLOWX_5
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.conversation.summarizers import job
from memorybase.core.models import SessionSummary
from memorybase.core.read_models import memory_bases
from worker import tasks
from worker.process import Watchdog, WorkerProcess

S = "s"


@pytest.fixture
def process(world: World, monkeypatch: pytest.MonkeyPatch) -> WorkerProcess:
    running = WorkerProcess(
        services=world.services, owner="worker-1", watchdog=Watchdog(60), heartbeat=cast("Any", None)
    )
    monkeypatch.setattr(tasks, "this_process", lambda: running)
    return running


def processed(world: World, base: UUID) -> int:
    return memory_bases.get_memory_base(world.services, world.user_id, base).total_processed


def requested_summary(world: World) -> UUID:
    """A summary of three pages, which a read has requested."""
    for number in range(3):
        said = [{"role": ("user", "assistant")[each % 2], "content": f"{number}.{each}"} for each in range(job.PAGE)]
        world.say(S, *said)
    build_context(
        world.services,
        world.user_id,
        ContextRequest(flow_id=world.flow_id, session_id=S, token_budget=100_000, preset=FLOWX_5),
    )
    with world.services.database.reading() as db:
        return db.scalars(sa.select(SessionSummary.id)).one()


def test_messages_do_not_wait_until_a_long_summary_is_made(
    world: World, process: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = world.new_base()
    summary_id = requested_summary(world)
    behind: list[int] = []
    summarize: Callable[..., str] = job._summarize

    def summarized(*arguments: Any) -> str:
        behind.append(processed(world, base))
        world.say("other", "one more")
        world.flush(base, "other")
        return summarize(*arguments)

    monkeypatch.setattr(job, "_summarize", summarized)
    world.flush(base)
    tasks.app.tasks[SUMMARIZE.name](summary_id=str(summary_id))

    assert len(behind) > 2
    first = behind[0]
    assert first >= 256, "what waited before the summary"
    assert behind == sorted(set(behind)), "and before each further page what had come meanwhile"
    assert process.watchdog._job is None
