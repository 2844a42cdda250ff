"""Memory bases managed: created, regenerated, compared with their store, and deleted.

    manage        create and change a memory base
    regenerate    build a new generation while the old one answers; cancel a job
    consistency   mismatch: does the store hold what the ledger says
    reconcile     the operator's comparison of everything, and collections that nobody owns
    dead_letters  retry and discard
    deletion      404 at once, then drain, then the collection, then the rows; retired collections

What fills a memory base is `ingestion`; what lists them is `read_models`.
"""

from __future__ import annotations
