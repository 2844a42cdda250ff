"""What happens is in the outbox of every subscribed webhook, exactly when its transaction commits."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import sqlalchemy as sa
from harness.hooks import lose_workers, rows, subscribe
from harness.statements import recorded
from harness.waiting import wait_until
from harness.world import World

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.events import Event
from memorybase.core.ingestion.advance import advance
from memorybase.core.ingestion.claim import claim_job
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.settlement import WriteResult
from memorybase.core.memory_bases import consistency, regenerate
from memorybase.core.sessions import edits
from memorybase.features.webhooks import endpoints, outbox
from memorybase.features.webhooks.models import WebhookEndpoint
from memorybase.features.webhooks.outbox import EventType


def data_of(world: World, event_type: EventType) -> list[dict[str, Any]]:
    """The data of each event of this type."""
    return [json.loads(row.body)["data"] for row in rows(world) if row.event_type == event_type]


def test_a_completed_job_is_an_event_for_each_subscribed_webhook_and_for_no_other(world: World) -> None:
    first, second = subscribe(world, EventType.JOB_COMPLETED), subscribe(world)
    subscribe(world, EventType.JOB_FAILED)
    stranger = subscribe(world, user_id=world.new_user())
    base = world.new_base(threshold=2)
    world.say("s", "the secret text", "one more")
    world.drain()
    found = rows(world)
    assert {row.endpoint_id for row in found} == {first.id, second.id}
    assert stranger.id not in {row.endpoint_id for row in found}
    assert len({row.event_id for row in found}) == 1
    (job,) = world.jobs(base)
    event = json.loads(found[0].body)
    assert event["type"] == "job.completed"
    assert event["timestamp"].endswith("Z")
    assert event["data"] == {
        "job_id": str(job.id),
        "kind": "ingest",
        "memory_base_id": str(base),
        "flow_id": str(world.flow_id),
        "session_id": "s",
        "generation": 1,
        "from_seq": 0,
        "to_seq": 2,
        "processed": 2,
        "dead_letters": 0,
    }
    assert "secret" not in found[0].body


def test_a_dead_letter_is_an_event_without_the_text(world: World) -> None:
    subscribe(world)
    base = world.new_base(threshold=2)
    world.embedder.reject("poisonous text")
    world.say("s", "poisonous text", "fine")
    world.drain()
    (letter,) = world.dead_letters(base)
    (data,) = data_of(world, EventType.DEAD_LETTER_CREATED)
    assert (data["dead_letter_id"], data["message_id"]) == (str(letter.id), str(letter.message_id))
    assert (data["session_id"], data["cause"], data["version"]) == ("s", letter.error_code, 1)
    assert [each["dead_letters"] for each in data_of(world, EventType.JOB_COMPLETED)] == [1]
    assert all("poison" not in row.body for row in rows(world))


def test_a_job_that_ends_its_workers_is_an_event_and_so_is_its_last_message(world: World) -> None:
    subscribe(world)
    world.new_base(threshold=1)
    world.say("s", "deadly")
    lose_workers(world)
    (failed,) = data_of(world, EventType.JOB_FAILED)
    assert (failed["lost_workers"], failed["session_id"]) == (3, "s")
    assert [each["cause"] for each in data_of(world, EventType.DEAD_LETTER_CREATED)] == ["worker_lost"]


def test_a_mismatch_is_one_event_until_it_ends(world: World) -> None:
    subscribe(world, EventType.MEMORY_MISMATCH)
    base = world.new_base(threshold=1)
    world.say("s", "one")
    world.settle()
    lost = sorted(world.stored(base))
    world.vectors.delete(world.ref(base), lost)
    for _ in range(2):
        consistency.check_mismatch(world.services, world.user_id, base)
    (data,) = data_of(world, EventType.MEMORY_MISMATCH)
    assert data == {"memory_base_id": str(base), "flow_id": str(world.flow_id), "generation": 1, "chunks_missing": 1}
    regenerate.regenerate(world.services, world.user_id, base)
    world.settle()
    assert consistency.check_mismatch(world.services, world.user_id, base).state == "ok"
    world.vectors.delete(world.ref(base), sorted(world.stored(base)))
    consistency.check_mismatch(world.services, world.user_id, base)
    assert [each["generation"] for each in data_of(world, EventType.MEMORY_MISMATCH)] == [1, 2]


def test_a_collection_that_a_worker_misses_is_a_mismatch(world: World) -> None:
    subscribe(world, EventType.MEMORY_MISMATCH)
    base = world.new_base(threshold=1)
    world.vectors.delete_collection(world.ref(base).name)
    world.say("s", "one")
    world.drain()
    (data,) = data_of(world, EventType.MEMORY_MISMATCH)
    assert (data["memory_base_id"], data["chunks_missing"]) == (str(base), None)


def test_a_new_generation_that_serves_is_an_event(world: World) -> None:
    subscribe(world, EventType.MEMORY_REGENERATED)
    base = world.new_base(threshold=1)
    world.say("s", "one")
    world.settle()
    regenerate.regenerate(world.services, world.user_id, base)
    assert data_of(world, EventType.MEMORY_REGENERATED) == []
    world.settle()
    assert data_of(world, EventType.MEMORY_REGENERATED) == [
        {"memory_base_id": str(base), "flow_id": str(world.flow_id), "generation": 2, "former_generation": 1}
    ]


def test_each_erased_session_is_an_event(world: World) -> None:
    subscribe(world, EventType.SESSION_ERASED)
    world.say("s", "one", "two", end_user_id="anna")
    world.say("t", "three", end_user_id="anna")
    edits.erase_end_user(world.services, world.user_id, "anna")
    found = {each["session_id"]: each for each in data_of(world, EventType.SESSION_ERASED)}
    assert {session: each["messages"] for session, each in found.items()} == {"s": 2, "t": 1}
    assert found["s"]["flow_id"] == str(world.flow_id)


def test_an_advance_that_is_rolled_back_leaves_no_event(world: World) -> None:
    subscribe(world)
    world.new_base(threshold=1)
    world.say("s", "one")
    (message,) = world.queue.enqueued
    claim = claim_job(world.services, message, "worker")
    assert claim is not None
    with LeaseKeeper(world.services) as keeper:

        def fail(*_: object, **__: object) -> None:
            raise errors.ClaimLost

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("memorybase.core.ingestion.settlement.schedule_next", fail)
            with pytest.raises(errors.ClaimLost):
                advance(world.services, claim, keeper, WriteResult(), cursor_id=None)
        assert rows(world) == []
        advance(world.services, claim, keeper, WriteResult(), cursor_id=None)
    assert [row.event_type for row in rows(world)] == ["job.completed"]


@pytest.mark.parametrize("webhooks", [0, 1, 2])
@pytest.mark.both_databases
def test_an_advance_sends_one_statement_for_webhooks_and_another_for_their_deliveries(
    world: World, webhooks: int
) -> None:
    for _ in range(webhooks):
        subscribe(world)
    subscribe(world, user_id=world.new_user())
    world.new_base(threshold=1)
    world.say("s", "one")
    with recorded(world.services.database.engine) as sent:
        world.drain()
    about = [" ".join(text.split())[:45] for text, _ in sent if "webhook" in text]
    assert len(about) == (2 if webhooks else 1), about
    assert about[0].startswith("SELECT webhook_endpoints.id")


@pytest.mark.both_databases
def test_a_webhook_that_is_deleted_meanwhile_does_not_fail_the_transaction_of_an_event(world: World) -> None:
    """The foreign key of a delivery would: on PostgreSQL the event waits for the deletion, then finds no webhook."""
    webhook = subscribe(world)
    deleting, go_on = threading.Event(), threading.Event()

    def delete() -> None:
        with world.services.database.transaction() as db:
            db.execute(sa.delete(WebhookEndpoint).where(WebhookEndpoint.id == webhook.id))
            deleting.set()
            assert go_on.wait(60)

    thread = threading.Thread(target=delete)
    thread.start()
    assert deleting.wait(60)
    recorded_events: list[int] = []

    def record() -> None:
        with world.services.database.transaction() as db:
            event = Event(EventType.JOB_FAILED, {})
            recorded_events.append(outbox.record(db, world.user_id, [event], clock.now(db)))

    other = threading.Thread(target=record)
    other.start()
    if not world.services.database.is_sqlite:
        with world.services.database.reading(snapshot=False) as db:
            wait = sa.text(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            wait_until(lambda: db.scalar(wait), what="the event waits")
    go_on.set()
    thread.join(60)
    other.join(60)
    assert recorded_events == [0]
    assert rows(world) == []


def test_a_disabled_webhook_gets_no_new_events(world: World) -> None:
    endpoints.change(world.services, world.user_id, subscribe(world).id, {"enabled": False})
    with world.services.database.transaction() as db:
        assert outbox.record(db, world.user_id, [Event(EventType.JOB_FAILED, {})], clock.now(db)) == 0
    assert rows(world) == []
