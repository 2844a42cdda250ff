"""The tables of the first release.

All but `_beyond_the_models` and `_drop_beyond_the_models` is written by `python -m memorybase.core.database.migrate`.
SQLite prefers the newer of two indexes that cost the same, so each table's keep their order. Revisions before, 0001 to
0031, were of the development.

Created 2026-11-27.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "audit_chain",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("pruned_seq", sa.BigInteger(), nullable=False),
        sa.Column("pruned_hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_chain")),
    )
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.Column("person", sa.String(length=200), nullable=True),
        sa.Column("via", sa.String(length=16), nullable=False),
        sa.Column("operation", sa.String(length=200), nullable=False),
        sa.Column("objects", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("address", sa.String(length=128), nullable=True),
        sa.Column("request_id", sa.String(length=128), nullable=True),
        sa.CheckConstraint("kind IN ('change', 'read', 'denied', 'prune')", name=op.f("ck_audit_entries_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
        sa.UniqueConstraint("seq", name=op.f("uq_audit_entries_seq")),
    )
    op.create_table(
        "distillation_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("facts", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_distillation_days")),
    )
    op.create_table(
        "embedding_usage",
        sa.Column("model", sa.String(length=512), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("failed_requests", sa.BigInteger(), nullable=False),
        sa.Column("texts", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("model", name=op.f("pk_embedding_usage")),
    )
    op.create_table(
        "heartbeats",
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("drain_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("draining_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_heartbeats")),
    )
    op.create_table(
        "postings",
        sa.Column("term", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("times", sa.SmallInteger(), nullable=False),
        sa.Column("packed", sa.Text(), nullable=True),  # queries/posting_blocks.py has the form
        sa.PrimaryKeyConstraint("term", "position", name=op.f("pk_postings")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_postings_position", "postings", ["position"], unique=False)
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("quotas", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("scopes", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("limited_scopes", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("flow_ids", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("rotated_to", sa.Uuid(), nullable=True),
        sa.Column("quotas", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("quota_subject", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
    )
    op.create_index(op.f("ix_api_keys_user_id"), "api_keys", ["user_id"], unique=False)
    op.create_index(op.f("ix_api_keys_quota_subject"), "api_keys", ["quota_subject"], unique=False)
    op.create_table(
        "flows",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleting_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retain_days", sa.Integer(), nullable=True),
        sa.Column("retention_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("standing", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("time_zone", sa.String(length=64), server_default="UTC", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_flows_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flows")),
        sa.UniqueConstraint("user_id", "external_id", name=op.f("uq_flows_user_id_external_id")),
    )
    op.create_index("ix_flows_page", "flows", ["user_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_flows_retention",
        "flows",
        ["retention_due_at"],
        unique=False,
        postgresql_where=sa.text("retention_due_at IS NOT NULL"),
        sqlite_where=sa.text("retention_due_at IS NOT NULL"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("operation_id", sa.Uuid(), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_idempotency_keys_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "key_hash", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_expires_at"), "idempotency_keys", ["expires_at"], unique=False)
    op.create_table(
        "quota_counters",
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("quota", sa.String(length=32), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("granted", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("recount_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_quota_counters_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("subject_id", "quota", "window_start", name=op.f("pk_quota_counters")),
    )
    op.create_index(op.f("ix_quota_counters_user_id"), "quota_counters", ["user_id"], unique=False)
    op.create_index("ix_quota_counters_recount", "quota_counters", ["recount_at"], unique=False)
    op.create_table(
        "quota_end_users",
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("end_user_id", sa.String(length=128), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_quota_end_users_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("subject_id", "end_user_id", name=op.f("pk_quota_end_users")),
    )
    op.create_index("ix_quota_end_users_erasure", "quota_end_users", ["user_id", "end_user_id"], unique=False)
    op.create_table(
        "retention_passes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.String(length=16), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=True),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("retain_days", sa.Integer(), nullable=True),
        sa.Column("expired_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("counts", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_retention_passes_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retention_passes")),
    )
    op.create_index("ix_retention_passes_page", "retention_passes", ["user_id", "started_at", "id"], unique=False)
    op.create_index("ix_retention_passes_finished", "retention_passes", ["finished_at"], unique=False)
    op.create_index(
        "uq_retention_passes_open",
        "retention_passes",
        ["rule", "subject_id"],
        unique=True,
        postgresql_where=sa.text("finished_at IS NULL"),
        sqlite_where=sa.text("finished_at IS NULL"),
    )
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("description", sa.String(length=200), nullable=False),
        sa.Column("event_types", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("secret", sa.String(length=128), nullable=False),
        sa.Column("former_secret", sa.String(length=128), nullable=True),
        sa.Column("former_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disabled_reason", sa.String(length=16), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_webhook_endpoints_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_endpoints")),
    )
    op.create_index(op.f("ix_webhook_endpoints_user_id"), "webhook_endpoints", ["user_id"], unique=False)
    op.create_table(
        "chat_memories",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("node_id", sa.String(length=128), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("options", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_chat_memories_flow_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chat_memories")),
        sa.UniqueConstraint("flow_id", "node_id", name=op.f("uq_chat_memories_flow_id_node_id")),
    )
    op.create_index("ix_chat_memories_page", "chat_memories", ["flow_id", "created_at", "id"], unique=False)
    op.create_table(
        "deleted_messages",
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stays_deleted", sa.Boolean(), nullable=False),
        sa.Column("follows_id", sa.Uuid(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flows.id"], name=op.f("fk_deleted_messages_flow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("flow_id", "message_id", name=op.f("pk_deleted_messages")),
    )
    op.create_index("ix_deleted_messages_session", "deleted_messages", ["session_uuid"], unique=False)
    op.create_index("ix_deleted_messages_expires", "deleted_messages", ["expires_at"], unique=False)
    op.create_table(
        "memory_bases",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("kb_name", sa.String(length=200), nullable=False),
        sa.Column("threshold", sa.Integer(), nullable=False),
        sa.Column("auto_capture", sa.Boolean(), nullable=False),
        sa.Column("idle_after", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleting_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("priority", sa.String(length=16), server_default="normal", nullable=False),
        sa.Column("distill", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("serving", sa.Integer(), nullable=False),
        sa.Column("building", sa.Integer(), nullable=True),
        sa.Column("mismatch", sa.Boolean(), nullable=True),
        sa.Column("mismatch_checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("compare_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("mismatch_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("chunks_missing", sa.BigInteger(), nullable=True),
        sa.Column("chunks_stored", sa.BigInteger(), nullable=True),
        sa.Column("retain_days", sa.Integer(), nullable=True),
        sa.Column("forget_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("forgotten_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("search_weights", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("previous_search_weights", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.CheckConstraint("idle_after >= 0", name=op.f("ck_memory_bases_idle_after")),
        sa.CheckConstraint("threshold >= 1", name=op.f("ck_memory_bases_threshold")),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_memory_bases_flow_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memory_bases_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_bases")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_memory_bases_user_id_name")),
    )
    op.create_index(op.f("ix_memory_bases_flow_id"), "memory_bases", ["flow_id"], unique=False)
    op.create_index("ix_memory_bases_page", "memory_bases", ["user_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_memory_bases_forget",
        "memory_bases",
        ["forget_due_at"],
        unique=False,
        postgresql_where=sa.text("forget_due_at IS NOT NULL"),
        sqlite_where=sa.text("forget_due_at IS NOT NULL"),
    )
    op.create_table(
        "memory_uses",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=True),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("run_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("node_id", sa.String(length=128), nullable=False),
        sa.Column("messages", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("sources", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("report", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("memory_use_summary", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_memory_uses_flow_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_uses")),
        sa.UniqueConstraint("flow_id", "run_id", "node_id", name=op.f("uq_memory_uses_flow_id_run_id_node_id")),
    )
    op.create_index("ix_memory_uses_session", "memory_uses", ["flow_id", "session_id", "id"], unique=False)
    op.create_index("ix_memory_uses_recorded", "memory_uses", ["flow_id", "recorded_at"], unique=False)
    op.create_index(
        "ix_memory_uses_end_user",
        "memory_uses",
        ["end_user_id", "flow_id"],
        unique=False,
        postgresql_where=sa.text("end_user_id IS NOT NULL"),
        sqlite_where=sa.text("end_user_id IS NOT NULL"),
    )
    op.create_index("ix_memory_uses_oldest", "memory_uses", ["recorded_at", "id"], unique=False)
    op.create_index(
        "ix_memory_uses_run_due",
        "memory_uses",
        ["run_due_at"],
        unique=False,
        postgresql_where=sa.text("run_due_at IS NOT NULL"),
        sqlite_where=sa.text("run_due_at IS NOT NULL"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("first_position", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("passed_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.Column("terms", sa.BigInteger(), nullable=False),
        sa.Column("packed_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("keyword_language", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_captured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("former_id", sa.String(length=128), nullable=True),
        sa.Column("renamed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("renamed_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("metadata", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_sessions_flow_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("flow_id", "session_id", name=op.f("uq_sessions_flow_id_session_id")),
    )
    op.create_index("ix_sessions_page", "sessions", ["flow_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_sessions_recent",
        "sessions",
        ["flow_id", "last_captured_at", "id"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL"),
        sqlite_where=sa.text("deleted_at IS NULL"),
    )
    op.create_index(
        "ix_sessions_end_user", "sessions", ["flow_id", "end_user_id", "last_captured_at", "deleted_at"], unique=False
    )
    op.create_index(
        "ix_sessions_unpacked",
        "sessions",
        ["last_captured_at"],
        unique=False,
        postgresql_where=sa.text("last_seq > packed_seq"),
        sqlite_where=sa.text("last_seq > packed_seq"),
    )
    op.create_index(
        "ix_sessions_behind",
        "sessions",
        ["flow_id", "id"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL AND last_seq > passed_seq"),
        sqlite_where=sa.text("deleted_at IS NULL AND last_seq > passed_seq"),
    )
    op.create_index(
        "ix_sessions_deleted",
        "sessions",
        ["deleted_at"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
        sqlite_where=sa.text("deleted_at IS NOT NULL"),
    )
    op.create_index(
        "ix_sessions_expires",
        "sessions",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("expires_at IS NOT NULL"),
        sqlite_where=sa.text("expires_at IS NOT NULL"),
    )
    op.create_index(
        "ix_sessions_renamed",
        "sessions",
        ["renamed_at"],
        unique=False,
        postgresql_where=sa.text("renamed_at IS NOT NULL"),
        sqlite_where=sa.text("renamed_at IS NOT NULL"),
    )
    op.create_table(
        "spoken_languages",
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flows.id"], name=op.f("fk_spoken_languages_flow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("flow_id", "language", name=op.f("pk_spoken_languages")),
    )
    op.create_table(
        "web_tickets",
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('link', 'session')", name=op.f("ck_web_tickets_kind")),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=op.f("fk_web_tickets_key_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_web_tickets")),
    )
    op.create_index(op.f("ix_web_tickets_expires_at"), "web_tickets", ["expires_at"], unique=False)
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.Uuid(), nullable=False),
        sa.Column("event_type", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("available_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_error", sa.String(length=200), nullable=True),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'delivered', 'dead')", name=op.f("ck_webhook_deliveries_state")),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["webhook_endpoints.id"],
            name=op.f("fk_webhook_deliveries_endpoint_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_webhook_deliveries_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(op.f("ix_webhook_deliveries_user_id"), "webhook_deliveries", ["user_id"], unique=False)
    op.create_index(
        "ix_webhook_deliveries_due",
        "webhook_deliveries",
        ["endpoint_id", "available_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
        sqlite_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_webhook_deliveries_page", "webhook_deliveries", ["endpoint_id", "occurred_at", "id"], unique=False
    )
    op.create_index(
        "ix_webhook_deliveries_finished",
        "webhook_deliveries",
        ["finished_at"],
        unique=False,
        postgresql_where=sa.text("state <> 'pending'"),
        sqlite_where=sa.text("state <> 'pending'"),
    )
    op.create_index(
        "ix_webhook_deliveries_dead",
        "webhook_deliveries",
        ["endpoint_id", "occurred_at"],
        unique=False,
        postgresql_where=sa.text("state = 'dead'"),
        sqlite_where=sa.text("state = 'dead'"),
    )
    op.create_table(
        "chats",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("chat_memory_id", sa.Uuid(), nullable=False),
        sa.Column("chat_id", sa.String(length=128), nullable=False),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("counter", sa.String(length=32), server_default="estimate-1", nullable=False),
        sa.Column("trimmed_seq", sa.BigInteger(), nullable=False),
        sa.Column("head_seq", sa.BigInteger(), nullable=False),
        sa.Column("cut_seq", sa.BigInteger(), nullable=False),
        sa.Column("cut_revision", sa.Integer(), nullable=False),
        sa.Column("predefined_left", sa.Integer(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("summary_from_seq", sa.BigInteger(), nullable=False),
        sa.Column("summary_to_seq", sa.BigInteger(), nullable=False),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["chat_memory_id"], ["chat_memories.id"], name=op.f("fk_chats_chat_memory_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chats")),
        sa.UniqueConstraint("chat_memory_id", "chat_id", name=op.f("uq_chats_chat_memory_id_chat_id")),
    )
    op.create_index("ix_chats_end_user", "chats", ["flow_id", "end_user_id"], unique=False)
    op.create_index("ix_chats_page", "chats", ["chat_memory_id", "created_at", "id"], unique=False)
    op.create_index("ix_chats_notify", "chats", ["notify_at"], unique=False)
    op.create_table(
        "distillation_usage",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("day_tokens", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("facts", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_base_id"],
            ["memory_bases.id"],
            name=op.f("fk_distillation_usage_memory_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_base_id", name=op.f("pk_distillation_usage")),
    )
    op.create_table(
        "distillations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("cursor_seq", sa.BigInteger(), nullable=False),
        sa.Column("target_seq", sa.BigInteger(), nullable=False),
        sa.Column("redo", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_distillations_flow_id_session_id"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_distillations_memory_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_distillations")),
        sa.UniqueConstraint(
            "memory_base_id", "flow_id", "session_id", name=op.f("uq_distillations_memory_base_id_flow_id_session_id")
        ),
    )
    op.create_index("ix_distillations_session", "distillations", ["flow_id", "session_id"], unique=False)
    op.create_index("ix_distillations_notify", "distillations", ["notify_at"], unique=False)
    op.create_table(
        "facts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("when_text", sa.String(length=200), nullable=True),
        sa.Column("key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("source_count", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("duplicate_of_id", sa.Uuid(), nullable=True),
        sa.Column("superseded_by_id", sa.Uuid(), nullable=True),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("embedder", sa.String(length=512), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["duplicate_of_id"], ["facts.id"], name=op.f("fk_facts_duplicate_of_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_facts_memory_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["superseded_by_id"], ["facts.id"], name=op.f("fk_facts_superseded_by_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_facts_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
    )
    op.create_index("ix_facts_page", "facts", ["memory_base_id", "created_at", "id"], unique=False)
    op.create_index("ix_facts_session", "facts", ["session_uuid"], unique=False)
    op.create_index("ix_facts_duplicate_of", "facts", ["duplicate_of_id"], unique=False)
    op.create_index("ix_facts_superseded_by", "facts", ["superseded_by_id"], unique=False)
    op.create_table(
        "generations",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("capture", sa.String(length=16), nullable=False),
        sa.Column("embedding_model", sa.String(length=512), nullable=False),
        sa.Column("embedder", sa.String(length=512), nullable=False),
        sa.Column("chunker", sa.String(length=64), nullable=False),
        sa.Column("token_encoding", sa.String(length=64), nullable=True),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("collection_name", sa.String(length=128), nullable=False),
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("awaits_index", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_generations_memory_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_base_id", "generation", name=op.f("pk_generations")),
    )
    op.create_table(
        "knowledge_bases",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=True),
        sa.Column("embedding_model", sa.String(length=512), nullable=False),
        sa.Column("embedder", sa.String(length=512), nullable=False),
        sa.Column("chunker", sa.String(length=64), nullable=False),
        sa.Column("collection_name", sa.String(length=128), nullable=True),
        sa.Column("collection_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleting_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_knowledge_bases_memory_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_knowledge_bases_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_knowledge_bases")),
        sa.UniqueConstraint("memory_base_id", name=op.f("uq_knowledge_bases_memory_base_id")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_knowledge_bases_user_id_name")),
    )
    op.create_index("ix_knowledge_bases_page", "knowledge_bases", ["user_id", "created_at", "id"], unique=False)
    op.create_table(
        "legal_holds",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=True),
        sa.Column("session_uuid", sa.Uuid(), nullable=True),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("placed_by", sa.String(length=200), nullable=True),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(flow_id IS NULL) <> (end_user_id IS NULL)", name=op.f("ck_legal_holds_scope")),
        sa.CheckConstraint("session_uuid IS NULL OR flow_id IS NOT NULL", name=op.f("ck_legal_holds_session")),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_legal_holds_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_legal_holds_session_uuid"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_legal_holds_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_legal_holds")),
    )
    op.create_index("ix_legal_holds_page", "legal_holds", ["user_id", "placed_at", "id"], unique=False)
    op.create_index(op.f("ix_legal_holds_flow_id"), "legal_holds", ["flow_id"], unique=False)
    op.create_index(op.f("ix_legal_holds_session_uuid"), "legal_holds", ["session_uuid"], unique=False)
    op.create_table(
        "memory_maps",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=True),
        sa.Column("projection", sa.LargeBinary(), nullable=True),
        sa.Column("explained", sa.Double(), nullable=True),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=True),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("progress", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_memory_maps_memory_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_base_id", name=op.f("pk_memory_maps")),
    )
    op.create_index("ix_memory_maps_notify", "memory_maps", ["notify_at"], unique=False)
    op.create_table(
        "memory_use_messages",
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("use_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["use_id"], ["memory_uses.id"], name=op.f("fk_memory_use_messages_use_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message_id", "use_id", name=op.f("pk_memory_use_messages")),
    )
    op.create_index("ix_memory_use_messages_use", "memory_use_messages", ["use_id"], unique=False)
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
        sa.Column("former", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("batch_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_message_changes_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_message_changes_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message_changes")),
    )
    op.create_index("ix_message_changes_message", "message_changes", ["message_id", "number"], unique=False)
    op.create_index("ix_message_changes_session", "message_changes", ["session_uuid"], unique=False)
    op.create_index("ix_message_changes_flow", "message_changes", ["flow_id"], unique=False)
    op.create_index(
        "ix_message_changes_batch",
        "message_changes",
        ["batch_id", "id"],
        unique=False,
        postgresql_where=sa.text("batch_id IS NOT NULL"),
        sqlite_where=sa.text("batch_id IS NOT NULL"),
    )
    op.create_table(
        "node_executions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("node_id", sa.String(length=128), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("outputs", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("few_shots", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_node_executions_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_node_executions_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_executions")),
    )
    op.create_index("ix_node_executions_node", "node_executions", ["session_uuid", "node_id", "run_id"], unique=False)
    op.create_index(
        "uq_node_executions_external_id",
        "node_executions",
        ["flow_id", "external_id"],
        unique=True,
        postgresql_where=sa.text("external_id IS NOT NULL"),
        sqlite_where=sa.text("external_id IS NOT NULL"),
    )
    op.create_index("ix_node_executions_created", "node_executions", ["flow_id", "created_at"], unique=False)
    op.create_table(
        "planned_base_deletions",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_base_id"],
            ["memory_bases.id"],
            name=op.f("fk_planned_base_deletions_memory_base_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_planned_base_deletions_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_base_id", name=op.f("pk_planned_base_deletions")),
    )
    op.create_index(op.f("ix_planned_base_deletions_batch_id"), "planned_base_deletions", ["batch_id"], unique=False)
    op.create_index(op.f("ix_planned_base_deletions_due_at"), "planned_base_deletions", ["due_at"], unique=False)
    op.create_table(
        "planned_deletions",
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_planned_deletions_session_uuid"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_planned_deletions_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_uuid", name=op.f("pk_planned_deletions")),
    )
    op.create_index(op.f("ix_planned_deletions_batch_id"), "planned_deletions", ["batch_id"], unique=False)
    op.create_index(op.f("ix_planned_deletions_due_at"), "planned_deletions", ["due_at"], unique=False)
    op.create_table(
        "restorable_messages",
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("message", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("follows_id", sa.Uuid(), nullable=True),
        sa.Column("links", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("removed", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
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
    op.create_index("ix_restorable_messages_session", "restorable_messages", ["session_uuid"], unique=False)
    op.create_index(
        "ix_restorable_messages_page", "restorable_messages", ["flow_id", "deleted_at", "message_id"], unique=False
    )
    op.create_index("ix_restorable_messages_deleted_at", "restorable_messages", ["deleted_at"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_runs_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index("ix_runs_page", "runs", ["flow_id", "created_at", "id"], unique=False)
    op.create_index(
        "uq_runs_external_id",
        "runs",
        ["flow_id", "external_id"],
        unique=True,
        postgresql_where=sa.text("external_id IS NOT NULL"),
        sqlite_where=sa.text("external_id IS NOT NULL"),
    )
    op.create_index("ix_runs_session", "runs", ["session_uuid", "created_at", "id"], unique=False)
    op.create_index(
        "ix_runs_key",
        "runs",
        ["key_id"],
        unique=False,
        postgresql_where=sa.text("key_id IS NOT NULL"),
        sqlite_where=sa.text("key_id IS NOT NULL"),
    )
    op.create_table(
        "speakers",
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_speakers_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("flow_id", "name", "session_uuid", name=op.f("pk_speakers")),
    )
    op.create_index("ix_speakers_session", "speakers", ["session_uuid"], unique=False)
    op.create_table(
        "summaries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("preset", sa.String(length=32), nullable=False),
        sa.Column("summarizer", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("to_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_message_id", sa.Uuid(), nullable=True),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("rebuilt_seq", sa.BigInteger(), nullable=False),
        sa.Column("requested_seq", sa.BigInteger(), nullable=False),
        sa.Column("requested_message_id", sa.Uuid(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("requested_seq >= to_seq", name=op.f("ck_summaries_range")),
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_summaries_flow_id_session_id"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summaries")),
        sa.UniqueConstraint(
            "flow_id",
            "session_id",
            "preset",
            "summarizer",
            name=op.f("uq_summaries_flow_id_session_id_preset_summarizer"),
        ),
    )
    op.create_index("ix_summaries_notify", "summaries", ["notify_at"], unique=False)
    op.create_table(
        "chat_records",
        sa.Column("chat_row_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("request_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("content", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("tool_calls", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("tool_call_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("files", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("metadata", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["chat_row_id"], ["chats.id"], name=op.f("fk_chat_records_chat_row_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("chat_row_id", "seq", name=op.f("pk_chat_records")),
        sa.UniqueConstraint("chat_row_id", "message_id", name=op.f("uq_chat_records_chat_row_id_message_id")),
    )
    op.create_index("ix_chat_records_flow", "chat_records", ["flow_id"], unique=False)
    op.create_index("ix_chat_records_request", "chat_records", ["chat_row_id", "request_id"], unique=False)
    op.create_index(
        "ix_chat_records_key",
        "chat_records",
        ["key_id"],
        unique=False,
        postgresql_where=sa.text("key_id IS NOT NULL"),
        sqlite_where=sa.text("key_id IS NOT NULL"),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("knowledge_base_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("metadata", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["knowledge_base_id"],
            ["knowledge_bases.id"],
            name=op.f("fk_documents_knowledge_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
    )
    op.create_index("ix_documents_knowledge_base", "documents", ["knowledge_base_id", "created_at"], unique=False)
    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("is_output", sa.Boolean(), nullable=False),
        sa.Column("is_dialogue", sa.Boolean(), nullable=False),
        sa.Column("content", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("tool_calls", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("tool_call_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("sender_name", sa.Text(), nullable=True),
        sa.Column("parent_message_id", sa.Uuid(), nullable=True),
        sa.Column("parent_rule", sa.String(length=8), nullable=True),
        sa.Column("files", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("metadata", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text_bytes", sa.Integer(), nullable=False),
        sa.Column("terms", sa.Integer(), nullable=False),
        sa.Column("traits", sa.SmallInteger(), nullable=False),
        sa.Column("first_person", sa.SmallInteger(), nullable=False),
        sa.Column("capitals", sa.SmallInteger(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("captured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("muted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("pinned", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_messages_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_messages_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("session_uuid", "seq", name=op.f("uq_messages_session_uuid_seq")),
    )
    op.create_index(
        "ix_messages_children",
        "messages",
        ["parent_message_id", "seq"],
        unique=False,
        postgresql_where=sa.text("parent_message_id IS NOT NULL"),
        sqlite_where=sa.text("parent_message_id IS NOT NULL"),
    )
    op.create_index("ix_messages_dialogue", "messages", ["session_uuid", "is_dialogue", "seq"], unique=False)
    op.create_index("ix_messages_outputs", "messages", ["session_uuid", "is_output", "seq"], unique=False)
    op.create_index(
        "ix_messages_parents",
        "messages",
        ["session_uuid", "seq"],
        unique=False,
        postgresql_where=sa.text("parent_message_id IS NOT NULL"),
        sqlite_where=sa.text("parent_message_id IS NOT NULL"),
    )
    op.create_index(op.f("ix_messages_position"), "messages", ["position"], unique=False)
    op.create_index("ix_messages_run", "messages", ["run_id", "seq"], unique=False)
    op.create_index(
        "uq_messages_external_id",
        "messages",
        ["flow_id", "external_id"],
        unique=True,
        postgresql_where=sa.text("external_id IS NOT NULL"),
        sqlite_where=sa.text("external_id IS NOT NULL"),
    )
    op.create_index(
        "ix_messages_page", "messages", ["flow_id", "captured_at", "id", "is_output", "is_dialogue"], unique=False
    )
    op.create_index(
        "ix_messages_muted",
        "messages",
        ["flow_id", "captured_at"],
        unique=False,
        postgresql_where=sa.text("muted"),
        sqlite_where=sa.text("muted"),
    )
    op.create_index(
        "ix_messages_pinned",
        "messages",
        ["flow_id", "captured_at"],
        unique=False,
        postgresql_where=sa.text("pinned"),
        sqlite_where=sa.text("pinned"),
    )
    op.create_table(
        "preparations",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("after_created_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("after_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id", "generation"],
            ["generations.memory_base_id", "generations.generation"],
            name=op.f("fk_preparations_memory_base_id_generation"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_base_id", "generation", "kind", name=op.f("pk_preparations")),
    )
    op.create_table(
        "session_progress",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("start_seq", sa.BigInteger(), nullable=False),
        sa.Column("cursor_id", sa.Uuid(), nullable=True),
        sa.Column("cursor_seq", sa.BigInteger(), nullable=False),
        sa.Column("target_seq", sa.BigInteger(), nullable=False),
        sa.Column("build_seq", sa.BigInteger(), nullable=False),
        sa.Column("total_processed", sa.BigInteger(), nullable=False),
        sa.Column("total_chunks", sa.BigInteger(), nullable=False),
        sa.Column("last_sync_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("dirty", sa.Integer(), nullable=False),
        sa.Column("repaired", sa.Integer(), nullable=False),
        sa.Column("renamed_from", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("audit_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("job_cap", sa.Integer(), nullable=True),
        sa.Column("idle_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("traceparent", sa.String(length=64), nullable=True),
        sa.CheckConstraint("cursor_seq >= start_seq", name=op.f("ck_session_progress_cursor")),
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_session_progress_flow_id_session_id"),
            onupdate="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["memory_base_id", "generation"],
            ["generations.memory_base_id", "generations.generation"],
            name=op.f("fk_session_progress_memory_base_id_generation"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session_progress")),
        sa.UniqueConstraint(
            "memory_base_id",
            "session_id",
            "generation",
            name=op.f("uq_session_progress_memory_base_id_session_id_generation"),
        ),
        sa.UniqueConstraint(
            "memory_base_id",
            "session_uuid",
            "generation",
            name=op.f("uq_session_progress_memory_base_id_session_uuid_generation"),
        ),
    )
    op.create_index("ix_session_progress_audit", "session_progress", ["audit_at"], unique=False)
    op.create_index(
        "ix_session_progress_dirty",
        "session_progress",
        ["id"],
        unique=False,
        postgresql_where=sa.text("dirty > repaired"),
        sqlite_where=sa.text("dirty > repaired"),
    )
    op.create_index(
        "ix_session_progress_due",
        "session_progress",
        ["id"],
        unique=False,
        postgresql_where=sa.text("target_seq > cursor_seq"),
        sqlite_where=sa.text("target_seq > cursor_seq"),
    )
    op.create_index("ix_session_progress_idle", "session_progress", ["idle_due_at"], unique=False)
    op.create_index("ix_session_progress_lease", "session_progress", ["lease_until"], unique=False)
    op.create_index("ix_session_progress_session", "session_progress", ["flow_id", "session_id"], unique=False)
    op.create_index(
        "ix_session_progress_unbuilt",
        "session_progress",
        ["memory_base_id", "generation"],
        unique=False,
        postgresql_where=sa.text("cursor_seq < build_seq"),
        sqlite_where=sa.text("cursor_seq < build_seq"),
    )
    op.create_index(
        "ix_session_progress_totals",
        "session_progress",
        ["memory_base_id", "generation", "total_processed", "total_chunks", "last_sync_at"],
        unique=False,
    )
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("progress_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("error_code", sa.String(length=64), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_dead_letters_memory_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["progress_id"], ["session_progress.id"], name=op.f("fk_dead_letters_progress_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
        sa.UniqueConstraint("progress_id", "message_id", name=op.f("uq_dead_letters_progress_id_message_id")),
    )
    op.create_index("ix_dead_letters_generation", "dead_letters", ["memory_base_id", "generation"], unique=False)
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
    op.create_index("ix_fact_sources_message", "fact_sources", ["message_id"], unique=False)
    op.create_table(
        "ingestion_jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("progress_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("to_seq", sa.BigInteger(), nullable=False),
        sa.Column("cursor_id", sa.Uuid(), nullable=True),
        sa.Column("embedder", sa.String(length=512), nullable=False),
        sa.Column("chunker", sa.String(length=64), nullable=False),
        sa.Column("audit", sa.Boolean(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("processed", sa.Integer(), nullable=False),
        sa.Column("total_chunks", sa.Integer(), nullable=False),
        sa.Column("stored_chunks", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("outages", sa.Integer(), nullable=False),
        sa.Column("lost_workers", sa.Integer(), nullable=False),
        sa.Column("embedding_started", sa.Boolean(), nullable=False),
        sa.Column("batched", sa.Boolean(), nullable=False),
        sa.Column("run_alone", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("available_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("virtual_time", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("notified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notify_count", sa.Integer(), nullable=False),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("embedding_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("embedded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("traceparent", sa.String(length=64), nullable=True),
        sa.CheckConstraint("to_seq >= from_seq", name=op.f("ck_ingestion_jobs_range")),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_ingestion_jobs_memory_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["progress_id"], ["session_progress.id"], name=op.f("fk_ingestion_jobs_progress_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ingestion_jobs")),
    )
    op.create_index("ix_ingestion_jobs_page", "ingestion_jobs", ["memory_base_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_ingestion_jobs_queued",
        "ingestion_jobs",
        ["notify_at"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
        sqlite_where=sa.text("state = 'queued'"),
    )
    op.create_index("ix_ingestion_jobs_progress", "ingestion_jobs", ["progress_id"], unique=False)
    op.create_index("ix_ingestion_jobs_started", "ingestion_jobs", ["started_at"], unique=False)
    op.create_index(
        "uq_ingestion_jobs_active",
        "ingestion_jobs",
        ["memory_base_id", "session_id"],
        unique=True,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
        sqlite_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_index(
        "ix_ingestion_jobs_failed",
        "ingestion_jobs",
        ["memory_base_id", "progress_id"],
        unique=False,
        postgresql_where=sa.text("state = 'failed'"),
        sqlite_where=sa.text("state = 'failed'"),
    )
    op.create_index(
        "ix_ingestion_jobs_order",
        "ingestion_jobs",
        ["virtual_time"],
        unique=False,
        postgresql_where=sa.text("lower(state) = 'queued'"),
        sqlite_where=sa.text("lower(state) = 'queued'"),
    )
    op.create_index(
        "ix_ingestion_jobs_running",
        "ingestion_jobs",
        ["virtual_time"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
        sqlite_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "ix_ingestion_jobs_last",
        "ingestion_jobs",
        ["memory_base_id", "virtual_time"],
        unique=False,
        postgresql_where=sa.text("upper(state) = 'QUEUED'"),
        sqlite_where=sa.text("upper(state) = 'QUEUED'"),
    )
    op.create_index(
        "ix_ingestion_jobs_finished",
        "ingestion_jobs",
        ["finished_at"],
        unique=False,
        postgresql_where=sa.text("finished_at IS NOT NULL"),
        sqlite_where=sa.text("finished_at IS NOT NULL"),
    )
    op.create_table(
        "ledger",
        sa.Column("progress_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("ingested_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_base_id"], ["memory_bases.id"], name=op.f("fk_ledger_memory_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["progress_id"], ["session_progress.id"], name=op.f("fk_ledger_progress_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("progress_id", "message_id", name=op.f("pk_ledger")),
    )
    op.create_index("ix_ledger_ingested", "ledger", ["memory_base_id", "generation", "ingested_at"], unique=False)
    op.create_index("ix_ledger_message", "ledger", ["memory_base_id", "generation", "message_id"], unique=False)
    op.create_table(
        "search_labels",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("message_version", sa.Integer(), nullable=False),
        sa.Column("question_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=True),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("settings", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("right", sa.Boolean(), nullable=False),
        sa.Column("marked_by", sa.Uuid(), nullable=True),
        sa.Column("marked_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_search_labels_flow_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["marked_by"], ["api_keys.id"], name=op.f("fk_search_labels_marked_by"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_search_labels_message_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_search_labels_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_labels")),
        sa.UniqueConstraint(
            "user_id", "question_key", "message_id", name=op.f("uq_search_labels_user_id_question_key_message_id")
        ),
    )
    op.create_index("ix_search_labels_page", "search_labels", ["user_id", "marked_at", "id"], unique=False)
    op.create_index("ix_search_labels_flow", "search_labels", ["flow_id", "question_key", "id"], unique=False)
    op.create_index(op.f("ix_search_labels_message_id"), "search_labels", ["message_id"], unique=False)
    op.create_table(
        "standing_statements",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_uuid", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("found_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited", sa.Text(), nullable=True),
        sa.Column("changed_by", sa.String(length=200), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["flow_id"], ["flows.id"], name=op.f("fk_standing_statements_flow_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_standing_statements_message_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_uuid"], ["sessions.id"], name=op.f("fk_standing_statements_session_uuid"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_standing_statements")),
        sa.UniqueConstraint("message_id", "found_key", name=op.f("uq_standing_statements_message_id_found_key")),
    )
    op.create_index(
        "ix_standing_statements_owner", "standing_statements", ["flow_id", "end_user_id", "said_at", "id"], unique=False
    )
    op.create_index("ix_standing_statements_session", "standing_statements", ["session_uuid", "said_at"], unique=False)
    op.create_table(
        "map_points",
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("progress_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("x", sa.Double(), nullable=False),
        sa.Column("y", sa.Double(), nullable=False),
        sa.Column("cluster", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["progress_id", "message_id"],
            ["ledger.progress_id", "ledger.message_id"],
            name=op.f("fk_map_points_progress_id_message_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_base_id", "position", name=op.f("pk_map_points")),
    )
    op.create_index("ix_map_points_ledger", "map_points", ["progress_id", "message_id"], unique=False)
    op.create_table(
        "token_vectors",
        sa.Column("progress_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["progress_id", "message_id"],
            ["ledger.progress_id", "ledger.message_id"],
            name=op.f("fk_token_vectors_progress_id_message_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("progress_id", "message_id", name=op.f("pk_token_vectors")),
    )
    op.create_index(
        "ix_token_vectors_position", "token_vectors", ["memory_base_id", "generation", "position"], unique=False
    )
    _beyond_the_models()


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_table("token_vectors")
    op.drop_table("map_points")
    op.drop_table("standing_statements")
    op.drop_table("search_labels")
    op.drop_table("ledger")
    op.drop_table("ingestion_jobs")
    op.drop_table("fact_sources")
    op.drop_table("dead_letters")
    op.drop_table("session_progress")
    op.drop_table("preparations")
    op.drop_table("messages")
    op.drop_table("documents")
    op.drop_table("chat_records")
    op.drop_table("summaries")
    op.drop_table("speakers")
    op.drop_table("runs")
    op.drop_table("restorable_messages")
    op.drop_table("planned_deletions")
    op.drop_table("planned_base_deletions")
    op.drop_table("node_executions")
    op.drop_table("message_changes")
    op.drop_table("memory_use_messages")
    op.drop_table("memory_maps")
    op.drop_table("legal_holds")
    op.drop_table("knowledge_bases")
    op.drop_table("generations")
    op.drop_table("facts")
    op.drop_table("distillations")
    op.drop_table("distillation_usage")
    op.drop_table("chats")
    op.drop_table("webhook_deliveries")
    op.drop_table("web_tickets")
    op.drop_table("spoken_languages")
    op.drop_table("sessions")
    op.drop_table("memory_uses")
    op.drop_table("memory_bases")
    op.drop_table("deleted_messages")
    op.drop_table("chat_memories")
    op.drop_table("webhook_endpoints")
    op.drop_table("retention_passes")
    op.drop_table("quota_end_users")
    op.drop_table("quota_counters")
    op.drop_table("idempotency_keys")
    op.drop_table("flows")
    op.drop_table("api_keys")
    op.drop_table("users")
    op.drop_table("postings")
    op.drop_table("heartbeats")
    op.drop_table("embedding_usage")
    op.drop_table("distillation_days")
    op.drop_table("audit_entries")
    op.drop_table("audit_chain")
    _drop_beyond_the_models()


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


def _beyond_the_models() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    if is_postgresql:
        # Packed numbers do not compress, and trying to costs every write.
        op.execute("ALTER TABLE token_vectors ALTER COLUMN vectors SET STORAGE EXTERNAL")
    names = ("id", "seq", "hash", "pruned_seq", "pruned_hash")
    start = dict(zip(names, (1, 0, bytes(32), 0, bytes(32)), strict=True))
    op.bulk_insert(sa.table("audit_chain", *map(sa.column, names)), [start])
    for statement in POSTGRESQL_TRIGGERS if is_postgresql else SQLITE_TRIGGERS:
        op.execute(statement)


def _drop_beyond_the_models() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_entries_guard()")
