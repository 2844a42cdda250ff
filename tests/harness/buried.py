"""Dead letters in a stack that runs, without a message that its model cannot take."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import sqlalchemy as sa

from harness.stack import EmbeddedStack
from memorybase.database.engine import Database
from memorybase.models import MemoryBaseSession, Message
from memorybase.queries import dead_letters, ledger

REASON = "The embedding model gave this text a vector that is not finite."


def bury(stack: EmbeddedStack, base: str, *texts: str) -> None:
    """Messages of these texts, as a worker leaves those that the model has no vector for."""
    database = Database(f"sqlite:///{stack.data / 'memorybase.db'}", pool_size=1)
    try:
        with database.transaction() as session:
            for row in session.scalars(sa.select(MemoryBaseSession).filter_by(memory_base_id=UUID(base))).all():
                found = session.scalars(sa.select(Message).where(Message.session_id == row.session_id)).all()
                buried = [message for message in found if message.content in texts]
                ledger.forget(session, row.id, [message.id for message in buried])
                row.total_processed -= len(buried)
                failures = [dead_letters.Failure(each.id, each.version, "text_rejected", REASON) for each in buried]
                dead_letters.bury(session, base_id=UUID(base), generation=row.generation, row_id=row.id,
                                  failures=failures, now=datetime.now(UTC))  # fmt: skip
    finally:
        database.dispose()
