"""Quotas of what is stored now: they fall by deletions."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.postgres import WAITING
from harness.waiting import wait_until
from integration.features.quotas.conftest import Limited

from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.core.callers import acting_as
from memorybase.core.sessions import edits, restoring
from memorybase.features.quotas import counting, queries
from memorybase.features.quotas.bounds import NAMES, bounds_of
from memorybase.features.quotas.models import QuotaCounter, QuotaEndUser
from memorybase.features.splox import memories, message_log
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import ChatSelector, MemoryKey

pytestmark = pytest.mark.both_databases  # locks and correlated deletes differ


def sweep(limited: Limited) -> None:
    """The sweeper's recount, as if a minute had passed."""
    with limited.world.services.database.transaction() as db:
        db.execute(
            sa.update(QuotaCounter)
            .where(QuotaCounter.recount_at.is_not(None))
            .values(recount_at=QuotaCounter.window_start)
        )
    assert counting.recount(limited.world.services) > 0


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


def test_a_recount_keeps_what_is_charged_meanwhile(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    limited.set(stored_messages=10)
    assert limited.say("one", "two")
    edits.delete_session(limited.world.services, limited.world.user_id, limited.world.flow_id, "s1")
    count = queries.stored_messages

    def busy(*args: object) -> int:
        assert limited.say("before the count", session="s2")
        found = count(*args)
        assert limited.say("after it", session="s2")
        return found

    monkeypatch.setattr(queries, "stored_messages", busy)
    sweep(limited)
    assert limited.used("stored_messages") == 2


def test_two_sweepers_correct_a_counter_once(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    limited.set(stored_messages=10)
    assert limited.say("one", "two", "three")
    edits.delete_session(limited.world.services, limited.world.user_id, limited.world.flow_id, "s1")
    assert limited.say("four")
    count = queries.stored_messages

    def other(*args: object) -> int:
        monkeypatch.setattr(queries, "stored_messages", count)
        counting.recount(limited.world.services)
        return count(*args)

    monkeypatch.setattr(queries, "stored_messages", other)
    sweep(limited)
    assert limited.used("stored_messages") == 1


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


def test_threads_that_bring_new_end_users_count_each_once_and_no_more_than_the_quota(limited: Limited) -> None:
    limited.set(end_users=4)

    def say(number: int) -> bool:
        return limited.say("hello", session=f"s{number}", end_user_id=f"person {number % 6}")

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(say, range(36)))
    assert (admitted, limited.used("end_users")) == (24, 4)


def test_an_end_user_that_two_captures_bring_at_once_counts_once(limited: Limited) -> None:
    world = limited.world
    limited.set(end_users=1)
    assert limited.used("end_users") == 0
    stored, go_on = Event(), Event()

    def hold(_: object) -> None:
        stored.set()
        assert go_on.wait(30)

    def first() -> bool:
        with world.services.database.before_commit(hold):
            return limited.say("hello", session="a", end_user_id="ann")

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first)
        assert stored.wait(30)
        other = pool.submit(limited.say, "hello", session="b", end_user_id="ann")
        wait_for_a_lock(limited)
        go_on.set()
        assert (one.result(30), other.result(30)) == (True, True)
    assert limited.used("end_users") == 1


def test_a_capture_and_a_recount_that_find_the_same_end_user_count_it_once(
    limited: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited.set(end_users=2)
    assert limited.say("hello", session="a", end_user_id="ann")
    with limited.world.services.database.transaction() as db:  # as if it was not counted
        counting.forget_end_user(db, limited.world.user_id, "ann")
    find = queries.add_end_users_of_user
    with ThreadPoolExecutor(1) as pool:
        captures: list[Future[bool]] = []

        def find_late(*args: Any) -> int:
            captures.append(pool.submit(limited.say, "hello", session="b", end_user_id="ann"))
            wait_for_a_lock(limited)
            return find(*args)

        monkeypatch.setattr(queries, "add_end_users_of_user", find_late)
        sweep(limited)
        assert captures[0].result(30)
    assert limited.used("end_users") == 1


def wait_for_a_lock(limited: Limited) -> None:
    """Until a transaction on PostgreSQL waits for another one. On SQLite they wait for each other from their start."""
    if limited.world.services.database.is_sqlite:
        return
    with limited.world.services.database.reading(snapshot=False) as db:
        waiting = sa.text(WAITING.decode())
        wait_until(lambda: db.scalar(waiting), what="a transaction waits")


def test_threads_store_exactly_as_many_also_during_deletions_and_recounts(limited: Limited) -> None:
    world = limited.world
    limited.set(stored_messages=6)
    most = 0

    def say(number: int) -> None:
        limited.say(f"message {number}", session=f"s{number}")

    def delete(number: int) -> None:
        nonlocal most
        with suppress(errors.NotFound):
            edits.delete_session(world.services, world.user_id, world.flow_id, f"s{number}")
        sweep(limited)
        most = max(most, len(world.messages()))

    with ThreadPoolExecutor(8) as pool:
        for number in range(24):
            pool.submit(say, number)
            pool.submit(say, number + 100)
            pool.submit(delete, number)
    while limited.say("until it is full"):
        pass
    sweep(limited)
    assert limited.used("stored_messages") == len(world.messages()) == 6
    assert most <= 6


def test_a_key_counts_what_came_with_it_also_after_its_rotation(limited: Limited) -> None:
    world = limited.world
    key, secret = api_keys.create_key(
        world.services,
        world.user_id,
        name=f"key {uuid4()}",
        scopes=["read", "write"],
        quotas={"stored_messages": 3, "messages_per_day": 3, "searches_per_minute": 1, "end_users": 1},
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
    assert [bound.limit for bound in bounds_of(caller, *NAMES)] == [3, 3, 1, 1]


def test_a_quota_that_was_lifted_counts_from_the_start_when_it_is_set_again(limited: Limited) -> None:
    limited.set(stored_messages=10, end_users=5)
    assert limited.say("one", end_user_id="ann")
    limited.set()
    assert limited.say("two", "three", session="s2", end_user_id="bob")
    limited.set(stored_messages=10, end_users=5)
    assert (limited.used("stored_messages"), limited.used("end_users")) == (3, 2)
