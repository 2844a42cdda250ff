"""the order in which waiting jobs run, fair between memory bases

Created 2026-11-23.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
RUNNING = sa.text("state = 'running'")
# Two ways to say it, so that each statement can be served by one index only.
IN_ORDER = sa.text("lower(state) = 'queued'")
LAST_IN_BASE = sa.text("upper(state) = 'QUEUED'")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    # Processes of the version before this one insert jobs without it: theirs run first.
    op.add_column("ingestion_jobs", sa.Column("virtual_time", sa.BigInteger(), server_default="0", nullable=False))
    _create("ix_ingestion_jobs_order", ["virtual_time"], where=IN_ORDER)
    _create("ix_ingestion_jobs_running", ["virtual_time"], where=RUNNING)
    _create("ix_ingestion_jobs_last", ["memory_base_id", "virtual_time"], where=LAST_IN_BASE)


def downgrade() -> None:
    op.drop_index("ix_ingestion_jobs_last", table_name="ingestion_jobs")
    op.drop_index("ix_ingestion_jobs_running", table_name="ingestion_jobs")
    op.drop_index("ix_ingestion_jobs_order", table_name="ingestion_jobs")
    op.drop_column("ingestion_jobs", "virtual_time")


def _create(name: str, columns: list[str], *, where: sa.TextClause) -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # of an attempt that failed
        op.create_index(
            name, "ingestion_jobs", columns, postgresql_where=where, sqlite_where=where, postgresql_concurrently=True
        )
