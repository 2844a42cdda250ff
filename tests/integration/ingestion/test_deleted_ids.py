"""Message ids posted again after a deletion: deleted messages stay deleted, and new ones get new versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core import errors
from memorybase.core.ids import CallerId
from memorybase.core.models import DeletedMessage
from memorybase.core.search import search as message_search
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.core.sessions.deletion import LATE_WRITE

OLD, NEW = "the old text", "the new text"


def reply(content: str, message_id: str = "m1") -> dict[str, Any]:
    return {"id": message_id, "role": "assistant", "content": content}


def said(world: World, content: str = OLD, session_id: str = "s") -> UUID:
    """The message m1 beside another, ingested."""
    first = world.say(session_id, reply(content), "beside it").messages[0]
    world.settle()
    return first.id


def delete_message(world: World, message_id: UUID) -> None:
    edits.delete_message(world.services, world.user_id, message_id)


def delete_session(world: World, session_id: str = "s") -> None:
    edits.delete_session(world.services, world.user_id, world.flow_id, session_id)


def stored_texts(world: World, base: UUID) -> list[str]:
    return sorted(record.text for record in world.vectors.records(world.ref(base)).values())


def remembered(world: World) -> list[DeletedMessage]:
    return list(world.scalars(sa.select(DeletedMessage)))


class TestOneMessage:
    def test_a_deleted_message_is_not_restored_by_a_replay(self, world: World) -> None:
        base = world.new_base(threshold=1)
        message_id = said(world)
        delete_message(world, message_id)
        answer = world.say("s", reply(OLD), "a new turn")
        assert (answer.messages[0].id, answer.messages[0].seq) == (message_id, 1)
        assert [(m.created, m.deleted) for m in answer.messages] == [(False, True), (True, False)]
        world.rest()
        assert stored_texts(world, base) == ["a new turn", "beside it"]
        world.assert_all_ingested(base)

    @pytest.mark.parametrize("on_conflict", ["error", "keep", "update"])
    def test_a_deleted_message_is_not_restored_with_other_content(self, world: World, on_conflict: Any) -> None:
        world.new_base(threshold=1)
        delete_message(world, said(world))
        answer = world.say("s", reply(NEW), on_conflict=on_conflict)
        assert [message.deleted for message in answer.messages] == [True]
        assert len(world.messages("s")) == 1

    def test_a_deleted_message_is_not_restored_after_a_rename(self, world: World) -> None:
        delete_message(world, said(world))
        edits.update_session(world.services, world.user_id, world.flow_id, "s", new_session_id="t")
        assert [message.deleted for message in world.say("t", reply(OLD)).messages] == [True]

    def test_a_deleted_message_is_not_restored_by_a_replay_without_message_ids(self, world: World) -> None:
        run = UUID(int=7)
        first = world.say("s", "one", "two", run_id=run).messages[0]
        delete_message(world, first.id)
        answer = world.say("s", "one", "two", run_id=run)
        assert not answer.created
        assert [(m.id == first.id, m.deleted) for m in answer.messages] == [(True, True), (False, False)]

    def test_a_deleted_message_posted_to_another_session_is_new(self, world: World) -> None:
        base = world.new_base(threshold=1)
        delete_message(world, said(world))
        answer = world.say("t", reply(NEW))
        assert [(m.created, m.deleted) for m in answer.messages] == [(True, False)]
        world.rest()
        assert stored_texts(world, base) == ["beside it", NEW]
        world.assert_all_ingested(base)
        with pytest.raises(errors.MessageConflict):
            world.say("s", reply(OLD))


class TestWholeSession:
    def test_a_message_posted_again_before_the_repair_has_a_new_version(self, world: World) -> None:
        """The version goes on: the ledger's entry of the deleted text is not taken for the new message's."""
        base = world.new_base(threshold=1)
        said(world)
        delete_session(world)
        world.say("s", reply(NEW))
        world.rest()
        assert [(m.content, m.version) for m in world.messages("s")] == [(NEW, 2)]
        assert stored_texts(world, base) == [NEW]
        world.assert_exact(base)

    def test_a_run_without_message_ids_posted_again_has_new_versions(self, world: World) -> None:
        """Its messages get the ids that they had, since these follow from the run's."""
        base = world.new_base(threshold=1)
        run = CallerId.of(world.user_id, "run", "r1")
        world.say("s", "one", "two", run_id=run)
        world.settle()
        delete_session(world)
        world.say("s", "one", "two", run_id=run)
        world.rest()
        assert [message.version for message in world.messages("s")] == [2, 2]
        world.assert_exact(base)

    def test_posted_again_below_the_threshold(self, world: World) -> None:
        """Until it is ingested, nothing of the deleted message may be stored under its id."""
        base = world.new_base(threshold=2)
        said(world)
        delete_session(world)
        world.say("s", reply(NEW))
        world.settle()
        assert stored_texts(world, base) == []
        assert world.ledger(base) == []

    @pytest.mark.parametrize("before_repair", [True, False])
    def test_posted_again_into_another_session(self, world: World, *, before_repair: bool) -> None:
        base = world.new_base(threshold=1)
        said(world)
        delete_session(world)
        if not before_repair:
            world.settle()
        world.say("t", reply(NEW))
        if before_repair:
            other_first(world, "t")
            assert sorted(entry.version for entry in world.ledger(base)) == [1, 1, 2]  # one is on its way out
            wanted = SearchRequest(memory_base_id=base, query=NEW)
            (hit,) = message_search.search(world.services, world.user_id, wanted).results
            assert (hit.session_id, hit.content, hit.pending) == ("t", NEW, False)
        world.rest()
        assert stored_texts(world, base) == [NEW]
        assert [entry.version for entry in world.ledger(base)] == [2]
        world.assert_exact(base)

    def test_messages_deleted_before_their_session_can_be_posted_again_after_it(self, world: World) -> None:
        delete_message(world, said(world))
        delete_session(world)
        assert [message.created for message in world.say("s", reply(NEW)).messages] == [True]

    def test_late_writes_of_deleted_messages_do_not_overwrite_new_versions(self, world: World) -> None:
        """A worker sleeps through the deletion, and the id begins anew elsewhere: the two texts have two ids."""
        base = world.new_base(threshold=1)
        world.say("s", reply(OLD))
        message = world.queue.enqueued[0]

        def sleep(*_: object) -> None:
            world.vectors.before_upsert = None
            world.locks.expire(base, "s")
            delete_session(world)
            world.rest()
            world.say("t", reply(NEW))
            world.rest()

        world.vectors.before_upsert = sleep
        world.run(message)
        world.rest()
        assert stored_texts(world, base) == [NEW]
        world.assert_exact(base)


def other_first(world: World, session_id: str) -> None:
    """Run the jobs of this session before those of any other."""
    for message in [message for message in world.queue.enqueued if message.session_id == session_id]:
        world.run(message)


class TestDeadLetters:
    def test_a_message_posted_again_has_its_own_dead_letter(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.embedders.get("fake").reject("poison")
        said(world, "poison one")
        assert len(world.dead_letters(base)) == 1
        delete_session(world)
        world.say("t", reply("poison two"))
        other_first(world, "t")
        world.rest()
        (letter,) = world.dead_letters(base)
        assert letter.version == 2
        world.assert_exact(base)

    def test_a_dead_letter_of_a_deleted_message_does_not_block_the_new_one(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.embedders.get("fake").reject("poison")
        said(world, "poison one")
        delete_session(world)
        world.say("s", reply(NEW))
        world.rest()
        assert stored_texts(world, base) == [NEW]
        assert world.dead_letters(base) == []


class TestExpiry:
    def test_ids_of_deleted_messages_expire_a_day_after_their_session(self, world: World) -> None:
        world.new_base(threshold=1)
        said(world)
        delete_session(world)
        world.rest()
        assert [trace.expires_at is not None for trace in remembered(world)] == [True, True]
        world.pass_time(LATE_WRITE.total_seconds() + 1)
        assert world.sweep().done["ids_forgotten"] == 2
        assert remembered(world) == []

    def test_ids_of_deleted_messages_are_kept_while_their_session_exists(self, world: World) -> None:
        delete_message(world, said(world))
        world.pass_time(2 * LATE_WRITE.total_seconds())
        assert world.sweep().done["ids_forgotten"] == 0
        assert [message.deleted for message in world.say("s", reply(OLD)).messages] == [True]

    def test_ids_of_deleted_messages_hold_no_text_and_are_deleted_with_the_flow(self, world: World) -> None:
        delete_message(world, said(world))
        names = {"flow_id", "message_id", "session_uuid", "seq", "version", "stays_deleted", "follows_id", "expires_at"}
        assert {column.name for column in sa.inspect(DeletedMessage).columns} == names
        session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
        assert remembered(world) == []
