"""Metrics as Prometheus text: counters of every process, and gauges that SQL answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from memorybase import errors
from memorybase.metrics import _OF_THIS_PROCESS
from memorybase.operations import health
from memorybase.operations.health import Vitals
from memorybase.services import Services

CONTENT_TYPE = exposition.CONTENT_TYPE_PLAIN_0_0_4
KEEP_SECONDS = 2.0  # scrapers come every few seconds; more of them, or a storm, cost nothing


# name: (help, the fields of Vitals that it shows, each under its label value or alone)
GAUGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "memorybase_pending_sessions": ("Sessions owed an ingestion.", "", {"": "pending_sessions"}),
    "memorybase_pending_messages": ("Counted messages owed an ingestion.", "", {"": "pending_messages"}),
    "memorybase_oldest_pending_message_age_seconds": (
        "Since the capture of the oldest message owed an ingestion; 0 without one.",
        "",
        {"": "oldest_pending_seconds"},
    ),
    "memorybase_jobs": ("Active jobs.", "state", {"queued": "jobs_queued", "running": "jobs_running"}),
    "memorybase_oldest_job_age_seconds": (
        "Since the oldest active job was made; 0 without one.",
        "",
        {"": "oldest_job_seconds"},
    ),
    "memorybase_stuck_jobs": ("Jobs queued and due for more than a minute.", "", {"": "stuck_jobs"}),
    "memorybase_queue_stalled": ("1 when jobs are stuck and none was begun for a minute.", "", {"": "queue_stalled"}),
    "memorybase_dead_letters": ("Messages that could not be embedded.", "", {"": "dead_letters"}),
    "memorybase_mismatched_memory_bases": (
        "Memory bases whose store differs from the ledger.",
        "",
        {"": "mismatched_memory_bases"},
    ),
}


PROCESSES = "memorybase_processes"
HEARTBEAT_AGE = "memorybase_heartbeat_age_seconds"
DATABASE_UP = "memorybase_database_up"


class Exposition:
    """What a process shows to whoever scrapes it. SQL is asked once in a while, however many scrape, however often."""

    def __init__(self, *, keep_seconds: float = KEEP_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.keep_seconds = keep_seconds
        self._clock = clock
        self._asking = threading.Lock()
        self._asked_at: float | None = None
        self._seen: Vitals | None = None

    def text(self, services: Services) -> bytes:
        """Everything, in the text format. The database away: what this process counted, and that it is away."""
        now = CollectorRegistry(auto_describe=False)
        now.register(_Now(self._vitals(services)))
        return exposition.generate_latest(_OF_THIS_PROCESS) + exposition.generate_latest(now)

    def _vitals(self, services: Services) -> Vitals | None:
        with self._asking:
            if self._asked_at is None or self._clock() - self._asked_at >= self.keep_seconds:
                try:
                    self._seen = health.read_vitals(services)
                except errors.EnvironmentFailure:
                    self._seen = None
                # Behind the answer: those who waited for it take it, and a database that is away is not asked by each.
                self._asked_at = self._clock()
            return self._seen


class _Now:
    """A collector of what SQL has said."""

    def __init__(self, seen: Vitals | None) -> None:
        self._seen = seen

    def collect(self) -> Iterator[Metric]:
        seen = self._seen
        if seen is None:
            yield GaugeMetricFamily(DATABASE_UP, "Whether the database answered this scrape.", 0)
            return
        yield GaugeMetricFamily(DATABASE_UP, "Whether the database answered this scrape.", 1)
        yield from _gauges(seen)
        yield from _processes(seen)


def _gauges(seen: Vitals) -> Iterator[Metric]:
    for name, (text, label, fields) in GAUGES.items():
        family = GaugeMetricFamily(name, text, labels=[label] if label else [])
        for value, field in fields.items():
            family.add_metric([value] if label else [], float(getattr(seen, field) or 0))
        yield family


def _processes(seen: Vitals) -> Iterator[Metric]:
    count = GaugeMetricFamily(PROCESSES, "Processes that have shown life lately.", labels=["kind"])
    age = GaugeMetricFamily(HEARTBEAT_AGE, "Since the last sign of life; absent without any.", labels=["kind"])
    for kind, liveness in (("worker", seen.worker), ("sweeper", seen.sweeper)):
        count.add_metric([kind], liveness.alive)
        if liveness.age_seconds is not None:
            age.add_metric([kind], liveness.age_seconds)
    yield count
    yield age
