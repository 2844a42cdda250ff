"""sessions that are deleted soon, unless that is undone

Created 2026-11-23.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "planned_deletions",
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_planned_deletions_session_uuid"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_planned_deletions_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_uuid", name=op.f("pk_planned_deletions")),
    )
    op.create_index(op.f("ix_planned_deletions_batch_id"), "planned_deletions", ["batch_id"], unique=False)
    op.create_index(op.f("ix_planned_deletions_due_at"), "planned_deletions", ["due_at"], unique=False)


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_index(op.f("ix_planned_deletions_due_at"), table_name="planned_deletions")
    op.drop_index(op.f("ix_planned_deletions_batch_id"), table_name="planned_deletions")
    op.drop_table("planned_deletions")
