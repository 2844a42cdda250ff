"""Metrics as Prometheus text: this process's counters, and gauges read from SQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from memorybase.core import errors
from memorybase.core.embedding.usage import Usage
from memorybase.core.extension import Gauge
from memorybase.core.metrics import _OF_THIS_PROCESS
from memorybase.core.operations import embedding_usage, health
from memorybase.core.operations.health import Part, Vitals
from memorybase.core.operations.store_sizes import StoreSize, measure
from memorybase.core.services import Services
from memorybase.core.settings import TokenPrices

CONTENT_TYPE = exposition.CONTENT_TYPE_PLAIN_0_0_4
SIZES_KEEP_SECONDS = 60.0
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
    "memorybase_oldest_uningested_message_age_seconds": (
        "Age of the oldest message that is to be ingested, also below its threshold; 0 without one.",
        "",
        {"": "oldest_uningested_seconds"},
    ),
    "memorybase_jobs": ("Active jobs.", "state", {"queued": "jobs_queued", "running": "jobs_running"}),
    "memorybase_queued_jobs": (
        "Queued jobs, by the priority of their memory bases.",
        "priority",
        {"high": "jobs_queued_high", "normal": "jobs_queued_normal", "low": "jobs_queued_low"},
    ),
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
    "memorybase_jobs_without_progress": (
        "Jobs that began more than a minute ago, or begin again and again, and have not ended.",
        "",
        {"": "jobs_without_progress"},
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
    "memorybase_missing_chunks": (
        "Chunks that the last comparisons did not find in the store.",
        "",
        {"": "missing_chunks"},
    ),
    "memorybase_oldest_comparison_age_seconds": (
        "Age of the last comparison of the memory base that was compared longest ago; 0 without one.",
        "",
        {"": "oldest_comparison_seconds"},
    ),
}


PROCESSES = "memorybase_processes"
HEARTBEAT_AGE = "memorybase_heartbeat_age_seconds"
STORED_CHUNKS = "memorybase_store_chunks"
VECTOR_BYTES = "memorybase_store_vector_bytes"
DISK_BYTES = "memorybase_store_disk_bytes"
DATABASE_UP = "memorybase_database_up"
PART_UP = "memorybase_part_up"
EMBEDDING_REQUESTS = "memorybase_embedding_requests"
EMBEDDING_TEXTS = "memorybase_embedding_texts"
EMBEDDING_TOKENS = "memorybase_embedding_tokens"
EMBEDDING_COST = "memorybase_embedding_cost"


class Exposition:
    """A process's metrics for scrapers. Reads SQL at most once in `keep_seconds`."""

    def __init__(self, *, keep_seconds: float = KEEP_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.keep_seconds = keep_seconds
        self._clock = clock
        self._mutex = threading.Lock()
        self._read_at: float | None = None
        self._vitals: Vitals | None = None
        self._parts: list[Part] = []
        self._measured_at: float | None = None
        self._sizes: list[StoreSize] = []
        self._usage: dict[str, Usage] = {}

    def text(self, services: Services) -> bytes:
        """All metrics as text. While the database is unavailable: this process's counters, and `database_up` 0."""
        now = CollectorRegistry(auto_describe=False)
        now.register(_SqlGauges(*self._read(services), self._sizes))
        now.register(_EndpointCounters(self._usage, services.settings.token_prices))
        return exposition.generate_latest(_OF_THIS_PROCESS) + exposition.generate_latest(now)

    def _read(self, services: Services) -> tuple[Vitals | None, list[Part]]:
        with self._mutex:
            if self._read_at is None or self._clock() - self._read_at >= self.keep_seconds:
                try:
                    self._vitals = health.read_vitals(services)
                except errors.EnvironmentFailure:
                    self._vitals = None
                self._parts = health.check_parts(services)
                self._measure(services)
                self._read_usage(services)
                # Set after the answer: waiting scrapers use it, and do not each query an unavailable database.
                self._read_at = self._clock()
            return self._vitals, self._parts

    def _read_usage(self, services: Services) -> None:
        with suppress(errors.EnvironmentFailure):  # the next scrape stores it
            embedding_usage.store(services, wait=False)
        try:
            self._usage = embedding_usage.read(services)
        except errors.EnvironmentFailure:
            self._usage = {}

    def _measure(self, services: Services) -> None:
        """Sizes change slowly, and measuring them reads a whole folder."""
        if self._measured_at is None or self._clock() - self._measured_at >= SIZES_KEEP_SECONDS:
            try:
                self._sizes = measure(services)
            except errors.EnvironmentFailure:
                self._sizes = []
            self._measured_at = self._clock()


class _SqlGauges:
    """A collector of the gauges read from SQL, and of the state of each part."""

    def __init__(self, vitals: Vitals | None, checked: list[Part], sizes: list[StoreSize]) -> None:
        self._vitals = vitals
        self._parts = checked
        self._sizes = sizes

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
        yield from _stores(self._sizes)


class _EndpointCounters:
    """A collector of what embedding endpoints were asked for, by model; nothing without an endpoint."""

    def __init__(self, by_model: Mapping[str, Usage], prices: TokenPrices) -> None:
        self._by_model = by_model
        self._prices = prices

    def collect(self) -> Iterator[Metric]:
        if not self._by_model:
            return
        requests = CounterMetricFamily(
            EMBEDDING_REQUESTS, "Requests to the embedding endpoint.", labels=["model", "outcome"]
        )
        texts = CounterMetricFamily(EMBEDDING_TEXTS, "Texts that it embedded.", labels=["model"])
        tokens = CounterMetricFamily(EMBEDDING_TOKENS, "Tokens that it counted.", labels=["model"])
        cost = CounterMetricFamily(EMBEDDING_COST, "Their price by token_prices.", labels=["model"])
        for model, used in self._by_model.items():
            requests.add_metric([model, "answered"], used.requests - used.failed_requests)
            requests.add_metric([model, "failed"], used.failed_requests)
            texts.add_metric([model], used.texts)
            tokens.add_metric([model], used.tokens)
            cost.add_metric([model], used.tokens * self._prices.get(model, {}).get("input", 0) / 1_000_000)
        yield from (requests, texts, tokens, cost)


def _gauges(vitals: Vitals) -> Iterator[Metric]:
    own = (
        Gauge(name, text, {value: float(getattr(vitals, field) or 0) for value, field in fields.items()}, label)
        for name, (text, label, fields) in GAUGES.items()
    )
    for gauge in (*own, *vitals.of_features):
        family = GaugeMetricFamily(gauge.name, gauge.text, labels=[gauge.label] if gauge.label else [])
        for value, number in gauge.values.items():
            family.add_metric([value] if gauge.label else [], number)
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


def _stores(sizes: list[StoreSize]) -> Iterator[Metric]:
    chunks = GaugeMetricFamily(STORED_CHUNKS, "Chunks of memory bases at their last comparison.", labels=["store"])
    needed = GaugeMetricFamily(VECTOR_BYTES, "Bytes that the vectors of these chunks take.", labels=["store"])
    disk = GaugeMetricFamily(DISK_BYTES, "Bytes on disk; absent if they cannot be measured here.", labels=["store"])
    for size in sizes:
        chunks.add_metric([size.store], size.chunks)
        needed.add_metric([size.store], size.vector_bytes)
        if size.disk_bytes is not None:
            disk.add_metric([size.store], size.disk_bytes)
    yield chunks
    yield needed
    yield disk
