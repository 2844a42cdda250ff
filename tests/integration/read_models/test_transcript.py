"""A session as a conversation: along a thread, page by page, with what is found and which memories hold it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.errors import NotFound
from memorybase.core.models import MemoryBase
from memorybase.core.read_models import transcript
from memorybase.core.read_models.transcript import Holding, Place, Transcript
from memorybase.core.sessions import edits


def user(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def read(world: World, limit: int = 200, **place: Any) -> Transcript:
    return transcript.read_transcript(world.services, world.user_id, world.flow_id, "s", Place(**place), limit=limit)


def seqs(found: Transcript) -> list[int]:
    return [message.seq for message in found.messages]


def test_groups_follow_one_another_in_both_directions(world: World) -> None:
    world.say("s", *(f"text {n}" for n in range(1, 12)))
    latest = read(world, limit=4)
    assert (seqs(latest), latest.older, latest.newer) == ([8, 9, 10, 11], True, False)
    earlier = read(world, limit=4, before=8)
    assert (seqs(earlier), earlier.older, earlier.newer) == ([4, 5, 6, 7], True, True)
    first = read(world, limit=4, before=4)
    assert (seqs(first), first.older) == ([1, 2, 3], False)
    around = read(world, limit=4, at=5)
    assert (seqs(around), around.older, around.newer) == ([3, 4, 5, 6], True, True)
    later = read(world, limit=4, after=7)
    assert (seqs(later), later.newer) == ([8, 9, 10, 11], False)
    assert seqs(read(world, limit=4, at=1)) == [1, 2]


def test_only_messages_of_a_role_are_read(world: World) -> None:
    world.say("s", user("q1"), "a1", user("q2"), "a2")
    assert seqs(read(world, role="user")) == [1, 3]
    assert seqs(read(world, role="user", limit=1, before=3)) == [1]


def test_a_branch_is_read_along_its_thread(world: World) -> None:
    question, first = (message.id for message in world.say("s", user("q"), "a1").messages)
    world.say("s", {"role": "assistant", "content": "a2", "parent_message_id": str(question)})
    world.say("s", user("after a2", parent_message_id=str(world.messages("s")[-1].id)))
    world.say("s", user("after a1", parent_message_id=str(first)), "end")

    latest = read(world)
    assert ([message.content for message in latest.messages], latest.through) == (["q", "a1", "after a1", "end"], None)
    branch = latest.branches[first]
    assert (branch.siblings, branch.position, branch.before, branch.after) == (2, 1, None, 3)
    other = read(world, through=3)
    assert ([message.content for message in other.messages], other.through) == (["q", "a2", "after a2"], 3)
    # A message of another branch is shown on its own one.
    found = read(world, at=4)
    assert ([message.content for message in found.messages], found.through) == (["q", "a2", "after a2"], 4)
    assert seqs(read(world, through=3, limit=1, before=3)) == [1]


def test_a_deleted_message_is_on_no_branch(world: World) -> None:
    question, first = (message.id for message in world.say("s", user("q"), "a1").messages)
    deleted = world.say("s", {"role": "assistant", "content": "a2", "parent_message_id": str(question)}).messages[0]
    world.say("s", user("after a1", parent_message_id=str(first)), "end", "last")

    for message_id, seq in ((world.messages("s")[-1].id, 6), (deleted.id, 3)):
        edits.delete_message(world.services, world.user_id, message_id)
        shown = read(world, at=seq)
        assert ([message.seq for message in shown.messages], shown.through) == ([1, 2, 4, 5], None)
    # The newest thread is no branch either, however it is named.
    assert read(world, through=5).through is None


def test_a_message_is_edited_while_its_content_is_not_what_was_captured(world: World) -> None:
    message = world.say("s", "berth 12").messages[0]

    def edited(**changes: Any) -> bool:
        edits.edit_message(world.services, world.user_id, message.id, changes)
        return read(world).holdings.get(message.id, Holding()).edited

    assert not edited(muted=True)
    assert edited(content="berth 13")
    assert edited(metadata={"a": 1})
    assert edited(content="berth 14")
    assert not edited(content="berth 12")


def test_single_messages_are_read_with_what_holds_them(world: World) -> None:
    world.new_base(threshold=1, capture="all")
    world.say("s", "one", "two", "three")
    world.settle()

    messages, holdings = transcript.read_messages(world.services, world.user_id, world.flow_id, "s", [3, 1, 9])

    assert [message.seq for message in messages] == [1, 3]
    assert [holdings[message.id] for message in messages] == [Holding(1, 1), Holding(1, 1)]


def test_what_is_found_is_found_whatever_its_case_and_after_an_edit(world: World) -> None:
    first = world.say("s", "Größe 12", "nothing", "GRÖSSE 13").messages[0]
    find = lambda text: transcript.find(world.services, world.user_id, world.flow_id, "s", text)  # noqa: E731
    assert find("größe") == [1, 3]
    edits.edit_message(world.services, world.user_id, first.id, {"content": "Width 12"})
    assert find("größe") == [3]
    assert find("12") == [1]
    assert find("not there") == []


def test_a_date_is_the_first_message_since(world: World) -> None:
    for day in (1, 5, 9):
        world.say("s", {"role": "assistant", "content": f"day {day}", "timestamp": f"2026-03-0{day}T12:00:00Z"})
    since = lambda day: transcript.first_since(  # noqa: E731
        world.services, world.user_id, world.flow_id, "s", datetime(2026, 3, day, tzinfo=UTC)
    )
    assert [since(day) for day in (1, 2, 5, 6, 20)] == [1, 2, 2, 3, 3]


def test_each_message_says_which_memories_hold_it(world: World) -> None:
    answers = world.new_base(threshold=1, capture="outputs")
    world.new_base(threshold=3)
    world.embedder.reject("poison")
    world.say("s", user("q"), "a")
    world.settle()

    def holdings() -> dict[int, Holding]:
        found = read(world)
        return {message.seq: found.holdings.get(message.id, Holding()) for message in found.messages}

    assert holdings() == {1: Holding(counted=1), 2: Holding(counted=2, held=1)}
    world.say("s", "poison", {"role": "tool", "content": "x", "tool_call_id": "c"})
    world.settle()
    assert holdings() == {1: Holding(1, 1), 2: Holding(2, 2), 3: Holding(counted=2, failed=2), 4: Holding()}
    world.execute(sa.update(MemoryBase).where(MemoryBase.id == answers).values(mismatch=True))
    assert holdings()[2] == Holding(2, 2, 0, 1)
    edits.edit_message(world.services, world.user_id, world.messages("s")[1].id, {"content": "new"})
    assert holdings()[2].held == 0


def test_a_session_of_another_user_is_not_found(world: World) -> None:
    world.say("s", "a")
    other: UUID = world.new_user()
    for call in (
        lambda: transcript.read_transcript(world.services, other, world.flow_id, "s", Place()),
        lambda: transcript.find(world.services, other, world.flow_id, "s", "a"),
        lambda: transcript.first_since(world.services, other, world.flow_id, "s", datetime.now(UTC)),
        lambda: transcript.holdings_of(world.services, other, world.flow_id, "s", []),
        lambda: transcript.read_messages(world.services, other, world.flow_id, "s", [1]),
    ):
        with pytest.raises(NotFound):
            call()
    assert seqs(read(world)) == [1]


def test_an_empty_session_has_no_messages(world: World) -> None:
    assert read(world) == Transcript(messages=[], older=False, newer=False, branches={}, holdings={}, through=None)
