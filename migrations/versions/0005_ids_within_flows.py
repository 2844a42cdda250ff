"""ids of runs, messages and node executions are unique within their flow

Created 2026-11-22.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = ("runs", "messages", "node_executions")
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
LOCK_TIMEOUT = "60s"


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        for table in TABLES:
            name = f"uq_{table}_external_id"
            if is_postgresql:  # an attempt that failed leaves an invalid index
                op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.create_index(
                name,
                table,
                ["flow_id", "external_id"],
                unique=True,
                postgresql_where=sa.text("external_id IS NOT NULL"),
                sqlite_where=sa.text("external_id IS NOT NULL"),
                postgresql_concurrently=True,
            )


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    for table in TABLES:
        op.drop_index(f"uq_{table}_external_id", table_name=table)
