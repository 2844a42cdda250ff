"""which sessions every memory base has passed, and the totals of a memory base from an index

Created 2026-11-23.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
BEHIND = sa.text("deleted_at IS NULL AND last_seq > passed_seq")


def upgrade() -> None:
    _set_lock_timeout()
    op.add_column("sessions", sa.Column("passed_seq", sa.BigInteger(), server_default="0", nullable=False))
    _create("ix_sessions_behind", "sessions", ["flow_id", "id"], where=BEHIND)
    _create(
        "ix_session_progress_totals", "session_progress",
        ["memory_base_id", "generation", "total_processed", "last_sync_at"],
    )  # fmt: skip


def downgrade() -> None:
    _set_lock_timeout()
    op.drop_index("ix_session_progress_totals", table_name="session_progress")
    op.drop_index("ix_sessions_behind", table_name="sessions")
    op.drop_column("sessions", "passed_seq")


def _set_lock_timeout() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")


def _create(name: str, table: str, columns: list[str], *, where: sa.TextClause | None = None) -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # of an attempt that failed
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, postgresql_concurrently=True)
