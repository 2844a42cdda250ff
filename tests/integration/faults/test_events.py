"""What a run of faults checks of webhooks and retention: one thing is tampered with, and just that is reported."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from chaos import expiring, webhooks
from chaos.rest import FILE
from chaos.webhooks import Got
from harness.expiring import keep, receipts_of, sweep_all
from harness.hooks import deliver, lose_workers, subscribe
from harness.receiver import Received
from harness.rows import each_row
from harness.world import World, build_world
from standardwebhooks import Webhook

from memorybase.core.database.engine import Database
from memorybase.core.memory_bases import consistency, regenerate
from memorybase.core.models import IngestionJob, Message, Receipt
from memorybase.core.sessions import edits
from memorybase.features.webhooks.models import WebhookDelivery
from memorybase.features.webhooks.outbox import EventType
from memorybase.features.webhooks.queries import ClaimedDelivery

pytestmark = pytest.mark.slow  # It tests what `make chaos` looks for.


class Run:
    """A run at its end: a job, one that failed, its dead letter, a lost chunk and the generation that replaced it, a
    deleted session, expired messages, and all events delivered."""

    def __init__(self, world: World) -> None:
        self.world = world
        secret = subscribe(world).secret
        base = world.new_base(threshold=1)
        world.say("one", "first", "second")
        world.say("deleted", "third")
        world.settle()
        world.say("deadly", "fourth")
        lose_workers(world)
        self.lost = {(str(base), "1")}
        world.vectors.delete(world.ref(base), sorted(world.stored(base))[:1])
        consistency.check_mismatch(world.services, world.user_id, base)
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        edits.delete_session(world.services, world.user_id, world.flow_id, "deleted")
        self._expire("first")
        world.execute(sa.text("UPDATE flows SET external_id = 'flow'"))
        self._hook = Webhook(secret)
        requests = [self.request(delivery) for delivery in deliver(world)]
        self.got = Got(requests, {each.webhook_id for each in requests}, secret)

    def _expire(self, *contents: str) -> None:
        self.expired = {str(each.id) for each in self.world.messages() if each.content in contents}
        aged = sa.update(Message).where(Message.id.in_([UUID(each) for each in self.expired]))
        self.world.execute(aged.values(captured_at=datetime.now(UTC) - expiring.AGE))
        keep(self.world, expiring.RETAIN_DAYS)
        sweep_all(self.world)

    def request(self, delivery: ClaimedDelivery) -> Received:
        now, event = datetime.now(UTC), str(delivery.event_id)
        headers = {
            "webhook-id": event,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._hook.sign(event, now, delivery.body),
        }
        return Received("/hook", headers, delivery.body)

    @contextmanager
    def copied(self, folder: Path) -> Iterator[Run]:
        """The same again, to tamper with."""
        services = self.world.services
        services.database.dispose()  # all of it is in the file then
        shutil.copy(services.settings.data_dir / FILE, folder / FILE)
        run = copy.copy(self)
        database = Database(f"sqlite:///{folder / FILE}")
        run.world = replace(self.world, services=replace(services, database=database))
        run.expired = set(self.expired)
        run.got = replace(self.got, requests=list(self.got.requests), accepted=set(self.got.accepted))
        yield run
        database.dispose()

    def check(self) -> list[str]:
        with self.world.services.database.reading() as db:
            found = webhooks.check(db, self.got, {("flow", "deleted")}, self.lost)
            return [*found, *expiring.check_receipts(db, self.expired)]

    def execute(self, statement: sa.Executable) -> None:
        self.world.execute(statement)

    def event(self, kind: str) -> WebhookDelivery:
        with self.world.services.database.reading() as db:
            found = sa.select(WebhookDelivery).where(WebhookDelivery.event_type == kind)
            return db.scalars(found.order_by(WebhookDelivery.occurred_at).limit(1)).one()

    def forget(self, kind: str) -> None:
        """As if the last event of this type had never been written, and never been sent."""
        gone = self.event(kind)
        self.execute(sa.delete(WebhookDelivery).where(WebhookDelivery.id == gone.id))
        requests = [each for each in self.got.requests if each.webhook_id != str(gone.event_id)]
        self.got = replace(self.got, requests=requests)

    def repeat(self, kind: str) -> None:
        """As if the same had been written as two events."""
        row, event = self.event(kind), uuid4()
        values = {column.name: getattr(row, column.name) for column in WebhookDelivery.__table__.columns}
        self.execute(sa.insert(WebhookDelivery).values(values | {"id": uuid4(), "event_id": event}))
        self.got = replace(self.got, accepted={*self.got.accepted, str(event)})

    def change_request(self, **changes: object) -> None:
        first, *others = self.got.requests
        self.got = replace(self.got, requests=[replace(first, **changes), *others])  # type: ignore[arg-type]  # any


Tamper = Callable[[Run], object]


def leave_pending(run: Run) -> None:
    erased = WebhookDelivery.id == run.event("session.erased").id
    run.execute(sa.update(WebhookDelivery).where(erased).values(state="pending"))


def forget_acceptance(run: Run) -> None:
    run.got = replace(run.got, accepted=sorted(run.got.accepted)[1:])


def send_no_event(run: Run) -> None:
    run.got.requests.append(replace(run.got.requests[0], headers={"webhook-id": "another"}))


def change_body(run: Run) -> None:
    run.change_request(body=json.dumps(run.got.requests[0].event | {"type": "another"}))


def change_signature(run: Run) -> None:
    run.change_request(headers=run.got.requests[0].headers | {"webhook-signature": "v1,wrong"})


def forgetting(kind: str) -> Tamper:
    return lambda run: run.forget(kind)


def repeating(kind: str) -> Tamper:
    return lambda run: run.repeat(kind)


# What is done, and what is reported.
TAMPERED: dict[str, tuple[Any, ...]] = {
    "a delivery that is pending": (leave_pending, "events that are not delivered: 1"),
    "an event that was never accepted": (forget_acceptance, "events that were never accepted: 1"),
    "a request of no event": (send_no_event, "requests of no event: 1"),
    "another body": (change_body, "events with two bodies or a wrong signature: 1"),
    "a wrong signature": (change_signature, "events with two bodies or a wrong signature: 1"),
    "a job without an event": (forgetting("job.completed"), "finished jobs without an event: 1"),
    "a job with two events": (repeating("job.completed"), "finished jobs with several events: 1"),
    "a failed job without an event": (forgetting("job.failed"), "failed jobs without an event: 1"),
    "a failed job with two events": (repeating("job.failed"), "failed jobs with several events: 1"),
    "a dead letter without an event": (forgetting("dead_letter.created"), "dead letters without an event: 1"),
    "a mismatch without an event": (forgetting("memory.mismatch"), "mismatches without an event: 1"),
    "a mismatch with two events": (repeating("memory.mismatch"), "mismatches with several events: 1"),
    "a generation without an event": (forgetting("memory.regenerated"), "generations without an event: 1"),
    "a generation with two events": (repeating("memory.regenerated"), "generations with several events: 1"),
    "a deleted session without an event": (forgetting("session.erased"), "deleted sessions without an event: 1"),
    "a receipt without an event": (forgetting("retention.expired"), "receipts without an event: 1"),
    "an event without a receipt": (
        lambda run: run.execute(sa.delete(Receipt)),
        "events without a receipt: 1",
        "1 messages expired, the receipts say 0",
    ),
    "an expired message in no receipt": (
        lambda run: run.expired.add(str(uuid4())),
        "2 messages expired, the receipts say 1",
    ),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("finished")
    return Run(build_world(f"sqlite:///{folder / FILE}", folder))


@pytest.fixture
def run(finished: Run, tmp_path: Path) -> Iterator[Run]:
    with finished.copied(tmp_path) as copied:
        yield copied


def test_a_run_without_faults_is_exact(run: Run) -> None:
    assert run.check() == []
    with run.world.services.database.reading() as db:
        assert not any((webhooks.unrest(db) | expiring.unrest(db, run.expired)).values())
        assert webhooks.count_events(db).keys() == set(EventType) - {EventType.WEBHOOK_TEST}
        assert expiring.count_receipts(db) == len(receipts_of(run.world)) == 1
        assert db.scalars(sa.select(IngestionJob.id)).all()


@each_row("name", TAMPERED)
def test_what_is_tampered_with_is_found(finished: Run, tmp_path: Path, name: str) -> None:
    tamper, *expected = TAMPERED[name]
    with finished.copied(tmp_path) as run:
        tamper(run)
        found = run.check()
    assert len(found) == len(expected), found
    for violation, wanted in zip(found, expected, strict=True):
        assert wanted in violation


def test_each_kind_of_unrest_is_seen(run: Run) -> None:
    run.execute(sa.update(WebhookDelivery).values(state="pending"))
    run.execute(sa.update(Receipt).values(finished_at=None))
    (left,) = [each.id for each in run.world.messages() if each.content == "second"]
    with run.world.services.database.reading() as db:
        assert webhooks.unrest(db) == {"pending deliveries": len(run.got.accepted)}
        assert expiring.unrest(db, {str(left)}) == {
            "expired messages": 1,
            "open receipts of retention": 2,  # that of an erasure too
        }
