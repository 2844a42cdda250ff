"""facts that a language model distils from messages, how far sessions are distilled, what that costs

Created 2026-11-25.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"
MOMENT = sa.DateTime(timezone=True)
JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.add_column("memory_bases", sa.Column("distill", sa.Boolean(), server_default=sa.false(), nullable=False))
    _create_distillations()
    _create_facts()
    _create_usage()


def downgrade() -> None:
    for table in ("distillation_days", "distillation_usage", "fact_sources", "facts", "distillations"):
        op.drop_table(table)
    op.drop_column("memory_bases", "distill")


def _of_base(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["memory_base_id"], ["memory_bases.id"], name=op.f(f"fk_{table}_memory_base_id"), ondelete="CASCADE"
    )


def _of_session(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["flow_id", "session_id"], ["sessions.flow_id", "sessions.session_id"],
        name=op.f(f"fk_{table}_flow_id_session_id"), onupdate="CASCADE", ondelete="CASCADE",
    )  # fmt: skip


def _create_distillations() -> None:
    op.create_table(
        "distillations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(128), nullable=False),
        sa.Column("cursor_seq", sa.BigInteger(), nullable=False),
        sa.Column("target_seq", sa.BigInteger(), nullable=False),
        sa.Column("redo", JSON, nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("notify_at", MOMENT, nullable=True),
        sa.Column("lease_until", MOMENT, nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("updated_at", MOMENT, nullable=False),
        _of_base("distillations"),
        _of_session("distillations"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_distillations")),
        sa.UniqueConstraint(
            "memory_base_id", "flow_id", "session_id", name=op.f("uq_distillations_memory_base_id_flow_id_session_id")
        ),
    )
    op.create_index("ix_distillations_session", "distillations", ["flow_id", "session_id"])
    op.create_index("ix_distillations_notify", "distillations", ["notify_at"])


def _create_facts() -> None:
    op.create_table(
        "facts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(128), nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("when_text", sa.String(200), nullable=True),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("source_count", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("said_at", MOMENT, nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("duplicate_of_id", sa.Uuid(), nullable=True),
        sa.Column("superseded_by_id", sa.Uuid(), nullable=True),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("embedder", sa.String(512), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        _of_base("facts"),
        _of_session("facts"),
        sa.ForeignKeyConstraint(
            ["duplicate_of_id"], ["facts.id"], name=op.f("fk_facts_duplicate_of_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["superseded_by_id"], ["facts.id"], name=op.f("fk_facts_superseded_by_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
    )
    op.create_index("ix_facts_page", "facts", ["memory_base_id", "created_at", "id"])
    op.create_index("ix_facts_session", "facts", ["flow_id", "session_id"])
    op.create_index("ix_facts_duplicate_of", "facts", ["duplicate_of_id"])
    op.create_index("ix_facts_superseded_by", "facts", ["superseded_by_id"])
    op.create_table(
        "fact_sources",
        sa.Column("fact_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["fact_id"], ["facts.id"], name=op.f("fk_fact_sources_fact_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_fact_sources_message_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("fact_id", "message_id", name=op.f("pk_fact_sources")),
    )
    op.create_index("ix_fact_sources_message", "fact_sources", ["message_id"])


def _create_usage() -> None:
    counts = ("requests", "prompt_tokens", "completion_tokens", "facts")
    op.create_table(
        "distillation_usage",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("day_tokens", *counts)),
        sa.Column("refused", JSON, nullable=False),
        _of_base("distillation_usage"),
        sa.PrimaryKeyConstraint("memory_base_id", name=op.f("pk_distillation_usage")),
    )
    op.create_table(
        "distillation_days",
        sa.Column("day", sa.Date(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in (*counts, "refused")),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_distillation_days")),
    )
