"""an index of the deleted sessions alone

Created 2026-11-23.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
LOCK_TIMEOUT = "60s"
NAME = "ix_sessions_deleted"


def upgrade() -> None:
    _replace(where=sa.text("deleted_at IS NOT NULL"))


def downgrade() -> None:
    _replace()


def _replace(*, where: sa.TextClause | None = None) -> None:
    """On PostgreSQL the new index replaces the old one in one step, once it is built."""
    is_postgresql = op.get_context().dialect.name == "postgresql"
    building = f"{NAME}_new" if is_postgresql else NAME
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {building}")  # of an attempt that failed
        else:
            op.drop_index(NAME, table_name="sessions")
        op.create_index(
            building, "sessions", ["deleted_at"], postgresql_where=where, sqlite_where=where,
            postgresql_concurrently=True,
        )  # fmt: skip
        if is_postgresql:
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}")
            op.execute(f"ALTER INDEX {building} RENAME TO {NAME}")
