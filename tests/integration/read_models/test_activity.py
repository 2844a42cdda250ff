"""Activity over time: each message counts as ingested once, when the memory base first held it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.acts import edit
from harness.api import Api
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Capture, LedgerEntry, MemoryBase, Message
from memorybase.core.read_models import activity as activity_view
from memorybase.core.sessions import edits

pytestmark = pytest.mark.both_databases

HOUR = timedelta(hours=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def seen(world: World, base: UUID, **window: Any) -> activity_view.Activity:
    return activity_view.activity(world.services, world.user_id, base, **({"since": datetime.now(UTC) - HOUR} | window))


def totals(activity: activity_view.Activity) -> tuple[int, int]:
    return sum(b.captured for b in activity.buckets), sum(b.ingested for b in activity.buckets)


def dated(world: World, base: UUID, *times: tuple[float, float]) -> None:
    """Messages of one session, captured and ingested so many seconds after START; the memory base was there before."""
    said = world.say("s", *(f"message {number}" for number in range(len(times)))).messages
    world.settle()
    with world.services.database.transaction() as db:
        db.get_one(MemoryBase, base).created_at = START - HOUR
        for message, (captured, ingested) in zip(said, times, strict=True):
            db.get_one(Message, message.id).captured_at = START + timedelta(seconds=captured)
            entry = db.scalars(sa.select(LedgerEntry).where(LedgerEntry.message_id == message.id)).one()
            entry.ingested_at = START + timedelta(seconds=ingested)


class TestBuckets:
    def test_both_databases_put_a_message_into_the_same_bucket(self, world: World) -> None:
        base = world.new_base(threshold=1)
        dated(world, base, (0, 59.999), (59.9995, 60), (60, 61.5), (119.25, 179.75))
        activity = seen(world, base, since=START, until=START + timedelta(minutes=4), buckets=4)
        assert [b.at for b in activity.buckets] == [START + timedelta(minutes=n) for n in range(4)]
        assert [(b.captured, b.ingested) for b in activity.buckets] == [(2, 1), (2, 2), (0, 1), (0, 0)]
        delays = [(b.delay_mean_seconds, b.delay_max_seconds) for b in activity.buckets]
        assert delays[0] == pytest.approx((59.999, 59.999), abs=0.002)
        assert delays[1] == pytest.approx((0.75, 1.5), abs=0.002)
        assert delays[2] == pytest.approx((60.5, 60.5), abs=0.002)
        assert delays[3] == (None, None)

    def test_a_window_between_boundaries_is_widened_to_whole_buckets(self, world: World) -> None:
        base = world.new_base()
        first = seen(world, base, since=START + timedelta(seconds=30), until=START + timedelta(seconds=630), buckets=10)
        later = seen(world, base, since=START + timedelta(seconds=37), until=START + timedelta(seconds=637), buckets=10)
        assert (first.since, first.until) == (START, START + timedelta(minutes=11))
        assert (first.bucket_seconds, len(first.buckets)) == (60, 11)
        assert first.buckets == later.buckets

    @each_row(
        ("window", "field"),
        [
            ({"buckets": 0}, "buckets"),
            ({"buckets": 201}, "buckets"),
            ({"since": START, "until": START}, "since"),
            ({"since": datetime.max.replace(tzinfo=UTC)}, "since"),
            ({"since": datetime.min.replace(tzinfo=UTC), "until": START}, "since"),
            ({"since": START - timedelta(days=31, seconds=1), "until": START}, "since"),
        ],
    )
    def test_a_parameter_out_of_bounds_is_named(self, world: World, window: dict[str, Any], field: str) -> None:
        base = world.new_base()
        with pytest.raises(errors.InvalidRequest) as refused:
            seen(world, base, **window)
        assert refused.value.field == field
        assert refused.value.limit is not None

    def test_activity_of_another_user_is_not_found(self, world: World) -> None:
        with pytest.raises(errors.NotFound):
            activity_view.activity(world.services, world.new_user(), world.new_base(), since=START)


class TestCounting:
    def test_only_counted_messages_are_captured(self, world: World) -> None:
        base = world.new_base(threshold=1, capture=Capture.OUTPUTS)
        world.say("s", {"role": "user", "content": "question"}, "answer", {"role": "system", "content": "rule"})
        world.settle()
        assert totals(seen(world, base)) == (1, 1)

    def test_pending_messages_are_captured_and_not_ingested(self, world: World) -> None:
        base = world.new_base(threshold=10)
        world.say("s", "a", "b")
        assert totals(seen(world, base)) == (2, 0)

    def test_edits_repairs_and_regenerates_do_not_change_the_ingestion_time(self, world: World) -> None:
        base = world.new_base(threshold=1)
        dated(world, base, (0, 10), (5, 20))
        window = {"since": START, "until": START + HOUR}
        before = seen(world, base, **window)
        assert totals(before) == (2, 2)
        edit(world, world.messages()[0].id, "edited")
        world.settle()
        assert {entry.version for entry in world.ledger(base)} == {1, 2}
        regenerate.regenerate(world.services, world.user_id, base)
        world.say("s", "captured while it is built")
        world.settle()
        assert world.base(base).serving == 2
        assert seen(world, base, **window) == before
        assert totals(seen(world, base)) == (1, 1)

    def test_messages_added_by_a_wider_capture_rule_are_left_out(self, world: World) -> None:
        base = world.new_base(threshold=1, capture=Capture.OUTPUTS)
        world.say("s", {"role": "user", "content": "question"}, "answer")
        world.settle()
        regenerate.regenerate(world.services, world.user_id, base, capture=Capture.ALL)
        world.settle()
        assert totals(seen(world, base)) == (2, 1)
        assert sorted(entry.ingested_at is None for entry in world.ledger(base) if entry.generation == 2) == [
            False,
            True,
        ]

    def test_a_delay_starts_no_earlier_than_the_memory_base(self, world: World) -> None:
        message = world.say("s", "long ago").messages[0]
        with world.services.database.transaction() as db:
            db.get_one(Message, message.id).captured_at -= timedelta(days=3)
        base = world.new_base()
        world.flush(base)
        world.settle()
        delays = [b.delay_max_seconds for b in seen(world, base).buckets if b.ingested]
        assert len(delays) == 1
        assert delays[0] is not None
        assert 0 <= delays[0] < 60

    def test_a_message_captured_again_is_ingested_again(self, world: World) -> None:
        base = world.new_base(threshold=1)
        raw = {"role": "assistant", "content": "twice", "id": str(uuid4())}
        world.say("s", raw)
        world.settle()
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        world.settle()
        world.say("s", raw)
        world.settle()
        assert totals(seen(world, base)) == (1, 1)


def test_activity_over_http(api: Api) -> None:
    api.flow()
    base = api.memory(threshold=1)["id"]
    api.capture("a", "b")
    api.work()
    since = (datetime.now(UTC) - HOUR).isoformat()
    answer = api.get(f"/memories/{base}/activity", since=since, buckets=12)
    assert answer["bucket_seconds"] == 300
    assert sum(bucket["captured"] for bucket in answer["buckets"]) == 2
    assert sum(bucket["ingested"] for bucket in answer["buckets"]) == 2
    refused = api.refused("GET", f"/memories/{base}/activity?since=2020-01-01T00:00:00Z", 422)
    assert (refused["field"], refused["value"]) == ("since", "2020-01-01T00:00:00+00:00")
    assert api.refused("GET", f"/memories/{base}/activity?since={since[:19]}Z&buckets=201", 422)["limit"] == 200
