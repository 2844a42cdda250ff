"""languages of a flow's messages

Created 2026-11-25.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "spoken_languages",
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("language", sa.String(2), nullable=False),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flows.id"], name=op.f("fk_spoken_languages_flow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("flow_id", "language", name=op.f("pk_spoken_languages")),
    )


def downgrade() -> None:
    op.drop_table("spoken_languages")
