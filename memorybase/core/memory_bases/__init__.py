"""Memory bases: create, regenerate, compare with their store, delete.

    manage        create and change a memory base
    preparation   work on every session of a flow, in pages
    regenerate    build a new generation while the old one serves; cancel a job
    consistency   mismatch: does the store hold what the ledger says?
    newest_chunks  the same for the newest chunks alone
    reconcile     the operator's comparison of all stores with SQL
    deep_check    every vector and every text
    orphans       collections that SQL does not know
    dead_letters  retry or discard dead letters
    job_actions   run jobs that wait after an outage, or cancel jobs, in bulk
    session_batches  the sessions that such an action locks in one transaction
    deletion      404 at once, then drain, then the collection, then the rows; retired collections
    purging       has stores drop the logs that still hold deleted chunks

`ingestion` fills a memory base; `read_models` lists them.
"""

from __future__ import annotations
