"""Nothing that a legal hold keeps is deleted, by nobody."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.days import Calendar
from harness.expiring import S, chat, execute, keep, key_of, receipts_of, sweep_all, use
from harness.rows import each_row
from harness.world import World

import memorybase.core.deletions
from memorybase.core import errors
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.memory_use.given import Given, GivenSource, record_given
from memorybase.core.conversation.memory_use.record import run_memory
from memorybase.core.database.paging import PageRequest
from memorybase.core.ids import CallerId
from memorybase.core.models import ChatRecord, MemoryUse, NodeExecution, PlannedDeletion, RestorableMessage
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits, planned_deletion, restoring
from memorybase.core.sessions.bulk import Chosen
from memorybase.features.retention import holds, passes
from memorybase.features.retention.holds import HoldView
from memorybase.features.splox import memories, message_log

ANNA = "anna"
SCOPES: dict[str, Callable[[World], dict[str, Any]]] = {
    "flow": lambda world: {"flow_id": world.flow_id},
    "session": lambda world: {"flow_id": world.flow_id, "session_id": S},
    "end user": lambda _: {"end_user_id": ANNA},
}


def hold(world: World, scope: str) -> HoldView:
    return holds.place_hold(world.services, world.user_id, **SCOPES[scope](world))


def count(world: World, table: type[Any]) -> int:
    with world.services.database.reading() as db:
        return db.scalar(sa.select(sa.func.count()).select_from(table)) or 0


@pytest.fixture(params=SCOPES)
def scope(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


class TestRetention:
    def test_what_is_held_stays_until_the_hold_is_lifted(self, world: World, days: Calendar, scope: str) -> None:
        run = world.say(S, "one", "two", end_user_id=ANNA)
        execute(world, S, run.run_id, "one")
        use(world, S, run.run_id, run.messages[0].id, "one")
        edits.delete_message(world.services, world.user_id, run.messages[1].id)
        world.say("free", "free")
        placed = hold(world, scope)
        keep(world, 10)
        edits.update_session(world.services, world.user_id, world.flow_id, S, expiry=edits.NewExpiry(in_days=5))
        days.pass_days(40)  # also beyond the days in which the second message can be restored
        sweep_all(world)
        assert [m.content for m in world.messages(S)] == ["one"]
        assert len(world.messages("free")) == (scope == "flow")
        assert (count(world, NodeExecution), count(world, MemoryUse), count(world, RestorableMessage)) == (1, 1, 1)
        holds.lift_hold(world.services, world.user_id, placed.id)
        sweep_all(world)
        assert world.messages() == []
        assert (count(world, NodeExecution), count(world, MemoryUse), count(world, RestorableMessage)) == (0, 0, 0)

    @pytest.mark.parametrize("scope", ["flow", "end user"], indirect=True)
    def test_held_chats_stay(self, world: World, days: Calendar, scope: str) -> None:
        chat(world, "held", "held", end_user_id=ANNA)
        chat(world, "free", "free", end_user_id="bert")
        use(world, None, uuid4(), uuid4(), "of a chat")
        placed = hold(world, scope)
        keep(world, 10)
        days.pass_days(11)
        sweep_all(world)
        assert count(world, ChatRecord) == (2 if scope == "flow" else 1)
        assert count(world, MemoryUse) == 1
        holds.lift_hold(world.services, world.user_id, placed.id)
        sweep_all(world)
        assert (count(world, ChatRecord), count(world, MemoryUse)) == (0, 0)

    def test_a_hold_of_another_user_keeps_nothing(self, world: World, days: Calendar) -> None:
        world.say(S, "one", end_user_id=ANNA)
        holds.place_hold(world.services, world.new_user(), end_user_id=ANNA)
        keep(world, 10)
        days.pass_days(11)
        sweep_all(world)
        assert world.messages() == []

    def test_a_hold_that_comes_between_finding_and_deleting_counts(self, world: World, days: Calendar) -> None:
        world.say(S, "one", end_user_id=ANNA)
        keep(world, 10)
        days.pass_days(11)
        hold(world, "session")
        assert passes.expire_session(world.services, world.flow_id, S) == passes.NOTHING
        assert len(world.messages(S)) == 1
        assert receipts_of(world) == []


def deletions(world: World, message: UUID, execution: UUID, gone: UUID) -> dict[str, Callable[[], object]]:
    services, user, flow = world.services, world.user_id, world.flow_id
    return {
        "message": lambda: edits.delete_message(services, user, message),
        "copy of a deleted message": lambda: restoring.purge_message(services, user, gone),
        "node execution": lambda: node_executions.delete_execution(services, user, execution),
        "session": lambda: edits.delete_session(services, user, flow, S),
        "session on the page": lambda: planned_deletion.plan_sessions(services, user, [Chosen(flow, S)]),
        "flow": lambda: session_deletion.delete_flow(services, user, flow),
        "end user": lambda: edits.erase_end_user(services, user, ANNA),
    }


class TestDeletions:
    def test_each_is_refused_with_the_hold_and_allowed_after_it(self, world: World, scope: str) -> None:
        run = world.say(S, "one", "two", end_user_id=ANNA)
        execution = execute(world, S, run.run_id, "one")
        message, gone = (m.id for m in run.messages)
        edits.delete_message(world.services, world.user_id, gone)
        for number in range(8):  # an erasure takes them in any order
            world.say(f"other {number}", "kept too", end_user_id=ANNA)
        placed = hold(world, scope)
        for name, delete in deletions(world, message, execution, gone).items():
            with pytest.raises(errors.Held) as refused:
                delete()
            assert refused.value.details == {"holds": [str(placed.id)]}, name
        assert sorted(m.content for m in world.messages()) == ["kept too"] * 8 + ["one"]
        assert (count(world, NodeExecution), count(world, RestorableMessage), count(world, PlannedDeletion)) == (
            1,
            1,
            0,
        )
        holds.lift_hold(world.services, world.user_id, placed.id)
        for delete in [*deletions(world, message, execution, gone).values()][:4]:
            delete()
        edits.erase_end_user(world.services, world.user_id, ANNA)
        session_deletion.delete_flow(world.services, world.user_id, world.flow_id)

    @pytest.mark.parametrize("scope", ["flow", "end user"], indirect=True)
    def test_chats_are_held(self, world: World, scope: str) -> None:
        chat(world, "held", "chat", end_user_id=ANNA)
        hold(world, scope)
        both = ("user", "assistant")
        for delete in (
            lambda: message_log.delete_messages(world.services, key_of(world), "chat", mode="all", roles=both),
            lambda: memories.delete_memory(world.services, key_of(world)),
            lambda: edits.erase_end_user(world.services, world.user_id, ANNA),
            lambda: session_deletion.delete_flow(world.services, world.user_id, world.flow_id),
        ):
            with pytest.raises(errors.Held):
                delete()
        assert count(world, ChatRecord) == 1

    def test_what_is_not_held_can_be_deleted(self, world: World) -> None:
        hold_on = world.say(S, "held", end_user_id=ANNA)
        free = world.say("free", "free", end_user_id="bert")
        hold(world, "session")
        hold(world, "end user")
        edits.delete_message(world.services, world.user_id, free.messages[0].id)
        edits.erase_end_user(world.services, world.user_id, "bert")
        assert [m.id for m in world.messages()] == [hold_on.messages[0].id]

    def test_a_deletion_that_was_planned_before_the_hold_is_dropped(self, world: World, days: Calendar) -> None:
        world.say(S, "one")
        planned_deletion.plan_sessions(world.services, world.user_id, [Chosen(world.flow_id, S)])
        hold(world, "session")
        days.pass_days(1)
        world.sweep()
        assert len(world.messages(S)) == 1
        assert count(world, PlannedDeletion) == 0

    def test_edits_and_captures_go_on_and_the_former_text_stays(self, world: World) -> None:
        run = world.say(S, "one", end_user_id=ANNA)
        hold(world, "session")
        edits.edit_message(world.services, world.user_id, run.messages[0].id, {"content": "changed"})
        world.say(S, "two", end_user_id=ANNA)
        assert [m.content for m in world.messages(S)] == ["changed", "two"]

    def test_a_recorded_use_is_replaced_by_no_other(self, world: World, scope: str) -> None:
        run = world.say(S, "one", end_user_id=ANNA)

        def give(text: str) -> None:
            run_id = CallerId.of(world.user_id, "run", run.run_id)
            sources, messages = [GivenSource(kind="history")], [{"role": "user", "content": text}]
            given = Given(session_id=S, end_user_id=ANNA, query=None, messages=messages, sources=sources)
            record_given(world.services, world.user_id, world.flow_id, run_id, "llm", given)

        def recorded() -> list[str]:
            shown = run_memory(world.services, world.user_id, world.flow_id, run.run_id)
            return [message["content"] for node in shown.nodes for message in node.messages]

        give("first")
        placed = hold(world, scope)
        give("first")  # a client that got no answer repeats its call
        with pytest.raises(errors.Held) as refused:
            give("second")
        assert refused.value.details == {"holds": [str(placed.id)]}
        use(world, S, run.run_id, run.messages[0].id, "a context is built again")
        assert recorded() == ["first"]
        holds.lift_hold(world.services, world.user_id, placed.id)
        give("second")
        assert recorded() == ["second"]

    def test_a_renamed_session_stays_held(self, world: World) -> None:
        world.say(S, "one")
        hold(world, "session")
        edits.update_session(world.services, world.user_id, world.flow_id, S, new_session_id="t")
        with pytest.raises(errors.Held):
            edits.delete_session(world.services, world.user_id, world.flow_id, "t")
        (listed,) = holds.list_holds(world.services, world.user_id, PageRequest()).items
        assert listed.session_id == "t"


@pytest.mark.both_databases
def test_a_hold_waits_for_a_deletion_that_did_not_see_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.say(S, "one")
    checked, go_on = Event(), Event()
    check = memorybase.core.deletions.check

    def slowly(*args: Any) -> None:
        check(*args)
        checked.set()
        assert go_on.wait(30)

    monkeypatch.setattr(memorybase.core.deletions, "check", slowly)
    with ThreadPoolExecutor(2) as pool:
        deleting = pool.submit(edits.delete_session, world.services, world.user_id, world.flow_id, S)
        assert checked.wait(30)
        holding = pool.submit(hold, world, "session")
        go_on.set()
        assert deleting.result(30).sessions == 1
        with pytest.raises(errors.NotFound):
            holding.result(30)


@each_row(
    ("sent", "field"),
    [
        ({}, "flow_id"),
        ({"end_user_id": "a", "flow_id": "own"}, "flow_id"),
        ({"end_user_id": "a", "session_id": S}, "session_id"),
    ],
)
def test_a_hold_is_on_one_thing(world: World, sent: dict[str, Any], field: str) -> None:
    given = {name: world.flow_id if value == "own" else value for name, value in sent.items()}
    with pytest.raises(errors.InvalidRequest) as refused:
        holds.place_hold(world.services, world.user_id, **given)
    assert refused.value.field == field
