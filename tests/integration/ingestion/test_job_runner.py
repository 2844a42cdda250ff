"""One worker embeds and stores the jobs of many sessions in batches; each job ends by itself."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from harness.acts import refuse_poison, texts
from harness.rows import each_row
from harness.waiting import wait_until
from harness.world import WORKER, WorkerKilled, World, build_world, message_of

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion import claim, job_runner, lease, lost_worker, pipeline, scheduler
from memorybase.core.ingestion.claim import Claim
from memorybase.core.ingestion.job_runner import JobOutcome
from memorybase.core.memory_bases import deletion, regenerate
from memorybase.core.queries import cursors
from memorybase.core.queries.messages import CountedMessage
from memorybase.core.services import Services
from memorybase.core.sessions import edits
from memorybase.core.settings import Settings
from memorybase.core.vectors.store import CollectionRef, VectorRecord

SESSIONS = [f"session {n}" for n in range(6)]


def shift(world: World, *, which: int = 0) -> JobOutcome:
    """Run one notification as a worker's task does, on a machine that embeds as fast as it can be measured."""
    return job_runner.run_jobs(
        world.services, world.queue.enqueued[which], owner=WORKER, may_continue=lambda: True, now=lambda: 0.0
    )


def ready(world: World, *messages: str, sessions: Sequence[str] = SESSIONS) -> UUID:
    """A base with a job that waits in every session."""
    base = world.new_base(threshold=1)
    for session_id in sessions:
        world.say(session_id, *(messages or ("one", "two")))
    return base


def states(world: World, base: UUID) -> dict[str, str]:
    return {job.session_id: str(job.state) for job in world.jobs(base)}


def embed_after_claiming(world: World, *, claims: int) -> None:
    """Embed the first text only once so many jobs are claimed: the second one before the pace of embedding is known."""
    claimed = threading.Semaphore(0)
    acquire, embed = world.locks.acquire, world.embedder.before_embed

    def counted(base_id: UUID, session_id: str) -> object:
        claimed.release()
        return acquire(base_id, session_id)

    def wait(some: Sequence[str]) -> None:
        world.embedder.before_embed = embed
        assert all(claimed.acquire(timeout=60) for _ in range(claims)), "no job is claimed during embedding"
        if embed is not None:
            embed(some)

    world.locks.acquire = counted  # type: ignore[method-assign,assignment]
    world.embedder.before_embed = wait


def test_waiting_jobs_of_many_sessions_are_embedded_and_stored_in_one_batch(world: World) -> None:
    base = ready(world)
    embedded: list[int] = []
    upserted: list[int] = []
    world.embedder.before_embed = lambda some: embedded.append(len(some))
    world.vectors.before_upsert = lambda _, records: upserted.append(len(records))
    embed_after_claiming(world, claims=2)
    assert shift(world) is JobOutcome.DONE
    # The notified job; one claimed meanwhile, before it was known how fast texts are embedded; the others.
    assert embedded == upserted == [2, 2, 8]
    world.assert_all_ingested(base)


def test_jobs_with_nothing_to_embed_are_one_batch(world: World) -> None:
    base = ready(world)
    world.settle()
    world.queue.enqueued.clear()
    world.embedder.embedded.clear()
    upserted: list[int] = []
    world.vectors.before_upsert = lambda _, records: upserted.append(len(records))
    regenerate.regenerate(world.services, world.user_id, base)
    assert shift(world) is JobOutcome.DONE
    assert (world.embedder.embedded, upserted) == ([], [2, 10])  # all vectors are copied
    world.assert_all_ingested(base)


def test_a_batch_is_bounded_by_the_time_that_embedding_it_takes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_runner, "BATCH_SECONDS", 0.0)
    base = ready(world)
    embedded: list[int] = []
    world.embedder.before_embed = lambda some: embedded.append(len(some))
    shift(world)
    assert embedded == [2] * len(SESSIONS)
    world.assert_all_ingested(base)


def test_the_pace_is_learnt_from_what_was_embedded() -> None:
    seconds = iter([0.0, 2.0, 10.0, 11.0, 20.0])
    pace = job_runner.Pace(lambda: next(seconds))
    assert pace.size_of(1.0) == 0
    assert pace.seconds_of(400) == 0
    with pace.measured(400):
        pass
    assert pace.size_of(0.5) == 100
    assert pace.seconds_of(100) == 0.5
    with pace.measured(600):
        pass
    assert pace.size_of(1.0) == (200 + 600) / 2
    with pace.measured(0):  # all vectors were copied
        pass
    assert pace.size_of(1.0) == 400


class TestOrder:
    @pytest.fixture(autouse=True)
    def one_job_in_a_batch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job_runner, "BATCH_SECONDS", 0.0)

    def test_a_long_backlog_of_one_memory_base_does_not_delay_another_one(self, world: World) -> None:
        world.new_base(threshold=1)
        for n in range(20):
            world.say(f"noisy {n}", f"noise {n}")
        quiet = world.new_flow()
        world.new_base(threshold=1, flow_id=quiet)
        for text in ("quiet 1", "quiet 2"):
            world.capture(text, [world.message({"role": "user", "content": text})], flow_id=quiet)
        shift(world)
        # Behind the notified job and the first one of the backlog, which the worker claims ahead.
        assert max(world.embedder.embedded.index(text) for text in ("quiet 1", "quiet 2")) < 6

    def test_what_becomes_due_meanwhile_may_be_the_next(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job_runner.Pace, "seconds_of", lambda *_: 60.0)
        world.new_base(threshold=1)
        for n in range(4):
            world.say(f"noisy {n}", f"noise {n}", f"more noise {n}")
        quiet = world.new_flow()
        world.new_base(threshold=1, flow_id=quiet)

        def capture_once(_: Sequence[str]) -> None:
            world.embedder.before_embed = None
            world.capture("quiet", [world.message({"role": "user", "content": "quiet"})], flow_id=quiet)

        world.embedder.before_embed = capture_once
        shift(world)
        assert world.embedder.embedded.index("quiet") == 2  # behind the notified job alone

    def test_a_base_that_was_served_first_does_not_pay_for_it_later(self, world: World) -> None:
        base = ready(world)
        shift(world)
        world.say("later", "one more")
        (waiting,) = [job for job in world.jobs(base) if job.state == "queued"]
        assert waiting.virtual_time == 8

    def test_new_messages_go_before_a_rebuild(self, world: World) -> None:
        base = world.new_base(threshold=1)
        for n in range(10):
            world.say(f"old {n}", f"old {n}")
        world.settle()
        regenerate.regenerate(world.services, world.user_id, base)
        other = world.new_flow()
        world.new_base(threshold=1, flow_id=other)
        world.capture("new", [world.message({"role": "user", "content": "new"})], flow_id=other)
        world.embedder.embedded.clear()
        world.vectors.before_upsert = None
        order: list[str] = []
        world.vectors.before_upsert = lambda _, records: order.extend(record.text for record in records)
        shift(world, which=-2)
        assert order.index("new") < 3
        assert len(order) == 11


def test_notifications_of_jobs_done_in_a_batch_are_stale(world: World) -> None:
    base = ready(world)
    shift(world)
    before = [(job.id, job.attempts) for job in world.jobs(base)]
    assert {shift(world, which=which) for which in range(len(SESSIONS))} == {JobOutcome.STALE}
    assert [(job.id, job.attempts) for job in world.jobs(base)] == before


def test_a_stale_notification_runs_other_waiting_jobs(world: World) -> None:
    base = ready(world)
    shift(world)
    world.say("new", "its notification is behind stale ones")
    assert shift(world, which=1) is JobOutcome.STALE
    assert states(world, base)["new"] == "done"
    world.assert_all_ingested(base)


def test_a_stale_notification_runs_a_repair_whose_own_is_behind_others(world: World) -> None:
    base = ready(world)
    shift(world)
    edits.delete_message(world.services, world.user_id, world.messages(SESSIONS[0])[0].id)
    assert [job.kind for job in world.active_jobs(base)] == ["repair"]
    assert shift(world, which=1) is JobOutcome.STALE
    assert world.active_jobs(base) == []
    world.assert_settled(base)


def test_a_worker_continues_a_long_session_while_it_may(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", *texts(700))
    looks = iter([True, True, False])
    job_runner.run_jobs(world.services, world.queue.enqueued[0], owner=WORKER, may_continue=lambda: next(looks, False))
    assert 0 < world.row(base, "s").cursor_seq < 700
    world.assert_settled(base)


def test_a_failing_message_does_not_affect_other_sessions_of_the_batch(world: World) -> None:
    base = world.new_base(threshold=1)
    world.embedder.reject("unreadable")
    world.vectors.before_upsert = refuse_poison
    world.say("first", "fine")
    for session_id, text in (("a", "unreadable"), ("b", "poison"), ("c", "fine"), ("d", "fine")):
        world.say(session_id, text, "and more")
    shift(world)
    codes = sorted(letter.error_code for letter in world.dead_letters(base))
    assert codes == ["text_rejected", "vector_rejected"]
    world.assert_all_ingested(base)


@each_row("defect", [errors.StatementRefused("The database refused a statement"), RuntimeError("of the client")])
def test_a_failure_that_no_message_causes_makes_no_dead_letter(world: World, defect: Exception) -> None:
    base = ready(world)

    def fail(*_: object) -> None:
        raise defect

    world.vectors.before_upsert = fail
    shift(world)
    assert set(states(world, base).values()) == {"queued"}
    assert world.dead_letters(base) == []
    world.vectors.before_upsert = None
    world.pass_time(61)
    world.assert_settled(base)


def test_a_repair_is_bounded_by_bytes_like_any_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "JOB_MAX_BYTES", 1_000)
    world = build_world(f"sqlite:///{tmp_path / 'memorybase.db'}", tmp_path)
    base = world.new_base(threshold=1)
    world.say("s", *(f"{number}" * 400 for number in range(5)))
    world.settle()
    world.vectors.lose(world.ref(base), sorted(world.stored(base)))
    with world.services.database.transaction() as db:
        cursors.request_audit(db, world.row(base, "s").id, clock.now(db))
    written: list[int] = []
    write = pipeline.write_messages

    def count(services: Services, claim: Claim, messages: Sequence[CountedMessage], *rest: Any) -> Any:
        written.append(len(messages))
        return write(services, claim, messages, *rest)

    monkeypatch.setattr(pipeline, "write_messages", count)
    world.settle()
    assert written == [2, 2, 1]
    world.assert_all_ingested(base)
    world.close()


def test_an_audit_asked_for_during_another_one_is_not_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = ready(world, sessions=["s"])
    world.settle()
    progress_id = world.row(base, "s").id

    def ask_again(*args: Any) -> Any:  # the store was read
        monkeypatch.undo()
        world.vectors.lose(world.ref(base), sorted(world.stored(base))[:1])
        ask()
        return write(*args)

    def ask() -> None:
        with world.services.database.transaction() as db:
            cursors.request_audit(db, progress_id, clock.now(db))

    write = pipeline.write_messages
    ask()
    monkeypatch.setattr(pipeline, "write_messages", ask_again)
    world.assert_settled(base)


def test_a_session_locked_by_another_worker_is_skipped(world: World) -> None:
    base = ready(world)
    lock = world.locks.acquire(base, SESSIONS[3])
    assert lock is not None
    shift(world)
    assert {s for s, state in states(world, base).items() if state != "done"} == {SESSIONS[3]}
    lock.release()
    world.assert_settled(base)


def test_an_unavailable_store_postpones_every_job_without_counting_attempts(world: World) -> None:
    base = ready(world)
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="upsert", times=3)
    embed_after_claiming(world, claims=2)  # three batches
    assert shift(world) is JobOutcome.POSTPONED
    assert set(states(world, base).values()) == {"queued"}
    assert {(job.outages, job.attempts, job.lost_workers) for job in world.jobs(base)} == {(1, 0, 0)}
    world.pass_time(61)
    world.assert_settled(base)


def test_a_missing_collection_does_not_affect_other_bases(world: World) -> None:
    broken = ready(world, sessions=["a"])
    healthy = world.new_base(threshold=1)
    for session_id in ("a", "b"):
        world.say(session_id, "more")
    world.vectors.delete_collection(world.ref(broken).name)
    shift(world)
    assert set(states(world, broken).values()) == {"queued"}
    world.assert_settled(healthy)


def test_a_job_that_lost_its_claim_writes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_runner.Pace, "size_of", lambda *_: 1e6)  # the others are one batch
    base = ready(world, sessions=["a", "b"])
    doomed = ready(world, sessions=["c"])

    def delete(some: Sequence[str]) -> None:
        # While the first is embedded the others have been claimed; the last of them loses its memory base.
        world.embedder.before_embed = None
        del some
        assert claimed.wait(60)
        deletion.delete_memory_base(world.services, world.user_id, doomed)

    claimed = threading.Event()
    acquire = world.locks.acquire

    def watched(base_id: UUID, session_id: str) -> object:
        if base_id == doomed:
            claimed.set()
        return acquire(base_id, session_id)

    world.locks.acquire = watched  # type: ignore[method-assign,assignment]
    world.embedder.before_embed = delete
    written: list[str] = []
    world.vectors.after_upsert = lambda _, records: written.extend(record.id for record in records)
    shift(world)
    assert not [chunk for chunk in written if chunk.startswith(str(doomed))]
    world.assert_settled(base)


def test_unreachable_chunks_are_rewritten_only_under_a_valid_claim(world: World) -> None:
    base = ready(world)
    held, lost = (f"session {n}" for n in (1, 2))
    written: list[str] = []

    def hide(ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        world.vectors.hide(ref, [record.id for record in records])
        written.extend(str(record.metadata["session_id"]) for record in records)
        for job in world.active_jobs(base):
            if job.session_id == lost and lost in written:
                regenerate.cancel_job(world.services, world.user_id, job.id)

    world.vectors.after_upsert = hide
    shift(world)
    assert (written.count(held), written.count(lost)) == (4, 2)  # of two messages each


def test_dropping_a_lost_claim_keeps_a_newer_claim_on_the_same_job(world: World) -> None:
    ready(world, sessions=["a"])
    message = world.queue.enqueued[0]
    lost = claim.claim_job(world.services, message, WORKER)
    world.pass_time(61)
    world.sweep()
    again = claim.claim_job(world.services, message, WORKER)
    assert lost is not None
    assert again is not None
    with lease.LeaseKeeper(world.services) as keeper:
        keeper.hold(lost, None)
        keeper.hold(again, None)
        assert keeper.check([lost, again]) == {again.key}
        keeper.drop(lost)
        assert keeper.check([again]) == {again.key}


def test_leases_are_renewed_together_after_an_unexpected_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "lease_renew_seconds", 0.01)
    base = ready(world, sessions=["a", "b", "c"])
    claims = [claim.claim_job(world.services, message, WORKER) for message in world.queue.enqueued]
    before = {row.session_id: row.lease_until for row in world.rows(base)}
    renewed: list[int] = []
    renew = cursors.renew_leases

    def fails_first(db: Any, held: Any, until: Any, *, wait: bool) -> set[UUID]:
        renewed.append(len(held))
        if len(renewed) == 1:
            raise errors.StatementRefused("as after a defect")
        return renew(db, held, until, wait=wait)

    monkeypatch.setattr(cursors, "renew_leases", fails_first)
    with lease.LeaseKeeper(world.services) as keeper:
        for each in claims:
            assert each is not None
            keeper.hold(each, None)
        wait_until(lambda: len(renewed) > 3 and renewed[-1] == len(claims))
        assert keeper.check(filter(None, claims)) == {each.key for each in claims if each}
    assert all(row.lease_until > before[row.session_id] for row in world.rows(base))


class TestWorkerLostInABatch:
    """A worker ends and held many jobs: one of them may have ended it."""

    @pytest.fixture
    def base(self, world: World) -> UUID:
        base = ready(world)
        world.say("deadly", "a deadly text")
        world.embedder.before_embed = self.die
        return base

    def die(self, some: Sequence[str]) -> None:
        if any("deadly" in text for text in some):
            raise WorkerKilled

    def lose(self, world: World) -> None:
        """A worker dies in its first task; after the lease its jobs are recovered."""
        world.locks.away = True  # a dead worker releases nothing
        with pytest.raises(WorkerKilled):
            shift(world)
        world.locks.away = False
        world.pass_time(61)
        world.sweep()

    def test_no_job_of_the_batch_counts_a_lost_worker_and_each_runs_alone_next(self, world: World, base: UUID) -> None:
        self.lose(world)
        waiting = [job for job in world.jobs(base) if job.state == "queued"]
        assert {(job.lost_workers, job.run_alone) for job in waiting} == {(0, True)}
        assert "deadly" in {job.session_id for job in waiting}
        world.say("another", "one", "two")  # its job may run in a batch
        embedded: list[int] = []

        def look(some: Sequence[str]) -> None:
            embedded.append(len(some))
            self.die(some)

        world.embedder.before_embed = look
        for job in waiting:
            if job.session_id != "deadly":
                job_runner.run_jobs(world.services, message_of(job), owner=WORKER, may_continue=lambda: True)
        assert embedded == [2] * (len(waiting) - 1)
        assert {job.session_id for job in world.jobs(base) if job.state != "done"} == {"another", "deadly"}

    def test_only_the_message_that_ends_workers_becomes_a_dead_letter(self, world: World, base: UUID) -> None:
        self.lose(world)
        lost = 0
        for _ in range(10):
            try:
                world.settle()
                break
            except WorkerKilled:
                lost += 1
                world.pass_time(61)
                world.locks.expire(base, "deadly")
        assert lost == lost_worker.MAX_LOST_WORKERS  # alone
        (letter,) = world.dead_letters(base)
        assert letter.error_code == "worker_lost"
        world.assert_all_ingested(base)

    def test_jobs_being_stored_while_others_are_embedded_count_no_lost_worker(self, world: World) -> None:
        base = ready(world, sessions=["a"])
        world.say("deadly", "a deadly text")
        dying = threading.Event()

        def die(some: Sequence[str]) -> None:
            try:
                self.die(some)
            except WorkerKilled:
                dying.set()
                raise

        def wait(*_: object) -> None:
            # As if the process were gone: nothing is stored once the other is embedded.
            dying.wait(60)
            raise errors.ClaimLost

        world.embedder.before_embed, world.vectors.before_upsert = die, wait
        self.lose(world)
        assert {job.lost_workers for job in world.jobs(base)} == {0}
