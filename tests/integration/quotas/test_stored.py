"""Quotas of what is stored now: they fall by deletions."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
import sqlalchemy as sa
from integration.quotas.conftest import Limited

from memorybase import errors
from memorybase.auth import api_keys
from memorybase.conversation.chat_memory import memories, message_log
from memorybase.conversation.chat_memory.config import ChatMemoryConfig
from memorybase.conversation.chat_memory.memories import ChatSelector, MemoryKey
from memorybase.models import QuotaCounter, QuotaEndUser
from memorybase.quotas import people, recount
from memorybase.quotas.bounds import acting_as
from memorybase.sessions import edits, restoring

pytestmark = pytest.mark.both_databases  # locks and correlated deletes differ


def sweep(limited: Limited) -> None:
    """The sweeper's recount, as if a minute had passed."""
    with limited.world.services.database.transaction() as db:
        db.execute(
            sa.update(QuotaCounter)
            .where(QuotaCounter.recount_at.is_not(None))
            .values(recount_at=QuotaCounter.window_start)
        )
    assert recount.recount(limited.world.services) > 0


def test_what_was_stored_before_the_quota_counts(limited: Limited) -> None:
    assert limited.say("one", "two")
    limited.set(stored_messages=3)
    assert limited.used("stored_messages") == 2
    assert limited.say("three")
    with pytest.raises(errors.QuotaFull, match="Delete messages") as refused:
        limited.world.say("s1", "four")
    assert "resets_at" not in refused.value.details


def test_a_deletion_makes_room(limited: Limited) -> None:
    limited.set(stored_messages=2)
    assert limited.say("one", session="old")
    assert limited.say("two")
    assert not limited.say("three")
    edits.delete_session(limited.world.services, limited.world.user_id, limited.world.flow_id, "old")
    assert not limited.say("three"), "until the sweeper has counted again"
    sweep(limited)
    assert limited.used("stored_messages") == 1
    assert limited.say("three")
    assert not limited.say("four")


def test_a_restored_message_counts(limited: Limited) -> None:
    world = limited.world
    limited.set(stored_messages=2, messages_per_day=3)
    deleted = [world.say("s1", text).messages[0].id for text in ("one", "two")]
    for message_id in deleted:
        edits.delete_message(world.services, world.user_id, message_id)
    sweep(limited)
    assert limited.say("three")
    restoring.restore_message(world.services, world.user_id, deleted[0])
    assert limited.used("messages_per_day") == 3
    with pytest.raises(errors.QuotaFull):
        restoring.restore_message(world.services, world.user_id, deleted[1])
    limited.set(stored_messages=3)
    restoring.restore_message(world.services, world.user_id, deleted[1])
    assert limited.used("stored_messages") == 3
    with pytest.raises(errors.NotFound):
        restoring.restore_message(world.services, world.user_id, deleted[1])
    sweep(limited)
    assert limited.used("stored_messages") == 3


def test_a_recount_keeps_what_is_granted_meanwhile(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    limited.set(stored_messages=10)
    assert limited.say("one")
    count = recount.quota_counters.stored_messages

    def busy(*args: object) -> int:
        found = count(*args)
        assert limited.say("meanwhile")
        return found

    monkeypatch.setattr(recount.quota_counters, "stored_messages", busy)
    sweep(limited)
    assert limited.used("stored_messages") == 2


def test_a_slice_from_before_a_recount_is_not_given_back(limited: Limited) -> None:
    limited.set(stored_messages=10_000)
    assert limited.say("one")
    sweep(limited)
    assert limited.used("stored_messages") == 1
    limited.slices.give_back()
    assert limited.used("stored_messages") == 1
    assert limited.say("two")
    assert limited.used("stored_messages") == 2


def test_records_of_chats_count(limited: Limited) -> None:
    world = limited.world
    key = MemoryKey(world.user_id, world.flow_id, "node")
    memories.put_memory(world.services, key, ChatMemoryConfig(name="Chat", chat_id="c1"))
    limited.set(messages_per_day=2, stored_messages=2)

    def post(content: str) -> None:
        said = {"id": content, "role": "user", "content": content}
        message_log.post_messages(world.services, key, ChatSelector("c1"), [said])

    post("one")
    assert limited.say("two")
    with pytest.raises(errors.QuotaExceeded):
        post("three")
    post("one")  # known, and answered
    sweep(limited)
    assert (limited.used("messages_per_day"), limited.used("stored_messages")) == (2, 2)


def test_end_users_beyond_the_quota_are_refused_until_one_is_erased(limited: Limited) -> None:
    world = limited.world
    assert limited.say("before", session="a", end_user_id="ann")
    limited.set(end_users=2)
    assert limited.say("second", session="b", end_user_id="bob")
    assert not limited.say("third", session="c", end_user_id="carl")
    assert limited.say("known", session="a2", end_user_id="ann")
    assert limited.say("nobody's", session="n")
    assert limited.used("end_users") == 2
    edits.erase_end_user(world.services, world.user_id, "ann")
    assert limited.used("end_users") == 1
    with world.services.database.reading() as db:
        assert set(db.scalars(sa.select(QuotaEndUser.end_user_id).where(QuotaEndUser.user_id == world.user_id))) == {
            "bob"
        }
    assert limited.say("third", session="c", end_user_id="carl")


def test_an_end_user_whose_sessions_are_gone_counts_no_more(limited: Limited) -> None:
    world = limited.world
    limited.set(end_users=1)
    assert limited.say("first", session="a", end_user_id="ann")
    edits.delete_session(world.services, world.user_id, world.flow_id, "a")
    limited.step(timedelta(minutes=2))
    sweep(limited)
    assert limited.used("end_users") == 0


def test_two_processes_that_see_an_end_user_first_count_it_once(
    limited: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited.set(end_users=5)
    monkeypatch.setattr(people, "KNOWN_SECONDS", 0.0)  # each looks for itself
    for number in range(3):
        assert limited.say("hello", session=f"s{number}", end_user_id="ann")
    assert limited.used("end_users") == 1


def test_a_key_counts_what_came_with_it_also_after_its_rotation(limited: Limited) -> None:
    world = limited.world
    key, secret = api_keys.create_key(
        world.services,
        world.user_id,
        name=f"key {uuid4()}",
        scopes=["read", "write"],
        quotas=api_keys.Quotas(stored_messages=3, messages_per_day=3, searches_per_minute=1, end_users=1),
    )
    assert limited.say("of nobody")
    with acting_as(api_keys.authenticate(world.services, secret).charged):
        assert limited.say("one", "two", session="k", end_user_id="ann")
    rotated, secret = api_keys.rotate_key(world.services, world.user_id, key.id)
    caller = api_keys.authenticate(world.services, secret).charged
    assert caller is not None
    assert caller.key_id == key.id
    with acting_as(caller):
        assert not limited.say("three", "four", session="k")
        assert not limited.say("three", session="b", end_user_id="bob")
        assert limited.say("three", session="k")
        assert not limited.say("four", session="k")
    edits.delete_session(world.services, world.user_id, world.flow_id, "k")
    sweep(limited)
    assert limited.say("of nobody again")
    _, secret = api_keys.rotate_key(world.services, world.user_id, rotated.id)
    caller = api_keys.authenticate(world.services, secret).charged
    assert caller is not None
    assert [bound.limit for bound in caller.bounds] == [3, 3, 1, 1]


def test_a_quota_that_was_lifted_counts_from_the_start_when_it_is_set_again(limited: Limited) -> None:
    limited.set(stored_messages=10, end_users=5)
    assert limited.say("one", end_user_id="ann")
    limited.set()
    assert limited.say("two", "three", session="s2", end_user_id="bob")
    limited.set(stored_messages=10, end_users=5)
    assert (limited.used("stored_messages"), limited.used("end_users")) == (3, 2)
