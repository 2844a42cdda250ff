"""Concurrent events in the ingestion flow, on both databases, in the orders that are easily overlooked."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.acts import die_of_poison, edit, filled, texts
from harness.world import WORKER, WorkerKilled, World, build_world, crash_after

from memorybase.cli.sweep import sweep_until
from memorybase.core import deadlines, errors
from memorybase.core.extension import Pace
from memorybase.core.ingestion import job_runner, lease, recovery, retry
from memorybase.core.ingestion.advance import advance
from memorybase.core.ingestion.claim import claim_job
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.settlement import WriteResult
from memorybase.core.memory_bases import dead_letters, deletion
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.models import Flow, Session
from memorybase.core.operations import sweeper
from memorybase.core.queries import cursors, jobs, memory_bases, progress_rows, sessions
from memorybase.core.queries import dead_letters as dead_letters_
from memorybase.core.queries import messages as message_queries
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.core.vectors.store import CollectionRef, VectorRecord


def rename(world: World, old: str, new: str) -> None:
    edits.update_session(world.services, world.user_id, world.flow_id, old, new_session_id=new)


def regenerate(world: World, base: UUID) -> regeneration.RegenerateResult:
    return regeneration.regenerate(world.services, world.user_id, base)


def assert_at_rest(world: World, base: UUID, *, serving: int | None = None) -> None:
    world.rest(6)
    assert serving in (None, world.base(base).serving)
    world.assert_all_ingested(base)


def beside(action: Callable[[], object], seconds: float = 0.7) -> threading.Thread:
    """Begin something in another thread and give it the time to end, or to reach a lock that we hold."""
    thread = threading.Thread(target=action)
    thread.start()
    thread.join(seconds)
    return thread


# A build and what goes on beside it


def test_a_failing_repair_does_not_block_the_build(world: World) -> None:
    base = filled(world, 300)
    world.vectors.delete_collection(world.ref(base).name)
    edit(world, world.messages()[0].id, "edited while the collection was gone")
    world.drain()
    assert [(job.kind, job.state) for job in world.active_jobs(base)] == [("repair", "queued")]
    regenerate(world, base)
    edit(world, world.messages()[1].id, "edited during the build")
    assert_at_rest(world, base, serving=2)


def test_the_serving_generation_is_repaired_during_a_build(world: World) -> None:
    base = filled(world, 300)
    regenerate(world, base)
    world.queue.clear()
    edit(world, world.messages()[0].id, "edited during the build")
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="upsert", times=3)
    assert_at_rest(world, base, serving=2)


@pytest.mark.slow
def test_a_slow_sweeper_does_not_delete_a_newer_build(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(world)
    regeneration.cancel_job(world.services, world.user_id, regenerate(world, base).jobs[0].id)
    world.pass_time(61)
    delete_collection = world.vectors.delete_collection

    def another_sweeps_and_a_build_begins(name: str) -> None:
        monkeypatch.undo()
        assert world.sweep().done["retired"] == 1
        regenerate(world, base)
        delete_collection(name)

    monkeypatch.setattr(world.vectors, "delete_collection", another_sweeps_and_a_build_begins)
    world.sweep()
    world.say("s", "captures go on")
    world.rest(6)
    assert world.base(base).building is None
    world.assert_all_ingested(base)


def give_row_of_build(monkeypatch: pytest.MonkeyPatch, row_id: UUID) -> None:
    """The session's row that a build inserts next gets this id."""
    monkeypatch.setattr(progress_rows, "new_id", lambda _dialect: sa.literal(row_id, sa.Uuid()))
    # Not the statement that an earlier build has left in the cache.
    monkeypatch.setattr(progress_rows, "_copied_rows", progress_rows._copied_rows.__wrapped__)


def test_a_capture_and_an_advance_during_a_build_do_not_deadlock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(world)
    # The build's row sorts before the serving one, so a capture takes it first.
    give_row_of_build(monkeypatch, UUID(int=1))
    regenerate(world, base)
    world.drain()
    monkeypatch.undo()
    base = filled(world, session_id="t")
    give_row_of_build(monkeypatch, UUID(int=2))
    edit(world, world.messages("t")[0].id, "edited")
    (message,) = [message for message in world.queue.enqueued[-2:] if message.memory_base_id == base]
    world.queue.clear()
    regenerate(world, base)
    monkeypatch.undo()
    compare_and_advance = cursors.compare_and_advance
    failures: list[BaseException] = []
    capturing: list[threading.Thread] = []

    def say() -> None:
        try:
            world.say("t", "in the middle of it")
        except BaseException as exc:  # noqa: BLE001 - handed to the test
            failures.append(exc)

    def let_a_capture_come(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        row = compare_and_advance(*args, **kwargs)
        capturing.append(beside(say))
        return row

    monkeypatch.setattr(cursors, "compare_and_advance", let_a_capture_come)
    assert world.run(message) == job_runner.JobOutcome.DONE
    capturing[0].join(30)
    assert failures == []
    assert_at_rest(world, base)


def test_an_idle_flush_does_not_deadlock_with_a_claim(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=2, idle_after=60)
    world.say("s", "one", "two")
    world.settle()
    # The build's row sorts behind the serving one.
    give_row_of_build(monkeypatch, UUID(int=2**128 - 1))
    regenerate(world, base)
    monkeypatch.undo()
    assert world.base(base).building is not None
    world.say("s", "three")
    world.pass_time(61)
    failures: list[BaseException] = []
    claiming: list[threading.Thread] = []
    lock_row = cursors.lock_row

    def lock_rows() -> None:
        try:
            with world.services.database.transaction() as db:
                cursors.lock_rows(db, [base], "s")
        except BaseException as exc:  # noqa: BLE001 - handed to the test
            failures.append(exc)

    def let_a_claim_come(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        row = lock_row(*args, **kwargs)
        claiming.append(beside(lock_rows))
        return row

    monkeypatch.setattr(cursors, "lock_row", let_a_claim_come)
    recovery.flush_idle(world.services)
    claiming[0].join(30)
    assert failures == []
    assert_at_rest(world, base)


@pytest.mark.slow
def test_steady_captures_do_not_starve_a_regenerate(ready_postgres_url: str, tmp_path: Path) -> None:
    """On PostgreSQL alone: SQLite has one writer at a time, and no share locks that could overtake."""
    world = build_world(ready_postgres_url, tmp_path)
    base = world.new_base()
    done: list[str] = []

    def share() -> None:
        with world.services.database.transaction() as db:
            memory_bases.share_base(db, base)
        done.append("capture")

    def lock() -> None:
        with world.services.database.transaction() as db:
            memory_bases.lock_base(db, base)
            done.append("regenerate")

    with world.services.database.transaction() as db:
        memory_bases.share_base(db, base)
        waiting = beside(lock)
        overtaking = beside(share)
        assert done == []
    waiting.join(30)
    overtaking.join(30)
    assert done == ["regenerate", "capture"]
    world.close()


def test_a_regenerate_of_a_deleted_base_leaves_no_collection(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(world)
    create_collection = world.vectors.create_collection

    def deleted_first(*args: Any) -> Any:
        monkeypatch.undo()
        assert deletion.delete_memory_base(world.services, world.user_id, base)
        return create_collection(*args)

    monkeypatch.setattr(world.vectors, "create_collection", deleted_first)
    with pytest.raises(errors.NotFound):
        regenerate(world, base)
    assert world.vectors.names() == []


def test_a_stuck_build_can_be_abandoned_by_any_of_its_jobs(world: World) -> None:
    base = filled(world)
    old = world.ref(base)
    regenerate(world, base)
    # Its first job is done and an edit is in the way of the flip when its collection is lost.

    def meanwhile(*_: object) -> None:
        world.vectors.after_upsert = None
        edit(world, world.messages()[0].id, "edited during the build")

    world.vectors.after_upsert = meanwhile
    assert world.run(world.queue.enqueued[-1]) == job_runner.JobOutcome.DONE
    (lost,) = set(world.vectors.names()) - {old.name}
    world.vectors.delete_collection(lost)
    for _ in range(3):
        world.drain()
        world.pass_time(121)
        world.sweep()
    (job,) = world.active_jobs(base)
    assert (job.kind, job.state, job.generation) == ("repair", "queued", 2)
    with pytest.raises(errors.BuildActive):
        regenerate(world, base)
    regeneration.cancel_job(world.services, world.user_id, job.id)
    assert_at_rest(world, base, serving=1)
    regenerate(world, base)
    assert_at_rest(world, base)


def test_a_repair_of_the_serving_generation_cannot_be_cancelled(world: World) -> None:
    base = filled(world)
    (job_id,) = edit(world, world.messages()[0].id, "edited")
    with pytest.raises(errors.Conflict):
        regeneration.cancel_job(world.services, world.user_id, job_id)
    world.assert_settled(base)


# Lost workers


def test_a_second_starting_worker_takes_no_job_of_the_first(world: World) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.embedder.before_embed = crash_after()
    with pytest.raises(WorkerKilled):
        world.drain()
    requeued: list[int] = []

    def start(alive: Callable[[str], bool]) -> int:
        return recovery.requeue_jobs_of_dead_workers(world.services, "", alive)

    def the_other_is_quicker(_: str) -> bool:
        """It takes the lease back, and a living worker claims the job."""
        assert start(lambda owner: owner != WORKER) == 1
        world.embedder.before_embed = crash_after()
        with pytest.raises(WorkerKilled):
            world.run(world.queue.enqueued[-1], owner="alive")
        requeued.append(1)
        return False

    assert start(the_other_is_quicker) == 0
    assert requeued == [1]
    (job,) = world.jobs(base)
    assert (job.state, job.lost_workers, world.row(base, "s").lease_owner) == ("running", 1, "alive")
    assert_at_rest(world, base)


def test_an_edit_that_ends_every_worker_removes_the_old_version_from_the_store(world: World) -> None:
    base = filled(world)

    world.embedder.before_embed = die_of_poison
    edit(world, world.messages()[1].id, "poison")
    survive(world, base)
    (letter,) = world.dead_letters(base)
    assert (letter.error_code, letter.version) == ("worker_lost", 2)
    world.assert_exact(base)
    assert world.row(base, "s").total_processed == 4


@pytest.mark.parametrize("position", [0, 3])
def test_an_edit_made_after_the_last_lost_worker_is_not_dead_lettered(world: World, position: int) -> None:
    base = filled(world)
    messages = world.messages()

    world.embedder.before_embed = die_of_poison
    edit(world, messages[3].id, "poison")
    for death in range(3):
        with pytest.raises(WorkerKilled):
            world.drain()
        if death == 2:
            edit(world, messages[position].id, "harmless")
        world.locks.expire(base, "s")
        world.pass_time(61)
        world.sweep()
    assert world.dead_letters(base) == []
    survive(world, base)
    assert [letter.message_id for letter in world.dead_letters(base)] == ([] if position == 3 else [messages[3].id])
    world.assert_exact(base)
    assert "harmless" in world.embedder.embedded


def survive(world: World, base: UUID) -> None:
    for _ in range(20):
        with contextlib.suppress(WorkerKilled):
            world.drain()
        world.locks.expire(base, "s")
        world.pass_time(61)
        world.sweep()
    world.embedder.before_embed = None
    world.settle()


def test_a_lost_message_that_ends_every_worker_does_not_block_its_session(world: World) -> None:
    base = filled(world)
    world.vectors.lose(world.ref(base), sorted(world.stored(base))[:1])
    with world.services.database.transaction() as db:
        row = world.row(base, "s")
        assert row.last_sync_at is not None
        assert cursors.request_audit(db, row.id, row.last_sync_at)
    lost = world.messages()[0].content
    lost_workers = []

    def die_of_it(batch: Any) -> None:
        if any(message.content in batch for message in world.messages()[:5]):
            lost_workers.append(lost)
            raise WorkerKilled

    world.embedder.before_embed = die_of_it
    world.say("s", "what comes after")
    survive(world, base)
    assert len(lost_workers) <= 6
    assert world.row(base, "s").cursor_seq == 6


def test_chunks_that_may_be_in_no_ledger_are_audited(world: World) -> None:
    base = world.new_base(threshold=1)

    def is_audited(session_id: str, *, orphaned: bool = False, retried: bool = False) -> bool:
        world.say(session_id, "harmless")
        message = world.queue.enqueued[-1]
        claim = claim_job(world.services, message, WORKER)
        assert claim is not None
        if retried:
            assert retry.postpone(world.services, claim, errors.VectorStoreUnavailable(), wrote=False) is not None
            world.pass_time(61)
            claim = claim_job(world.services, message, WORKER)
            assert claim is not None
        with LeaseKeeper(world.services) as keeper:
            advance(world.services, claim, keeper, WriteResult(orphaned_chunks=orphaned), cursor_id=None)
        return world.row(base, session_id).audit_at is not None

    assert not is_audited("a")
    assert is_audited("b", orphaned=True)
    assert is_audited("c", retried=True)


def test_a_worker_that_lost_its_claim_leaves_the_lease_of_the_next_one(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "harmless")
    (message,) = world.queue.enqueued
    lost = claim_job(world.services, message, "first")
    world.pass_time(61)
    world.sweep()
    assert lost is not None
    assert claim_job(world.services, message, "second") is not None
    lease.release(world.services, lost, wrote=True)
    assert retry.postpone(world.services, lost, errors.VectorStoreUnavailable(), wrote=True) is None
    row = world.row(base, "s")
    assert (row.lease_owner, row.lease_until is None) == ("second", False)


def test_a_failure_in_a_database_outage_counts_no_lost_worker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "harmless")
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.01)
    left = [3]
    lock_row = jobs.lock_row

    def away(*args: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise errors.DatabaseUnavailable
        return lock_row(*args)

    def lose_the_database(*_: object) -> None:
        world.vectors.before_upsert = None
        monkeypatch.setattr(jobs, "lock_row", away)
        raise errors.VectorStoreUnavailable

    world.vectors.before_upsert = lose_the_database
    assert world.run(world.queue.enqueued[0]) == job_runner.JobOutcome.POSTPONED
    (job,) = world.jobs(base)
    assert (job.state, job.attempts, job.lost_workers) == ("queued", 0, 0)


def test_a_job_is_left_to_its_lease_in_a_long_database_outage(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "harmless")
    monkeypatch.setattr(deadlines, "JOB_SECONDS", 0.05)
    monkeypatch.setattr(retry, "RETRY_SECONDS", 0.01)

    def away(*_: object) -> None:
        raise errors.DatabaseUnavailable

    def lose_the_database(*_: object) -> None:
        monkeypatch.setattr(jobs, "lock_row", away)
        raise errors.VectorStoreUnavailable

    world.vectors.before_upsert = lose_the_database
    with pytest.raises(errors.DatabaseUnavailable):
        world.run(world.queue.enqueued[0])
    monkeypatch.undo()
    world.vectors.before_upsert = None
    assert not world.locks.held(base, "s")
    assert_at_rest(world, base)


# Names and their sessions


def test_a_capture_creates_a_session_that_is_removed_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    lock_session = sessions.lock_session
    looked_for: list[bool] = []

    def gone_when_looked_for(db: Any, flow_id: UUID, session_id: str) -> Any:
        found = lock_session(db, flow_id, session_id)
        looked_for.append(found is not None)
        # What another transaction's delete, between our insert and our look, would leave us with.
        return found if len(looked_for) > 2 else None

    monkeypatch.setattr(sessions, "lock_session", gone_when_looked_for)
    assert world.say("s", "hello").messages[0].seq == 1
    assert looked_for == [False, True, False, True]
    world.assert_settled(base)


# Deletion


def test_a_base_created_during_its_flows_deletion_goes_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base_ids_of_flow = memory_bases.base_ids_of_flow
    creating: list[threading.Thread] = []

    def create() -> None:
        with contextlib.suppress(errors.NotFound):
            world.new_base()

    def another_is_made(*args: Any) -> Any:
        monkeypatch.undo()
        found = base_ids_of_flow(*args)
        creating.append(beside(create))
        return found

    monkeypatch.setattr(memory_bases, "base_ids_of_flow", another_is_made)
    session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
    creating[0].join(30)
    world.sweep()
    world.sweep()
    assert world.vectors.names() == []
    with world.services.database.reading() as db:
        assert db.get(Flow, world.flow_id) is None


def test_a_flow_deleted_during_a_capture_leaves_no_rows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    insert_messages = message_queries.insert_messages
    deleting: list[threading.Thread] = []

    def delete() -> None:
        session_deletion.delete_flow(world.services, world.user_id, world.flow_id)

    def delete_the_flow_first(*args: Any) -> None:
        monkeypatch.undo()
        deleting.append(beside(delete))
        insert_messages(*args)

    monkeypatch.setattr(message_queries, "insert_messages", delete_the_flow_first)
    world.say("s", "too late")
    deleting[0].join(30)
    world.sweep()
    assert world.messages() == []
    assert world.scalars(sa.select(Session)) == []


# Dead letters


@pytest.mark.slow
@pytest.mark.parametrize("call", [dead_letters.retry_dead_letter, dead_letters.discard_dead_letter])
def test_a_dead_letter_cleared_meanwhile_is_not_found(
    world: World, monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]
) -> None:
    base = world.new_base(threshold=1)
    world.embedder.reject("poison")
    (captured,) = world.say("s", "poison").messages
    world.settle()
    (letter,) = world.dead_letters(base)
    edit(world, captured.id, "harmless")
    message = world.queue.enqueued[-1]
    world.queue.clear()
    clear_dead_letters = dead_letters_.clear_dead_letters
    answers: list[object] = []
    asking: list[threading.Thread] = []

    def ask() -> None:
        try:
            answers.append(call(world.services, world.user_id, base, letter.id))
        except Exception as exc:  # noqa: BLE001 - looked at below
            answers.append(type(exc))

    def ask_meanwhile(*args: Any) -> None:
        clear_dead_letters(*args)
        if args[2] and not asking:  # the letter is gone, and nobody sees it yet
            asking.append(beside(ask))

    monkeypatch.setattr(dead_letters_, "clear_dead_letters", ask_meanwhile)
    assert world.run(message) == job_runner.JobOutcome.DONE
    asking[0].join(30)
    assert answers == [errors.NotFound]
    assert_at_rest(world, base)


def test_a_second_attempt_writes_only_missing_chunks(world: World) -> None:
    """A record that is written again can become unreachable in the store's index."""
    base = world.new_base(threshold=4)
    world.say("s", *texts(4))

    def die_half_way(ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        world.vectors.before_upsert = None
        world.vectors.upsert(ref, records[:2])
        raise WorkerKilled

    world.vectors.before_upsert = die_half_way
    with pytest.raises(WorkerKilled):
        world.run(world.queue.enqueued[0])
    there = world.stored(base)
    assert len(there) == 2
    written: list[str] = []
    world.vectors.before_upsert = lambda _, records: written.extend(record.id for record in records)
    assert_at_rest(world, base)
    assert len(written) == 2
    assert not there & set(written)


# Notifications and responses


def test_flush_and_rename_lock_sessions_in_one_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["B", "a", "Ä", "ä", "_"]
    for name in names:
        world.say(name, "hello")
    base = world.new_base()
    locked: list[str] = []
    lock, page = sessions.lock_session, cursors.sessions_to_flush

    def note(session: Any, flow_id: UUID, session_id: str) -> Any:
        locked.append(session_id)
        return lock(session, flow_id, session_id)

    def as_another_collation_has_it(*which: Any, **bounds: Any) -> Any:
        return sorted(page(*which, **bounds), key=lambda each: each.session_id.lower(), reverse=True)

    monkeypatch.setattr(sessions, "lock_session", note)
    monkeypatch.setattr(cursors, "sessions_to_flush", as_another_collation_has_it)
    world.flush(base)
    flushed = list(locked)
    assert flushed == sorted(names)
    for first, second in itertools.permutations(names, 2):
        locked.clear()
        with pytest.raises(errors.SessionConflict):
            rename(world, first, second)
        assert locked[:2] == sorted([first, second], key=flushed.index)
    with world.services.database.transaction() as db:
        assert sessions.lock_sessions(db, world.flow_id, names) == flushed


def test_a_refused_flush_names_a_job_that_is_active(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=2)
    world.say("s", *texts(2))
    world.say("s", "one more")
    message = world.queue.enqueued[0]
    active_job = jobs.active_job
    waited: list[bool] = []
    working: list[threading.Thread] = []

    def let_it_end(*args: Any) -> Any:
        monkeypatch.undo()
        found = active_job(*args)
        working.append(beside(lambda: world.run(message)))
        waited.append(working[0].is_alive())
        return found

    monkeypatch.setattr(jobs, "active_job", let_it_end)
    with pytest.raises(errors.IngestionActive):
        world.flush(base, "s")
    assert waited == [True]
    working[0].join(30)
    world.flush(base, "s")
    world.drain()
    world.assert_all_ingested(base)


def test_the_next_job_is_enqueued_after_the_lock_is_released(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    message = world.queue.enqueue
    held: list[bool] = []

    def look(frozen: Any) -> int:
        held.append(world.locks.held(base, "s"))
        return message(frozen)

    monkeypatch.setattr(world.queue, "enqueue", look)
    world.say("s", *texts(150))
    world.drain()
    # Another worker that takes the notification at once must not find the session busy.
    assert held == [False, False, False]
    world.assert_all_ingested(base)


# Sweep


def test_a_failing_sweep_step_does_not_stop_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(world)
    world.say("s", "one more")
    world.queue.clear()
    world.pass_time(61)

    def broken(*_: object) -> int:
        raise OSError

    monkeypatch.setattr(recovery, "schedule_missing", broken)
    report = world.sweep()
    assert report.failed_steps == ["planned"]
    assert report.done["notified"] == 1
    world.drain()
    world.assert_all_ingested(base)


class _Waits(threading.Event):
    """An event that is set by the first wait that lasts."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        if timeout:
            self.set()
        return self.is_set()


def test_after_a_database_outage_leases_last_once_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[bool] = []
    stop = threading.Event()
    moments = iter([0.0, 0.0, 1.0, 2.0, 2.0 + world.services.settings.lease_seconds])  # start, pass, failure, 2 passes

    def requeue(_: Any) -> int:
        passes.append(True)
        if len(passes) == 1:
            raise errors.DatabaseUnavailable
        return 0

    def wait(_: float) -> bool:
        passes.append(False)
        if len(passes) == 5:
            stop.set()
        return stop.is_set()

    monkeypatch.setattr(sweeper, "due_now", lambda _: {step.name for step in sweeper.steps_of(world.services)})
    monkeypatch.setattr(recovery, "requeue_expired", requeue)
    monkeypatch.setattr(stop, "wait", wait)
    sweep_until(stop, world.services, lambda: None, now=lambda: next(moments))
    assert passes == [True, False, False, True, False]


def test_passes_follow_at_once_while_sessions_wait_for_jobs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "SWEEP_LIMIT", 2)
    monkeypatch.setattr(sweeper, "due_now", lambda _: {step.name for step in sweeper.steps_of(world.services)})
    base = world.new_base(threshold=100, idle_after=60)
    for number in range(5):
        world.say(f"s{number}", "one")
    world.pass_time(61)
    confirmed: list[None] = []
    stop = _Waits()
    sweep_until(stop, world.services, lambda: confirmed.append(None))
    assert stop.seconds == [0, 0, world.services.settings.sweep_seconds]
    steps = sweeper.steps_of(world.services)
    prompt = [step for step in steps if step.pace in (Pace.DUE, Pace.EVERY)]
    assert len(confirmed) == 3 + len(steps) + 2 * len(prompt)
    assert len(world.active_jobs(base)) == 5
