"""labels of found messages

Created 2026-11-23.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "search_labels",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("message_version", sa.Integer(), nullable=False),
        sa.Column("question_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=True),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("settings", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("right", sa.Boolean(), nullable=False),
        sa.Column("marked_by", sa.Uuid(), nullable=True),
        sa.Column("marked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_search_labels_user_id")),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_search_labels_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_search_labels_message_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["marked_by"], ["api_keys.id"], name=op.f("fk_search_labels_marked_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_labels")),
        sa.UniqueConstraint(
            "user_id", "question_key", "message_id", name=op.f("uq_search_labels_user_id_question_key_message_id")
        ),
    )
    op.create_index("ix_search_labels_page", "search_labels", ["user_id", "marked_at", "id"], unique=False)
    op.create_index("ix_search_labels_flow", "search_labels", ["flow_id", "question_key", "id"], unique=False)
    op.create_index(op.f("ix_search_labels_message_id"), "search_labels", ["message_id"], unique=False)


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_index(op.f("ix_search_labels_message_id"), table_name="search_labels")
    op.drop_index("ix_search_labels_flow", table_name="search_labels")
    op.drop_index("ix_search_labels_page", table_name="search_labels")
    op.drop_table("search_labels")
