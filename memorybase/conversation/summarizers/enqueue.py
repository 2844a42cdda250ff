"""Summaries that are due are enqueued once their transaction has committed."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import engine
from memorybase.services import Services


def enqueue_after_commit(db: OrmSession, services: Services, ids: Sequence[UUID]) -> None:
    """Tell a worker, once this transaction is committed."""

    def enqueue() -> None:
        services.queue.enqueue_summaries(ids)

    engine.after_commit(db, enqueue)
