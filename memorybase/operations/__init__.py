"""Running it: the sweeper's pass, heartbeats, health and metrics.

sweeper      one pass over what nobody else came back for: the steps of every package, in order
heartbeats   signs of life of workers and sweepers
health       readiness, doctor, and what lags behind
exposition   metrics as Prometheus text
queries      what a diagnosis asks of the whole database
"""

from __future__ import annotations
