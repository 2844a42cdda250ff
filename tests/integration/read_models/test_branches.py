"""Which messages are alternatives to one another, and which are on the latest thread."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

from harness.random_threads import random_log
from harness.rows import each_row
from harness.world import World

from memorybase.core.conversation import UUID_NIL
from memorybase.core.conversation.history.session_reader import as_record
from memorybase.core.conversation.view.threads import inferred_parents, thread
from memorybase.core.database.paging import PageRequest
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import branches, sessions


def shown(world: World, session_id: str = "s") -> dict[str, tuple[int, int, bool]]:
    """siblings, position and on_latest of each message by its text."""
    wanted = MessageQuery(flow_id=world.flow_id, session_id=session_id)
    page = sessions.list_messages(world.services, world.user_id, wanted, PageRequest())
    found = branches.branches(world.services, world.user_id, world.flow_id, session_id, page.items)
    assert found.keys() == {message.id for message in page.items}
    # A part of the page gives the same branches.
    alone = branches.branches(world.services, world.user_id, world.flow_id, session_id, page.items[:1])
    assert all(found[message_id] == branch for message_id, branch in alone.items())
    return {
        str(message.content): (found[message.id].siblings, found[message.id].position, found[message.id].on_latest)
        for message in page.items
    }


def user(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def named(world: World, *messages: Any) -> list[UUID]:
    return [message.id for message in world.say("s", *messages).messages]


def test_messages_without_parents_are_one_thread(world: World) -> None:
    world.say("s", user("q1"), "a1")
    world.say("s", user("q2"), "a2")
    assert set(shown(world).values()) == {(1, 1, True)}


def test_answers_to_the_same_question_are_siblings(world: World) -> None:
    question, _ = named(world, user("q"), "a1")
    for again in ("a2", "a3"):
        world.say("s", {"role": "assistant", "content": again, "parent_message_id": str(question)})
    world.say("s", user("next", parent_message_id=str(world.messages("s")[-1].id)))
    assert shown(world) == {
        "q": (1, 1, True),
        "a1": (3, 1, False),
        "a2": (3, 2, False),
        "a3": (3, 3, True),
        "next": (1, 1, True),
    }


def test_a_question_that_names_the_question_before_is_a_sibling_of_one_that_names_its_answer(world: World) -> None:
    first, answer = named(world, user("q1"), "a1")
    world.say("s", user("q2", parent_message_id=str(first)), "a2")  # as the whole turn before
    world.say("s", user("q2 again", parent_message_id=str(answer)), "a2 again")
    assert shown(world) == {
        "q1": (1, 1, True),
        "a1": (1, 1, True),
        "q2": (2, 1, False),
        "a2": (1, 1, False),
        "q2 again": (2, 2, True),
        "a2 again": (1, 1, True),
    }


def test_a_message_without_a_parent_is_a_sibling_of_one_that_names_what_it_follows(world: World) -> None:
    named(world, user("q1"), "a1")
    world.say("s", user("q2"), "a2")
    world.say("s", user("q2 again", parent_message_id=str(world.messages("s")[1].id)), "a2 again")
    found = shown(world)
    assert (found["q2"], found["q2 again"]) == ((2, 1, False), (2, 2, True))


def test_messages_that_name_the_same_missing_parent_are_siblings(world: World) -> None:
    gone = str(uuid4())
    world.say("s", user("one", parent_message_id=gone))
    world.say("s", user("other", parent_message_id=gone))
    assert shown(world) == {"one": (2, 1, False), "other": (2, 2, True)}


def test_an_empty_page_has_no_branches(world: World) -> None:
    assert branches.branches(world.services, world.user_id, world.flow_id, "none", []) == {}


@each_row(("seed", "linked"), [(0, 0), (1, 0.1), (2, 0.3), (3, 0.6), (4, 0.6)])
def test_branches_match_those_of_the_records_in_memory(world: World, seed: int, linked: float) -> None:
    world = world.for_new_user()
    random_log(world, random.Random(seed), linked)
    log = [as_record(message) for message in world.messages("s")]
    parents = inferred_parents(log)
    for older, record in zip([None, *log], log, strict=False):
        if parents[record.id] == UUID_NIL:
            parents[record.id] = None if older is None else older.id
    latest = {record.id for record in thread(log, parents=parents).rows}

    page = sessions.list_messages(
        world.services, world.user_id, MessageQuery(flow_id=world.flow_id, session_id="s"), PageRequest(size=100)
    )
    found = branches.branches(world.services, world.user_id, world.flow_id, "s", page.items)

    siblings = Counter(parents[record.id] for record in log)
    for record in log:
        parent = parents[record.id]
        branch = found[UUID(record.id)]
        assert branch.siblings == (1 if parent is None else siblings[parent])
        assert branch.on_latest == (record.id in latest)
