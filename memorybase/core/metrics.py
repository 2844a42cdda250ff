"""Counters and histograms of this process. Gauges are read from SQL: see `operations.exposition`.

No label names a user, a memory base or a session: all numbers cover the whole installation.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

# A capture is one short transaction: milliseconds, up to a second behind other writers, up to ten behind a stuck one.
CAPTURE_BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# From a probe to a long poll: `?wait=` and a busy stack take up to a minute.
REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)

_OF_THIS_PROCESS = CollectorRegistry(auto_describe=True)

RUNS_CAPTURED = Counter(
    "memorybase_runs_captured", "Acknowledged captures, including replays.", registry=_OF_THIS_PROCESS
)
MESSAGES_CAPTURED = Counter("memorybase_messages_captured", "New messages stored.", registry=_OF_THIS_PROCESS)
CAPTURE_SECONDS = Histogram(
    "memorybase_capture_seconds",
    "Duration of a capture, from the call to the commit.",
    buckets=CAPTURE_BUCKETS,
    registry=_OF_THIS_PROCESS,
)
REQUESTS = Counter(
    "memorybase_http_requests",
    "Answered requests, by route, method and status.",
    ["method", "route", "status"],
    registry=_OF_THIS_PROCESS,
)
REQUEST_SECONDS = Histogram(
    "memorybase_http_request_seconds",
    "Time from a request to the start of its answer, by route and method.",
    ["method", "route"],
    buckets=REQUEST_BUCKETS,
    registry=_OF_THIS_PROCESS,
)
REPLICA_READS = Counter(
    "memorybase_replica_reads",
    "Reads that a standby may serve: by the replica, or by the primary because it was behind, away, or skipped.",
    ["server"],
    registry=_OF_THIS_PROCESS,
)
SECRETS = Counter(
    "memorybase_secrets",
    "Secrets in what callers sent, by kind, and what the flow did: keep, redact or refuse.",
    ["kind", "rule"],
    registry=_OF_THIS_PROCESS,
)
QUOTA_REFUSALS = Counter(
    "memorybase_quota_refusals",
    "Calls refused because a quota was used up, by quota, and whose it is: of a user or of an API key.",
    ["quota", "whose"],
    registry=_OF_THIS_PROCESS,
)
QUOTA_UNCHECKED = Counter(
    "memorybase_quota_unchecked",
    "Searches admitted without a check because the counter of a quota could not be reached, by quota.",
    ["quota"],
    registry=_OF_THIS_PROCESS,
)
