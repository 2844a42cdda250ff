"""Dead letters in a stack that runs, without a message that its model cannot take."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import sqlalchemy as sa

from harness.stack import EmbeddedStack
from memorybase.core.database.engine import Database
from memorybase.core.models import Message, SessionProgress
from memorybase.core.queries import dead_letters, ledger

REASON = "The embedding model returned a vector that is not finite for this text."


def add_dead_letters(stack: EmbeddedStack, base: str, *texts: str) -> None:
    """Messages of these texts, as a worker leaves those that the model has no vector for."""
    database = Database(f"sqlite:///{stack.data / 'memorybase.db'}", pool_size=1)
    try:
        with database.transaction() as db:
            for row in db.scalars(sa.select(SessionProgress).filter_by(memory_base_id=UUID(base))).all():
                found = db.scalars(sa.select(Message).where(Message.session_id == row.session_id)).all()
                buried = [message for message in found if message.content in texts]
                ledger.delete(db, row.id, [message.id for message in buried])
                row.total_processed -= len(buried)
                failures = [dead_letters.Failure(each.id, each.version, "text_rejected", REASON) for each in buried]
                dead_letters.add_dead_letters(
                    db,
                    base_id=UUID(base),
                    generation=row.generation,
                    progress_id=row.id,
                    failures=failures,
                    now=datetime.now(UTC),
                )
    finally:
        database.dispose()
