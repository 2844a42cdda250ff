"""A deleted message leaves no gap in a thread: what followed it follows what it followed."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from harness.captured import captured_view
from harness.random_threads import random_log
from harness.rows import each_row
from harness.statements import recorded
from harness.world import World

from memorybase.core.conversation import UUID_NIL, Limits, View, ViewOptions
from memorybase.core.conversation.view.threads import BROKEN_LINK, CYCLE
from memorybase.core.sessions import edits, restoring

S = "s"


@pytest.fixture
def world(sqlite_world: World) -> World:
    return sqlite_world


def turn(world: World, name: str, **parent: Any) -> None:
    """A question and its answer; `parent` is the question's parent_message_id, if given."""
    world.say(
        S,
        {"role": "user", "content": f"q{name}", "id": f"q{name}", **parent},
        {"role": "assistant", "content": f"a{name}", "id": f"a{name}"},
    )


def said(world: World, content: str) -> UUID:
    return next(message.id for message in world.messages(S) if message.content == content)


def view(world: World, leaf: str | None = None) -> View:
    options = ViewOptions(
        limits=Limits(prune="message"), drop_empty=False, leaf_id=None if leaf is None else str(said(world, leaf))
    )
    return captured_view(world, options, S)


def thread(world: World, leaf: str | None = None) -> str:
    return " ".join(record.text for record in view(world, leaf).records)


def delete(world: World, *contents: str) -> None:
    for content in contents:
        edits.delete_message(world.services, world.user_id, said(world, content))


def linked(world: World, parents: str, *, count: int = 4) -> None:
    """Turns 1 to `count`, each naming the answer or the question of the one before it."""
    turn(world, "1", parent_message_id=None)
    for number in range(2, count + 1):
        turn(world, str(number), parent_message_id=f"{parents}{number - 1}")


@pytest.mark.slow
@pytest.mark.both_databases
@each_row("parents", ["a", "q"])
@each_row("deleted", [("a2",), ("q2",), ("q2", "a2"), ("a2", "q2"), ("q1", "a1"), ("a1", "a3", "q3")])
def test_deleting_messages_does_not_cut_the_thread(world: World, parents: str, deleted: tuple[str, ...]) -> None:
    world = world.for_new_user()
    linked(world, parents)

    delete(world, *deleted)

    left = [f"{kind}{number}" for number in range(1, 5) for kind in "qa" if f"{kind}{number}" not in deleted]
    assert thread(world) == " ".join(left)
    assert view(world).report.flags == ()


def test_deleting_every_other_message_at_once_keeps_the_rest_on_the_thread(world: World) -> None:
    linked(world, "a", count=20)
    ids = [message.id for message in world.messages(S)][1:-1:2]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: edits.delete_message(world.services, world.user_id, each), ids))

    assert thread(world) == " ".join(message.content for message in world.messages(S))
    assert BROKEN_LINK not in view(world).report.flags


def test_a_deletion_brings_no_other_branch_into_the_thread(world: World) -> None:
    turn(world, "1", parent_message_id=None)
    turn(world, "2", parent_message_id="a1")
    turn(world, "3", parent_message_id="a1")
    turn(world, "4", parent_message_id=UUID_NIL)

    delete(world, "a3", "q3")

    assert thread(world) == "q1 a1 q4 a4"
    assert thread(world, "a2") == "q1 a1 q2 a2"


def test_a_thread_whose_first_message_is_deleted_stays_apart_from_others(world: World) -> None:
    turn(world, "1", parent_message_id=None)
    turn(world, "2", parent_message_id=None)
    turn(world, "3", parent_message_id="a2")

    delete(world, "q2")
    assert thread(world) == "a2 q3 a3"
    delete(world, "a2")
    assert thread(world) == "q3 a3"


def test_a_thread_whose_first_message_is_deleted_before_parents_are_named_stays_apart(world: World) -> None:
    turn(world, "1", parent_message_id=None)
    turn(world, "2", parent_message_id=None)
    delete(world, "q2")

    turn(world, "3", parent_message_id="a2")

    assert thread(world) == "a2 q3 a3"


def test_threads_stay_apart_when_the_only_named_parent_is_deleted(world: World) -> None:
    turn(world, "1", parent_message_id=None)
    turn(world, "2", parent_message_id=None)
    turn(world, "3", parent_message_id="a1")

    delete(world, "q3", "a3")

    assert thread(world) == "q2 a2"


def test_a_run_captured_in_parts_before_the_first_named_parent_cuts_no_thread(world: World) -> None:
    turn(world, "1")
    first = world.say(S, {"role": "user", "content": "q2"})
    turn(world, "3")
    world.say(S, {"role": "assistant", "content": "a2", "id": "a2"}, run_id=first.run_id)
    turn(world, "4")
    turn(world, "5", parent_message_id="a4")

    delete(world, "q2")

    assert thread(world).startswith("q1 a1 ")
    assert thread(world).endswith(" a2 q4 a4 q5 a5")


def test_runs_after_the_first_named_parent_still_begin_threads_after_its_deletion(world: World) -> None:
    turn(world, "1")
    turn(world, "2", parent_message_id="a1")
    turn(world, "3")
    turn(world, "4", parent_message_id="a3")

    delete(world, "q2", "a2")

    assert thread(world) == "q3 a3 q4 a4"


@pytest.mark.parametrize("parents", ["a", "q"])
def test_a_message_that_names_a_deleted_one_later_follows_what_is_left(world: World, parents: str) -> None:
    linked(world, parents)
    delete(world, "a4", "q4", "a3")

    turn(world, "5", parent_message_id=f"{parents}4")

    assert thread(world) == "q1 a1 q2 a2 q3 q5 a5"
    assert view(world).report.flags == ()
    delete(world, "q1", "a1", "q2", "a2", "q3", "q5", "a5")
    turn(world, "6", parent_message_id="a5")
    assert (thread(world), view(world).report.flags) == ("q6 a6", ())


def test_a_question_that_names_a_deleted_one_later_follows_its_answer(world: World) -> None:
    linked(world, "q", count=2)
    delete(world, "q2")

    turn(world, "3", parent_message_id="q2")

    assert thread(world) == "q1 a1 a2 q3 a3"


@pytest.mark.slow
@each_row("seed", range(24))
def test_deletions_in_random_sessions_take_nothing_else_from_any_thread(world: World, seed: int) -> None:
    world, chance = world.for_new_user(), random.Random(seed)
    random_log(world, chance, linked=0.5)
    names = {message.id: message.seq for message in world.messages(S)}
    for _ in range(6):
        messages = world.messages(S)
        if len(messages) < 3:
            break
        gone = chance.choice(messages)
        leaves = [message for message in messages if message.id != gone.id]
        before = {leaf.id: walked(world, leaf.id, names) for leaf in leaves}

        edits.delete_message(world.services, world.user_id, gone.id)

        for leaf in leaves:
            ids, flags = walked(world, leaf.id, names)
            expected, flags_before = before[leaf.id]
            if CYCLE not in flags_before:
                assert ids == [each for each in expected if each != gone.seq], (seed, gone.seq, leaf.seq)
                assert flags == flags_before


def restore(world: World, message_id: UUID) -> None:
    restoring.restore_message(world.services, world.user_id, message_id)


def test_deleted_messages_are_read_together_however_many_followed_the_restored_one(world: World) -> None:
    def reads(children: int) -> int:
        session = f"s{children}"
        names = [f"{session}-{number}" for number in range(children)]
        raw = [{"role": "user", "content": session, "id": session}]
        raw += [{"role": "user", "content": name, "id": name, "parent_message_id": session} for name in names]
        world.say(session, *raw)
        ids = {message.content: message.id for message in world.messages(session)}
        for name in (session, *names):
            edits.delete_message(world.services, world.user_id, ids[name])
        with recorded(world.services.database.engine, "SELECT") as sent:
            restore(world, ids[session])
        return sum("FROM restorable_messages" in statement for statement, _ in sent)

    assert reads(20) == reads(3)


@pytest.mark.both_databases
@each_row("parents", ["a", "q"])
@each_row("gone", [("a2",), ("q2",), ("q2", "a2"), ("a2", "q2"), ("q1", "a1"), ("a2", "q3", "a3")])
@each_row("backwards", [False, True])
def test_a_restored_message_takes_its_place_in_the_thread(
    world: World, parents: str, gone: tuple[str, ...], backwards: bool
) -> None:
    world = world.for_new_user()
    linked(world, parents)
    before = thread(world)
    ids = [said(world, content) for content in gone]
    delete(world, *gone)
    for message_id in reversed(ids) if backwards else ids:
        restore(world, message_id)
    assert thread(world) == before
    assert view(world).report.flags == ()


def test_what_was_captured_after_a_deletion_keeps_its_place(world: World) -> None:
    linked(world, "a", count=2)
    gone = said(world, "a2")
    delete(world, "a2")
    turn(world, "3", parent_message_id="a2")
    assert thread(world) == "q1 a1 q2 q3 a3"
    restore(world, gone)
    assert thread(world, "a3") == "q1 a1 q2 q3 a3"
    assert thread(world, "a2") == "q1 a1 q2 a2"


# The first two need what was changed twice by deletions: parents of deleted messages, and rules beside parents.
@pytest.mark.slow
@each_row("seed", [177, 372, *range(60)])
def test_restoring_in_any_order_leads_every_thread_as_before(world: World, seed: int) -> None:
    world, chance = world.for_new_user(), random.Random(seed)
    random_log(world, chance, linked=0.5)
    names = {message.id: message.seq for message in world.messages(S)}
    before = {each: walked(world, each, names) for each in names}
    in_order = sorted(names, key=names.__getitem__)  # by id they would be others in each run
    gone = chance.sample(in_order, min(len(names) - 1, chance.randint(1, 6)))
    for message_id in gone:
        edits.delete_message(world.services, world.user_id, message_id)
    chance.shuffle(gone)

    for message_id in gone:
        restore(world, message_id)

    for each, (ids, flags) in before.items():
        if CYCLE not in flags:
            assert walked(world, each, names) == (ids, flags), (seed, names[each], [names[other] for other in gone])


def walked(world: World, leaf_id: UUID, names: dict[UUID, int]) -> tuple[list[int], tuple[str, ...]]:
    options = ViewOptions(limits=Limits(prune="message"), leaf_id=str(leaf_id))
    found = captured_view(world, options, S)
    return [names[UUID(record.id)] for record in found.records], found.report.flags
