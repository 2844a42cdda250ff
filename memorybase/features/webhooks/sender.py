"""Sends due deliveries: claim under a lease, one request in a separate thread, record the result under the claim.

A sender that is killed between a request and its record leaves a lease; when that expires, the delivery is sent
again.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.services import Services
from memorybase.core.telemetry import describe_error, get_logger
from memorybase.features.webhooks import queries, requests, signatures
from memorybase.features.webhooks.outbox import EventType
from memorybase.features.webhooks.queries import ClaimedDelivery, DueEndpoint
from memorybase.features.webhooks.requests import Attempt

log = get_logger(__name__)

POLL_SECONDS = 2.0  # between two looks for due deliveries while none is in progress
MAX_REQUESTS = 32  # at once, per process
# A receiver that stalls holds this many of them, and no more, for as long as a request may take.
MAX_OF_ENDPOINT = 4
LEASE_MARGIN = timedelta(seconds=15)  # a claim outlasts its request by this, more than a record waits for SQLite
TIMEOUT_SECONDS = 15.0  # of one attempt
ATTEMPTS = 6  # then the delivery is dead
BACKOFF_SECONDS = 60.0  # after the first failed attempt
BACKOFF_FACTOR = 5.0
DISABLE_AFTER = timedelta(days=3)  # of failures, when a delivery dies
MAX_RETRY_AFTER_SECONDS = 86_400.0  # a receiver may ask for no longer pause
MAX_PAUSE_SECONDS = 30 * 86_400.0  # whatever the backoff

Post = Callable[[DueEndpoint, ClaimedDelivery, datetime], Attempt]


class Sender:
    """The deliveries of one process. `post` sends one request, in a separate thread."""

    def __init__(self, services: Services, post: Post | None = None) -> None:
        self._services = services
        self._post = post or self._send
        self._mutex = threading.Lock()
        self._recording = threading.Lock()  # one connection is enough for results, however many end at once
        self._busy: Counter[UUID] = Counter()  # requests in progress by endpoint
        self._ended = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Send until `stop`. What is in progress then is cut off with the process, and sent again by another."""
        while not stop.is_set():
            self._ended.clear()
            try:
                self.start_due()
            except errors.EnvironmentFailure as error:
                log.warning("webhooks_not_read", error=describe_error(error))
            except Exception:  # the thread's edge: the next look may succeed
                log.exception("webhooks_not_read")
            self._ended.wait(POLL_SECONDS)  # the end of a request makes room for the next one at once

    def start_due(self) -> int:
        """Claim as many due deliveries as may be in progress, start to send them, and return their number."""
        with self._services.database.reading(snapshot=False) as db:
            due = queries.due_endpoints(db, clock.now(db))
        random.shuffle(due)  # with more endpoints than requests, each gets its turn
        started = 0
        for endpoint in due:
            free = self._free(endpoint.id)
            if free > 0:
                started += self._start(endpoint, free)
        return started

    def wait(self, seconds: float) -> bool:
        """Wait until no request is in progress. Returns whether none is."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._mutex:
                if not self._busy.total():
                    return True
            self._ended.wait(0.05)
            self._ended.clear()
        return False

    def _free(self, endpoint_id: UUID) -> int:
        with self._mutex:
            return min(MAX_OF_ENDPOINT - self._busy[endpoint_id], MAX_REQUESTS - self._busy.total())

    def _start(self, endpoint: DueEndpoint, limit: int) -> int:
        lease = timedelta(seconds=TIMEOUT_SECONDS) + LEASE_MARGIN
        # A power cut may undo a claim: the delivery is then sent again, as after a kill.
        with self._services.database.transaction(durable=False) as db:
            now = clock.now(db)
            claimed = queries.claim(db, endpoint.id, now, now + lease, limit=limit)
        with self._mutex:
            self._busy[endpoint.id] += len(claimed)
        for delivery in claimed:
            arguments = (endpoint, delivery, now)
            threading.Thread(target=self._deliver, args=arguments, name="webhook", daemon=True).start()
        return len(claimed)

    def _deliver(self, endpoint: DueEndpoint, delivery: ClaimedDelivery, now: datetime) -> None:
        try:
            attempt = self._post(endpoint, delivery, now)
            with self._recording:
                record(self._services, endpoint, delivery, attempt)
        except errors.EnvironmentFailure as error:
            log.warning("webhook_not_recorded", delivery_id=str(delivery.id), error=describe_error(error))
        except Exception:  # the thread's edge: the lease expires, and the delivery is sent again
            log.exception("webhook_not_recorded", delivery_id=str(delivery.id))
        finally:
            with self._mutex:
                self._busy[endpoint.id] -= 1
            self._ended.set()

    def _send(self, endpoint: DueEndpoint, delivery: ClaimedDelivery, now: datetime) -> Attempt:
        settings = self._services.settings
        secrets = [endpoint.secret]
        if endpoint.former_secret and endpoint.former_secret_until and endpoint.former_secret_until > now:
            secrets.append(endpoint.former_secret)
        headers = signatures.headers(secrets, str(delivery.event_id), int(time.time()), delivery.body)
        return requests.post(
            endpoint.url,
            delivery.body,
            headers,
            allowed=settings.webhook_networks,
            seconds=TIMEOUT_SECONDS,
        )


def send_until(services: Services, stop: threading.Event) -> None:
    """Send what becomes due until the event is set, in a thread of the sweeper."""
    Sender(services).run(stop)


def send_due(services: Services) -> int:
    """Send due deliveries once, wait for them, and return their number. For a sweeper that makes one pass."""
    sender = Sender(services)
    sent = 0
    while started := sender.start_due():
        sent += started
        sender.wait(TIMEOUT_SECONDS + LEASE_MARGIN.total_seconds())
    return sent


def record(services: Services, endpoint: DueEndpoint, delivery: ClaimedDelivery, attempt: Attempt) -> None:
    """Write the result of an attempt, unless the claim is lost: then whoever has it writes the result."""
    attempts = delivery.attempts + 1
    with services.database.transaction(durable=False) as db:
        now = clock.now(db)
        # A person waits for the result of a test, and reads it: it is sent once, and its failure disables nothing.
        is_test = delivery.event_type == EventType.WEBHOOK_TEST
        is_last = is_test or attempt.is_gone or attempts >= ATTEMPTS
        is_dead = is_last and not attempt.delivered
        is_noted = attempt.delivered or not is_test
        disabled = _note_health(db, endpoint, attempt, now, is_dead=is_dead) if is_noted else None
        values = {
            "attempts": attempts,
            "last_attempt_at": now,
            "last_status": attempt.status,
            "last_error": attempt.error,
        }
        if attempt.delivered or is_dead:
            values |= {"state": "delivered" if attempt.delivered else "dead", "finished_at": now}
        else:
            values["available_at"] = now + timedelta(seconds=retry_seconds(attempts, attempt.retry_after))
        held = queries.update_claimed(db, delivery, **values)
    log.info(
        "webhook_sent",
        delivery_id=str(delivery.id),
        webhook_id=str(endpoint.id),
        event_type=delivery.event_type,
        attempt=attempts,
        status=attempt.status,
        error=attempt.error,
        recorded=held,
    )
    if disabled:
        log.warning("webhook_disabled", webhook_id=str(endpoint.id), reason=disabled)


def _note_health(
    db: OrmSession, endpoint: DueEndpoint, attempt: Attempt, now: datetime, *, is_dead: bool
) -> str | None:
    """Keep since when the endpoint fails, and disable it if it is gone or has failed for days; the reason then.

    The endpoint's row is written before the delivery's, and not at all while it works.
    """
    if attempt.delivered:
        if endpoint.failing_since is not None:
            queries.mark_working(db, endpoint.id)
        return None
    if endpoint.failing_since is None:
        queries.mark_failing(db, endpoint.id, now)
    if attempt.is_gone:
        return "gone" if queries.disable(db, endpoint.id, now, "gone") else None
    if is_dead and queries.disable(db, endpoint.id, now, "failing", failing_before=now - DISABLE_AFTER):
        return "failing"
    return None


def longest_pause() -> timedelta:
    """Until the next attempt at a delivery."""
    backoff = 1.2 * BACKOFF_SECONDS * BACKOFF_FACTOR ** (ATTEMPTS - 1)
    return timedelta(seconds=min(max(backoff, MAX_RETRY_AFTER_SECONDS), MAX_PAUSE_SECONDS))


def retry_seconds(attempts: int, retry_after: float | None) -> float:
    """The pause after this number of failed attempts: exponential with jitter, and no shorter than the receiver asked
    for."""
    spread = random.uniform(0.8, 1.2)  # noqa: S311 - jitter, no secret
    planned = BACKOFF_SECONDS * BACKOFF_FACTOR ** (attempts - 1) * spread
    return min(max(planned, min(retry_after or 0.0, MAX_RETRY_AFTER_SECONDS)), MAX_PAUSE_SECONDS)
