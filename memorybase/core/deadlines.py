"""Deadlines and pauses that several packages share. One that a single module needs is a constant of that module.

What depends on how soon a lost worker must be noticed follows from the setting `lease_seconds`, in `Settings`.
"""

from __future__ import annotations

JOB_SECONDS = 900.0  # a worker that takes longer for one job exits: it is stuck
BACKOFF_SECONDS = 2.0  # first pause after an outage; doubles, with jitter
NOTIFY_AFTER_SECONDS = 30.0  # until an unclaimed job is notified again; doubles each time
NOTIFY_MAX_SECONDS = 600.0
HEARTBEAT_SECONDS = 2.0  # between two heartbeats of a worker or sweeper
HEARTBEAT_STALE_SECONDS = 15.0  # without a heartbeat for this long a process counts as lost
