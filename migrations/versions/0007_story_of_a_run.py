"""when a job embedded and wrote; what a memory use looked for; a session's runs in order

Created 2026-11-23.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
STAGES = ("embedding_at", "embedded_at", "written_at")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    # Both databases add a nullable column without rewriting or copying the table.
    for stage in STAGES:
        op.add_column("ingestion_jobs", sa.Column(stage, sa.DateTime(timezone=True), nullable=True))
    op.add_column("memory_uses", sa.Column("query", sa.Text(), nullable=True))
    op.drop_index("ix_runs_session", table_name="runs")
    op.create_index("ix_runs_session", "runs", ["flow_id", "session_id", "created_at", "id"], unique=False)


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_index("ix_runs_session", table_name="runs")
    op.create_index("ix_runs_session", "runs", ["flow_id", "session_id"], unique=False)
    op.drop_column("memory_uses", "query")
    for stage in STAGES:
        op.drop_column("ingestion_jobs", stage)
