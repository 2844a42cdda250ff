"""Moves what this process asked embedding endpoints for to SQL.

Workers and sweepers do so with their heartbeat and when they end, an API process when its metrics are read and when it
ends.
"""

from __future__ import annotations

from memorybase.core.embedding import usage
from memorybase.core.queries import embedding_usage
from memorybase.core.services import Services


def store(services: Services, *, wait: bool = True) -> None:
    """Add this process's usage to the sums. Raises DatabaseUnavailable and keeps it for the next call. `wait`: see
    `Database.transaction`."""
    taken = usage.OF_THIS_PROCESS.take()
    if not taken:
        return
    try:
        with services.database.transaction(wait=wait) as db:
            embedding_usage.add(db, taken)
    except BaseException:
        usage.OF_THIS_PROCESS.add_all(taken)
        raise


def read(services: Services) -> dict[str, usage.Usage]:
    """The sums over all processes, by model. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        return embedding_usage.read(db)
