"""Quotas of messages: exactly the limit is admitted, repeats are free, and what is refused says until when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from harness.statements import recorded
from harness.world import World
from integration.features.quotas.conftest import Limited

from memorybase.core import errors
from memorybase.core.callers import acting_as, caller_of
from memorybase.features.quotas import manage
from memorybase.features.quotas.models import QuotaCounter

pytestmark = pytest.mark.both_databases  # locks differ


def test_threads_at_the_limit_store_exactly_as_many(limited: Limited) -> None:
    limited.set(messages_per_day=30)

    def say(number: int) -> bool:
        return limited.say(f"message {number}", session=f"s{number % 4}")

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(say, range(60)))
    assert admitted == len(limited.world.messages()) == limited.used("messages_per_day") == 30


def test_a_refusal_says_what_and_until_when_and_stores_nothing(limited: Limited) -> None:
    limited.set(messages_per_day=2)
    assert limited.say("one")
    with pytest.raises(errors.QuotaExceeded) as refused:
        limited.world.say("s2", "two", "three")
    details = refused.value.details
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert (refused.value.limit, details["quota"], details["whose"]) == (2, "messages_per_day", "user")
    assert (details["used"], details["wanted"], details["resets_at"]) == (1, 2, tomorrow)
    assert 0 < float(str(details["retry_after_seconds"])) <= 86_400
    assert len(limited.world.messages()) == 1
    assert limited.say("two"), "what is left can be used by a smaller run"


def test_a_repeat_is_answered_after_the_quota_is_used_up(limited: Limited) -> None:
    limited.set(messages_per_day=1)
    message = {"id": "m-1", "role": "user", "content": "Hello"}
    first = limited.world.say("s1", message, run_id=None)
    again = limited.world.say("s1", message, run_id=None)
    assert [each.created for each in first.messages + again.messages] == [True, False]
    assert limited.used("messages_per_day") == 1
    assert not limited.say("another")


def test_a_capture_that_fails_is_not_charged(limited: Limited) -> None:
    limited.set(messages_per_day=2)
    assert limited.say("one")

    def fail(_: object) -> None:
        raise errors.Conflict

    with limited.world.services.database.before_commit(fail), pytest.raises(errors.Conflict):
        limited.world.say("s1", "two")
    assert limited.used("messages_per_day") == 1


def test_the_next_window_admits_again(limited: Limited) -> None:
    limited.set(messages_per_day=1)
    assert limited.say("today")
    assert not limited.say("too much")
    limited.step(timedelta(days=1))
    assert limited.say("tomorrow")
    assert not limited.say("too much tomorrow")


def test_a_clock_that_is_stepped_back_finds_its_window_again(limited: Limited) -> None:
    limited.set(messages_per_day=2)
    assert limited.say("today", "again")
    limited.step(timedelta(days=3))
    assert limited.say("in three days")
    limited.step(timedelta())
    assert not limited.say("today once more")
    limited.world.sweep()
    with limited.world.services.database.reading() as db:
        assert (
            db.scalar(
                sa.select(sa.func.count())
                .select_from(QuotaCounter)
                .where(QuotaCounter.user_id == limited.world.user_id)
            )
            == 1
        )


def test_more_than_the_quota_is_refused_also_first_in_its_window(limited: Limited) -> None:
    limited.set(messages_per_day=2)
    assert not limited.say("one", "two", "three")
    assert limited.used("messages_per_day") == 0
    assert limited.say("one", "two")


def test_a_raised_quota_admits_at_once(limited: Limited) -> None:
    limited.set(messages_per_day=1)
    assert limited.say("one")
    assert not limited.say("two")
    limited.set(messages_per_day=2)
    assert limited.say("two")


def test_a_quota_below_what_is_used_refuses(limited: Limited) -> None:
    limited.set(messages_per_day=3)
    assert limited.say("one", "two")
    limited.set(messages_per_day=1)
    with pytest.raises(errors.QuotaExceeded, match="is 1: 1 used, 1 more wanted") as refused:
        limited.world.say("s1", "three")
    assert refused.value.details["used"] == 2
    limited.set(messages_per_day=3)
    assert limited.say("three")


def test_without_a_quota_a_capture_asks_nothing_of_quotas(limited: Limited) -> None:
    world = limited.world
    nobody = acting_as(caller_of(world.services.settings, world.user_id, None))
    with nobody, recorded(world.services.database.engine) as statements:
        world.say("s1", "first", end_user_id="ann")
    assert not [sql for sql, _ in statements if "quota" in sql]


def test_a_quota_costs_a_capture_one_statement_at_its_end(limited: Limited) -> None:
    world = limited.world
    limits = {"messages_per_day": 10, "stored_messages": 10, "end_users": 10}
    with acting_as(caller_of(world.services.settings, world.user_id, limits)):
        world.say("s1", "first", end_user_id="ann")
        with recorded(world.services.database.engine) as statements:
            world.say("s1", "second", end_user_id="ann")
    sent = [sql for sql, _ in statements]
    assert [sql.split()[0] for sql in sent[-3:]] == ["SELECT", "INSERT", "UPDATE"]
    assert sum("quota" in sql for sql in sent) == sum("quota" in sql for sql in sent[-3:]) == 3


def test_the_defaults_of_the_settings_hold_until_a_user_has_its_own(world: World, limited: Limited) -> None:
    settings = world.services.settings.model_copy(update={"user_quotas": {"messages_per_day": 1}})
    caller = caller_of(settings, world.user_id, None)
    with acting_as(caller):
        assert limited.say("one")
        assert not limited.say("two")
    with acting_as(caller_of(settings, world.user_id, {"messages_per_day": 2})):
        assert limited.say("two")


def test_quotas_are_checked(world: World) -> None:
    with pytest.raises(errors.InvalidRequest, match="searches_per_minute must be 0 to"):
        manage.change_user_quotas(world.services, world.user_id, {"searches_per_minute": -1})
    with pytest.raises(errors.NotFound):
        manage.change_user_quotas(world.services, world.flow_id, {"end_users": 1})
