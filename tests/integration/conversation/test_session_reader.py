"""Views of captured messages: threads in the database match those of the engine, however long the log."""

from __future__ import annotations

import random
from typing import Any

import pytest
from harness.captured import captured_view
from harness.random_threads import random_log
from harness.records import Flat
from harness.rows import each_row
from harness.world import World

from memorybase.core.conversation import Limits, Record, View, ViewOptions, build_view
from memorybase.core.conversation.history import session_reader
from memorybase.core.conversation.history.session_reader import UNREAD
from memorybase.core.conversation.view.threads import inferred_parents, thread
from memorybase.core.errors import NotFound
from memorybase.core.sessions import edits


def view(world: World, session_id: str = "s", **options: Any) -> View:
    return captured_view(world, ViewOptions(**options), session_id)


def stored(world: World, session_id: str = "s") -> list[Record]:
    return [session_reader.as_record(message) for message in world.messages(session_id)]


@each_row(("seed", "linked"), [(0, 0), (1, 0.1), (2, 0.1), (3, 0.6), (4, 0.6)])
def test_a_thread_in_the_database_matches_that_of_the_records_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch, seed: int, linked: float
) -> None:
    world = world.for_new_user()
    monkeypatch.setattr(session_reader, "FIRST_PAGE", 2)
    chance = random.Random(seed)
    random_log(world, chance, linked)
    for message in chance.sample(world.messages("s"), 3):  # which relinks what followed them
        edits.delete_message(world.services, world.user_id, message.id)
    log = stored(world)
    leaves = [None, *(record.id for record in chance.sample(log, 3))]

    for leaf in leaves:
        expected = thread(log, leaf, parents=inferred_parents(log))
        found = view(world, leaf_id=leaf, limits=Limits(prune="message"))
        assert [record.id for record in found.records] == [row.id for row in expected.rows]
        assert found.report.flags == expected.flags


@each_row("max_tokens", [0, 10, 95, 250, 100_000])
def test_a_view_of_a_tail_is_the_whole_threads(world: World, monkeypatch: pytest.MonkeyPatch, max_tokens: int) -> None:
    world = world.for_new_user()
    monkeypatch.setattr(session_reader, "FIRST_PAGE", 2)
    for turn in range(12):
        call = {"id": f"t{turn}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        tools = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "result", "tool_call_id": f"t{turn}"},
        ] * (turn % 3 == 0)
        world.say("s", {"role": "user", "content": "q"}, *tools, "a")
    limits = Limits(max_tokens=max_tokens, prune="turn")
    options = {"limits": limits, "align": "strict"}

    whole = build_view(stored(world), ViewOptions(thread="inferred", **options), counter=Flat())
    found = view(world, **options)

    assert (found.messages, found.report.kept, found.report.over_budget, found.report.tokens_after) == (
        whole.messages,
        whole.report.kept,
        whole.report.over_budget,
        whole.report.tokens_after,
    )
    assert (UNREAD in found.report.flags) == (max_tokens < 100_000)


def test_an_unknown_session_is_empty_and_an_unknown_leaf_not_found(world: World) -> None:
    run = world.say("s", {"role": "user", "content": "mine"})
    world.say("a/b", "elsewhere")
    assert view(world).report.kept == (str(run.messages[0].id),)
    assert view(world, "unknown").messages == []
    with pytest.raises(NotFound) as caught:
        view(world, "a/b", leaf_id=str(run.messages[0].id))
    assert caught.value.field == "leaf_id"
