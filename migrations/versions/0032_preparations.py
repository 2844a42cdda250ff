"""work on all sessions of a flow in pages, and when a memory base is compared with its store again

Created 2026-11-27.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("memory_bases", sa.Column("compare_at", MOMENT, nullable=True))
    op.create_table(
        "preparations",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("after_created_at", MOMENT, nullable=True),
        sa.Column("after_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id", "generation"], ["generations.memory_base_id", "generations.generation"],
            name=op.f("fk_preparations_memory_base_id_generation"), ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_base_id", "generation", "kind", name=op.f("pk_preparations")),
    )  # fmt: skip


def downgrade() -> None:
    op.drop_table("preparations")
    op.drop_column("memory_bases", "compare_at")
