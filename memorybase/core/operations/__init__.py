"""Operations: the sweeper's pass, heartbeats, health and metrics.

sweeper       one pass of recovery and cleanup: the steps of every package, in order
clock_steps   timestamps from before the clock was stepped back
store_check   the sweeper's test writes to the vector store
heartbeats    heartbeats of workers and sweepers
health        readiness, the state of each component, ingestion lag
stack_parts   each component in words: since when it is down, and the command that helps
problems      problems for a person, with the calls that help
embedding_usage  moves counts of embedding endpoints into SQL
exposition    metrics as Prometheus text
store_sizes   what vectors take, on disk and by their number
"""

from __future__ import annotations
