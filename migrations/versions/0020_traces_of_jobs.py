"""the trace of each job, from the request that made it due, and what each memory base has in its store

Created 2026-11-25.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
TABLES = ("session_progress", "ingestion_jobs")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    for table in TABLES:
        op.add_column(table, sa.Column("traceparent", sa.String(64), nullable=True))
    op.add_column("memory_bases", sa.Column("chunks_stored", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("memory_bases", "chunks_stored")
    for table in reversed(TABLES):
        op.drop_column(table, "traceparent")
