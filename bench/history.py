"""Measures the cost of views of a conversation for histories of different lengths.

    python bench/history.py [--sizes 100,1000,10000] [--calls 50] [--database URL]

It captures conversations of each size into an empty database, by default SQLite in a temporary directory, and times
views of them in one process without HTTP: the history within 2,000 estimated tokens, with and without parent ids, a
branch from the first turn, the full history, a node's history, and a context of 2,000 tokens whose summary covers the
first 40 messages only. `messages` is how many a view returned, `statements`
how many it sent to the database.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from ingesting.doubles import FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors

from memorybase import features
from memorybase.core.auth import api_keys
from memorybase.core.conversation import View
from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.read import history_of
from memorybase.core.conversation.history.request import Conversation, HistoryRequest
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.conversation.session_memory.summary_job import make_summary
from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.ingestion import capture as ingestion
from memorybase.core.ingestion.capture import CaptureRequest
from memorybase.core.messages import normalise
from memorybase.core.services import Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings

TEXT = "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade. "
NODE = "llm"
SUMMARIZED = 40  # messages, of which a summary covers the first ones


def services_in(folder: Path, url: str | None) -> Services:
    settings = Settings(data_dir=folder, database_url=url or "", api_key="the-key-of-the-benchmark")
    database = Database(settings.resolved_database_url)
    migrate.upgrade(settings.resolved_database_url)
    return Services(
        settings, database, InMemoryVectors(), FakeEmbedders(), InMemoryLocks(), InMemoryQueue(), features.hooks()
    )


def fill(
    conversation: Conversation, size: int, *, linked: bool, parent: UUID | None = None
) -> tuple[UUID, UUID | None]:
    """Capture turns of two messages, `linked` by parent ids or not; returns the ids of the first question and of the
    last answer."""
    first = uuid4()
    for turn in range(size // 2):
        question_id, answer_id = first if turn == 0 else uuid4(), uuid4()
        parent_id = str(parent) if linked and parent else None
        capture(
            conversation,
            [
                {"id": str(question_id), "role": "user", "content": TEXT, "parent_message_id": parent_id},
                {"id": str(answer_id), "role": "assistant", "content": TEXT * 2},
            ],
        )
        parent = answer_id
    return first, parent


def fill_beyond_summary(conversation: Conversation, size: int) -> ContextRequest:
    """Capture a linked session whose summary covers its beginning; returns the request of its context."""
    services, user_id = conversation.services, conversation.user_id
    request = ContextRequest(flow_id=conversation.flow_id, session_id=conversation.session_id, token_budget=2_000)
    _, parent = fill(conversation, SUMMARIZED, linked=True)
    build_context(services, user_id, replace(request, token_budget=500))
    queue = services.queue
    assert isinstance(queue, InMemoryQueue)
    queue.drain_task(SUMMARIZE, lambda summary_id: make_summary(services, summary_id))
    fill(conversation, size - SUMMARIZED, linked=True, parent=parent)
    return request


def capture(conversation: Conversation, raw: list[dict[str, Any]]) -> UUID:
    user_id = conversation.user_id
    messages = [normalise(message, user_id=user_id, where="messages") for message in raw]
    request = CaptureRequest(session_id=conversation.session_id, messages=messages)
    return ingestion.capture(conversation.services, user_id, conversation.flow_id, request).run_id


def report(conversation: Conversation, run_id: UUID) -> None:
    """Store a node's execution with a context of twenty messages."""
    context = [{"role": role, "content": TEXT} for role in ("user", "assistant")] * 10
    raw = {"node_id": NODE, "index": 0, "status": "succeeded", "outputs": {"text": TEXT, "context": context}}
    new = node_executions.new_execution(conversation.user_id, raw)
    node_executions.put_execution(
        conversation.services, conversation.user_id, conversation.flow_id, conversation.session_id, run_id, new
    )


def measured(services: Services, calls: int, view: Callable[[], View]) -> str:
    """The median and the 95th percentile of the calls in milliseconds, then messages and statements."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    sa.event.listen(services.database.engine, "before_cursor_execute", note)
    found = view()
    sa.event.remove(services.database.engine, "before_cursor_execute", note)
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        view()
        times.append((time.perf_counter() - start) * 1000)
    p95 = statistics.quantiles(times, n=20)[-1]
    return f"{statistics.median(times):8.1f} {p95:8.1f} {len(found.messages):9} {len(sent):11}"


def views(services: Services, user_id: UUID, size: int) -> dict[str, Callable[[], View]]:
    flow_id = flows.create_flow(services, user_id, name=f"{size} messages").id
    plain, linked, branch, lagging = (
        Conversation(services, user_id, flow_id, each) for each in ("plain", "linked", "branch", "lagging")
    )
    fill(plain, size, linked=False)
    fill(linked, size, linked=True)
    first, _ = fill(branch, size, linked=True)
    context = fill_beyond_summary(lagging, size)
    run_id = capture(branch, [{"role": "user", "content": TEXT, "parent_message_id": str(first)}])
    report(branch, run_id)
    usual, whole = HistoryRequest(), HistoryRequest(max_tokens=100_000_000)
    return {
        "no parents": lambda: history_of(plain, usual).view,
        "parents": lambda: history_of(linked, usual).view,
        "parent far back": lambda: history_of(branch, usual).view,
        "500 turns": lambda: history_of(linked, whole).view,
        "a node's": lambda: history_of(branch, HistoryRequest(mode="node", node_id=NODE)).view,
        "lagging summary": lambda: build_context(services, user_id, context),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,10000", help="messages of a conversation")
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--database", help="an empty database; SQLite in a temporary directory without one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        services = services_in(Path(folder), arguments.database)
        user_id = api_keys.ensure_local_user(services, services.settings.api_key or "")
        print(f"{'history':>9} {'view':<16} {'p50 ms':>8} {'p95 ms':>8} {'messages':>9} {'statements':>11}")
        for size in map(int, arguments.sizes.split(",")):
            for name, view in views(services, user_id, size).items():
                print(f"{size:9} {name:<16} {measured(services, arguments.calls, view)}", flush=True)
        services.database.dispose()


if __name__ == "__main__":
    main()
