"""Metrics as Prometheus text: this process's counters, and gauges read from SQL."""

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
from memorybase.operations.health import Part, Vitals
from memorybase.services import Services

CONTENT_TYPE = exposition.CONTENT_TYPE_PLAIN_0_0_4
KEEP_SECONDS = 2.0  # gauges are read from SQL at most this often, however many scrapers there are


# name: (help, label, fields of Vitals by label value; "" without a label)
GAUGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "memorybase_pending_sessions": ("Sessions with pending ingestion.", "", {"": "pending_sessions"}),
    "memorybase_pending_messages": ("Counted messages with pending ingestion.", "", {"": "pending_messages"}),
    "memorybase_oldest_pending_message_age_seconds": (
        "Age of the oldest message with pending ingestion; 0 without one.",
        "",
        {"": "oldest_pending_seconds"},
    ),
    "memorybase_jobs": ("Active jobs.", "state", {"queued": "jobs_queued", "running": "jobs_running"}),
    "memorybase_oldest_job_age_seconds": (
        "Age of the oldest active job; 0 without one.",
        "",
        {"": "oldest_job_seconds"},
    ),
    "memorybase_stuck_jobs": ("Jobs queued and due for more than a minute.", "", {"": "stuck_jobs"}),
    "memorybase_retried_jobs": (
        "Jobs that outages have postponed for more than a minute.",
        "",
        {"": "retried_jobs"},
    ),
    "memorybase_queue_stalled": (
        "1 when jobs are stuck or retried and none has ended for a minute.",
        "",
        {"": "queue_stalled"},
    ),
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
PART_UP = "memorybase_part_up"


class Exposition:
    """A process's metrics for scrapers. Reads SQL at most once in `keep_seconds`."""

    def __init__(self, *, keep_seconds: float = KEEP_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.keep_seconds = keep_seconds
        self._clock = clock
        self._mutex = threading.Lock()
        self._read_at: float | None = None
        self._vitals: Vitals | None = None
        self._parts: list[Part] = []

    def text(self, services: Services) -> bytes:
        """All metrics as text. While the database is unavailable: this process's counters, and `database_up` 0."""
        now = CollectorRegistry(auto_describe=False)
        now.register(_SqlGauges(*self._read(services)))
        return exposition.generate_latest(_OF_THIS_PROCESS) + exposition.generate_latest(now)

    def _read(self, services: Services) -> tuple[Vitals | None, list[Part]]:
        with self._mutex:
            if self._read_at is None or self._clock() - self._read_at >= self.keep_seconds:
                try:
                    self._vitals = health.read_vitals(services)
                except errors.EnvironmentFailure:
                    self._vitals = None
                self._parts = health.check_parts(services)
                # Set after the answer: waiting scrapers use it, and do not each query an unavailable database.
                self._read_at = self._clock()
            return self._vitals, self._parts


class _SqlGauges:
    """A collector of the gauges read from SQL, and of the state of each part."""

    def __init__(self, vitals: Vitals | None, checked: list[Part]) -> None:
        self._vitals = vitals
        self._parts = checked

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(PART_UP, "Whether the part works, as in GET /health/ready.", labels=["part"])
        for part in self._parts:
            up.add_metric([part.name], float(part.ok))
        yield up
        vitals = self._vitals
        if vitals is None:
            yield GaugeMetricFamily(DATABASE_UP, "Whether the database answered this scrape.", 0)
            return
        yield GaugeMetricFamily(DATABASE_UP, "Whether the database answered this scrape.", 1)
        yield from _gauges(vitals)
        yield from _processes(vitals)


def _gauges(vitals: Vitals) -> Iterator[Metric]:
    for name, (text, label, fields) in GAUGES.items():
        family = GaugeMetricFamily(name, text, labels=[label] if label else [])
        for value, field in fields.items():
            family.add_metric([value] if label else [], float(getattr(vitals, field) or 0))
        yield family


def _processes(vitals: Vitals) -> Iterator[Metric]:
    count = GaugeMetricFamily(PROCESSES, "Processes with a recent heartbeat.", labels=["kind"])
    age = GaugeMetricFamily(HEARTBEAT_AGE, "Age of the latest heartbeat; absent without one.", labels=["kind"])
    for kind, liveness in (("worker", vitals.worker), ("sweeper", vitals.sweeper)):
        count.add_metric([kind], liveness.alive)
        if liveness.age_seconds is not None:
            age.add_metric([kind], liveness.age_seconds)
    yield count
    yield age
