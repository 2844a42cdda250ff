"""curation of messages

Muted and pinned messages, the changes of single messages, and deleted messages that can be restored.

Created 2026-11-23.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"

_JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    for name in ("muted", "pinned"):
        # Processes of the version before this one insert messages without these columns.
        op.add_column("messages", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
        where = sa.text(name)
        op.create_index(
            f"ix_messages_{name}", "messages", ["flow_id", "captured_at"], postgresql_where=where, sqlite_where=where
        )
    op.create_table(
        "message_changes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("former", _JSON, nullable=True),
        sa.Column("batch_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_message_changes_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_message_changes_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message_changes")),
    )
    op.create_index("ix_message_changes_message", "message_changes", ["message_id", "number"])
    op.create_index("ix_message_changes_session", "message_changes", ["session_uuid"])
    op.create_index("ix_message_changes_flow", "message_changes", ["flow_id"])
    where = sa.text("batch_id IS NOT NULL")
    op.create_index(
        "ix_message_changes_batch", "message_changes", ["batch_id", "id"], postgresql_where=where, sqlite_where=where
    )
    op.create_table(
        "restorable_messages",
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("message", _JSON, nullable=False),
        sa.Column("follows_id", sa.Uuid(), nullable=True),
        sa.Column("links", _JSON, nullable=False),
        sa.Column("removed", _JSON, nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flows.id"], name=op.f("fk_restorable_messages_flow_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_restorable_messages_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("flow_id", "message_id", name=op.f("pk_restorable_messages")),
    )
    op.create_index("ix_restorable_messages_session", "restorable_messages", ["session_uuid"])
    op.create_index("ix_restorable_messages_page", "restorable_messages", ["flow_id", "deleted_at", "message_id"])
    op.create_index("ix_restorable_messages_deleted_at", "restorable_messages", ["deleted_at"])


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_table("restorable_messages")
    op.drop_table("message_changes")
    for name in ("muted", "pinned"):
        op.drop_index(f"ix_messages_{name}", table_name="messages")
        op.drop_column("messages", name)
