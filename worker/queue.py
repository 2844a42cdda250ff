"""Publish notifications to Celery, best effort and bounded in time.

The job row is the source of truth. The sweeper repeats a notification that fails, so a capture never waits for Redis.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID, uuid4

from celery import Celery
from kombu.connection import Connection
from kombu.messaging import Producer
from kombu.utils.url import as_url

from memorybase.core import telemetry
from memorybase.core.circuit import Circuit
from memorybase.core.services import INGEST, JobMessage, Task
from memorybase.core.settings import RedisSentinel, Settings

QUEUE = "memorybase"

# A capture waits no longer for a notification, which the sweeper repeats.
TIMEOUT_SECONDS = 0.5
PAUSE_SECONDS = 2.0

# By the scheme. kombu by itself takes any certificate of Redis, and any host name in RabbitMQ's.
VERIFYING: dict[str, dict[str, Any]] = {"rediss": {"ssl_cert_reqs": "required"}, "amqps": {"server_hostname": None}}

log = telemetry.get_logger(__name__)


class CeleryQueue:
    """Sends the task INGEST for each job, and the tasks of other work.

    Never raises. After a failure it publishes nothing for PAUSE_SECONDS.
    """

    def __init__(self, settings: Settings, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._app = _publisher(settings)
        self._producer: Producer | None = None
        # One publisher at a time: a notification takes under a millisecond, and while Redis is frozen only one thread
        # waits for its timeout.
        self._mutex = threading.Lock()
        self._circuit = Circuit(PAUSE_SECONDS, clock=now)

    def enqueue(self, jobs: Sequence[JobMessage]) -> int:
        """Publish notifications, and return their number: all, unless Redis is unavailable, frozen, or failed a moment
        ago."""
        return self._enqueue(INGEST.name, [job.to_message() for job in jobs])

    def notify(self, task: Task, ids: Sequence[UUID] = ()) -> int:
        return self._enqueue(task.name, [{task.argument: str(id_)} for id_ in ids] if task.argument else [{}])

    def _enqueue(self, task: str, messages: Sequence[dict[str, Any]]) -> int:
        enqueued = 0
        if not messages:
            return enqueued
        deadline = self._now() + TIMEOUT_SECONDS
        with self._bounded("enqueue") as answering:
            for message in messages if answering else ():
                self._publish(task, message)
                enqueued += 1
                if self._now() >= deadline:
                    break
        if enqueued < len(messages):
            log.info("notifications_deferred", task=task, enqueued=enqueued, total=len(messages))
        return enqueued

    def backlog(self) -> int | None:
        """Messages waiting in the broker; None if it does not answer."""
        waiting: int | None = None
        with self._bounded("backlog") as answering:
            if answering:
                # As Celery declares it: RabbitMQ compares.
                declared = self._connected().channel.queue_declare(queue=QUEUE, durable=True, auto_delete=False)
                waiting = declared.message_count
        return waiting

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        with self._mutex:
            self._discard(lambda connection: connection.release())

    def _publish(self, task: str, message: dict[str, Any]) -> None:
        self._app.send_task(
            task,
            kwargs=message,
            # A new id each time: a job may be notified repeatedly, and Celery must not treat that as one task.
            task_id=str(uuid4()),
            queue=QUEUE,
            producer=self._connected(),
            # Retry with zero retries: with retry=False kombu connects by another path, which takes seconds.
            retry=True,
            retry_policy={"max_retries": 0},
            ignore_result=True,
        )

    def _connected(self) -> Producer:
        # Our own connection: kombu's pool waits without limit when it is exhausted.
        if self._producer is None:
            self._producer = self._app.amqp.Producer(self._app.connection_for_write())
        return self._producer

    def _discard(self, close: Callable[[Connection], object]) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(Exception):  # it is discarded either way
                close(producer.connection)

    @contextmanager
    def _bounded(self, what: str) -> Iterator[bool]:
        """Take the mutex; yields whether Redis may be used. An exception inside ends the block and starts a pause."""
        if not self._mutex.acquire(timeout=TIMEOUT_SECONDS):
            yield False
            return
        try:
            yield not self._circuit.is_paused
        except Exception as exc:  # noqa: BLE001 - the caller has committed: nothing here may fail
            self._circuit.failed()
            # Without a farewell, for whose answer AMQP would wait.
            self._discard(lambda connection: connection.collect())
            log.warning("broker_unavailable", during=what, error=telemetry.describe_error(exc))
        finally:
            self._mutex.release()


def broker_settings(
    settings: Settings, *, timeout_seconds: float, connect_seconds: float, **transport: Any
) -> dict[str, Any]:
    """Settings that publishers and workers share; `transport`: further options of kombu's transport.

    kombu's transports for Redis and for AMQP ignore each other's options.
    """
    url = settings.resolved_broker_url
    transport |= {
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": connect_seconds,
        "socket_keepalive": True,
        "read_timeout": timeout_seconds,
        "write_timeout": timeout_seconds,
        "connect_timeout": connect_seconds,
        "confirm_publish": True,  # else the first notifications after RabbitMQ has gone are lost without an error
    }
    if sentinel := RedisSentinel.of(url):
        url = _kombu_url(sentinel)
        transport |= {"master_name": sentinel.service, "sentinel_kwargs": sentinel.asked_within(connect_seconds)}
    return {
        # Not broker_url, which CELERY_BROKER_URL in the environment would override.
        "broker_read_url": url,
        "broker_write_url": url,
        "broker_transport_options": transport,
        # A copy, since kombu writes the host's name into it.
        "broker_use_ssl": {**VERIFYING.get(url.partition(":")[0], {})},
        "task_default_queue": QUEUE,
        "task_serializer": "json",
        "accept_content": ["json"],  # a pickle from the broker could run code
        "task_ignore_result": True,  # the job row holds the outcome
    }


def _kombu_url(sentinel: RedisSentinel) -> str:
    """One URL for each sentinel, which kombu separates by semicolons; each has the credentials of Redis itself."""
    user, password = (sentinel.credentials.get(name, "") for name in ("username", "password"))
    return ";".join(
        as_url("sentinel", host, port, user, password, str(sentinel.database)) for host, port in sentinel.hosts
    )


def _publisher(settings: Settings) -> Celery:
    """An app that only publishes: it fails instead of waiting; a worker's app waits instead of failing."""
    app = Celery("memorybase-publisher", set_as_current=False, fixups=[])
    app.backend_cls = "disabled"
    app.conf.update(
        broker_settings(settings, timeout_seconds=TIMEOUT_SECONDS, connect_seconds=TIMEOUT_SECONDS, max_retries=0)
    )
    return app
