"""an index of dead deliveries, so that the list of problems counts them without reading the others

Created 2026-11-25.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
NAME, TABLE = "ix_webhook_deliveries_dead", "webhook_deliveries"


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    dead = sa.text("state = 'dead'")
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}")  # of an attempt that failed
        op.create_index(
            NAME, TABLE, ["endpoint_id", "occurred_at"], postgresql_where=dead, sqlite_where=dead,
            postgresql_concurrently=True,
        )  # fmt: skip


def downgrade() -> None:
    op.drop_index(NAME, table_name=TABLE)
