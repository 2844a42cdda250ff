"""the totals of a memory base with its chunks from an index

Created 2026-11-27.
"""

from __future__ import annotations

from contextlib import nullcontext

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
NAME, TABLE = "ix_session_progress_totals", "session_progress"


def upgrade() -> None:
    _replace(["memory_base_id", "generation", "total_processed", "total_chunks", "last_sync_at"])


def downgrade() -> None:
    _replace(["memory_base_id", "generation", "total_processed", "last_sync_at"])


def _replace(columns: list[str]) -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
        op.drop_index(NAME, table_name=TABLE, if_exists=True, postgresql_concurrently=True)
        op.create_index(NAME, TABLE, columns, postgresql_concurrently=True)
