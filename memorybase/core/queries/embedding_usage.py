"""SQL for requests to embedding endpoints: the sum over all processes."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.upsert import insert
from memorybase.core.embedding.usage import Usage
from memorybase.core.models import EmbeddingUsage

COUNTS = ("requests", "failed_requests", "texts", "tokens")


def add(db: OrmSession, taken: Mapping[str, Usage]) -> None:
    """Add to the counts of each model, in the order of their names: two processes lock rows in one order."""
    for model, usage in sorted(taken.items()):
        statement = insert(db, EmbeddingUsage).values(model=model, **{name: getattr(usage, name) for name in COUNTS})
        sums = {name: getattr(EmbeddingUsage, name) + getattr(statement.excluded, name) for name in COUNTS}
        db.execute(statement.on_conflict_do_update(index_elements=["model"], set_=sums))


def read(db: OrmSession) -> dict[str, Usage]:
    """The counts of each model."""
    rows = db.execute(sa.select(EmbeddingUsage.model, *(getattr(EmbeddingUsage, name) for name in COUNTS)))
    return {row.model: Usage(*row[1:]) for row in rows}
