"""standing statements of end users, and whether a flow's contexts contain them

Created 2026-11-25.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("flows", sa.Column("standing", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_table(
        "standing_statements",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("end_user_id", sa.String(128), nullable=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("found_key", sa.LargeBinary(32), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("said_at", MOMENT, nullable=False),
        sa.Column("edited", sa.Text(), nullable=True),
        sa.Column("changed_by", sa.String(200), nullable=True),
        sa.Column("changed_at", MOMENT, nullable=True),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flows.id"], name=op.f("fk_standing_statements_flow_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_standing_statements_session_uuid"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_standing_statements_message_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_standing_statements")),
        sa.UniqueConstraint("message_id", "found_key", name=op.f("uq_standing_statements_message_id_found_key")),
    )
    op.create_index("ix_standing_statements_owner", "standing_statements", ["flow_id", "end_user_id", "said_at", "id"])
    op.create_index("ix_standing_statements_session", "standing_statements", ["session_uuid", "said_at"])


def downgrade() -> None:
    op.drop_table("standing_statements")
    op.drop_column("flows", "standing")
