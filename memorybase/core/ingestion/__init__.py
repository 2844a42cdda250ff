"""Ingestion: from a captured message to the knowledge base, without losing or duplicating one.

    POST runs ─> capture ─> trigger ─> job row ─> notification ─> claim ─> pipeline ─> advance ─> next job
                 └── one transaction ───┘          best effort    epoch,    chunk,     one transaction:
                    (source of truth)                             lease     embed,     cursor, ledger, job
                                                                            upsert
The promise: once a capture is acknowledged, its messages are in the knowledge base as soon as a job has covered them,
and only once, whatever process is killed, frozen or restarted. SQL is the source of truth. A Celery message only
notifies a worker. The Redis lock only saves work. Chroma is a projection. The cursor moves last, by compare-and-set.

Read in this order:

    capture        1   store one run's messages in one short transaction
    prepared       1a  what a message tells by itself, found before the transaction
    idempotency    1b  place each message: new, known, changed or skipped; conflicts
    edit           1c  edit a stored message
    trigger        2   decide whether a session has reached its threshold
    scheduler      3   insert the next job with its range; enqueue it after the commit
    flush          3a  ingest pending messages on request
    job_runner     4   run jobs, from one notification until none is waiting
    claim          4a  epoch and lease in SQL; what a worker knows about its job
    lease          4b  renew leases in a thread; check them before every write
    pipeline       5   chunk, embed, upsert, read back
    vector_reuse   5a  copy vectors that another collection already has
    bisection      5b  find the message that makes a step fail
    repair         5c  make the store match the ledger and SQL (edits, deletes, audits)
    settlement     6   what ends a job or queues it again: its rows, locked once, and every write
    advance        6a  move the cursor, write the ledger, schedule the next job
    build          6b  switch searches to a complete generation
    retry          7   the environment failed: back off, without counting an attempt
    lost_worker    7a  a worker died: fence it off, requeue its job, split the range, dead-letter
    recovery       8   the sweeper's part: expired leases, idle sessions, missing jobs, lost notifications

Others call `capture.capture`, `flush.flush` and `job_runner.run_jobs`.
"""

from __future__ import annotations
