"""A dry run counts what the next passes delete, and changes nothing."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from harness.days import Calendar
from harness.expiring import S, chat, execute, keep, receipts_of, sweep_all, use
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import manage
from memorybase.core.sessions import edits
from memorybase.features.retention import holds, preview
from memorybase.features.retention.preview import RetentionPreview


def shown(world: World, **given: int) -> list[RetentionPreview]:
    flow_id = world.flow_id if given else None
    return preview.preview(world.services, world.user_id, flow_id=flow_id, **given).items


def filled(world: World, days: Calendar) -> UUID:
    """Old and new messages in four sessions, of which one is held and one goes on in its nodes alone."""
    base = world.new_base(threshold=1)
    run = world.say(S, "old", "older")
    execute(world, S, run.run_id, "old")
    world.say("all old", "old")
    goes_on = world.say("goes on", "old")
    held = world.say("held", "old")
    chat(world, "old")
    use(world, S, run.run_id, run.messages[0].id, "old")
    use(world, "held", held.run_id, held.messages[0].id, "old")
    world.settle()
    days.pass_days(11)
    new = world.say(S, "new")
    use(world, S, new.run_id, new.messages[0].id, "new")
    execute(world, "goes on", goes_on.run_id, "new")
    holds.place_hold(world.services, world.user_id, flow_id=world.flow_id, session_id="held")
    return base


def test_it_counts_what_the_passes_then_delete(world: World, days: Calendar) -> None:
    filled(world, days)
    keep(world, 10)
    (counted,) = shown(world)
    before = len(world.messages())
    sweep_all(world)
    (receipt,) = receipts_of(world)
    same = ("rule", "flow_id", "retain_days", "sessions", "messages", "chunks")
    same += ("node_executions", "chat_messages", "memory_uses")
    assert {name: getattr(counted, name) for name in same} == {name: getattr(receipt, name) for name in same}
    assert (counted.sessions, counted.messages, counted.chunks, counted.held_sessions) == (1, 4, 4, 1)
    assert counted.memory_uses == 1
    assert before - len(world.messages()) == counted.messages
    assert [(each.messages, each.held_sessions) for each in shown(world)] == [(0, 1)]


def test_uses_of_no_session_count_unless_a_hold_keeps_anything_of_the_flow(world: World, days: Calendar) -> None:
    run = world.say(S, "hello")
    use(world, None, uuid4(), run.messages[0].id, "old")
    days.pass_days(11)
    assert [each.memory_uses for each in shown(world, retain_days=10)] == [1]
    assert [each.memory_uses for each in shown(world, retain_days=20)] == [0]
    holds.place_hold(world.services, world.user_id, flow_id=world.flow_id, session_id=S)
    assert [each.memory_uses for each in shown(world, retain_days=10)] == [0]


def test_a_rule_can_be_tried_before_it_is_set(world: World, days: Calendar) -> None:
    filled(world, days)
    assert shown(world) == []
    assert [(each.rule, each.messages) for each in shown(world, retain_days=10)] == [("flow", 4)]
    assert [(each.rule, each.messages) for each in shown(world, retain_days=20)] == [("flow", 0)]
    assert len(world.messages()) == 6


def test_sessions_and_memory_bases_are_counted(world: World, days: Calendar) -> None:
    run = world.say(S, "old")
    use(world, S, run.run_id, run.messages[0].id, "old")
    base = world.new_base(threshold=1, retain_days=10)
    world.flush(base)
    world.settle()
    edits.update_session(world.services, world.user_id, world.flow_id, S, expiry=edits.NewExpiry(in_days=5))
    days.pass_days(11)
    by_rule = {each.rule: each for each in shown(world)}
    assert (by_rule["session"].sessions, by_rule["session"].messages, by_rule["session"].chunks) == (1, 1, 1)
    assert (by_rule["session"].memory_uses, by_rule["memory_base"].memory_uses) == (1, 0)
    assert (by_rule["memory_base"].memory_base_id, by_rule["memory_base"].messages) == (base, 1)


def test_the_rule_of_a_memory_base_can_be_tried_before_it_is_set(world: World, days: Calendar) -> None:
    base = filled(world, days)

    def tried(retain_days: int | None = None) -> list[tuple[str, UUID | None, int | None, int, int]]:
        found = preview.preview(world.services, world.user_id, memory_base_id=base, retain_days=retain_days)
        return [(each.rule, each.memory_base_id, each.retain_days, each.messages, each.chunks) for each in found.items]

    assert tried() == []
    held_ones_too = 5  # a hold keeps messages, and not their vectors
    assert tried(10) == [("memory_base", base, 10, held_ones_too, held_ones_too)]
    assert tried(20) == [("memory_base", base, 20, 0, 0)]
    manage.update_memory_base(world.services, world.user_id, base, {"retain_days": 10})
    (counted,) = tried()
    sweep_all(world)
    receipt = next(each for each in receipts_of(world) if each.rule == "memory_base")
    assert counted[3:] == (receipt.messages, receipt.chunks)


def test_a_rule_is_tried_for_one_flow_or_one_memory_base(world: World) -> None:
    both = {"flow_id": world.flow_id, "memory_base_id": world.new_base()}
    for asked in (both, {"retain_days": 10}):
        with pytest.raises(errors.InvalidRequest):
            preview.preview(world.services, world.user_id, **asked)  # type: ignore[arg-type]
