"""Flows say what they do with secrets that callers send; placeholders of secrets have a key.

Created 2026-11-29.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0102"
down_revision = "0101"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("flows", sa.Column("secrets", sa.String(length=8), nullable=True))
    op.create_table(
        "redaction_keys",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_redaction_keys")),
    )


def downgrade() -> None:
    op.drop_table("redaction_keys")
    op.drop_column("flows", "secrets")
