"""The ingestion flow on both databases: every captured message is ingested once, whatever fails in between."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.acts import die_of_poison, refuse_poison, texts
from harness.rows import each_row
from harness.world import WORKER, WorkerKilled, World, crash_after, message_of

from memorybase.core import deadlines, errors
from memorybase.core.ingestion import bisection, claim, recovery, settlement
from memorybase.core.ingestion import job_runner as worker_
from memorybase.core.memory_bases import consistency, manage, regenerate
from memorybase.core.models import IngestionJob, Session, SessionProgress
from memorybase.core.queries import jobs, messages, sessions
from memorybase.core.sessions import edits
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.core.vectors.verified_writes import unreachable_ids


def test_below_the_threshold_nothing_is_queued(world: World) -> None:
    base = world.new_base(threshold=3)
    answer = world.say("s", *texts(2))
    assert answer.ingestion[0].pending_messages == 2
    assert answer.ingestion[0].job_id is None
    assert world.jobs(base) == []


def test_the_threshold_queues_one_job_that_covers_everything(world: World) -> None:
    base = world.new_base(threshold=3)
    world.say("s", *texts(2))
    answer = world.say("s", *texts(2, start=2))
    (job,) = world.jobs(base)
    assert answer.ingestion[0].job_id == job.id
    assert (job.from_seq, job.to_seq, job.total) == (0, 4, 4)
    world.drain()
    world.assert_all_ingested(base)
    assert world.row(base, "s").total_processed == 4


def test_only_outputs_count_unless_capture_is_all(world: World) -> None:
    outputs = world.new_base(threshold=2, capture="outputs")
    everything = world.new_base(threshold=2, capture="all")
    turn = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "what is the capital of France"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "Paris", "tool_call_id": "1"},
    ]
    states = {state.memory_base_id: state for state in world.say("s", *turn).ingestion}
    assert states[outputs].pending_messages == 1
    assert states[everything].pending_messages == 2
    assert states[everything].job_id is not None
    world.say("s", "Paris it is")
    world.assert_settled(outputs)
    world.flush(everything)
    world.assert_settled(everything)
    assert world.row(everything, "s").total_processed == 3


def test_a_large_backlog_is_ingested_in_small_jobs(world: World) -> None:
    base = world.new_base(threshold=50)
    for start in range(0, 1500, 500):
        world.say("s", *texts(500, start=start))
    world.assert_settled(base)
    jobs = world.jobs(base)
    assert max(job.total for job in jobs) <= 256
    assert sum(job.processed for job in jobs) == 1500


@pytest.mark.slow
def test_jobs_are_limited_in_bytes_but_take_at_least_one_message(world: World) -> None:
    base = world.new_base(threshold=3)
    world.say("s", "small", "word " * 210_000, "small again")
    world.assert_settled(base)
    assert [job.total for job in world.jobs(base)] == [1, 1, 1]


def test_a_capture_during_a_job_succeeds_and_is_ingested_by_the_next_job(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.say("s", *texts(2, start=2))
    assert len(world.active_jobs(base)) == 1
    world.drain()
    world.assert_all_ingested(base)


def test_flush_ingests_messages_below_the_threshold(world: World) -> None:
    base = world.new_base(threshold=100)
    world.say("a", *texts(2))
    world.say("b", *texts(3))
    result = world.flush(base)
    assert {job.session_id for job in result.jobs} == {"a", "b"}
    world.drain()
    world.assert_all_ingested(base)
    assert world.flush(base).jobs == []


@pytest.mark.both_databases
def test_fifty_flushes_at_once_start_one_job(world: World) -> None:
    base = world.new_base(threshold=100)
    world.say("s", *texts(5))

    def flush(_: int) -> str:
        try:
            return "accepted" if world.flush(base, "s").jobs else "nothing"
        except errors.IngestionActive:
            return "conflict"

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(flush, range(50)))
    assert sorted(answers) == ["accepted"] + ["conflict"] * 49
    assert len(world.jobs(base)) == 1
    world.drain()
    world.assert_all_ingested(base)
    assert not world.locks.held(base, "s")


def test_a_refused_flush_names_the_active_job_and_changes_nothing(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.say("s", "one more")
    before = world.row(base, "s").target_seq
    with pytest.raises(errors.IngestionActive) as caught:
        world.flush(base, "s")
    (conflict,) = caught.value.details["conflicts"]  # type: ignore[misc]
    assert conflict["job_id"] == str(world.active_jobs(base)[0].id)
    assert world.row(base, "s").target_seq == before


def test_a_flush_names_redis_if_its_jobs_wait_only_for_that(world: World) -> None:
    base = world.new_base(threshold=100)
    world.say("s", "a")
    world.queue.away = True
    assert len(world.flush(base, "s").jobs) == 1
    with pytest.raises(errors.QueueUnavailable, match="The broker does not answer") as caught:
        world.flush(base, "s")
    (conflict,) = caught.value.details["conflicts"]  # type: ignore[misc]
    assert conflict["job_id"] == str(world.active_jobs(base)[0].id)
    world.queue.away = False
    with pytest.raises(errors.IngestionActive):
        world.flush(base, "s")


def test_a_flush_beside_a_running_job_conflicts_also_while_redis_is_away(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "a")
    caught: list[str] = []

    def flush(_: object) -> None:
        world.queue.away = True
        try:
            world.flush(base, "s")
        except errors.MemorybaseError as error:
            caught.append(error.code)

    world.embedder.before_embed = flush
    world.drain()
    assert caught == ["ingestion_active"]


def test_a_job_that_meets_a_missing_collection_shows_the_mismatch_at_once(world: World) -> None:
    """The sweeper compares no memory base that has an active job."""
    base = world.new_base(threshold=1)
    world.sweep()
    world.vectors.delete_collection(world.ref(base).name)
    world.say("s", "a")
    world.drain()
    assert world.base(base).mismatch is True


def test_an_idle_session_is_ingested_by_the_idle_rule(world: World) -> None:
    base = world.new_base(threshold=100, idle_after=3_600)
    world.say("s", *texts(2))
    world.pass_time(3_000)
    assert world.sweep().done["idle"] == 0
    world.pass_time(700)
    assert world.sweep().done["idle"] == 1
    world.drain()
    world.assert_all_ingested(base)


def test_idle_time_counts_from_the_last_capture(world: World) -> None:
    base = world.new_base(threshold=100, idle_after=60)
    world.say("s", *texts(2))
    world.pass_time(40)
    world.say("s", *texts(2))
    world.pass_time(40)
    assert world.sweep().done["idle"] == 0
    world.pass_time(21)
    assert world.sweep().done["idle"] == 1
    world.drain()
    world.assert_all_ingested(base)


def test_a_replay_does_not_postpone_the_idle_rule(world: World) -> None:
    base = world.new_base(threshold=100, idle_after=60)
    run = {"id": "m1", "role": "user", "content": "only once"}
    world.say("s", run)
    world.pass_time(59)
    assert not world.say("s", run).messages[0].created
    world.pass_time(2)
    assert world.sweep().done["idle"] == 1
    world.drain()
    world.assert_all_ingested(base)


@pytest.mark.parametrize("changes", [{"idle_after": 0}, {"auto_capture": False}])
def test_the_idle_rule_can_be_off(world: World, changes: dict[str, object]) -> None:
    base = world.new_base(threshold=100, **({"idle_after": 60} | changes))
    world.say("s", *texts(2))
    world.pass_time(10_000)
    assert world.sweep().done["idle"] == 0
    assert world.jobs(base) == []


def test_a_duplicate_delivery_is_dropped(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    (message,) = world.queue.enqueued
    outcomes = [world.run(message) for _ in range(10)]
    assert outcomes == [worker_.JobOutcome.DONE] + [worker_.JobOutcome.STALE] * 9
    world.assert_all_ingested(base)


def test_a_frozen_worker_that_thaws_after_its_lease_advances_nothing(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    (message,) = world.queue.enqueued
    world.queue.clear()

    def freeze_past_the_lease(*_: object) -> None:
        world.vectors.before_upsert = None
        world.locks.expire(base, "s")
        world.pass_time(61)
        assert world.sweep().done["requeued"] == 1
        assert world.run(world.queue.enqueued[-1]) == worker_.JobOutcome.DONE

    world.vectors.before_upsert = freeze_past_the_lease
    assert world.run(message) == worker_.JobOutcome.LOST
    world.assert_settled(base)
    assert world.row(base, "s").total_processed == 2


def test_each_claim_and_each_requeue_has_an_epoch_of_its_own(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    (message,) = world.queue.enqueued
    epochs = [world.row(base, "s").epoch]
    for _ in range(2):
        assert claim.claim_job(world.services, message, WORKER) is not None
        epochs.append(world.row(base, "s").epoch)
        assert world.sweep().done["requeued"] == 0
        world.pass_time(61)
        assert world.sweep().done["requeued"] == 1
        epochs.append(world.row(base, "s").epoch)
    assert epochs == list(range(epochs[0], epochs[0] + 5))


@each_row(
    "table, changes",
    [
        (SessionProgress, {"epoch": SessionProgress.epoch + 1}),
        (SessionProgress, {"cursor_seq": SessionProgress.cursor_seq + 1}),
        (IngestionJob, {"epoch": IngestionJob.epoch + 1}),
        (IngestionJob, {"state": "queued"}),
    ],
    ids=["session epoch", "session cursor", "job epoch", "job state"],
)
def test_any_change_since_the_claim_stops_the_advance(
    world: World, table: type[SessionProgress | IngestionJob], changes: dict[str, Any]
) -> None:
    world = world.for_new_user()
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    after_change: list[tuple[int, int, str, int]] = []

    def seen() -> tuple[int, int, str, int]:
        (row,), (job,) = world.rows(base), world.jobs(base)
        return row.cursor_seq, row.total_processed, job.state, len(world.ledger(base))

    def change(*_: object) -> None:  # when the claim has been checked for the last time before the advance
        world.vectors.after_upsert = None
        world.execute(sa.update(table).where(table.memory_base_id == base).values(**changes))
        after_change.append(seen())

    world.vectors.after_upsert = change
    assert world.run(world.queue.enqueued[-1]) == worker_.JobOutcome.LOST
    assert after_change == [seen()]


def test_an_audit_deletes_a_late_write_of_a_thawed_worker(world: World) -> None:
    base = world.new_base(threshold=1)
    (captured,) = world.say("s", "the first wording").messages
    (message,) = world.queue.enqueued
    world.queue.clear()

    def freeze_while_the_message_is_edited(*_: object) -> None:
        world.vectors.before_upsert = None
        world.locks.expire(base, "s")
        world.pass_time(61)
        world.sweep()
        ingestion_edit(world, captured.id, "the second wording")
        world.settle()

    world.vectors.before_upsert = freeze_while_the_message_is_edited
    assert world.run(message) == worker_.JobOutcome.LOST
    assert len(world.stored(base)) == 2  # the old version came late
    world.pass_time(61)
    world.assert_settled(base)


def ingestion_edit(world: World, message_id: object, content: str) -> None:
    edits.edit_message(world.services, world.user_id, message_id, {"content": content})  # type: ignore[arg-type]


def test_an_unavailable_store_loses_nothing_and_counts_no_attempt(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="upsert")
    world.drain()
    (job,) = world.jobs(base)
    assert (job.state, job.attempts, job.outages) == ("queued", 0, 1)
    assert job.error == "The vector store is unavailable."
    assert world.sweep().done["notified"] == 0  # it is backing off
    world.pass_time(120)
    world.assert_settled(base)


def test_a_job_waits_longer_after_many_outages_but_not_for_ever(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "BACKOFF_SECONDS", 2.0)
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.execute(sa.update(IngestionJob).values(outages=40))
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="upsert")
    world.drain()
    world.pass_time(10)  # enough after a first outage
    assert world.sweep().done["notified"] == 0
    world.pass_time(world.services.settings.backoff_max_seconds)
    assert world.sweep().done["notified"] == 1
    world.assert_settled(base)


def test_a_lost_notification_is_repeated(world: World) -> None:
    base = world.new_base(threshold=2)
    world.queue.away = True
    world.say("s", *texts(2))
    world.queue.away = False
    world.pass_time(6)
    assert world.sweep().done["notified"] == 1  # at once, since the queue is empty
    world.drain()
    world.assert_all_ingested(base)


def test_repeated_notifications_back_off(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    # The notification stays in the queue: no worker takes it.
    for pause in (30, 60, 120, 240, 480, 600, 600):
        notified = []
        for _ in range(2):
            world.pass_time(pause / 2)
            notified.append(world.sweep().done["notified"])
        assert notified == [0, 1], pause
    world.drain()
    world.assert_all_ingested(base)


def test_a_held_session_lock_leaves_the_job_queued_and_uncounted(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    held = world.locks.acquire(base, "s")
    assert held is not None
    assert world.run(world.queue.enqueued[0]) == worker_.JobOutcome.BUSY
    assert world.jobs(base)[0].attempts == 0
    held.release()
    world.drain()
    world.assert_all_ingested(base)


def test_without_redis_the_sql_claim_is_enough(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.locks.fail_next(errors.LockUnavailable())
    world.drain()
    world.assert_all_ingested(base)


def test_the_one_message_that_cannot_be_embedded_becomes_a_dead_letter(world: World) -> None:
    base = world.new_base(threshold=9)
    world.embedder.reject("poison")
    world.say("s", *texts(5), "poison", *texts(3, start=5))
    world.settle()
    world.assert_exact(base)
    (letter,) = world.dead_letters(base)
    assert (letter.error_code, letter.state, letter.attempts) == ("text_rejected", "dead", 1)
    assert world.row(base, "s").total_processed == 8
    assert world.row(base, "s").cursor_seq == 9


def test_a_model_that_fails_on_everything_dead_letters_nothing(world: World) -> None:
    base = world.new_base(threshold=4)
    world.say("s", *texts(4))
    world.embedder.fail_with(errors.EmbeddingFailed())
    world.drain()
    assert world.dead_letters(base) == []
    assert world.jobs(base)[0].state == "queued"
    world.embedder.fail_with(None)
    world.pass_time(120)
    world.assert_settled(base)


def test_a_store_that_refuses_everything_dead_letters_nothing(world: World) -> None:
    base = world.new_base(threshold=4)

    def refuse(*_: object) -> None:
        raise errors.VectorRejected(status=422, reason="InvalidArgumentError")

    world.vectors.before_upsert = refuse
    world.say("s", *texts(4))
    world.drain()
    assert world.dead_letters(base) == []
    (job,) = world.jobs(base)
    assert (job.state, job.attempts, job.outages) == ("queued", 0, 1)
    assert world.vectors.calls["upsert"] == 0
    assert job.error == "The vector store refuses every record"
    world.vectors.before_upsert = None
    world.pass_time(120)
    world.assert_settled(base)


def test_the_one_message_that_the_store_rejects_becomes_a_dead_letter(world: World) -> None:
    base = world.new_base(threshold=9)
    world.vectors.before_upsert = refuse_poison
    world.say("s", *texts(5), "poison", *texts(3, start=5))
    world.settle()
    world.assert_exact(base)
    (letter,) = world.dead_letters(base)
    assert letter.error_code == "vector_rejected"
    assert world.row(base, "s").total_processed == 8


def test_a_probe_left_by_a_killed_worker_is_deleted_by_the_audit(world: World) -> None:
    base = world.new_base(threshold=4)
    world.vectors.before_upsert = refuse_poison

    def crash(_ref: object, records: Sequence[VectorRecord]) -> None:
        if records[0].text == bisection.PROBE_TEXT:
            raise WorkerKilled

    world.vectors.after_upsert = crash
    world.say("s", *texts(3), "poison")
    with pytest.raises(WorkerKilled):
        world.drain()
    world.vectors.after_upsert = None
    assert len(world.stored(base)) == 1
    # The message is gone when the job is done again: no other probe takes the place of this one.
    edits.delete_message(world.services, world.user_id, world.messages()[0].id)
    assert consistency.check_mismatch(world.services, world.user_id, base).state == "ok"
    for _ in range(3):
        world.pass_time(61)
        world.settle()
    world.assert_exact(base)
    assert consistency.check_mismatch(world.services, world.user_id, base).state == "ok"


def test_a_message_that_ends_every_worker_becomes_a_dead_letter(world: World) -> None:
    base = world.new_base(threshold=8)

    world.embedder.before_embed = die_of_poison
    world.say("s", *texts(5), "poison", *texts(2, start=5))
    lost_workers = 0
    while world.row(base, "s").cursor_seq < 8:
        try:
            world.drain()
        except WorkerKilled:
            lost_workers += 1
        world.pass_time(61)
        world.sweep()
        assert lost_workers < 30
    world.settle()
    world.assert_exact(base)
    (letter,) = world.dead_letters(base)
    assert letter.error_code == "worker_lost"
    assert world.row(base, "s").total_processed == 7


def test_equal_and_backward_timestamps_are_all_ingested(world: World) -> None:
    base = world.new_base(threshold=6)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    world.say("s", *({"role": "user", "content": t, "timestamp": start.isoformat()} for t in texts(3)))
    earlier = [start - timedelta(days=day) for day in range(3)]
    world.say("s", *({"role": "user", "content": f"day {d}", "timestamp": d.isoformat()} for d in earlier))
    world.drain()
    world.assert_all_ingested(base)
    assert world.row(base, "s").total_processed == 6


@pytest.mark.both_databases
def test_concurrent_captures_of_one_session_number_its_messages_without_gaps(world: World) -> None:
    base = world.new_base(threshold=7)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: world.say("s", f"from thread {n}", f"again from {n}"), range(40)))
    assert [m.seq for m in world.messages("s")] == list(range(1, 81))
    world.flush(base) if not world.active_jobs(base) else None
    world.settle()
    if world.row(base, "s").cursor_seq < 80:
        world.flush(base)
    world.assert_settled(base)


@pytest.mark.both_databases
def test_a_capture_during_an_advance_does_not_deadlock_and_is_ingested(world: World) -> None:
    """Captures and advances of one session meet on its row again and again; whatever the order, all is ingested."""
    base = world.new_base(threshold=1)
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set() or world.queue.backlog():
                world.drain()
        except BaseException as exc:  # noqa: BLE001 - handed to the test
            failures.append(exc)

    worker = threading.Thread(target=work)
    worker.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: world.say("s", f"message {n}"), range(60)))
    stop.set()
    worker.join(60)
    assert failures == []
    # No sweep, no second trigger: the last capture or the last advance has planned what was left.
    while world.queue.backlog():
        world.drain()
    world.assert_all_ingested(base)
    assert world.row(base, "s").total_processed == 60


def test_a_job_that_no_longer_matches_its_session_is_replaced(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    with world.services.database.transaction() as db:
        db.execute(sa.update(IngestionJob).values(from_seq=1))
        (job,) = db.scalars(sa.select(IngestionJob))
        frozen = message_of(job)
    assert world.run(frozen) == worker_.JobOutcome.STALE
    world.assert_settled(base)
    assert [job.state for job in world.jobs(base)] == ["cancelled", "done"]


def test_a_notification_that_differs_from_its_job_row_is_dropped(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    (message,) = world.queue.enqueued
    forged = dataclasses.replace(message, to_seq=1)
    assert world.run(forged) == worker_.JobOutcome.STALE
    assert world.jobs(base)[0].state == "queued"


def test_a_starting_worker_requeues_jobs_of_its_dead_predecessor(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.embedder.before_embed = crash_after()
    with pytest.raises(WorkerKilled):
        world.drain()
    alive: list[str] = []

    def is_alive(owner: str) -> bool:
        alive.append(owner)
        return False

    assert recovery.requeue_jobs_of_dead_workers(world.services, WORKER, is_alive) == 1
    assert alive == [WORKER]
    world.assert_settled(base)


def test_a_flush_requeues_the_job_of_a_lost_worker(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.embedder.before_embed = crash_after()
    with pytest.raises(WorkerKilled):
        world.drain()
    world.pass_time(61)
    world.locks.expire(base, "s")
    assert len(world.flush(base, "s").jobs) == 1
    world.drain()
    world.assert_all_ingested(base)


@pytest.mark.both_databases
def test_concurrent_sweepers_insert_one_job_for_each_session(world: World) -> None:
    base = world.new_base(threshold=100, idle_after=60)
    for n in range(10):
        world.say(f"s{n}", *texts(2))
    world.pass_time(61)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: world.sweep(), range(8)))
    assert len(world.jobs(base)) == 10
    world.assert_settled(base)


def test_a_changed_threshold_counts_from_the_next_capture(world: World) -> None:
    base = world.new_base(threshold=10)
    world.say("s", *texts(5))
    manage.update_memory_base(world.services, world.user_id, base, {"threshold": 3})
    world.sweep()
    assert world.jobs(base) == []
    world.say("s", "one more")
    assert len(world.jobs(base)) == 1


def test_a_capture_for_an_unknown_flow_is_refused(world: World) -> None:
    with pytest.raises(errors.NotFound):
        world.say("s", "hello", flow_id=uuid4())
    assert world.scalar(sa.select(sa.func.count()).select_from(Session)) == 0


def test_a_write_that_cannot_be_read_back_fails(world: World) -> None:
    base = world.new_base(threshold=2)

    def lose_one(ref: object, records: object) -> None:
        world.vectors.after_upsert = None
        world.vectors.lose(ref, [records[0].id])  # type: ignore[arg-type,index]

    world.vectors.after_upsert = lose_one
    world.say("s", *texts(2))
    world.drain()
    assert world.row(base, "s").cursor_seq == 0
    assert world.jobs(base)[0].error == "1 of 2 chunks could not be read back"
    world.pass_time(120)
    world.assert_settled(base)


def test_unreachable_chunks_are_rewritten(world: World) -> None:
    base = world.new_base(threshold=2)

    def hide_one(ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        world.vectors.after_upsert = None
        world.vectors.hide(ref, [records[0].id])

    world.vectors.after_upsert = hide_one
    world.say("s", *texts(2))
    world.drain()
    world.assert_all_ingested(base)
    (found,) = world.vectors.list_collections()
    ids = [id_ for page in world.vectors.iter_ids(found.ref) for id_ in page]
    stored = world.vectors.fetch(found.ref, ids)
    hits = [world.vectors.query(found.ref, each.vector, 10) for each in stored.values()]
    assert {hit.id for some in hits for hit in some} == set(ids)


def test_unreachable_chunks_of_a_killed_worker_are_rewritten(world: World) -> None:
    base = world.new_base(threshold=2)

    def hide_one_and_die(ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        world.vectors.after_upsert = None
        world.vectors.hide(ref, [records[0].id])
        raise WorkerKilled

    world.vectors.after_upsert = hide_one_and_die
    world.say("s", *texts(2))
    with pytest.raises(WorkerKilled):
        world.drain()
    world.pass_time(61)
    assert world.sweep().done["requeued"] == 1
    world.assert_settled(base)
    ref = world.ref(base)
    assert not unreachable_ids(world.vectors, ref, list(world.vectors.records(ref)))


@pytest.mark.both_databases
def test_the_index_allows_one_active_job_for_each_session_and_base(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    (job,) = world.jobs(base)
    values = {column.name: getattr(job, column.name) for column in IngestionJob.__table__.columns} | {"id": uuid4()}
    with world.services.database.transaction() as db:
        assert jobs.insert_job(db, **values) is None
    with pytest.raises(errors.ConstraintViolated), world.services.database.transaction() as db:
        db.execute(sa.insert(IngestionJob).values(**values))


def test_a_new_job_waits_for_the_lease_of_a_cancelled_job(world: World) -> None:
    base = world.new_base(threshold=2)
    outcomes: list[worker_.JobOutcome] = []

    def cancel_and_flush(*_: object) -> None:
        world.vectors.before_upsert = None
        world.locks.expire(base, "s")
        regenerate.cancel_job(world.services, world.user_id, world.active_jobs(base)[0].id)
        world.flush(base, "s")
        outcomes.append(world.run(world.queue.enqueued[-1]))

    world.vectors.before_upsert = cancel_and_flush
    world.say("s", *texts(2))
    assert world.run(world.queue.enqueued[0]) == worker_.JobOutcome.LOST
    assert outcomes == [worker_.JobOutcome.STALE]
    for _ in range(2):
        world.settle()
        world.pass_time(61)
    world.assert_settled(base)


def test_a_session_renamed_between_claim_and_read_is_ingested(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    fetch_range = messages.fetch_range

    def rename_first(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="t")
        return fetch_range(*args, **kwargs)

    monkeypatch.setattr(messages, "fetch_range", rename_first)
    assert world.run(world.queue.enqueued[0]) == worker_.JobOutcome.LOST
    assert world.row(base, "t").cursor_seq == 0
    world.assert_settled(base)


def test_a_worker_with_other_chunk_settings_chunks_as_the_generation_was(world: World) -> None:
    base = world.new_base(threshold=1)
    long_text = " ".join(f"Sentence number {number} is here." for number in range(200))
    world.say("s", long_text)
    world.drain()
    settings = world.services.settings
    changed = settings.model_copy(update={"chunk_tokens": 16})
    world.services = dataclasses.replace(world.services, settings=changed)
    world.say("s", long_text)
    world.drain()
    first, second = (entry.chunks for entry in world.ledger(base))
    assert first == second > 1


@pytest.mark.both_databases
def test_captures_that_commit_in_reverse_order_are_all_ingested(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    open_session = sessions.open_session

    def let_another_overtake(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        # On PostgreSQL this one starts later and commits first; on SQLite it waits for us.
        overtaking.start()
        overtaking.join(0.5)
        return open_session(*args, **kwargs)

    overtaking = threading.Thread(target=lambda: (world.say("s", "started second"), world.drain()))
    monkeypatch.setattr(sessions, "open_session", let_another_overtake)
    world.say("s", "started first")
    overtaking.join(30)
    world.drain()
    world.assert_all_ingested(base)
    assert world.row(base, "s").total_processed == 2


@pytest.mark.both_databases
def test_a_capture_that_commits_late_is_not_skipped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture has its seqs and is not committed: the session's next one waits, or the cursor would pass the first."""
    base = world.new_base(threshold=1)
    world.say("s", "the session exists")
    world.drain()
    insert_messages = messages.insert_messages
    second = threading.Thread(target=lambda: (world.say("s", "second"), world.drain()))

    def commit_late(*args: Any) -> None:
        monkeypatch.undo()
        insert_messages(*args)
        second.start()
        second.join(0.5)
        assert second.is_alive()

    monkeypatch.setattr(messages, "insert_messages", commit_late)
    world.say("s", "first")
    second.join(30)
    world.drain()
    assert [(message.seq, message.content) for message in world.messages("s")][1:] == [(2, "first"), (3, "second")]
    world.assert_all_ingested(base)


@pytest.mark.parametrize("waits", ["capture", "advance"])
@pytest.mark.both_databases
def test_a_capture_and_an_advance_that_wait_for_locks_lose_no_message(
    world: World, monkeypatch: pytest.MonkeyPatch, waits: str
) -> None:
    """One holds the session's row in an open transaction while the other comes and waits for it."""
    base = world.new_base(threshold=1)
    world.say("s", "the first")
    message = world.queue.enqueued[0]
    world.queue.clear()
    # The advance plans the next job with the row locked, the trigger looks for the active one.
    module, name = (settlement, "schedule_next") if waits == "capture" else (jobs, "active_job")
    original = getattr(module, name)
    other = threading.Thread(
        target=(lambda: world.say("s", "the second")) if waits == "capture" else (lambda: world.run(message))
    )

    def hold_the_row(*args: Any) -> Any:
        monkeypatch.undo()
        other.start()
        other.join(0.5)
        assert other.is_alive()  # it waits for our row
        return original(*args)

    monkeypatch.setattr(module, name, hold_the_row)
    if waits == "capture":
        assert world.run(message) == worker_.JobOutcome.DONE
    else:
        world.say("s", "the second")
    other.join(30)
    world.drain()  # no sweep: whoever came second has planned what was left
    world.assert_all_ingested(base)
    assert world.row(base, "s").total_processed == 2
