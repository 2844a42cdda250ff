"""The flow: from a captured message to the knowledge base, without losing or doubling one.

    POST runs ─> capture ─> trigger ─> job row ─> notification ─> claim ─> pipeline ─> advance ─> next job
                 └── one transaction ───┘          best effort    epoch,    chunk,     one transaction:
                     (the truth)                                  lease     embed,     cursor, ledger, job
                                                                            upsert
The promise: a message whose capture was acknowledged is in the knowledge base once a job covers it, and once only,
whatever process is killed, frozen or restarted. SQL is the source of truth; a Celery message only notifies; the Redis
lock saves work and decides nothing; Chroma is a projection. The cursor moves last, by compare-and-set.

Read in this order:

    capture        1   one run's messages, stored in one short transaction
    idempotency    1a  ids, fingerprints, replays and conflicts
    edit           1b  an edit of a stored message
    trigger        2   has the session reached its threshold
    scheduler      3   the next job's range; enqueue after the commit
    flush          3a  the same by request
    worker         4   from one delivery until nothing waits
    claim          4a  epoch and lease in SQL; what a worker may know of its job
    lease          4b  renewed in a thread, checked before every write
    pipeline       5   chunk, embed, upsert, read back; bisect to the one bad message
    vector_reuse   5a  vectors that another collection already holds
    repair         5b  make the store follow the ledger (edits, deletes, audits)
    advance        6   compare-and-set of the cursor, ledger, next job
    build          6a  a complete generation starts to serve
    retry          7   the environment failed: back off, never counted
    lost_worker    7a  fence off, requeue, split the range, dead-letter
    recovery       8   the sweeper's part: expired leases, idle sessions, unplanned work, jobs that nobody took

Callers need `capture.capture`, `flush.flush` and `worker.run_jobs`.
"""

from __future__ import annotations
