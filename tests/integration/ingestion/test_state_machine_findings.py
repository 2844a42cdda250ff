"""Orders of events that the state machine found, each reduced to a minimum."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from harness.world import World

from memorybase.core import errors
from memorybase.core.ingestion import repair
from memorybase.core.ingestion.job_runner import JobOutcome
from memorybase.core.sessions import edits


def rename(world: World, old: str, new: str) -> None:
    edits.update_session(world.services, world.user_id, world.flow_id, old, new_session_id=new)


def test_a_late_write_under_a_former_id_is_found_after_its_message_is_deleted(world: World) -> None:
    base = world.new_base(threshold=1)
    (captured,) = world.say("s", "the only one").messages

    def freeze_while_the_session_is_renamed(*_: object) -> None:
        world.vectors.before_upsert = None
        rename(world, "s", "t")
        edits.delete_message(world.services, world.user_id, captured.id)

    world.vectors.before_upsert = freeze_while_the_session_is_renamed
    assert world.run(world.queue.enqueued[0]) == JobOutcome.LOST
    assert len(world.stored(base)) == 1  # it came late, under the former name
    world.rest()
    assert world.stored(base) == set()
    world.assert_exact(base)


def test_a_late_write_under_the_id_before_the_last_is_found(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "the only one")

    def freeze_while_the_session_is_renamed_twice(*_: object) -> None:
        world.vectors.before_upsert = None
        rename(world, "s", "t")
        rename(world, "t", "u")

    world.vectors.before_upsert = freeze_while_the_session_is_renamed_twice
    assert world.run(world.queue.enqueued[0]) == JobOutcome.LOST
    world.rest()
    assert len(world.stored(base)) == 1
    world.assert_all_ingested(base)


def test_a_late_write_under_an_id_that_was_audited_before_is_found(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "the only one")

    def freeze_beyond_the_audit(*_: object) -> None:
        world.vectors.before_upsert = None
        rename(world, "s", "t")
        world.rest()

    world.vectors.before_upsert = freeze_beyond_the_audit
    assert world.run(world.queue.enqueued[0]) == JobOutcome.LOST
    assert len(world.stored(base)) == 2
    world.rest()
    assert len(world.stored(base)) == 1
    world.assert_all_ingested(base)


def test_a_session_that_takes_a_former_id_keeps_its_own_chunks(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "of the first")
    world.settle()
    rename(world, "s", "t")
    world.say("s", "of the second")
    world.rest()
    world.assert_all_ingested(base)
    assert len(world.stored(base)) == 2


@pytest.mark.parametrize("ends", ["lost", "failed"])
def test_a_write_after_the_audit_is_audited_too(world: World, ends: str) -> None:
    base = world.new_base(threshold=1)
    (captured,) = world.say("s", "the first wording").messages

    def freeze_for_many_leases(*_: object) -> None:
        world.vectors.before_upsert = None
        world.locks.expire(base, "s")
        world.pass_time(61)
        world.sweep()
        world.settle()
        edits.edit_message(world.services, world.user_id, captured.id, {"content": "the second wording"})
        world.rest()
        assert world.row(base, "s").audit_at is None
        if ends == "failed":
            world.vectors.fail_next(errors.VectorStoreUnavailable(), on="stored_ids")

    world.vectors.before_upsert = freeze_for_many_leases
    assert world.run(world.queue.enqueued[0]) == JobOutcome.LOST
    assert len(world.stored(base)) == 2
    world.rest()
    world.assert_all_ingested(base)


def test_a_write_after_the_removal_of_its_session_is_deleted(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "deleted for good")

    def freeze_until_the_session_is_gone(*_: object) -> None:
        world.vectors.before_upsert = None
        world.locks.expire(base, "s")
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        world.rest()
        assert world.rows(base) == []

    world.vectors.before_upsert = freeze_until_the_session_is_gone
    assert world.run(world.queue.enqueued[0]) == JobOutcome.LOST
    assert world.stored(base) == set()


def test_a_late_write_reported_during_an_audit_is_audited_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    (captured,) = world.say("s", "the first wording").messages
    message = world.queue.enqueued[0]
    thaw, audited = threading.Event(), threading.Event()
    outcomes: list[JobOutcome] = []
    stale = threading.Thread(target=lambda: outcomes.append(world.run(message)))

    def freeze(*_: object) -> None:
        if threading.current_thread() is stale:
            audited.set()
            assert thaw.wait(30)

    world.vectors.before_upsert = freeze
    stale.start()
    assert audited.wait(30)
    world.locks.expire(base, "s")
    world.pass_time(61)
    world.sweep()
    world.settle()
    edits.edit_message(world.services, world.user_id, captured.id, {"content": "the second wording"})
    world.settle()
    look = repair._audit

    def write_behind_the_look(*args: Any) -> Any:
        found = look(*args)
        thaw.set()
        stale.join(30)
        return found

    monkeypatch.setattr(repair, "_audit", write_behind_the_look)
    world.pass_time(61)
    world.settle()
    assert outcomes == [JobOutcome.LOST]
    assert len(world.stored(base)) == 2
    world.rest()
    world.assert_all_ingested(base)
