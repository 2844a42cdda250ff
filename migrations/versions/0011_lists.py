"""indexes of lists over all flows

Created 2026-11-23.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
LOCK_TIMEOUT = "60s"
LIVE = sa.text("deleted_at IS NULL")


def upgrade() -> None:
    _replace("ix_sessions_recent", "sessions", ["flow_id", "last_captured_at", "id"], where=LIVE)
    _replace("ix_sessions_end_user", "sessions", ["flow_id", "end_user_id", "last_captured_at", "deleted_at"])


def downgrade() -> None:
    _replace("ix_sessions_recent", "sessions", ["flow_id", "last_captured_at"])
    _replace("ix_sessions_end_user", "sessions", ["flow_id", "end_user_id"])


def _replace(name: str, table: str, columns: list[str], *, where: sa.TextClause | None = None) -> None:
    """On PostgreSQL the new index replaces the old one in one step, once it is built."""
    is_postgresql = op.get_context().dialect.name == "postgresql"
    building = f"{name}_new" if is_postgresql else name
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {building}")  # of an attempt that failed
        else:
            op.drop_index(name, table_name=table)
        op.create_index(
            building, table, columns, postgresql_where=where, sqlite_where=where, postgresql_concurrently=True
        )
        if is_postgresql:
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.execute(f"ALTER INDEX {building} RENAME TO {name}")
