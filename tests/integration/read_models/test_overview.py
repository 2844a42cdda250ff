"""The overview counts what was captured, says what of it is searchable, and costs the same for any number of flows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.statements import recorded
from harness.world import World

from memorybase.core.models import Capture, LedgerEntry, MemoryBase, MemoryUse, Message, Run, Session
from memorybase.core.queries.coverage import SearchState
from memorybase.core.read_models import overview as module
from memorybase.core.read_models.overview import Overview, Window


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_FACTOR", 0)


def overview(world: World, window: Window = Window.DAY) -> Overview:
    return module.overview(world.services, world.user_id, window)


def ask(question: str, answer: str) -> tuple[Any, ...]:
    return {"role": "user", "content": question}, {"role": "assistant", "content": answer}


def test_nothing_was_captured_yet(world: World) -> None:
    seen = overview(world)
    assert (seen.captured, seen.runs, seen.sessions, seen.recalls, seen.delay_median_seconds) == (0, 0, 0, 0, None)
    assert [flow.name for flow in seen.flows] == ["flow"]
    assert seen.latest_runs == []
    assert len(seen.buckets) == 24


@each_row(("window", "buckets", "seconds"), [("1h", 12, 300), ("24h", 24, 3600), ("7d", 28, 21_600)])
def test_buckets_have_no_gaps_and_end_with_now(world: World, window: str, buckets: int, seconds: int) -> None:
    seen = overview(world, Window(window))
    steps = {later.at - earlier.at for earlier, later in zip(seen.buckets, seen.buckets[1:], strict=False)}
    assert (len(seen.buckets), steps) == (buckets, {timedelta(seconds=seconds)})
    assert seen.buckets[-1].at <= datetime.now(UTC) < seen.until == seen.buckets[-1].at + timedelta(seconds=seconds)


def test_each_message_is_searchable_waiting_failed_or_only_history(world: World) -> None:
    world.new_base(threshold=2, capture=Capture.OUTPUTS)
    world.embedder.reject("bad")
    world.say("s", *ask("q1", "good"), *ask("q2", "bad"))
    world.settle()
    world.say("t", *ask("q3", "later"))
    other = world.new_flow()
    world.capture("u", [world.message({"role": "user", "content": "without a memory"})], flow_id=other)
    seen = overview(world)
    assert (seen.captured, seen.searchable, seen.waiting, seen.failed) == (7, 1, 1, 1)
    last = [bucket for bucket in seen.buckets if bucket.searchable or bucket.other]
    assert [(b.searchable, b.waiting, b.failed, b.other) for b in last] == [(1, 1, 1, 4)]
    assert (seen.runs, seen.sessions, seen.flows_total) == (3, 3, 2)
    by_id = {flow.id: flow for flow in seen.flows}
    mine = by_id[world.flow_id]
    assert (mine.runs, mine.sessions, sum(mine.runs_by_bucket)) == (2, 2, 2)
    assert [(memory.status, memory.dead_letters) for memory in mine.memories] == [("pending", 1)]
    assert by_id[other].memories == []


def test_a_message_that_two_memories_lack_waits_once(world: World) -> None:
    world.new_base()
    world.new_base()
    world.say("s", "one")
    assert (overview(world).captured, overview(world).waiting) == (1, 1)


def test_a_memory_that_is_off_counts_only_if_no_other_is_on(world: World) -> None:
    off = world.new_base(threshold=1, auto_capture=False)
    world.say("s", "one")
    assert (overview(world).waiting, overview(world).latest_runs[0].state) == (1, SearchState.WAITING)
    world.new_base(threshold=1)
    world.say("s", "two")
    world.settle()
    seen = overview(world)
    assert (seen.searchable, seen.waiting, seen.latest_runs[0].state) == (2, 0, SearchState.SEARCHABLE)
    assert {memory.id for memory in seen.flows[0].memories} >= {off}


def test_what_a_memory_lost_is_not_searchable(world: World) -> None:
    base = world.new_base(threshold=1, capture=Capture.OUTPUTS)
    world.new_base(threshold=1)
    world.say("s", *ask("question", "answer"))
    world.settle()
    world.execute(sa.update(MemoryBase).where(MemoryBase.id == base).values(mismatch=True))
    seen = overview(world)
    assert (seen.captured, seen.searchable, seen.lost, seen.waiting) == (2, 1, 1, 0)
    assert [(b.searchable, b.lost) for b in seen.buckets if b.lost] == [(1, 1)]
    assert seen.latest_runs[0].state is SearchState.LOST


def test_messages_before_the_window_are_left_out(world: World) -> None:
    world.new_base()
    world.say("s", "old")
    for table in (Message, Session, Run):
        column = {Message: "captured_at", Session: "last_captured_at", Run: "created_at"}[table]
        change(world, table, **{column: datetime.now(UTC) - timedelta(days=3)})
    assert (overview(world).captured, overview(world).waiting, overview(world).runs) == (0, 0, 0)
    week = overview(world, Window.WEEK)
    assert (week.captured, week.waiting, week.runs, week.flows[0].last_captured_at is not None) == (1, 1, 1, True)


def test_delays_are_the_median_and_nearly_the_longest(world: World) -> None:
    world.new_base(threshold=1)
    for number in range(20):
        world.say("s", f"text {number}")
    world.settle()
    with world.services.database.transaction() as db:
        db.execute(sa.update(MemoryBase).values(created_at=datetime.now(UTC) - timedelta(hours=2)))
        rows = db.execute(sa.select(Message.id, Message.captured_at).order_by(Message.seq)).all()
        for seconds, row in enumerate(rows, start=1):
            at = row.captured_at + timedelta(seconds=seconds)
            db.execute(sa.update(LedgerEntry).where(LedgerEntry.message_id == row.id).values(ingested_at=at))
    seen = overview(world)
    assert (seen.delay_median_seconds, seen.delay_p95_seconds) == (11.0, 20.0)
    assert seen.flows[0].delay_median_seconds == 11.0


def test_the_latest_runs_are_shown_with_question_answer_and_state(world: World) -> None:
    world.new_base(threshold=2)
    first = world.say("s", *ask("Which berth?", "Berth 12."))
    world.settle()
    world.say("s", *ask("And the price?", "x" * 300))
    third = world.say("t", {"role": "assistant", "content": "Hello"})
    with world.services.database.transaction() as db:
        of_run = {"id": uuid4(), "flow_id": world.flow_id, "session_id": "t", "run_id": third.run_id, "node_id": "n"}
        sources = [{"kind": "recall", "message_ids": [], "tokens": 12}, {"kind": "history", "tokens": 5}]
        db.add(MemoryUse(**of_run, messages=[], sources=sources, report={}, recorded_at=datetime.now(UTC)))
    seen = overview(world)
    latest, middle, oldest = seen.latest_runs
    assert (oldest.run_id, oldest.question, oldest.answer) == (first.run_id, "Which berth?", "Berth 12.")
    assert (oldest.state, oldest.memories) == (SearchState.SEARCHABLE, None)
    assert oldest.searchable_after_seconds is not None
    assert (middle.state, middle.answer) == (SearchState.INGESTING, "x" * 200 + "…")
    assert (latest.question, latest.state, latest.pending, latest.threshold) == (None, SearchState.WAITING, 1, 2)
    assert (latest.memories, latest.tokens, seen.recalls) == (1, 12, 1)


def test_a_run_that_no_memory_counts_is_history(world: World) -> None:
    world.say("s", *ask("q", "a"))
    world.new_base(capture=Capture.OUTPUTS)
    world.say("s", {"role": "user", "content": "q"})
    latest, first = overview(world).latest_runs
    assert (latest.state, first.state) == (SearchState.NOT_COUNTED, SearchState.WAITING)


def test_a_failed_message_makes_its_run_failed(world: World) -> None:
    world.new_base(threshold=1)
    world.embedder.reject("bad")
    world.say("s", "bad")
    world.settle()
    assert overview(world).latest_runs[0].state is SearchState.FAILED


def test_another_user_sees_nothing(world: World) -> None:
    world.new_base()
    world.say("s", "one")
    seen = module.overview(world.services, world.new_user(), Window.DAY)
    assert (seen.captured, seen.flows, seen.latest_runs) == (0, [], [])


def test_an_answer_is_kept_for_its_own_user_and_window_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_FACTOR", 1_000_000)
    other = world.new_user()
    assert overview(world).captured == 0
    world.say("s", "one")
    assert overview(world).captured == 0
    assert overview(world, Window.HOUR).captured == 1
    assert module.overview(world.services, other, Window.HOUR).captured == 0


def test_the_number_of_queries_does_not_grow(world: World) -> None:
    def statements() -> int:
        with recorded(world.services.database.engine) as sent:
            overview(world)
        return len(sent)

    world.new_base()
    world.say("s", "one")
    few = statements()
    for number in range(4):
        flow = world.new_flow()
        world.new_base(flow_id=flow)
        world.capture(f"s{number}", [world.message({"role": "assistant", "content": "text"})], flow_id=flow)
    assert statements() == few


def change(world: World, table: Any, **values: Any) -> None:
    world.execute(sa.update(table).values(**values))
