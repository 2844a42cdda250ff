"""Metrics in Prometheus's text format: every name stands here.

What happens is counted in each process; what is, is read from SQL when somebody asks. No label names a user, a memory
base or a session: the numbers are of the whole installation, and as few as the table below.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, exposition
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from memorybase import errors, vitals
from memorybase.services import Services
from memorybase.vitals import Vitals

CONTENT_TYPE = exposition.CONTENT_TYPE_PLAIN_0_0_4
# A capture is one short transaction: milliseconds alone, a second behind a queue of writers, ten behind a stuck one.
CAPTURE_BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_OF_THIS_PROCESS = CollectorRegistry(auto_describe=True)

RUNS_CAPTURED = Counter("memorybase_runs_captured", "Captures acknowledged, replays too.", registry=_OF_THIS_PROCESS)
MESSAGES_CAPTURED = Counter("memorybase_messages_captured", "New messages stored.", registry=_OF_THIS_PROCESS)
CAPTURE_SECONDS = Histogram(
    "memorybase_capture_seconds",
    "How long a capture took, from the call to the commit.",
    buckets=CAPTURE_BUCKETS,
    registry=_OF_THIS_PROCESS,
)

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
    "memorybase_queue_stands": ("1 when jobs are stuck and none was begun for a minute.", "", {"": "queue_stands"}),
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


def exposed(services: Services) -> bytes:
    """Everything, in the text format. The database away: what this process counted, and that it is away."""
    now = CollectorRegistry(auto_describe=False)
    now.register(_Now(services))
    return exposition.generate_latest(_OF_THIS_PROCESS) + exposition.generate_latest(now)


class _Now:
    """A collector of what SQL says at this moment."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        try:
            seen = vitals.take(self._services)
        except errors.EnvironmentFailure:
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
    for kind, pulse in (("worker", seen.worker), ("sweeper", seen.sweeper)):
        count.add_metric([kind], pulse.alive)
        if pulse.age_seconds is not None:
            age.add_metric([kind], pulse.age_seconds)
    yield count
    yield age
