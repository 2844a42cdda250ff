"""quotas of users and keys, and how much of them is in use

Created 2026-11-25.
"""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
# An index that is built concurrently blocks nobody, so it may wait for the transactions that began before it.
INDEX_LOCK_TIMEOUT = "60s"
MOMENT = sa.DateTime(timezone=True)
QUOTAS = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
COLUMNS = (
    ("users", "quotas", QUOTAS),
    ("api_keys", "quotas", QUOTAS),
    ("api_keys", "quota_subject", sa.Uuid()),
    ("runs", "key_id", sa.Uuid()),
    ("chat_records", "key_id", sa.Uuid()),
)
# The last two are as small as the rows that have a key.
INDEXES = (
    ("ix_api_keys_quota_subject", "api_keys", ["quota_subject"], None),
    ("ix_runs_key", "runs", ["key_id"], "key_id IS NOT NULL"),
    ("ix_chat_records_key", "chat_records", ["key_id"], "key_id IS NOT NULL"),
)


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    for table, name, kind in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=True))
    op.create_table(
        "quota_counters",
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("quota", sa.String(32), nullable=False),
        sa.Column("window_start", MOMENT, nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("granted", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("recount_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_quota_counters_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("subject_id", "quota", "window_start", name=op.f("pk_quota_counters")),
    )
    op.create_index(op.f("ix_quota_counters_user_id"), "quota_counters", ["user_id"])
    op.create_index("ix_quota_counters_recount", "quota_counters", ["recount_at"])
    op.create_table(
        "quota_end_users",
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("end_user_id", sa.String(128), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("first_seen_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_quota_end_users_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("subject_id", "end_user_id", name=op.f("pk_quota_end_users")),
    )
    op.create_index("ix_quota_end_users_erasure", "quota_end_users", ["user_id", "end_user_id"])
    for name, table, columns, where in INDEXES:
        _create_index(name, table, columns, None if where is None else sa.text(where))


def downgrade() -> None:
    for name, table, _, _ in reversed(INDEXES):
        op.drop_index(name, table_name=table)
    op.drop_table("quota_end_users")
    op.drop_table("quota_counters")
    for table, name, _ in reversed(COLUMNS):
        op.drop_column(table, name)


def _create_index(name: str, table: str, columns: list[str], where: sa.TextClause | None) -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        if is_postgresql:
            op.execute(f"SET lock_timeout = '{INDEX_LOCK_TIMEOUT}'")
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # of an attempt that failed
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, postgresql_concurrently=True)
