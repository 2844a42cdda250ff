"""Deliveries: at least once whoever dies, with a bounded number of attempts, and none for what is disabled."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from harness.hooks import FAILED, GONE, OK, deliver, endpoint_row, happen, let_die, pass_time, rows, subscribe
from harness.waiting import wait_until
from harness.world import World

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.operations.problems import Problem
from memorybase.features.webhooks import deliveries, endpoints, health, sender
from memorybase.features.webhooks import queries as webhooks
from memorybase.features.webhooks.deliveries import DeliveryState, Discarded
from memorybase.features.webhooks.errors import WebhookDisabled
from memorybase.features.webhooks.models import WebhookDelivery
from memorybase.features.webhooks.outbox import EventType
from memorybase.features.webhooks.queries import ClaimedDelivery
from memorybase.features.webhooks.requests import Attempt

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def problems_of(world: World) -> list[Problem]:
    with world.services.database.reading() as db:
        return health.problems(db, world.services, world.user_id)


def test_what_was_delivered_is_not_sent_again(world: World) -> None:
    subscribe(world)
    happen(world, 3)
    assert len(deliver(world)) == 3
    pass_time(world, days=1)
    assert deliver(world) == []
    assert {(row.state, row.attempts, row.last_status, row.last_error) for row in rows(world)} == {
        ("delivered", 1, 204, None)
    }


def test_a_delivery_dies_after_six_attempts_over_hours(world: World) -> None:
    webhook = subscribe(world)
    happen(world)
    pauses: list[timedelta] = []
    for attempt in range(1, 7):
        assert len(deliver(world, FAILED)) == 1
        (row,) = rows(world)
        assert (row.attempts, row.last_status, row.last_error) == (attempt, 500, "status 500")
        if attempt < 6:
            assert row.state == "pending"
            assert row.last_attempt_at is not None
            pauses.append(row.available_at - row.last_attempt_at)
            assert deliver(world, FAILED) == []  # not before its time
            pass_time(world, seconds=pauses[-1].total_seconds() + 1)
    assert (row.state, row.finished_at is not None) == ("dead", True)
    pass_time(world, days=2)
    assert deliver(world) == []
    for minutes, pause in zip((1, 5, 25, 125, 625), pauses, strict=True):
        assert timedelta(minutes=minutes * 0.8) <= pause <= timedelta(minutes=minutes * 1.2)
    assert endpoint_row(world, webhook.id).disabled_at is None  # it has failed for hours, not for days


def test_two_senders_never_send_the_same_delivery(world: World) -> None:
    subscribe(world)
    happen(world, 20)
    barrier, seen, mutex = threading.Barrier(2), list[ClaimedDelivery](), threading.Lock()

    def send() -> None:
        barrier.wait()
        mine = deliver(world)
        with mutex:
            seen.extend(mine)

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == len({each.id for each in seen}) == 20
    assert {row.state for row in rows(world)} == {"delivered"}


def test_a_sender_that_dies_between_request_and_record_makes_another_send_it_again(world: World) -> None:
    subscribe(world)
    happen(world)

    def die(_delivery: ClaimedDelivery) -> Attempt:
        raise errors.DatabaseUnavailable  # as far as the outbox knows, a kill

    (first,) = deliver(world, die)
    assert deliver(world) == []  # its lease holds
    pass_time(world, seconds=31)
    (second,) = deliver(world)
    assert (second.event_id, second.body, second.epoch) == (first.event_id, first.body, first.epoch + 1)
    assert [(row.state, row.attempts) for row in rows(world)] == [("delivered", 1)]


def test_a_sender_that_was_frozen_does_not_overwrite_a_later_result(world: World) -> None:
    subscribe(world)
    happen(world)
    frozen: list[ClaimedDelivery] = []

    def freeze(delivery: ClaimedDelivery) -> Attempt:
        frozen.append(delivery)
        raise errors.DatabaseUnavailable

    deliver(world, freeze)
    pass_time(world, seconds=31)
    deliver(world)
    with world.services.database.transaction() as db:
        assert not webhooks.update_claimed(db, frozen[0], state="dead")
    assert [row.state for row in rows(world)] == ["delivered"]


def test_410_disables_a_webhook_and_what_is_pending_waits_until_it_is_enabled(world: World) -> None:
    webhook = subscribe(world)
    other = subscribe(world, EventType.JOB_FAILED)
    happen(world, 6)

    def answer(delivery: ClaimedDelivery) -> Attempt:
        mine = next(row for row in rows(world) if row.id == delivery.id)
        return GONE if mine.endpoint_id == webhook.id else OK

    deliver(world, answer)
    gone = endpoint_row(world, webhook.id)
    assert (gone.disabled_reason, gone.disabled_at is not None) == ("gone", True)
    assert endpoint_row(world, other.id).disabled_at is None
    assert {row.state for row in rows(world, webhook.id)} == {"dead", "pending"}
    happen(world)
    assert len(rows(world, webhook.id)) == 6  # nothing new
    endpoints.change(world.services, world.user_id, webhook.id, {"enabled": True})
    deliver(world)
    assert {row.state for row in rows(world, webhook.id)} == {"dead", "delivered"}


def test_a_webhook_that_fails_for_days_is_disabled(world: World) -> None:
    webhook = subscribe(world)
    happen(world)
    for _ in range(5):
        deliver(world, FAILED)
        pass_time(world, days=1)
    assert endpoint_row(world, webhook.id).disabled_at is None
    deliver(world, FAILED)
    assert endpoint_row(world, webhook.id).disabled_reason == "failing"


def test_one_success_ends_the_days_of_failing(world: World) -> None:
    webhook = subscribe(world)
    happen(world)
    for attempt in range(6):
        deliver(world, FAILED)
        if attempt == 4:
            happen(world)
            deliver(world, OK)
            assert endpoint_row(world, webhook.id).failing_since is None
        pass_time(world, days=1)
    assert endpoint_row(world, webhook.id).disabled_at is None
    assert sorted(row.state for row in rows(world)) == ["dead", "delivered"]


def test_a_stalling_webhook_does_not_hold_up_the_others(world: World) -> None:
    stalling, working = subscribe(world), subscribe(world)
    happen(world, 10)
    release, sent = threading.Event(), list[str]()

    def post(endpoint: webhooks.DueEndpoint, delivery: ClaimedDelivery, _now: datetime) -> Attempt:
        if endpoint.id == stalling.id:
            assert release.wait(60)
        sent.append(str(delivery.id))
        return OK

    ours = sender.Sender(world.services, post)
    stop = threading.Event()
    thread = threading.Thread(target=ours.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: {row.state for row in rows(world, working.id)} == {"delivered"}, 60, "the others are sent")
        waiting = rows(world, stalling.id)
        assert {row.state for row in waiting} == {"pending"}
        assert sum(row.epoch for row in waiting) == sender.MAX_OF_ENDPOINT
    finally:
        release.set()
        stop.set()
        thread.join(60)
    assert ours.wait(60)


def test_replay_sends_one_delivery_again_under_its_id(world: World) -> None:
    webhook = subscribe(world)
    happen(world, 2)
    deliver(world)
    first = rows(world)[0]
    view = deliveries.replay(world.services, world.user_id, webhook.id, first.id)
    assert (view.state, view.attempts, view.finished_at) == (DeliveryState.PENDING, 0, None)
    (again,) = deliver(world)
    assert (again.id, again.event_id, again.body) == (first.id, first.event_id, first.body)


def test_an_attempt_that_was_in_progress_at_a_replay_does_not_end_the_delivery(world: World) -> None:
    webhook = subscribe(world)
    happen(world)

    def replayed_meanwhile(delivery: ClaimedDelivery) -> Attempt:
        if delivery.epoch == 1:
            deliveries.replay(world.services, world.user_id, webhook.id, delivery.id)
        return OK

    assert [each.epoch for each in deliver(world, replayed_meanwhile)] == [1, 3]
    assert [(row.state, row.attempts) for row in rows(world)] == [("delivered", 1)]


def test_replay_of_the_dead_takes_those_since_and_no_others(world: World) -> None:
    webhook = subscribe(world)
    happen(world, 2)
    pass_time(world, days=1)
    happen(world, 3)
    since = datetime.now(UTC) - timedelta(hours=1)
    deliver(world, GONE)
    endpoints.change(world.services, world.user_id, webhook.id, {"enabled": True})
    deliver(world, OK)
    dead = {row.id for row in rows(world) if row.state == "dead"}
    found = deliveries.replay_dead(world.services, world.user_id, webhook.id, since)
    recent = {row.id for row in rows(world) if row.id in dead and row.occurred_at >= since}
    assert (found.replayed, found.remaining) == (len(recent), False)
    assert {each.id for each in deliver(world)} == recent


def test_only_a_dead_delivery_is_discarded(world: World) -> None:
    webhook, other = subscribe(world), subscribe(world)
    discard = partial(deliveries.discard, world.services, world.user_id)
    happen(world)
    pending, foreign = rows(world, webhook.id)[0], rows(world, other.id)[0]
    with pytest.raises(errors.Conflict, match="is pending"):
        discard(webhook.id, pending.id)
    let_die(world, webhook.id)
    let_die(world, other.id)
    with pytest.raises(errors.NotFound):
        discard(webhook.id, foreign.id)
    discard(webhook.id, pending.id)
    assert [row.id for row in rows(world)] == [foreign.id]
    with pytest.raises(errors.NotFound):
        discard(webhook.id, pending.id)


def test_discarding_the_dead_takes_those_dead_by_then_in_bounded_calls(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "DISCARD_LIMIT", 2)
    webhook, other = subscribe(world), subscribe(world)
    happen(world, 3)
    let_die(world, webhook.id)
    let_die(world, other.id)
    happen(world, 2)
    until = datetime.now(UTC)
    pending, dead = rows(world, webhook.id)[-2:]
    with world.services.database.transaction() as db:
        row = db.get_one(WebhookDelivery, dead.id)
        row.state, row.finished_at = "dead", until + timedelta(seconds=1)
    discard = partial(deliveries.discard_dead, world.services, world.user_id, webhook.id)
    assert discard(until) == Discarded(2, remaining=True)
    assert discard(until) == Discarded(1, remaining=False)
    assert {row.id for row in rows(world, webhook.id)} == {pending.id, dead.id}
    assert discard(None) == Discarded(1, remaining=False)
    assert [row.id for row in rows(world, webhook.id)] == [pending.id]
    assert len(rows(world, other.id)) == 5


@pytest.mark.both_databases
def test_a_delivery_that_is_replayed_meanwhile_is_not_discarded(world: World) -> None:
    webhook = subscribe(world)
    happen(world)
    let_die(world, webhook.id)
    (dead,) = rows(world)
    with ThreadPoolExecutor(1) as others:
        with world.services.database.transaction() as db:
            webhooks.replay(db, webhook.id, [dead.id], clock.now(db))
            discarding = others.submit(deliveries.discard, world.services, world.user_id, webhook.id, dead.id)
        with pytest.raises(errors.Conflict, match="is pending"):
            discarding.result(60)
    assert [row.state for row in rows(world)] == ["pending"]


def test_old_deliveries_are_deleted_and_pending_ones_are_not(world: World) -> None:
    working, disabled = subscribe(world), subscribe(world)
    happen(world, 2)
    endpoints.change(world.services, world.user_id, disabled.id, {"enabled": False})
    deliver(world)
    happen(world)
    assert world.sweep().done["deliveries_deleted"] == 0
    pass_time(world, days=8)
    assert world.sweep().done["deliveries_deleted"] == 4  # two delivered, two that wait for a webhook disabled long ago
    assert [(row.endpoint_id, row.state) for row in rows(world)] == [(working.id, "pending")]


def test_a_test_event_goes_to_its_webhook_alone_whatever_that_subscribes_to(world: World) -> None:
    tested = subscribe(world, EventType.JOB_FAILED)
    subscribe(world)
    sent = deliveries.send_test(world.services, world.user_id, tested.id)
    assert (sent.webhook_id, sent.event_type, sent.state) == (tested.id, "webhook.test", "pending")
    (delivery,) = deliver(world)
    assert json.loads(delivery.body)["data"] == {"webhook_id": str(tested.id)}
    seen = deliveries.get_delivery(world.services, world.user_id, tested.id, sent.id)
    assert (seen.state, seen.last_status, seen.ended) == ("delivered", 204, True)


@pytest.mark.parametrize("answer", [FAILED, GONE])
def test_a_test_that_fails_is_not_repeated_and_changes_nothing_of_the_webhook(world: World, answer: Attempt) -> None:
    webhook = subscribe(world)
    sent = deliveries.send_test(world.services, world.user_id, webhook.id)
    assert len(deliver(world, answer)) == 1
    seen = deliveries.get_delivery(world.services, world.user_id, webhook.id, sent.id)
    assert (seen.state, seen.attempts, seen.last_status) == ("dead", 1, answer.status)
    row = endpoint_row(world, webhook.id)
    assert (row.failing_since, row.disabled_at) == (None, None)
    shown = endpoints.get_webhook(world.services, world.user_id, webhook.id)
    assert (shown.pending, shown.dead) == (0, 0)
    assert deliveries.replay_dead(world.services, world.user_id, webhook.id, EPOCH).replayed == 0
    assert problems_of(world) == []


def test_a_test_that_succeeds_ends_the_failing_of_a_webhook(world: World) -> None:
    webhook = subscribe(world)
    happen(world)
    deliver(world, FAILED)
    deliveries.send_test(world.services, world.user_id, webhook.id)
    deliver(world)
    assert endpoint_row(world, webhook.id).failing_since is None


def test_no_test_is_sent_to_a_disabled_webhook(world: World) -> None:
    webhook = subscribe(world)
    endpoints.change(world.services, world.user_id, webhook.id, {"enabled": False})
    with pytest.raises(WebhookDisabled):
        deliveries.send_test(world.services, world.user_id, webhook.id)
    assert rows(world) == []


def test_a_secret_that_is_rotated_signs_beside_the_new_one_until_the_overlap_ends(world: World) -> None:
    webhook = subscribe(world)
    rotated = endpoints.rotate_secret(world.services, world.user_id, webhook.id, overlap_hours=2)
    row = endpoint_row(world, webhook.id)
    assert (row.secret, row.former_secret) == (rotated.secret, webhook.secret)
    assert rotated.secret != webhook.secret
    world.sweep()
    assert endpoint_row(world, webhook.id).former_secret == webhook.secret
    pass_time(world, hours=3)
    world.sweep()
    assert endpoint_row(world, webhook.id).former_secret is None
    assert webhook.secret not in repr(webhook)
    now = endpoints.rotate_secret(world.services, world.user_id, webhook.id, overlap_hours=0)
    row = endpoint_row(world, webhook.id)
    assert (row.secret, row.former_secret, row.former_secret_until) == (now.secret, None, None)


def test_the_metrics_say_how_many_webhooks_fail_and_how_many_deliveries_wait(world: World) -> None:
    for _ in range(2):
        subscribe(world)
    disabled = subscribe(world)
    happen(world)
    endpoints.change(world.services, world.user_id, disabled.id, {"enabled": False})
    failed: list[ClaimedDelivery] = []

    def first_fails(delivery: ClaimedDelivery) -> Attempt:
        failed.append(delivery)
        return FAILED if len(failed) == 1 else OK

    deliver(world, first_fails)
    with world.services.database.reading() as db:
        by_state, pending = (gauge.values for gauge in health.gauges(db, world.services))
    assert by_state == {"working": 1, "failing": 1, "disabled": 1}
    assert pending == {"": 1}


def test_a_pass_of_the_sweeper_sends_nothing_and_one_of_the_command_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(world)
    happen(world)
    sent: list[str] = []

    def post(url: str, *_: object, **__: object) -> Attempt:
        sent.append(url)
        return OK

    monkeypatch.setattr("memorybase.features.webhooks.requests.post", post)
    world.sweep()
    assert sent == []
    assert sender.send_due(world.services) == 1
    assert len(sent) == 1
