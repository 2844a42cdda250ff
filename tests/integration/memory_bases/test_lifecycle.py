"""Edits, deletions, regenerates and comparisons: the stores follow SQL, and searches always have a complete store."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.acts import edit, filled, texts
from harness.postgres import WAITING
from harness.rows import each_row
from harness.waiting import wait_until
from harness.world import WorkerKilled, World, crash_after
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion import job_runner
from memorybase.core.ingestion.settlement import Settlement
from memorybase.core.knowledge_bases import registry
from memorybase.core.memory_bases import consistency, dead_letters, deletion, manage
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.models import KnowledgeBase, MemoryBase, Session, SessionProgress
from memorybase.core.queries import cursors, memory_bases
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.features.documents import knowledge


def delete(world: World, message_id: UUID) -> list[UUID]:
    return edits.delete_message(world.services, world.user_id, message_id)


def regenerate(world: World, base: UUID, **changes: object) -> regeneration.RegenerateResult:
    return regeneration.regenerate(world.services, world.user_id, base, **changes)  # type: ignore[arg-type]


# Edits and deletes


def test_an_edited_message_is_rewritten_and_its_old_chunks_are_deleted(world: World) -> None:
    base = filled(world)
    message = world.messages()[2]
    (job_id,) = edit(world, message.id, "quite another text")
    assert [job.kind for job in world.active_jobs(base)] == ["repair"]
    assert world.active_jobs(base)[0].id == job_id
    world.assert_settled(base)
    assert "quite another text" in world.embedder.embedded
    assert world.row(base, "s").total_processed == 5


def test_a_deleted_message_is_removed_from_the_store_and_the_count(world: World) -> None:
    base = filled(world)
    delete(world, world.messages()[2].id)
    world.settle()
    world.assert_exact(base)
    assert world.row(base, "s").total_processed == 4
    assert len(world.stored(base)) == 4


def test_the_message_at_the_cursor_may_be_deleted(world: World) -> None:
    base = filled(world)
    assert world.row(base, "s").cursor_id == world.messages()[-1].id
    delete(world, world.messages()[-1].id)
    world.say("s", "and on it goes")
    world.settle()
    world.assert_exact(base)
    assert world.row(base, "s").total_processed == 5


@pytest.mark.parametrize("change", [lambda w, m: edit(w, m, "changed on the way"), delete])
@pytest.mark.parametrize("moment", ["before_upsert", "after_upsert"])
def test_a_message_edited_during_its_job_is_repaired(world: World, change: object, moment: str) -> None:
    base = world.new_base(threshold=3)

    def meanwhile(*_: object) -> None:
        setattr(world.vectors, moment, None)
        change(world, world.messages()[1].id)  # type: ignore[operator]

    setattr(world.vectors, moment, meanwhile)
    world.say("s", *texts(3))
    world.settle()
    world.assert_exact(base)
    assert world.row(base, "s").cursor_seq == 3


def test_a_repair_killed_midway_is_repeated(world: World) -> None:
    base = filled(world)
    edit(world, world.messages()[0].id, "second wording")
    world.vectors.after_upsert = crash_after()
    with pytest.raises(WorkerKilled):
        world.drain()
    edit(world, world.messages()[0].id, "third wording")
    for _ in range(3):
        world.pass_time(61)
        world.locks.expire(base, "s")
        world.settle()
    world.assert_all_ingested(base)


def test_an_edit_before_ingestion_needs_no_repair(world: World) -> None:
    base = world.new_base(threshold=10)
    world.say("s", *texts(2))
    assert edit(world, world.messages()[0].id, "better") == []
    world.flush(base)
    world.assert_settled(base)
    assert [job.kind for job in world.jobs(base)] == ["ingest"]


def test_only_content_files_and_metadata_can_be_edited(world: World) -> None:
    filled(world)
    with pytest.raises(errors.InvalidRequest) as caught:
        edits.edit_message(world.services, world.user_id, world.messages()[0].id, {"role": "user"})
    assert caught.value.field == "role"


def test_a_renamed_session_is_searchable_under_its_new_id(world: World) -> None:
    base = filled(world)
    edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="t")
    world.assert_settled(base)
    records = world.vectors.records(world.ref(base)).values()
    assert {record.metadata["session_id"] for record in records} == {"t"}
    world.say("t", "going on")
    world.assert_settled(base)
    assert world.row(base, "t").total_processed == 6


def test_a_session_renamed_while_its_job_runs_loses_nothing(world: World) -> None:
    base = world.new_base(threshold=3)

    def meanwhile(*_: object) -> None:
        world.vectors.before_upsert = None
        edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="t")

    world.vectors.before_upsert = meanwhile
    world.say("s", *texts(3))
    for _ in range(3):
        world.settle()
        world.pass_time(61)
    world.assert_settled(base)
    assert world.row(base, "t").total_processed == 3


def test_a_deleted_session_leaves_no_chunks_and_rows(world: World) -> None:
    base = filled(world)
    world.say("other", "this stays")
    world.settle()
    edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    world.settle()
    world.sweep()
    assert {row.session_id for row in world.rows(base)} == {"other"}
    assert len(world.stored(base)) == 1
    assert len(world.ledger(base)) == 1
    assert world.scalars(sa.select(Session.session_id)) == ["other"]


def test_a_session_deleted_during_its_job_leaves_no_chunks(world: World) -> None:
    base = world.new_base(threshold=3)

    def meanwhile(*_: object) -> None:
        world.vectors.before_upsert = None
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")

    world.vectors.before_upsert = meanwhile
    world.say("s", *texts(3))
    world.settle()
    world.sweep()
    assert world.stored(base) == set()
    assert world.rows(base) == []


def test_a_deleted_session_can_be_captured_again(world: World) -> None:
    base = filled(world)
    edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    world.say("s", "a new beginning", end_user_id="someone")
    world.settle()
    world.assert_exact(base)
    assert world.row(base, "s").total_processed == 1


# Dead letters


def test_a_dead_letter_can_be_retried_and_discarded(world: World) -> None:
    base = world.new_base(threshold=3)
    world.embedder.reject("poison")
    world.say("s", "one", "poison", "poison too")
    world.settle()
    first, second = sorted(world.dead_letters(base), key=lambda letter: str(letter.message_id))
    dead_letters.retry_dead_letter(world.services, world.user_id, base, first.id)
    world.settle()
    retried = {letter.id: letter for letter in world.dead_letters(base)}
    assert (retried[first.id].state, retried[first.id].attempts) == ("dead", 2)
    assert retried[second.id].attempts == 1
    world.embedder._rejected.clear()
    dead_letters.retry_dead_letter(world.services, world.user_id, base, first.id)
    dead_letters.discard_dead_letter(world.services, world.user_id, base, second.id)
    world.settle()
    assert [letter.state for letter in world.dead_letters(base)] == ["discarded"]
    world.assert_exact(base)
    assert world.row(base, "s").total_processed == 2


def test_an_edit_retries_a_dead_letter(world: World) -> None:
    base = world.new_base(threshold=1)
    world.embedder.reject("poison")
    (captured,) = world.say("s", "poison").messages
    world.settle()
    edit(world, captured.id, "harmless")
    world.settle()
    assert world.dead_letters(base) == []
    world.assert_all_ingested(base)


def test_an_edit_that_cannot_be_embedded_removes_the_old_chunks(world: World) -> None:
    base = world.new_base(threshold=1)
    world.embedder.reject("poison")
    (captured,) = world.say("s", "harmless").messages
    world.settle()
    edit(world, captured.id, "poison")
    world.settle()
    assert world.stored(base) == set()
    assert len(world.dead_letters(base)) == 1
    world.assert_exact(base)
    assert world.row(base, "s").total_processed == 0


# Regenerate


def test_a_regenerate_changes_no_count(world: World) -> None:
    base = filled(world, 300)
    world.say("t", *texts(10))
    world.settle()
    before = world.stored(base)
    old = world.ref(base)
    regenerate(world, base)
    assert world.base(base).serving == 1
    world.drain()
    world.assert_settled(base, serving=2)
    assert world.stored(base) == before
    assert world.vectors.collection_exists(old)
    world.pass_time(61)
    assert world.sweep().done["retired"] == 1
    assert not world.vectors.collection_exists(old)
    world.assert_all_ingested(base)


def test_the_old_generation_serves_until_the_new_one_is_complete(world: World) -> None:
    base = filled(world, 300)
    seen: list[int] = []
    regenerate(world, base)

    def look(*_: object) -> None:
        assert world.base(base).serving == 1
        seen.append(len(world.stored(base)))

    world.vectors.before_upsert = look
    world.settle()
    assert len(seen) >= 2
    assert set(seen) == {300}
    assert world.base(base).serving == 2


def test_captures_and_edits_during_a_build_are_in_the_new_generation(world: World) -> None:
    base = filled(world, 300)
    regenerate(world, base)

    def meanwhile(*_: object) -> None:
        world.vectors.before_upsert = None
        world.say("s", *texts(3, start=1000))
        world.say("new session", "hello")
        edit(world, world.messages("s")[0].id, "edited during the build")
        delete(world, world.messages("s")[299].id)

    world.vectors.before_upsert = meanwhile
    world.assert_settled(base, serving=2)
    assert world.row(base, "s").total_processed == 302


@pytest.mark.both_databases
def test_two_concurrent_last_advances_complete_the_build(
    world: World, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    database = world.services.database
    postgres = None if database.is_sqlite else request.getfixturevalue("postgres_server")
    base = world.new_base(threshold=1)
    world.say("s", "hello")
    world.say("t", "hello")
    world.settle()
    regenerate(world, base)
    enqueued = world.queue.enqueued[-2:]
    world.queue.clear()
    both_are_there = threading.Barrier(2)
    arriving = threading.Lock()
    here: list[None] = []
    alone = threading.Event()
    is_complete = cursors.build_is_complete

    def look_at_once(*args: Any) -> bool:
        # The base's lock keeps the second out until the first has committed; without it both would be here, and
        # neither would see the other's row.
        with arriving:
            here.append(None)
            is_first = len(here) == 1
        if is_first and postgres is not None:  # SQLite lets one write at a time
            # Not through a pooler, whose connections these two have.
            waiting = partial(postgres.execute, WAITING.decode(), dbname=database.url.database)
            wait_until(lambda: len(here) == 2 or waiting() != [(0,)], what="the other is here or kept out")
        with arriving:
            if len(here) == 1:
                alone.set()
        if alone.is_set():
            return is_complete(*args)
        both_are_there.wait(30)
        found = is_complete(*args)
        both_are_there.wait(30)
        return found

    both_have_written = threading.Barrier(2)
    advancing = Settlement.advancing

    def begin_together(*args: Any, **kwargs: Any) -> Settlement:
        if postgres is not None:
            both_have_written.wait(30)
        return advancing(*args, **kwargs)

    monkeypatch.setattr(Settlement, "advancing", begin_together)
    monkeypatch.setattr(cursors, "build_is_complete", look_at_once)
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(world.run, enqueued))
    assert outcomes == [job_runner.JobOutcome.DONE] * 2
    # No sweep has been: one of the two advances saw that it was the last.
    assert world.base(base).serving == 2
    assert world.base(base).building is None
    world.assert_all_ingested(base)


def test_the_sweeper_finishes_a_build_killed_at_its_last_advance(world: World) -> None:
    base = filled(world)
    regenerate(world, base)
    world.vectors.after_upsert = crash_after()
    with pytest.raises(WorkerKilled):
        world.drain()
    world.pass_time(61)
    world.locks.expire(base, "s")
    world.assert_settled(base, serving=2)


def test_a_second_regenerate_is_refused_while_jobs_are_active(world: World) -> None:
    base = filled(world)
    regenerate(world, base)
    with pytest.raises(errors.BuildActive):
        regenerate(world, base)
    world.settle()
    assert world.base(base).serving == 2
    regenerate(world, base)
    world.assert_settled(base, serving=3)


def test_a_regenerate_can_change_model_and_capture(world: World) -> None:
    base = world.new_base(threshold=1, capture="outputs")
    world.say("s", {"role": "user", "content": "a question"}, "an answer")
    world.settle()
    assert world.row(base, "s").total_processed == 1
    regenerate(world, base, embedding_model="other", capture="all")
    world.assert_settled(base)
    assert world.row(base, "s").total_processed == 2
    with world.services.database.reading() as db:
        entry = db.scalars(sa.select(KnowledgeBase).where(KnowledgeBase.memory_base_id == base)).one()
        assert entry.embedding_model == "other"


def test_a_regenerate_of_an_empty_base_serves_at_once(world: World) -> None:
    base = world.new_base()
    assert regenerate(world, base).jobs == []
    assert world.base(base).serving == 2


def test_a_regenerate_replaces_queued_jobs(world: World) -> None:
    base = filled(world)
    world.say("s", *texts(3, start=100))
    regenerate(world, base)
    assert [job.state for job in world.jobs(base)][-2:] == ["cancelled", "queued"]
    world.assert_settled(base)
    assert world.row(base, "s").total_processed == 8


def test_a_cancelled_build_moves_pending_messages_to_the_old_generation(world: World) -> None:
    base = filled(world)
    regenerate(world, base)
    world.say("s", *texts(2, start=50))
    world.say("fresh", "a session the old generation has never seen")
    regeneration.cancel_job(world.services, world.user_id, world.active_jobs(base)[0].id)
    assert world.base(base).building is None
    world.assert_settled(base, serving=1)


# Mismatch


def test_a_lost_and_a_foreign_chunk_are_a_mismatch_that_regenerate_fixes(world: World) -> None:
    base = filled(world)
    compare = lambda: consistency.check_mismatch(world.services, world.user_id, base)  # noqa: E731
    listed = world.vectors.calls["iter_ids"]
    assert compare().state == "ok"
    assert world.vectors.calls["iter_ids"] == listed  # of a million chunks that takes minutes
    world.vectors.lose(world.ref(base), sorted(world.stored(base))[:1])
    record = next(iter(world.vectors.records(world.ref(base)).values()))
    world.vectors.upsert(world.ref(base), [dataclasses.replace(record, id="a stranger")])
    found = compare()
    assert (found.state, found.missing, found.extra, found.expected, found.found) == ("mismatch", 1, 1, 5, 5)
    assert found.extra_ids == ["a stranger"]
    assert world.base(base).mismatch is True
    regenerate(world, base)
    world.settle()
    assert compare().state == "ok"
    world.assert_all_ingested(base)


def test_a_comparison_in_pages_counts_all_that_differs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency, "SESSION_PAGE", 2)
    monkeypatch.setattr(consistency, "CHUNK_PAGE", 4)
    monkeypatch.setattr(consistency, "SHOWN_IDS", 3)
    monkeypatch.setattr(consistency, "KEPT_EXTRA", 2)
    base = world.new_base(threshold=1)
    for number in range(5):
        world.say(f"s{number}", *texts(3, start=10 * number))
    world.settle()
    ref, entries = world.ref(base), {str(entry.message_id): entry.progress_id for entry in world.ledger(base)}
    lost = {entries[chunk.split(":")[1]]: chunk for chunk in sorted(world.stored(base))}  # one of each session
    world.vectors.lose(ref, list(lost.values()))
    record = next(iter(world.vectors.records(ref).values()))
    world.vectors.upsert(ref, [dataclasses.replace(record, id=f"stranger {number}") for number in range(4)])
    found = consistency.check_mismatch(world.services, world.user_id, base)
    assert (found.missing, found.extra, found.expected, found.found) == (5, 4, 15, 14)
    assert set(found.missing_ids) < set(lost.values())
    assert (len(found.missing_ids), len(found.extra_ids)) == (3, 2)


def test_a_deleted_collection_is_a_mismatch_and_is_not_recreated(world: World) -> None:
    base = filled(world)
    world.vectors.delete_collection(world.ref(base).name)
    found = consistency.check_mismatch(world.services, world.user_id, base)
    assert (found.mismatch, found.missing, found.found) == (True, 5, 0)
    world.say("s", "one more")
    world.drain()
    assert world.vectors.names() == []
    assert world.active_jobs(base)[0].state == "queued"
    regenerate(world, base)
    world.assert_settled(base)


def test_an_unavailable_store_is_no_mismatch(world: World) -> None:
    base = filled(world)
    world.vectors.away = True
    found = consistency.check_mismatch(world.services, world.user_id, base)
    assert (found.mismatch, found.state) == (False, "unavailable")
    assert world.base(base).mismatch is not True


def test_chunks_in_flight_are_neither_missing_nor_extra(world: World) -> None:
    base = filled(world)
    answers: list[consistency.Mismatch] = []

    def compare(*_: object) -> None:
        answers.append(consistency.check_mismatch(world.services, world.user_id, base))

    world.vectors.after_upsert = compare
    world.say("s", *texts(3, start=10))
    world.drain()
    assert [answer.state for answer in answers] == ["ok"]
    assert answers[0].found == 8


def compared(world: World, base: UUID) -> str:
    return consistency.check_mismatch(world.services, world.user_id, base).state


def counted(world: World) -> int:
    """How many bases the sweeper's quick look finds to differ."""
    world.execute(sa.update(MemoryBase).values(compare_at=None))
    return consistency.compare_counts(world.services)


def test_the_sweeper_rests_after_comparing_all_chunks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(world)
    world.vectors.lose(world.ref(base), sorted(world.stored(base))[:1])
    record = next(iter(world.vectors.records(world.ref(base)).values()))
    world.vectors.upsert(world.ref(base), [dataclasses.replace(record, id="a stranger")])
    world.say("s", *texts(12, start=20))  # the newest chunks, and their number, are right
    world.settle()
    assert compared(world, base) == "mismatch"
    monkeypatch.setattr(consistency, "SHORTEST_PAUSE", timedelta(minutes=30))
    assert counted(world) == 1
    compare_at = world.base(base).compare_at
    assert compare_at is not None
    assert compare_at > datetime.now(UTC) + timedelta(minutes=20)


def test_a_message_without_text_is_no_mismatch(world: World) -> None:
    base = filled(world)
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    world.say("s", {"role": "assistant", "content": None, "tool_calls": [call]}, *texts(3, start=10))
    world.settle()
    assert [entry.chunks for entry in world.ledger(base)].count(0) == 1
    assert (compared(world, base), counted(world)) == ("ok", 0)


def test_chunks_of_a_cancelled_job_are_no_mismatch_before_its_audit(world: World) -> None:
    base = filled(world)

    def cancel(*_: object) -> None:
        world.vectors.after_upsert = None
        (job,) = world.active_jobs(base)
        regeneration.cancel_job(world.services, world.user_id, job.id)

    world.vectors.after_upsert = cancel
    world.say("s", *texts(3, start=10))
    world.drain()
    assert world.active_jobs(base) == []
    assert len(world.stored(base)) == 8
    assert (compared(world, base), counted(world)) == ("ok", 0)
    world.pass_time(61)
    world.settle()
    world.assert_exact(base)
    assert (compared(world, base), counted(world)) == ("ok", 0)


@pytest.mark.parametrize("mark", [{"audit_at": datetime(2100, 1, 1, tzinfo=UTC)}, {"dirty": 1}])
def test_a_loss_in_a_dirty_session_is_found_after_its_repair(world: World, mark: dict[str, Any]) -> None:
    base = filled(world)
    world.say("other", *texts(2))
    world.settle()
    set_on_row(world, base, mark)
    lost = [
        chunk
        for chunk, record in world.vectors.records(world.ref(base)).items()
        if record.metadata["session_id"] == "s"
    ][:1]
    world.vectors.lose(world.ref(base), lost)
    assert (compared(world, base), counted(world)) == ("ok", 0)
    set_on_row(world, base, {"audit_at": None, "dirty": 0})
    assert (compared(world, base), counted(world)) == ("mismatch", 1)


def test_a_loss_beside_a_dirty_session_is_found_at_once(world: World) -> None:
    base = filled(world)
    world.say("other", *texts(2))
    world.settle()
    set_on_row(world, base, {"dirty": 1})
    lost = [
        chunk
        for chunk, record in world.vectors.records(world.ref(base)).items()
        if record.metadata["session_id"] == "other"
    ][:1]
    world.vectors.lose(world.ref(base), lost)
    assert compared(world, base) == "mismatch"


def test_a_missing_collection_is_a_mismatch_even_during_jobs(world: World) -> None:
    base = filled(world)
    set_on_row(world, base, {"dirty": 1})
    world.vectors.delete_collection(world.ref(base).name)
    found = consistency.check_mismatch(world.services, world.user_id, base)
    assert (found.state, found.missing) == ("mismatch", 5)


def set_on_row(world: World, base: UUID, values: dict[str, Any]) -> None:
    world.execute(sa.update(SessionProgress).where(SessionProgress.id == world.row(base, "s").id).values(values))


def test_a_long_or_failed_comparison_waits_for_its_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(world)
    clocks = iter(range(0, 10_000, 5))  # each look at the clock is five seconds later
    monkeypatch.setattr(consistency, "time", SimpleNamespace(monotonic=lambda: float(next(clocks))))
    assert counted(world) == 0
    assert pause_of(world, base) == 300 * 5
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="count")
    with pytest.raises(errors.VectorStoreUnavailable):
        counted(world)
    assert pause_of(world, base) == 300 * 5
    world.vectors.calls.clear()
    assert consistency.compare_counts(world.services) == 0
    assert not world.vectors.calls


def pause_of(world: World, base: UUID) -> int:
    """Seconds until the sweeper compares it again."""
    with world.services.database.reading() as db:
        due, now = db.get_one(MemoryBase, base).compare_at, clock.now(db)
    assert due is not None
    return round((due - now).total_seconds() / 100) * 100


# Deletion


def test_a_server_that_was_away_is_asked_once_in_a_step(world: World) -> None:
    for number in range(3):
        base = world.new_base(name=f"base {number}")
        with world.services.database.transaction() as db:
            memory_bases.begin_deletion(db, base, clock.now(db))
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="delete_collection", times=9)
    world.vectors.calls.clear()
    assert "deletions" in world.sweep().failed_steps
    assert world.vectors.calls["delete_collection"] == 1


def test_a_deleted_base_leaves_no_collection_and_rows(world: World) -> None:
    base = filled(world)
    assert deletion.delete_memory_base(world.services, world.user_id, base)
    assert world.vectors.names() == []
    assert world.rows(base) == []
    assert world.ledger(base) == []
    assert world.jobs(base) == []
    assert list(world.services.settings.knowledge_dir.glob("*")) == []
    assert len(world.messages()) == 5


def test_a_base_deleted_during_a_job_drains_first_and_stays_deleted(world: World) -> None:
    base = world.new_base(threshold=2)

    def meanwhile(*_: object) -> None:
        world.embedder.before_embed = None
        assert not deletion.delete_memory_base(world.services, world.user_id, base)
        with pytest.raises(errors.NotFound):
            world.flush(base)
        assert world.sweep().done["deletions"] == 0  # the worker has not let go

    world.embedder.before_embed = meanwhile
    world.say("s", *texts(2))
    world.drain()
    assert world.sweep().done["deletions"] == 1
    assert world.vectors.names() == []
    assert world.rows(base) == []
    with pytest.raises(errors.NotFound):
        deletion.delete_memory_base(world.services, world.user_id, base)


def test_a_base_with_a_dead_worker_is_deleted_after_the_lease(world: World) -> None:
    base = world.new_base(threshold=2)
    world.vectors.after_upsert = crash_after()
    world.say("s", *texts(2))
    with pytest.raises(WorkerKilled):
        world.drain()
    assert not deletion.delete_memory_base(world.services, world.user_id, base)
    world.pass_time(61)
    assert world.sweep().done["deletions"] == 1
    assert world.vectors.names() == []


def test_the_sweeper_finishes_a_deletion_after_a_store_outage(world: World) -> None:
    base = filled(world)
    world.vectors.away = True
    assert not deletion.delete_memory_base(world.services, world.user_id, base)
    assert "deletions" in world.sweep().failed_steps
    world.vectors.away = False
    assert world.sweep().done["deletions"] == 1
    assert world.vectors.names() == []


def test_a_deleted_flow_leaves_no_collections_and_rows(world: World) -> None:
    base = filled(world)
    assert session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
    assert world.vectors.names() == []
    assert world.messages() == []
    assert world.rows(base) == []


def test_a_base_deleted_while_a_change_waits_is_not_changed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base_id = world.new_base(threshold=5)
    lock_base = memory_bases.lock_base

    def deleted_meanwhile(db: OrmSession, base_id: UUID) -> MemoryBase | None:
        base = lock_base(db, base_id)
        assert base is not None
        base.deleting_at = base.created_at
        return base

    monkeypatch.setattr(memory_bases, "lock_base", deleted_meanwhile)
    with pytest.raises(errors.NotFound):
        manage.update_memory_base(world.services, world.user_id, base_id, {"threshold": 7})


def test_a_taken_name_is_refused_with_the_existing_id(world: World) -> None:
    base = world.new_base(name="taken", kb_name="kb")
    for changes, field in (({"name": "taken"}, "name"), ({"kb_name": "kb"}, "kb_name")):
        with pytest.raises(errors.NameTaken) as caught:
            world.new_base(**changes)
        assert caught.value.field == field
    other = world.new_base(name="free")
    with pytest.raises(errors.NameTaken) as caught:
        manage.update_memory_base(world.services, world.user_id, other, {"name": "taken"})
    assert caught.value.details["existing_id"] == str(base)
    assert len(world.vectors.names()) == 2


@pytest.mark.both_databases
def test_two_puts_at_once_create_one_memory_base(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    both, create = threading.Barrier(2, timeout=30), manage.create_collection

    def together(*args: Any, **options: Any) -> Any:
        ref = create(*args, **options)
        both.wait()
        return ref

    monkeypatch.setattr(manage, "create_collection", together)
    new = manage.NewMemoryBase(name="notes", flow_id=world.flow_id)
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(manage.put_memory_base, world.services, world.user_id, new) for _ in range(2)]
        results = [call.result() for call in calls]
    assert len({put.id for put in results}) == 1
    assert sorted(put.created for put in results) == [False, True]
    assert len(world.vectors.names()) == 1


def test_knowledge_base_metadata_marks_a_memory_base(world: World) -> None:
    world.new_base(name="notes")
    (folder,) = world.services.settings.knowledge_dir.glob("*")
    written = json.loads((folder / registry.METADATA_FILE).read_text())
    assert written["is_memory_base"] is True


def test_a_name_with_path_segments_is_refused(world: World, subtests: pytest.Subtests) -> None:
    base = world.new_base(name="a name", kb_name="another")
    for name in (".", ".."):
        makers: dict[str, Callable[[], object]] = {
            "name": partial(world.new_base, name=name, kb_name="fine"),
            "kb_name": partial(world.new_base, name="fine", kb_name=name),
        }
        for field, make in makers.items():
            with subtests.test(f"{field} {name}"):
                with pytest.raises(errors.InvalidRequest) as refused:
                    make()
                assert (refused.value.field, refused.value.value) == (field, name)
        with subtests.test(f"change to {name}"):
            with pytest.raises(errors.InvalidRequest) as refused:
                manage.update_memory_base(world.services, world.user_id, base, {"name": name})
            assert refused.value.field == "name"
            with pytest.raises(errors.InvalidRequest):
                knowledge.create(world.services, world.user_id, name=name)
    assert len(world.vectors.names()) == 1


def test_no_name_becomes_a_path(world: World) -> None:
    folder = world.services.settings.knowledge_dir
    names = ["../outside", "/tmp/absolute", "a/b", "..\\outside", "./.", "../../memorybase.db"]
    world.services.database.ping()  # SQLite makes its own files beside the database
    around = {path for path in folder.parent.rglob("*") if folder not in {path, *path.parents}}
    for name in names:
        base = world.new_base(name=name, kb_name=f"{name} of a base")
        manage.update_memory_base(world.services, world.user_id, base, {"name": f"{name} renamed"})
        knowledge.create(world.services, world.user_id, name=name)
    entries = {str(entry.id) for entry in world.scalars(sa.select(KnowledgeBase))}
    assert {path.name for path in folder.iterdir()} == entries
    assert len(entries) == 2 * len(names)
    assert {path for path in folder.parent.rglob("*") if folder not in {path, *path.parents}} == around


def test_a_base_cannot_be_created_while_the_store_is_unavailable(world: World) -> None:
    world.vectors.away = True
    with pytest.raises(errors.VectorStoreUnavailable):
        world.new_base(name="later")
    world.vectors.away = False
    world.new_base(name="later")


@each_row(("changes", "field"), [({"threshold": 0}, "threshold"), ({"idle_after": -1}, "idle_after")])
def test_errors_name_the_bounds(world: World, changes: dict[str, int], field: str) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        world.new_base(**changes)
    assert (caught.value.field, caught.value.value) == (field, next(iter(changes.values())))
    assert caught.value.limit is not None


def test_a_base_for_an_unknown_flow_leaves_no_collection(world: World) -> None:
    with pytest.raises(errors.NotFound):
        world.new_base(flow_id=uuid4())
    assert world.vectors.names() == []


def test_a_model_that_is_not_allowed_is_refused_before_loading(world: World) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        world.new_base(embedding_model="/etc")
    assert (caught.value.field, caught.value.limit) == ("embedding_model", ["fake", "other"])
    base = world.new_base()
    with pytest.raises(errors.InvalidRequest):
        regenerate(world, base, embedding_model="somebody/else")


class TestHistory:
    """What was captured before a memory base was created."""

    @pytest.mark.parametrize("threshold", [5, 1_000])
    def test_start_all_ingests_sessions_that_have_gone_quiet(self, world: World, threshold: int) -> None:
        world.say("s", *texts(18))
        world.say("short", *texts(2))
        world.say("questions", {"role": "user", "content": "only asked"})
        world.pass_time(3_600)
        base = world.new_base(threshold=threshold, idle_after=3, capture="outputs", start="all")
        assert {job.session_id for job in world.active_jobs(base)} == {"s", "short"}
        world.settle()
        world.assert_exact(base)
        assert sum(row.total_processed for row in world.rows(base)) == 20

    def test_start_all_ingests_without_auto_capture(self, world: World) -> None:
        world.say("s", *texts(3))
        base = world.new_base(auto_capture=False, start="all")
        world.assert_settled(base)
        world.say("s", "later")
        world.settle()
        assert world.row(base, "s").total_processed == 3

    def test_start_all_schedules_any_number_of_sessions(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.ingestion.scheduler.SESSIONS_SCHEDULED_AT_ONCE", 2)
        for number in range(5):
            world.say(f"s{number}", *texts(2))
        base = world.new_base(start="all")
        assert len(world.active_jobs(base)) == 2
        world.assert_settled(base)
        assert sum(row.total_processed for row in world.rows(base)) == 10

    def test_start_all_leaves_deleted_sessions_and_other_flows_out(self, world: World) -> None:
        world.say("gone", *texts(2))
        world.say("elsewhere", *texts(2), flow_id=world.new_flow())
        world.say("s", *texts(2))
        edits.delete_session(world.services, world.user_id, world.flow_id, "gone")
        base = world.new_base(start="all")
        assert {row.session_id for row in world.rows(base)} == {"s"}
        world.settle()
        assert sum(row.total_processed for row in world.rows(base)) == 2

    def test_the_idle_rule_takes_a_capture_that_ran_beside_the_creation(self, world: World) -> None:
        world.say("s", *texts(18))
        base = world.new_base(threshold=50, idle_after=3, start="all")
        with a_capture_that_read_the_bases_before_the_creation():
            world.say("s", *texts(2, start=18))
        world.settle()
        assert world.row(base, "s").total_processed == 18
        world.pass_time(10)
        assert world.sweep().done["idle"] == 1
        world.assert_settled(base)

    def test_start_beginning_leaves_history_to_the_next_trigger(self, world: World) -> None:
        world.say("s", *texts(18))
        base = world.new_base(threshold=5, idle_after=3)
        world.pass_time(3_600)
        world.settle()
        assert world.rows(base) == []
        world.say("s", *texts(1, start=18))
        world.assert_settled(base)

    @pytest.mark.parametrize("sessions", [0, 3])
    def test_start_now_skips_every_session(self, world: World, sessions: int) -> None:
        for number in range(sessions):
            world.say(f"s{number}", *texts(2))
        base = world.new_base(threshold=1, start="now")
        assert {row.session_id: row.cursor_seq for row in world.rows(base)} == {f"s{n}": 2 for n in range(sessions)}
        world.say("s0", "new")
        world.settle()
        assert sum(row.total_processed for row in world.rows(base)) == 1


@contextlib.contextmanager
def a_capture_that_read_the_bases_before_the_creation() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memorybase.core.queries.memory_bases.share_bases_of_flow", lambda *_: [])
        yield
