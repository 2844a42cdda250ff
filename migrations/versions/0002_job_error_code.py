"""The error code of a job's last attempt.

Created 2026-11-22.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    # Both databases add a nullable column without rewriting or copying the table.
    op.add_column("ingestion_jobs", sa.Column("error_code", sa.String(length=64), nullable=True))


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_column("ingestion_jobs", "error_code")
