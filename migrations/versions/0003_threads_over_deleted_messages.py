"""threads over deleted messages

Where a thread begins on purpose, and what is followed in place of a deleted message.

Created 2026-11-22.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("messages", sa.Column("parent_rule", sa.String(length=8), nullable=True))
    op.add_column("deleted_messages", sa.Column("follows_id", sa.Uuid(), nullable=True))


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_column("deleted_messages", "follows_id")
    op.drop_column("messages", "parent_rule")
