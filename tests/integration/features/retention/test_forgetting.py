"""A knowledge base forgets what is older than its memory base's rule, and the conversation stays."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.days import Calendar
from harness.rows import each_row
from harness.world import WorkerKilled, World, crash_after

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import consistency, manage, regenerate
from memorybase.core.models import MemoryBase
from memorybase.core.services import Services
from memorybase.core.sessions import edits, restoring
from memorybase.features.retention import budget, forgetting, receipts

S = "s"


def forget(world: World) -> None:
    """Look at every rule until nothing is left to forget, then repair the stores."""
    with world.services.database.transaction() as db:
        rule = sa.update(MemoryBase).where(MemoryBase.retain_days.is_not(None))
        db.execute(rule.values(forget_due_at=clock.now(db)))
    assert world.sweep().failed_steps == []
    world.settle()


def held(world: World, base: UUID) -> set[str]:
    """The texts of the messages that the knowledge base holds."""
    contents = {message.id: message.content for message in world.messages()}
    return {contents[entry.message_id] for entry in world.ledger(base)}


def test_old_messages_are_forgotten_and_stay_in_the_conversation(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    everything = world.new_base(threshold=1)
    world.say(S, "old", "older")
    world.say("other", "old too")
    world.settle()
    days.pass_days(11)
    world.say(S, "new")
    world.settle()
    forget(world)
    assert held(world, base) == {"new"}
    assert held(world, everything) == {"old", "older", "old too", "new"}
    assert len(world.messages()) == 4
    world.assert_all_ingested(base)
    world.assert_all_ingested(everything)
    assert not consistency.check_mismatch(world.services, world.user_id, base).mismatch
    (receipt,) = receipts.list_passes(world.services, world.user_id, PageRequest()).items
    assert (receipt.rule, receipt.memory_base_id, receipt.messages, receipt.chunks) == ("memory_base", base, 3, 3)
    assert receipt.finished_at is not None


def test_nothing_is_forgotten_before_its_time(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.say(S, "old")
    world.settle()
    days.pass_days(9)
    forget(world)
    assert held(world, base) == {"old"}


def test_pending_messages_that_are_as_old_are_passed_over(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=100, idle_after=0, retain_days=10)
    world.say(S, "old")
    world.say("all old", "old")
    days.pass_days(11)
    world.say(S, "new")
    forget(world)
    world.flush(base)
    world.settle()
    assert held(world, base) == {"new"}
    world.assert_all_ingested(base)


@pytest.mark.parametrize("start", ["beginning", "all"])
def test_a_new_memory_base_does_not_ingest_what_it_would_forget(world: World, days: Calendar, start: Any) -> None:
    world.say(S, "old")
    world.say("all old", "old")
    days.pass_days(11)
    world.say(S, "new")
    base = world.new_base(threshold=1, retain_days=10, start=start)
    world.sweep()
    with suppress(errors.IngestionActive):
        world.flush(base)
    world.settle()
    assert held(world, base) == {"new"}
    assert [job.total for job in world.jobs(base) if job.kind == "ingest"] == [1]
    world.assert_all_ingested(base)


def test_a_job_that_is_about_to_ingest_them_is_cancelled(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.say(S, "old")
    (job,) = world.active_jobs(base)
    days.pass_days(11)
    world.say(S, "new")
    forgetting.forget_session(world.services, world.flow_id, base, S)
    assert [each.state for each in world.jobs(base) if each.id == job.id] == ["cancelled"]
    world.settle()
    assert held(world, base) == {"new"}
    world.assert_all_ingested(base)


def test_a_worker_that_is_writing_them_leaves_nothing(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.say(S, "old")
    days.pass_days(11)
    done: list[int] = []

    def meanwhile(*_: object) -> None:
        if not done:
            done.append(1)
            forgetting.forget_session(world.services, world.flow_id, base, S)

    world.vectors.before_upsert = meanwhile
    world.drain()
    world.vectors.before_upsert = None
    assert done
    world.pass_time(world.services.settings.lease_seconds + 1)
    world.settle()
    assert world.stored(base) == set()
    world.assert_exact(base)
    world.say(S, "new")
    world.settle()
    assert held(world, base) == {"new"}


def test_a_worker_that_was_killed_after_it_wrote_them_leaves_nothing(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.say(S, "old")
    world.vectors.after_upsert = crash_after()
    with pytest.raises(WorkerKilled):
        world.drain()
    world.vectors.after_upsert = None
    days.pass_days(11)
    forget(world)
    for _ in range(3):
        world.locks.expire(base, S)
        world.pass_time(world.services.settings.lease_seconds + 1)
        world.settle()
    assert world.stored(base) == set()
    world.assert_exact(base)


def test_a_new_generation_forgets_too(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.say(S, "old")
    world.settle()
    days.pass_days(9)
    world.say(S, "new")
    world.settle()
    regenerate.regenerate(world.services, world.user_id, base)
    days.pass_days(2)
    forget(world)
    world.settle()
    assert world.base(base).building is None
    assert held(world, base) == {"new"}
    world.assert_all_ingested(base)
    regenerate.regenerate(world.services, world.user_id, base)
    world.settle()
    assert {e.message_id for e in world.ledger(base) if e.generation == world.base(base).serving} == {
        m.id for m in world.messages(S) if m.content == "new"
    }


def test_a_restored_message_that_is_as_old_stays_forgotten(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    message = world.say(S, "one", "two").messages[-1].id
    world.settle()
    edits.delete_message(world.services, world.user_id, message)
    days.pass_days(11)
    forget(world)
    restoring.restore_message(world.services, world.user_id, message)
    world.settle()
    assert len(world.messages(S)) == 2
    assert held(world, base) == set()
    world.assert_all_ingested(base)


def test_dead_letters_of_forgotten_messages_go(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.embedder.reject("poison")
    world.say(S, "poison")
    world.settle()
    assert len(world.dead_letters(base)) == 1
    days.pass_days(11)
    forget(world)
    assert world.dead_letters(base) == []


def test_a_shorter_rule_holds_from_the_next_pass_and_a_longer_one_brings_nothing_back(
    world: World, days: Calendar
) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    world.say(S, "old")
    days.pass_days(5)
    world.say(S, "new")
    world.settle()
    forget(world)
    assert held(world, base) == {"old", "new"}
    manage.update_memory_base(world.services, world.user_id, base, {"retain_days": 3})
    world.sweep()
    world.settle()
    assert held(world, base) == {"new"}
    manage.update_memory_base(world.services, world.user_id, base, {"retain_days": None})
    world.sweep()
    world.settle()
    assert held(world, base) == {"new"}
    world.assert_all_ingested(base)


def test_many_messages_take_several_passes(world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "PAGE", 2)
    monkeypatch.setattr("memorybase.core.messages.MAX_MESSAGES", 1)
    base = world.new_base(threshold=1, retain_days=10)
    for number in range(7):
        world.say(f"s{number}", f"old {number}")
    world.settle()
    days.pass_days(11)
    assert [forgetting.forget_expired(world.services) for _ in range(5)] == [3, 2, 2, 0, 0]
    world.settle()
    assert held(world, base) == set()
    (receipt,) = receipts.list_passes(world.services, world.user_id, PageRequest()).items
    assert receipt.messages == 7


def test_many_sessions_take_several_passes(world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "TRANSACTIONS", 3)
    base = world.new_base(threshold=1, retain_days=10)
    for number in range(7):
        world.say(f"s{number}", f"old {number}")
    world.settle()
    days.pass_days(11)
    assert [forgetting.forget_expired(world.services) for _ in range(4)] == [3, 3, 1, 0]
    world.settle()
    assert held(world, base) == set()
    (receipt,) = receipts.list_passes(world.services, world.user_id, PageRequest()).items
    assert (receipt.messages, receipt.finished_at is not None) == (7, True)


def test_a_session_that_fails_is_tried_again(world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1, retain_days=10)
    for number in range(3):
        world.say(f"s{number}", f"old {number}")
    world.settle()
    days.pass_days(11)
    forget_session, failing = forgetting.forget_session, ["s1"]

    def forget_or_fail(services: Services, flow_id: UUID, base_id: UUID, session_id: str) -> budget.Deleted:
        if session_id in failing:
            failing.remove(session_id)
            raise errors.DatabaseUnavailable
        return forget_session(services, flow_id, base_id, session_id)

    monkeypatch.setattr(forgetting, "forget_session", forget_or_fail)
    assert [forgetting.forget_expired(world.services) for _ in range(3)] == [1, 2, 0]
    world.settle()
    assert held(world, base) == set()


@each_row("days_", [0, -1, 36_501])
def test_a_rule_must_be_in_bounds(world: World, days_: int) -> None:
    base = world.new_base()
    with pytest.raises(errors.InvalidRequest):
        manage.update_memory_base(world.services, world.user_id, base, {"retain_days": days_})
    with pytest.raises(errors.InvalidRequest):
        world.new_base(retain_days=days_)
