"""A worker that summarizes a chat holds a lease, as one that summarizes a session does.

Created 2026-11-29.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("chats", sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("chats", sa.Column("attempts", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("chats", "attempts")
    op.drop_column("chats", "lease_until")
