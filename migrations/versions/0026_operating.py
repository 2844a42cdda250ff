"""priorities of memory bases, draining workers, retention of finished jobs

Created 2026-11-25.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
FINISHED = sa.text("finished_at IS NOT NULL")


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    if is_postgresql:
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    # The version before this one gives the jobs that it inserts the cost of a high priority: fair among themselves.
    op.add_column("memory_bases", sa.Column("priority", sa.String(16), server_default="normal", nullable=False))
    op.add_column("heartbeats", sa.Column("drain_requested_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("heartbeats", sa.Column("draining_at", sa.DateTime(timezone=True), nullable=True))
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_ingestion_jobs_finished")  # of an attempt that failed
        op.create_index(
            "ix_ingestion_jobs_finished", "ingestion_jobs", ["finished_at"], postgresql_where=FINISHED,
            sqlite_where=FINISHED, postgresql_concurrently=True,
        )  # fmt: skip


def downgrade() -> None:
    op.drop_index("ix_ingestion_jobs_finished", table_name="ingestion_jobs")
    op.drop_column("heartbeats", "draining_at")
    op.drop_column("heartbeats", "drain_requested_at")
    op.drop_column("memory_bases", "priority")
