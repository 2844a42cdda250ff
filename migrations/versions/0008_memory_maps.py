"""maps of memory bases

Created 2026-11-23.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "memory_maps",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=True),
        sa.Column("projection", sa.LargeBinary(), nullable=True),
        sa.Column("explained", sa.Double(), nullable=True),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=True),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("progress", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_memory_maps_memory_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_base_id", name=op.f("pk_memory_maps")),
    )
    op.create_index("ix_memory_maps_notify", "memory_maps", ["notify_at"], unique=False)
    op.create_table(
        "map_points",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("progress_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("x", sa.Double(), nullable=False),
        sa.Column("y", sa.Double(), nullable=False),
        sa.Column("cluster", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["progress_id", "message_id"],
            ["ledger.progress_id", "ledger.message_id"],
            name=op.f("fk_map_points_progress_id_message_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_base_id", "position", name=op.f("pk_map_points")),
    )
    op.create_index("ix_map_points_ledger", "map_points", ["progress_id", "message_id"], unique=False)


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_index("ix_map_points_ledger", table_name="map_points")
    op.drop_table("map_points")
    op.drop_index("ix_memory_maps_notify", table_name="memory_maps")
    op.drop_table("memory_maps")
