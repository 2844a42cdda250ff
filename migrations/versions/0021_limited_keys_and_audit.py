"""keys limited to flows and to an end user, rotation, and the audit log

Created 2026-11-25.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY_COLUMNS = ("limited_scopes", "flow_ids", "end_user_id", "rotated_to")

# A sealed entry stays as it is, and only pruned ones may go.
SQLITE_TRIGGERS = (
    """CREATE TRIGGER audit_entries_sealed BEFORE UPDATE ON audit_entries WHEN OLD.seq IS NOT NULL
       BEGIN SELECT RAISE(ABORT, 'a sealed audit entry must not be changed'); END""",
    """CREATE TRIGGER audit_entries_kept BEFORE DELETE ON audit_entries
       WHEN OLD.seq IS NULL OR OLD.seq > (SELECT pruned_seq FROM audit_chain)
       BEGIN SELECT RAISE(ABORT, 'an audit entry must not be deleted before it is pruned'); END""",
)
POSTGRESQL_TRIGGERS = (
    """CREATE FUNCTION audit_entries_guard() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF TG_OP = 'UPDATE' THEN
           IF OLD.seq IS NOT NULL THEN RAISE 'a sealed audit entry must not be changed'; END IF;
           RETURN NEW;
         END IF;
         IF OLD.seq IS NULL OR OLD.seq > (SELECT pruned_seq FROM audit_chain) THEN
           RAISE 'an audit entry must not be deleted before it is pruned';
         END IF;
         RETURN OLD;
       END $$""",
    """CREATE TRIGGER audit_entries_guard BEFORE UPDATE OR DELETE ON audit_entries
       FOR EACH ROW EXECUTE FUNCTION audit_entries_guard()""",
)


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    if is_postgresql:
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("api_keys", sa.Column("limited_scopes", JSON, nullable=True))
    op.add_column("api_keys", sa.Column("flow_ids", JSON, nullable=True))
    op.add_column("api_keys", sa.Column("end_user_id", sa.String(length=128), nullable=True))
    op.add_column("api_keys", sa.Column("rotated_to", sa.Uuid(), nullable=True))
    op.create_table(
        "audit_entries",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.Column("person", sa.String(length=200), nullable=True),
        sa.Column("via", sa.String(length=16), nullable=False),
        sa.Column("operation", sa.String(length=200), nullable=False),
        sa.Column("objects", JSON, nullable=False),
        sa.Column("address", sa.String(length=128), nullable=True),
        sa.Column("request_id", sa.String(length=128), nullable=True),
        sa.CheckConstraint("kind IN ('change', 'read', 'denied', 'prune')", name=op.f("ck_audit_entries_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
        sa.UniqueConstraint("seq", name=op.f("uq_audit_entries_seq")),
    )
    chain = op.create_table(
        "audit_chain",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("pruned_seq", sa.BigInteger(), nullable=False),
        sa.Column("pruned_hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_chain")),
    )
    start = bytes(32)
    op.bulk_insert(chain, [{"id": 1, "seq": 0, "hash": start, "pruned_seq": 0, "pruned_hash": start}])
    for statement in POSTGRESQL_TRIGGERS if is_postgresql else SQLITE_TRIGGERS:
        op.execute(statement)


def downgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    if is_postgresql:
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_table("audit_chain")
    op.drop_table("audit_entries")  # with its triggers
    if is_postgresql:
        op.execute("DROP FUNCTION audit_entries_guard()")
    for column in KEY_COLUMNS:
        op.drop_column("api_keys", column)
