"""Operations: the sweeper's pass, heartbeats, health and metrics.

sweeper      one pass of recovery and cleanup: the steps of every package, in order
heartbeats   heartbeats of workers and sweepers
health       readiness, the state of each component, ingestion lag
exposition   metrics as Prometheus text
queries      statements over the whole database, for health and metrics
"""

from __future__ import annotations
