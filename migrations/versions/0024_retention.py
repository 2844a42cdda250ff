"""how long flows and memory bases keep messages, sessions that expire, legal holds, receipts

Created 2026-11-25.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
MOMENT = sa.DateTime(timezone=True)
COLUMNS = (
    ("flows", "retain_days", sa.Integer()),
    ("flows", "retention_due_at", MOMENT),
    ("memory_bases", "retain_days", sa.Integer()),
    ("memory_bases", "forget_due_at", MOMENT),
    ("memory_bases", "forgotten_until", MOMENT),
    ("sessions", "expires_at", MOMENT),
)
# Each is as small as the rows that have a rule, but the last one.
INDEXES = (
    ("ix_flows_retention", "flows", ["retention_due_at"], "retention_due_at IS NOT NULL"),
    ("ix_memory_bases_forget", "memory_bases", ["forget_due_at"], "forget_due_at IS NOT NULL"),
    ("ix_sessions_expires", "sessions", ["expires_at"], "expires_at IS NOT NULL"),
    ("ix_node_executions_created", "node_executions", ["flow_id", "created_at"], None),
)
COUNTS = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    for table, name, kind in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=True))
    _create_holds()
    _create_passes()
    for name, table, columns, where in INDEXES:
        _create_index(name, table, columns, None if where is None else sa.text(where))


def downgrade() -> None:
    for name, table, _, _ in reversed(INDEXES):
        op.drop_index(name, table_name=table)
    op.drop_table("retention_passes")
    op.drop_table("legal_holds")
    for table, name, _ in reversed(COLUMNS):
        op.drop_column(table, name)


def _create_holds() -> None:
    op.create_table(
        "legal_holds",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=True),
        sa.Column("session_uuid", sa.Uuid(), nullable=True),
        sa.Column("end_user_id", sa.String(128), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("placed_by", sa.String(200), nullable=True),
        sa.Column("placed_at", MOMENT, nullable=False),
        sa.CheckConstraint("(flow_id IS NULL) <> (end_user_id IS NULL)", name=op.f("ck_legal_holds_scope")),
        sa.CheckConstraint("session_uuid IS NULL OR flow_id IS NOT NULL", name=op.f("ck_legal_holds_session")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_legal_holds_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_legal_holds_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_legal_holds_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_legal_holds")),
    )
    op.create_index("ix_legal_holds_page", "legal_holds", ["user_id", "placed_at", "id"])
    op.create_index(op.f("ix_legal_holds_flow_id"), "legal_holds", ["flow_id"])
    op.create_index(op.f("ix_legal_holds_session_uuid"), "legal_holds", ["session_uuid"])


def _create_passes() -> None:
    is_open = sa.text("finished_at IS NULL")
    op.create_table(
        "retention_passes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.String(16), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=True),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("retain_days", sa.Integer(), nullable=True),
        sa.Column("expired_before", MOMENT, nullable=False),
        sa.Column("counts", COUNTS, nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_retention_passes_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retention_passes")),
    )
    op.create_index("ix_retention_passes_page", "retention_passes", ["user_id", "started_at", "id"])
    op.create_index("ix_retention_passes_finished", "retention_passes", ["finished_at"])
    op.create_index(
        "uq_retention_passes_open", "retention_passes", ["rule", "subject_id"], unique=True,
        postgresql_where=is_open, sqlite_where=is_open,
    )  # fmt: skip


def _create_index(name: str, table: str, columns: list[str], where: sa.TextClause | None) -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # of an attempt that failed
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, postgresql_concurrently=True)
