"""since when a memory base differs from its store, and indexes for the overview

Created 2026-11-23.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"


def upgrade() -> None:
    _set_lock_timeout(LOCK_TIMEOUT)
    op.add_column("memory_bases", sa.Column("mismatch_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("memory_bases", sa.Column("chunks_missing", sa.BigInteger(), nullable=True))
    op.create_index("ix_memory_uses_recorded", "memory_uses", ["flow_id", "recorded_at"], unique=False)
    _replace_page_of_messages(["flow_id", "captured_at", "id", "is_output", "is_dialogue"])


def downgrade() -> None:
    _set_lock_timeout(LOCK_TIMEOUT)
    op.drop_index("ix_memory_uses_recorded", table_name="memory_uses")
    op.drop_column("memory_bases", "chunks_missing")
    op.drop_column("memory_bases", "mismatch_since")
    _replace_page_of_messages(["flow_id", "captured_at", "id"])


def _set_lock_timeout(value: str) -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{value}'")


def _replace_page_of_messages(columns: list[str]) -> None:
    """On PostgreSQL the new index replaces the old one in one step, once it is built."""
    is_postgresql = op.get_context().dialect.name == "postgresql"
    name = "ix_messages_page"
    building = f"{name}_new" if is_postgresql else name
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {building}")  # of an attempt that failed
        else:
            op.drop_index(name, table_name="messages")
        op.create_index(building, "messages", columns, postgresql_concurrently=True)
        if is_postgresql:
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.execute(f"ALTER INDEX {building} RENAME TO {name}")
