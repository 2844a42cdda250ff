"""An endpoint of webhooks that fails at random during the run, and what it must have received at the end."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from harness.receiver import Received, Receiver, receiving
from sqlalchemy.orm import Session as OrmSession
from standardwebhooks import Webhook

from memorybase.core.models import (
    DeadLetter,
    Flow,
    Generation,
    GenerationState,
    IngestionJob,
    JobState,
    Receipt,
)
from memorybase.features.retention.queries.receipts import PASS_RULES
from memorybase.features.webhooks.models import WebhookDelivery
from memorybase.features.webhooks.outbox import EventType

FAILED, SILENT, CUT = 0.1, 0.02, 0.05  # shares of the requests
STALL_SECONDS = 3.0  # longer than the sender waits

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Got:
    """What a receiver got: every request, and the events that it accepted."""

    requests: Sequence[Received]
    accepted: Collection[str]
    secret: str


class Endpoint:
    """`accepted` are the events that were answered with 204, whether or not the sender lived to read it."""

    def __init__(self, receiver: Receiver, seed: int) -> None:
        self.receiver = receiver
        self.accepted: set[str] = set()
        self._rng = random.Random(f"{seed}/webhooks")
        self._mutex = threading.Lock()
        self._healed = threading.Event()
        receiver.answer = self._answer

    def heal(self) -> None:
        """From now on every request is accepted."""
        self._healed.set()

    def got(self, secret: str) -> Got:
        """What it was sent under this secret."""
        return Got(list(self.receiver.requests), set(self.accepted), secret)

    def _answer(self, request: Received, connection: socket.socket) -> int | None:
        with self._mutex:
            chance = 1.0 if self._healed.is_set() else self._rng.random()
        if chance < FAILED:
            return 500
        if chance < FAILED + SILENT:
            self._healed.wait(STALL_SECONDS)
            return 503
        if chance < FAILED + SILENT + CUT:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            return None
        with self._mutex:
            self.accepted.add(request.webhook_id)
        return 204


@contextmanager
def listening(seed: int, address: str) -> Iterator[Endpoint]:
    """An endpoint at this address of the test, until the end of the block."""
    with receiving(address=address) as receiver:
        yield Endpoint(receiver, seed)


def unrest(db: OrmSession) -> dict[str, int]:
    """What the sender still has to do."""
    pending = db.scalars(sa.select(WebhookDelivery.id).where(WebhookDelivery.state == "pending")).all()
    return {"pending deliveries": len(pending)}


def count_events(db: OrmSession) -> dict[str, int]:
    """How many of each type."""
    return dict(Counter(db.scalars(sa.select(WebhookDelivery.event_type))))


def check(db: OrmSession, got: Got, erased: set[tuple[str, str]], lost: set[tuple[str, str]]) -> list[str]:
    """Everything that happened is one event, and every event was delivered, signed, and always with the same body.

    `erased`: the sessions that were deleted over the API, by flow and id. `lost`: the generations that did not match
    their store, with their memory base.
    """
    deliveries = db.scalars(sa.select(WebhookDelivery)).all()
    events = {str(each.event_id): json.loads(each.body) for each in deliveries}
    listed = list(events.values())
    return [
        *_missing("events twice in the outbox", range(len(deliveries) - len(events))),
        *_missing("events that are not delivered", [each.id for each in deliveries if each.state != "delivered"]),
        *_missing("events that were never accepted", events.keys() - set(got.accepted)),
        *_missing("requests of no event", {each.webhook_id for each in got.requests} - events.keys()),
        *_missing("events with two bodies or a wrong signature", _changed(got, events)),
        *_check_jobs(db, listed),
        *_check_dead_letters(db, listed),
        *_check_mismatches(listed, lost),
        *_check_generations(db, listed),
        *_check_receipts(db, listed),
        *_check_erasures(db, listed, erased),
    ]


def _missing(what: str, found: Any) -> list[str]:
    return [f"{what}: {len(found)}, such as {next(iter(found))}"] if found else []


def _changed(got: Got, events: dict[str, Any]) -> set[str]:
    """The events of requests that a receiver would refuse. How old a request is does not matter at the end of a run."""
    hook = Webhook(got.secret)
    return {
        request.webhook_id
        for request in got.requests
        if request.webhook_id in events
        and (request.event != events[request.webhook_id] or not _is_signed(hook, request))
    }


def _is_signed(hook: Webhook, request: Received) -> bool:
    at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    return hook.sign(request.webhook_id, at, request.body) in request.headers["webhook-signature"].split()


def _ids(events: Events, kind: EventType, *names: str) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(each["data"][name]) for name in names) for each in events if each["type"] == kind)


def _compare(what: str, told: Counter[tuple[str, ...]], happened: AbstractSet[tuple[str, ...]]) -> list[str]:
    """Each thing has its event. There may be events of what was deleted since, but never two of one thing."""
    return [
        *_missing(f"{what} without an event", happened - told.keys()),
        *_missing(f"{what} with several events", [each for each, times in told.items() if times > 1]),
    ]


def _check_jobs(db: OrmSession, events: Events) -> list[str]:
    found = []
    for what, state, kind in (
        ("finished jobs", JobState.DONE, EventType.JOB_COMPLETED),
        ("failed jobs", JobState.FAILED, EventType.JOB_FAILED),
    ):
        jobs = db.scalars(sa.select(IngestionJob.id).where(IngestionJob.state == state))
        found += _compare(what, _ids(events, kind, "job_id"), {(str(each),) for each in jobs})
    return found


def _check_dead_letters(db: OrmSession, events: Events) -> list[str]:
    letters = {(str(each),) for each in db.scalars(sa.select(DeadLetter.id))}
    return _compare("dead letters", _ids(events, EventType.DEAD_LETTER_CREATED, "dead_letter_id"), letters)


def _check_mismatches(events: Events, lost: set[tuple[str, str]]) -> list[str]:
    """Of the memory bases that lost something: after a fault of its store any other may differ for a moment."""
    told = _ids(events, EventType.MEMORY_MISMATCH, "memory_base_id", "generation")
    bases = {base for base, _ in lost}
    return _compare("mismatches", Counter({each: told[each] for each in told if each[0] in bases}), lost)


def _check_generations(db: OrmSession, events: Events) -> list[str]:
    row = Generation
    serving = db.execute(
        sa.select(row.memory_base_id, row.generation).where(row.state == GenerationState.SERVING, row.generation > 1)
    )
    told = _ids(events, EventType.MEMORY_REGENERATED, "memory_base_id", "generation")
    return _compare("generations", told, {(str(base), str(generation)) for base, generation in serving})


def _check_receipts(db: OrmSession, events: Events) -> list[str]:
    told = _ids(events, EventType.RETENTION_EXPIRED, "pass_id")
    of_rules = sa.select(Receipt.id).where(Receipt.rule.in_(PASS_RULES))
    receipts = {(str(each),) for each in db.scalars(of_rules)}
    return [*_compare("receipts", told, receipts), *_missing("events without a receipt", told.keys() - receipts)]


def _check_erasures(db: OrmSession, events: Events, erased: set[tuple[str, str]]) -> list[str]:
    """A session's name may be used again after its deletion, and be deleted again."""
    flows = {flow: str(row) for row, flow in db.execute(sa.select(Flow.id, Flow.external_id))}
    told = _ids(events, EventType.SESSION_ERASED, "flow_id", "session_id")
    return _missing("deleted sessions without an event", {(flows[flow], s) for flow, s in erased} - told.keys())
