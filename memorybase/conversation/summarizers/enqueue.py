"""Summaries that are due are enqueued once their transaction has committed."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import engine
from memorybase.services import Services


def ring_after_commit(session: OrmSession, services: Services, ids: Sequence[UUID]) -> None:
    """Tell a worker, once this transaction is committed."""

    def ring() -> None:
        services.queue.ring_summaries(ids)

    engine.after_commit(session, ring)
