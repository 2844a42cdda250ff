"""The Celery application: its settings, each with its reason, and what a worker does when it starts and stops.

Run as many as needed: `celery -A worker.app worker`. A worker is one process with one task at a time, so its pid is
the embedder's; for more throughput, run more workers. The job row in SQL is the source of truth and Celery only
notifies: every setting here prefers a lost or repeated notification, which is harmless, to a stuck or crashed worker.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import Celery, signals
from celery.worker import WorkController
from kombu.transport import TRANSPORT_ALIASES

from memorybase import wiring
from memorybase.core import telemetry, tracing
from memorybase.core.settings import Settings
from worker import process
from worker.queue import broker_settings
from worker.transport import TRANSPORTS

log = telemetry.get_logger(__name__)

settings = Settings()
is_amqp = settings.resolved_broker_url.startswith("amqp")
# By the scheme of each URL: a broker_transport would hold for the first one only, and kombu tries the next when a
# server is unreachable.
TRANSPORT_ALIASES.update(TRANSPORTS)
app = Celery("memorybase", include=["worker.tasks"], fixups=[])
app.backend_cls = "disabled"  # not result_backend, which CELERY_RESULT_BACKEND in the environment would override

app.conf.update(
    broker_settings(
        settings,
        timeout_seconds=5,  # without it a frozen Redis blocks the worker for ever; above the 1 s blocking read
        connect_seconds=3,
        health_check_interval=10,  # notices a connection that a network dropped silently
        # When a notification comes back from a worker that died before acknowledging it. The sweeper notifies long
        # before.
        visibility_timeout=900,
        unacked_restore_interval=10,
        unacked_restore_throttle=1,
    ),
    # One process: no fork after the model's threads have started, and kill -9 leaves no orphan that embeds.
    worker_pool="solo",
    worker_concurrency=1,
    # Acknowledge early: the lease in SQL recovers lost work. Late acknowledgement repeats tasks whenever the broker's
    # connection breaks.
    task_acks_late=False,
    task_reject_on_worker_lost=False,  # it would repeat a job that kills its worker for ever
    # Prefetch nothing: a notification in a dead worker's buffer is lost.
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=not is_amqp,  # RabbitMQ hands one on; it takes it back when the worker is gone
    # In RabbitMQ its queue belongs to one worker of a name, and by default all workers of a machine have the same.
    worker_enable_remote_control=not is_amqp,
    # Redis may be unavailable for hours; by default the worker exits after a hundred attempts.
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A Redis that answers and refuses writes, because its disk is full for example, is an outage too.
    broker_channel_error_retry=True,
    worker_cancel_long_running_tasks_on_connection_loss=False,  # the SQL claim continues without Redis
    # A warm shutdown lets the running job end; worker.process stops it after DRAIN_SECONDS. Celery's soft shutdown
    # sleeps in the main thread, where the solo pool runs the job.
    worker_soft_shutdown_timeout=0,
    # memorybase.core.telemetry configures logging.
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
)

_running: list[process.WorkerProcess] = []


def this_process() -> process.WorkerProcess:
    """The worker process that tasks run in, created when the worker starts."""
    if not _running:
        raise RuntimeError("no worker has started in this process: run celery -A worker.app worker")
    return _running[0]


@signals.setup_logging.connect
def _set_up_logging(**_: Any) -> None:
    """A receiver for this signal keeps Celery from configuring logging at all."""
    telemetry.configure(settings)
    # Celery logs every task with all its arguments; ingestion has its own log events. Failures are logged below,
    # without the error's text.
    logging.getLogger("celery.worker.strategy").setLevel(logging.WARNING)
    logging.getLogger("celery.app.trace").setLevel(logging.CRITICAL)


@signals.worker_init.connect
def _start(sender: WorkController, **_: Any) -> None:
    _set_up_logging()  # Celery's own signal for this comes later
    pool = sender.pool_cls if isinstance(sender.pool_cls, str) else sender.pool_cls.__module__
    if not pool.endswith("solo"):
        raise SystemExit(f"The worker runs with --pool=solo, not {pool}: start more workers for more throughput.")
    # No gossip and no heartbeats over Redis: nothing reads them, and Celery's heartbeat would block the main loop while
    # Redis is frozen.
    sender.options.update(without_gossip=True, without_mingle=True, without_heartbeat=True)
    try:
        _running[:] = [process.start(wiring.build(settings, role="worker"))]
    except Exception as exc:
        # Celery only logs the exception of a receiver: the worker would take every task and fail.
        log.exception("worker_start_failed")
        raise SystemExit(process.EXIT_SOFTWARE) from exc


@signals.worker_ready.connect
def _start_heartbeat(**_: Any) -> None:
    this_process().heartbeat.confirm()


@signals.worker_shutting_down.connect
def _drain(**_: Any) -> None:
    if _running:
        this_process().watchdog.drain()
        this_process().heartbeat.draining()


@signals.worker_shutdown.connect
def _stop(**_: Any) -> None:
    if _running:
        this_process().heartbeat.stop()
        this_process().stop_threads()
        tracing.flush()
        _running.clear()


@signals.task_failure.connect
def _task_failed(task_id: str, exception: BaseException, **_: Any) -> None:
    """The database was unavailable before the claim, or there is a defect. The job row is queued either way."""
    log.error("task_failed", task_id=task_id, exc_info=exception)
