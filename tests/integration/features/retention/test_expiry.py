"""What expires is deleted everywhere, and nothing before its time."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness import hooks
from harness.days import Calendar
from harness.expiring import S, chat, execute, keep, receipts_of, sweep_all, use
from harness.index import assert_index_exact
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation import Record
from memorybase.core.conversation.session_memory import summaries
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.conversation.session_memory.summary_job import make_summary
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.ids import CallerId
from memorybase.core.models import Base, DeletedMessage, Flow, Receipt, Session
from memorybase.core.sessions import edits, erasure, flows, restoring
from memorybase.features.lab import labels
from memorybase.features.retention import budget, passes, receipts
from memorybase.features.retention.queries import expired
from memorybase.features.webhooks.outbox import EventType

SECRET = "Xylophone-7713"


def tables_with_secret(world: World) -> set[str]:
    with world.services.database.reading() as db:
        return {
            table.name
            for table in Base.metadata.sorted_tables
            for row in db.execute(sa.select(table))
            if SECRET.lower() in repr(tuple(row)).lower()  # the row itself is shown truncated
        }


def leave_traces(world: World, session_id: str = S) -> None:
    """The secret in a message and in everything that is made of one or stored beside it."""
    run = world.say(
        session_id,
        f"the code is {SECRET}",
        f"edited {SECRET}",
        f"deleted {SECRET}",
        {"role": "user", "content": f"Always say {SECRET}.", "metadata": {"k": SECRET}},
    )
    first, edited, deleted, _ = (message.id for message in run.messages)
    edits.edit_message(world.services, world.user_id, edited, {"content": f"now {SECRET} too"})
    asked = summaries.SummaryKey(
        flow_id=world.flow_id, session_id=session_id, preset="token_buffer", summarizer="extractive"
    )
    summaries.request_summary(world.services, asked, Record(id=str(first), seq=1, role="assistant"))
    world.queue.drain_task(SUMMARIZE, lambda each: make_summary(world.services, each))
    execute(world, session_id, run.run_id, SECRET)
    use(world, session_id, run.run_id, first, SECRET)
    use(world, None, uuid4(), first, SECRET)
    chat(world, f"the chat has {SECRET}")
    right = labels.Mark(message_id=CallerId.of(world.user_id, "message", first), query=SECRET, right=True)
    labels.mark(world.services, world.user_id, None, right)
    edits.delete_message(world.services, world.user_id, deleted)


# Where text of messages is. A table that is not listed must not hold any.
WITH_TEXT = {
    "messages",
    "message_changes",
    "restorable_messages",
    "summaries",
    "node_executions",
    "memory_uses",
    "chat_records",
    "search_labels",
    "standing_statements",
}


class TestEveryKindOfData:
    def test_all_of_it_is_deleted(self, world: World, days: Calendar) -> None:
        base = world.new_base(threshold=1)
        leave_traces(world)
        world.settle()
        assert tables_with_secret(world) == WITH_TEXT
        keep(world, 10)
        days.pass_days(11)
        sweep_all(world)
        days.pass_days(2)  # the ids of deleted messages
        sweep_all(world)
        assert tables_with_secret(world) == set()
        assert world.stored(base) == set()
        with world.services.database.reading() as db:
            left = {t.name for t in Base.metadata.sorted_tables if db.execute(sa.select(t).limit(1)).first()}
        assert left == {
            "users",
            "flows",
            "memory_bases",
            "generations",
            "knowledge_bases",
            "chat_memories",
            "heartbeats",
            "retention_passes",
            "audit_chain",
        }

    def test_all_of_it_is_deleted_from_a_session_that_goes_on(self, world: World, days: Calendar) -> None:
        base = world.new_base(threshold=1)
        leave_traces(world)
        world.settle()
        keep(world, 10)
        days.pass_days(11)
        world.say(S, "still here")
        chat(world, "still here")
        sweep_all(world)
        assert tables_with_secret(world) == set()
        assert [m.content for m in world.messages(S)] == ["still here"]
        world.settle()
        world.assert_all_ingested(base)
        assert_index_exact(world)
        (receipt,) = receipts_of(world)
        assert (receipt.rule, receipt.sessions, receipt.messages, receipt.chat_messages) == ("flow", 0, 3, 1)
        assert (receipt.chunks, receipt.node_executions, receipt.memory_uses) == (3, 1, 2)
        assert (receipt.restorable_messages, receipt.runs, receipt.retain_days) == (1, 1, 10)

    def test_nothing_is_deleted_before_its_time(self, world: World, days: Calendar) -> None:
        world.new_base(threshold=1)
        leave_traces(world)
        world.settle()
        keep(world, 10)
        days.pass_days(9.9)
        sweep_all(world)
        assert tables_with_secret(world) == WITH_TEXT
        assert receipts_of(world) == []

    def test_without_a_rule_nothing_is_deleted(self, world: World, days: Calendar) -> None:
        leave_traces(world)
        keep(world, 10)
        keep(world, None)
        days.pass_days(29)
        sweep_all(world)
        assert tables_with_secret(world) == WITH_TEXT

    def test_another_flow_keeps_its_messages(self, world: World, days: Calendar) -> None:
        other = world.new_flow()
        world.capture(S, [world.message({"role": "user", "content": "other"})], flow_id=other)
        world.say(S, "mine")
        keep(world, 1)
        days.pass_days(2)
        sweep_all(world)
        assert world.messages(S) == []
        with world.services.database.reading() as db:
            left = db.scalars(sa.select(Session.flow_id).where(Session.deleted_at.is_(None))).all()
        assert left == [other]


class TestSessions:
    def expire(self, world: World, **expiry: Any) -> None:
        edits.update_session(world.services, world.user_id, world.flow_id, S, expiry=edits.NewExpiry(**expiry))

    def test_a_session_expires_at_its_own_time(self, world: World, days: Calendar) -> None:
        base = world.new_base(threshold=1)
        world.say(S, "gone")
        world.say("other", "kept")
        world.settle()
        self.expire(world, in_days=3)
        days.pass_days(2)
        sweep_all(world)
        assert len(world.messages(S)) == 1
        days.pass_days(1)
        sweep_all(world)
        assert [m.content for m in world.messages()] == ["kept"]
        world.assert_all_ingested(base)
        (receipt,) = receipts_of(world)
        assert (receipt.rule, receipt.sessions, receipt.messages, receipt.chunks) == ("session", 1, 1, 1)
        assert receipt.finished_at is not None

    def test_what_is_captured_after_the_expiry_stays_and_starts_anew(self, world: World, days: Calendar) -> None:
        world.say(S, "gone")
        self.expire(world, in_days=1)
        days.pass_days(2)
        world.say(S, "new")
        sweep_all(world)
        assert [m.content for m in world.messages(S)] == ["new"]
        days.pass_days(1_000)
        sweep_all(world)
        assert len(world.messages(S)) == 1

    def test_a_session_that_begins_again_does_not_inherit_the_expiry(self, world: World, days: Calendar) -> None:
        world.new_base(threshold=1)
        world.say(S, "gone")
        world.settle()
        self.expire(world, in_days=1)
        edits.delete_session(world.services, world.user_id, world.flow_id, S)
        world.say(S, "new")
        days.pass_days(2)
        sweep_all(world)
        assert [m.content for m in world.messages(S)] == ["new"]

    def test_an_expiry_can_be_taken_back(self, world: World, days: Calendar) -> None:
        world.say(S, "kept")
        self.expire(world, in_days=1)
        self.expire(world)
        days.pass_days(2)
        sweep_all(world)
        assert len(world.messages(S)) == 1

    def test_an_expiry_must_be_in_the_future_and_in_bounds(self, world: World) -> None:
        world.say(S, "kept")
        with world.services.database.reading() as db:
            now = clock.now(db)
        for expiry in (
            {"at": now - timedelta(seconds=1)},
            {"in_days": 0},
            {"in_days": 40_000},
            {"in_days": 1, "at": now + timedelta(days=1)},
        ):
            with pytest.raises(errors.InvalidRequest):
                self.expire(world, **expiry)


class TestPending:
    def test_a_pending_message_stays_until_its_time_and_is_never_ingested_after_it(
        self, world: World, days: Calendar
    ) -> None:
        base = world.new_base(threshold=100, idle_after=0)
        keep(world, 10)
        world.say(S, "old")
        days.pass_days(9)
        world.say(S, "new")
        sweep_all(world)
        assert len(world.messages(S)) == 2
        days.pass_days(2)
        sweep_all(world)
        world.flush(base)
        world.settle()
        assert [m.content for m in world.messages(S)] == ["new"]
        world.assert_all_ingested(base)
        assert len(world.ledger(base)) == 1

    def test_a_worker_that_read_it_before_the_pass_leaves_nothing(self, world: World, days: Calendar) -> None:
        base = world.new_base(threshold=1)
        keep(world, 10)
        world.say(S, "old")
        days.pass_days(9)
        world.say(S, "new")
        days.pass_days(2)
        swept: list[int] = []

        def meanwhile(*_: object) -> None:
            if not swept:
                swept.append(1)
                passes.expire_session(world.services, world.flow_id, S)

        world.vectors.before_upsert = meanwhile
        world.settle()
        world.vectors.before_upsert = None
        assert swept
        days.pass_days(1)
        world.settle()
        assert [m.content for m in world.messages(S)] == ["new"]
        world.assert_all_ingested(base)

    def test_what_a_runtime_posts_again_stays_deleted(self, world: World, days: Calendar) -> None:
        keep(world, 10)
        old = {"id": "m1", "role": "user", "content": "old"}
        world.say(S, old)
        days.pass_days(9)
        new = {"id": "m2", "role": "user", "content": "new"}
        world.say(S, old, new)
        days.pass_days(2)
        sweep_all(world)
        answer = world.say(S, old, new)
        assert [(m.created, m.deleted) for m in answer.messages] == [(False, True), (False, False)]
        assert [m.content for m in world.messages(S)] == ["new"]


class TestRestoring:
    def test_a_message_that_has_expired_is_not_restored(self, world: World, days: Calendar) -> None:
        (old,) = (m.id for m in world.say(S, "old").messages)
        days.pass_days(5)
        world.say(S, "new")
        edits.delete_message(world.services, world.user_id, old)
        keep(world, 10)
        days.pass_days(6)
        with pytest.raises(errors.NotFound):
            restoring.restore_message(world.services, world.user_id, old)
        sweep_all(world)
        assert restoring.list_deleted(world.services, world.user_id, PageRequest()).items == []
        assert [m.content for m in world.messages(S)] == ["new"]


class TestPasses:
    def test_a_long_session_takes_several_passes_under_one_receipt(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(passes, "MESSAGES", 3)
        base = world.new_base(threshold=1)
        world.say(S, *[f"old {n}" for n in range(8)])
        keep(world, 10)
        days.pass_days(11)
        world.say(S, "new")
        world.settle()  # also sweeps
        sweep_all(world)
        assert [m.content for m in world.messages(S)] == ["new"]
        world.assert_all_ingested(base)
        (receipt,) = receipts_of(world)
        assert (receipt.messages, receipt.chunks) == (8, 8)

    def test_many_sessions_take_several_passes_and_flows_take_turns(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(budget, "TRANSACTIONS", 2)
        other = world.new_flow()
        for number in range(5):
            world.say(f"s{number}", "old")
        world.capture("small", [world.message({"role": "user", "content": "old"})], flow_id=other)
        keep(world, 10)
        flows.update_flow(world.services, world.user_id, other, {"retain_days": 10})
        days.pass_days(11)
        passes.expire_flows(world.services)
        assert len(world.messages()) == 3
        passes.expire_flows(world.services)
        with world.services.database.reading() as db:
            small = db.scalars(sa.select(Session).where(Session.flow_id == other)).one()
        assert small.deleted_at is not None

    @pytest.mark.parametrize("later", ["of a node", "a message, while the clock was ahead"])
    def test_sessions_that_go_on_unseen_keep_no_other_waiting(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch, later: str
    ) -> None:
        monkeypatch.setattr(budget, "TRANSACTIONS", 3)
        for session_id in ("a", "b", "c", "d"):
            world.say(session_id, "old")
        world.say("last", "old")
        keep(world, 10)
        days.pass_days(9)
        for session_id in ("a", "b", "c", "d"):
            if later == "of a node":
                execute(world, session_id, uuid4(), "new")
            else:
                world.say(session_id, "new")
                first = world.messages(session_id)[0].captured_at
                row = sa.update(Session).where(Session.session_id == session_id)
                world.execute(row.values(last_captured_at=first))
        days.pass_days(2)
        sweep_all(world)
        assert [message.content for message in world.messages()] == ([] if later == "of a node" else ["new"] * 4)
        (receipt,) = receipts_of(world)
        assert receipt.finished_at is not None

    def test_a_session_that_is_too_long_for_one_transaction_goes_page_by_page(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(erasure, "PAGE", 3)
        base = world.new_base(threshold=1)
        world.say(S, *[f"old {n}" for n in range(8)])
        world.settle()
        keep(world, 10)
        days.pass_days(11)
        passes.expire_session(world.services, world.flow_id, S)
        assert 0 < len(world.messages(S)) < 8
        sweep_all(world)
        assert world.messages(S) == []
        assert world.stored(base) == set()
        (receipt,) = receipts_of(world)
        assert (receipt.sessions, receipt.messages, receipt.chunks) == (1, 8, 8)

    def test_a_session_that_fails_keeps_no_other_waiting(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("bad", "good", "fine"):
            world.say(name, "old")
        keep(world, 10)
        days.pass_days(11)
        erase = erasure.begin

        def failing(db: Any, services: Any, bases: Any, session: Session, now: Any) -> Any:
            if session.session_id == "bad":
                raise errors.DatabaseUnavailable("a statement took too long")
            return erase(db, services, bases, session, now)

        monkeypatch.setattr(erasure, "begin", failing)
        passes.expire_flows(world.services)
        assert {m.session_id for m in world.messages()} == {"bad"}
        assert receipts_of(world)[0].finished_at is None
        monkeypatch.setattr(erasure, "begin", erase)
        sweep_all(world)
        assert world.messages() == []

    def test_no_sweeper_takes_a_flow_that_another_has_taken(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.say(S, "old")
        keep(world, 10)
        days.pass_days(11)
        with world.services.database.transaction() as db:
            db.execute(sa.update(Flow).values(retention_due_at=clock.now(db) + passes.LEASE))
        assert passes.expire_flows(world.services) == 0
        with monkeypatch.context() as patch:  # it was found before the other sweeper took it
            patch.setattr(expired, "due_flows", lambda *_, **__: [world.flow_id])
            assert passes.expire_flows(world.services) == 0
        days.pass_days(1)
        assert passes.expire_flows(world.services) > 0

    def test_a_killed_pass_is_continued_and_its_receipt_is_exact(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = world.new_base(threshold=1)
        for number in range(4):
            world.say(f"s{number}", "old")
        world.settle()
        keep(world, 10)
        days.pass_days(11)
        for dies_at in (1, 2, 3):
            with monkeypatch.context() as patch:
                patch.setattr(receipts, "add", dying(dies_at % 2 + 1))
                with pytest.raises(KeyboardInterrupt):
                    passes.expire_flows(world.services)
            days.pass_days(1)  # the killed sweeper's lease
        with world.services.database.reading() as db:
            deleted = db.scalar(sa.select(sa.func.count()).select_from(Session).where(Session.deleted_at.is_not(None)))
            counted = db.scalars(sa.select(Receipt)).one().counts["sessions"]
        assert counted == deleted
        sweep_all(world)
        (receipt,) = receipts_of(world)
        assert (receipt.sessions, receipt.messages) == (4, 4)
        assert receipt.finished_at is not None
        assert world.stored(base) == set()

    def test_a_pass_is_one_event_when_it_has_finished(
        self, world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hooks.subscribe(world, EventType.RETENTION_EXPIRED)
        for number in range(3):
            world.say(f"s{number}", SECRET)
        keep(world, 10)
        days.pass_days(11)
        with monkeypatch.context() as patch:
            patch.setattr(receipts, "add", dying(2))
            with pytest.raises(KeyboardInterrupt):
                passes.expire_flows(world.services)
        assert hooks.rows(world) == []
        days.pass_days(1)  # the killed sweeper's lease
        sweep_all(world)
        (receipt,), (row,) = receipts_of(world), hooks.rows(world)
        assert json.loads(row.body)["data"] == {
            "pass_id": str(receipt.id),
            "rule": receipt.rule,
            "flow_id": str(world.flow_id),
            "memory_base_id": None,
            "retain_days": 10,
            "sessions": 3,
            "messages": 3,
            "chunks": 0,
            "memory_uses": 0,
        }

    def test_a_rule_that_is_lifted_meanwhile_deletes_nothing_more(self, world: World, days: Calendar) -> None:
        world.say(S, "old")
        keep(world, 10)
        days.pass_days(11)
        keep(world, None)
        assert passes.expire_session(world.services, world.flow_id, S) == passes.NOTHING
        assert len(world.messages(S)) == 1

    def test_a_pass_of_a_rule_that_is_gone_is_closed(self, world: World, days: Calendar) -> None:
        world.say(S, "old")
        keep(world, 10)
        days.pass_days(11)
        passes.expire_session(world.services, world.flow_id, S)
        assert receipts_of(world)[0].finished_at is None
        keep(world, None)
        world.sweep()
        assert receipts_of(world)[0].finished_at is not None

    def test_old_receipts_are_deleted(self, world: World, days: Calendar) -> None:
        world.say(S, "old")
        keep(world, 10)
        days.pass_days(11)
        sweep_all(world)
        days.pass_days(729)
        world.sweep()
        assert len(receipts_of(world)) == 1
        days.pass_days(2)
        world.sweep()
        assert receipts_of(world) == []

    def test_ids_stay_as_long_as_the_session(self, world: World, days: Calendar) -> None:
        world.say(S, "old")
        keep(world, 10)
        days.pass_days(9)
        world.say(S, "new")
        days.pass_days(2)
        sweep_all(world)
        with world.services.database.reading() as db:
            assert [row.stays_deleted for row in db.scalars(sa.select(DeletedMessage))] == [True]


@pytest.mark.both_databases
def test_a_lifted_rule_waits_for_a_deletion_that_did_not_see_it(
    world: World, days: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.say(S, "old")
    keep(world, 10)
    days.pass_days(11)
    read, go_on = Event(), Event()
    has_later = expired.has_later

    def slowly(*args: Any) -> bool:
        read.set()
        assert go_on.wait(30)
        return has_later(*args)

    monkeypatch.setattr(expired, "has_later", slowly)

    def lift() -> int:
        keep(world, None)
        return len(world.messages(S))

    with ThreadPoolExecutor(2) as pool:
        expiring = pool.submit(passes.expire_session, world.services, world.flow_id, S)
        assert read.wait(30)
        lifting = pool.submit(lift)
        with suppress(TimeoutError):  # it waits
            lifting.result(0.5)
        go_on.set()
        assert expiring.result(30).counts["messages"] == 1
        assert lifting.result(30) == len(world.messages(S)) == 0


def dying(at: int) -> Any:
    """`receipts.add`, which ends the process at this call."""
    calls = [0]
    add = receipts.add

    def called(*args: Any) -> None:
        calls[0] += 1
        if calls[0] == at:
            raise KeyboardInterrupt
        add(*args)

    return called
