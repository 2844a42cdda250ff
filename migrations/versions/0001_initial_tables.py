"""initial tables

Created 2026-11-21.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.create_table(
        "heartbeats",
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_heartbeats")),
    )
    op.create_table(
        "postings",
        sa.Column("term", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("times", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("term", "position", name=op.f("pk_postings")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_postings_position", "postings", ["position"], unique=False)
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
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
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
    )
    op.create_index(op.f("ix_api_keys_user_id"), "api_keys", ["user_id"], unique=False)
    op.create_table(
        "flows",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleting_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_flows_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flows")),
        sa.UniqueConstraint("user_id", "external_id", name=op.f("uq_flows_user_id_external_id")),
    )
    op.create_index("ix_flows_page", "flows", ["user_id", "created_at", "id"], unique=False)
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
        sa.Column("serving", sa.Integer(), nullable=False),
        sa.Column("building", sa.Integer(), nullable=True),
        sa.Column("mismatch", sa.Boolean(), nullable=True),
        sa.Column("mismatch_checked_at", sa.DateTime(timezone=True), nullable=True),
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
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("first_position", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.Column("terms", sa.BigInteger(), nullable=False),
        sa.Column("keyword_language", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_captured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("metadata", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_sessions_flow_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("flow_id", "session_id", name=op.f("uq_sessions_flow_id_session_id")),
    )
    op.create_index("ix_sessions_deleted", "sessions", ["deleted_at"], unique=False)
    op.create_index("ix_sessions_end_user", "sessions", ["flow_id", "end_user_id"], unique=False)
    op.create_index("ix_sessions_page", "sessions", ["flow_id", "created_at", "id"], unique=False)
    op.create_index("ix_sessions_recent", "sessions", ["flow_id", "last_captured_at"], unique=False)
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
        "chats",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("chat_memory_id", sa.Uuid(), nullable=False),
        sa.Column("chat_id", sa.String(length=128), nullable=False),
        sa.Column("end_user_id", sa.String(length=128), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
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
        "memory_uses",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("node_id", sa.String(length=128), nullable=False),
        sa.Column("messages", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("sources", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("report", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("memory_use_summary", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_memory_uses_flow_id_session_id"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_memory_uses_flow_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_uses")),
        sa.UniqueConstraint("flow_id", "run_id", "node_id", name=op.f("uq_memory_uses_flow_id_run_id_node_id")),
    )
    op.create_index("ix_memory_uses_session", "memory_uses", ["flow_id", "session_id"], unique=False)
    op.create_table(
        "node_executions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("node_id", sa.String(length=128), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("outputs", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("few_shots", sa.JSON().with_variant(postgresql.JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_node_executions_flow_id_session_id"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["flow_id"], ["flows.id"], name=op.f("fk_node_executions_flow_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_executions")),
    )
    op.create_index(
        "ix_node_executions_node", "node_executions", ["flow_id", "session_id", "node_id", "run_id"], unique=False
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
        sa.Column("external_id", sa.String(length=128), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_runs_flow_id_session_id"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index("ix_runs_page", "runs", ["flow_id", "created_at", "id"], unique=False)
    op.create_index("ix_runs_session", "runs", ["flow_id", "session_id"], unique=False)
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
        sa.ForeignKeyConstraint(
            ["chat_row_id"], ["chats.id"], name=op.f("fk_chat_records_chat_row_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("chat_row_id", "seq", name=op.f("pk_chat_records")),
        sa.UniqueConstraint("chat_row_id", "message_id", name=op.f("uq_chat_records_chat_row_id_message_id")),
    )
    op.create_index("ix_chat_records_flow", "chat_records", ["flow_id"], unique=False)
    op.create_index("ix_chat_records_request", "chat_records", ["chat_row_id", "request_id"], unique=False)
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
        "session_progress",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("memory_base_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
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
    op.create_index("ix_session_progress_idle", "session_progress", ["idle_due_at"], unique=False)
    op.create_index("ix_session_progress_lease", "session_progress", ["lease_until"], unique=False)
    op.create_index(
        "ix_session_progress_pending",
        "session_progress",
        ["id"],
        unique=False,
        postgresql_where=sa.text("target_seq > cursor_seq"),
        sqlite_where=sa.text("target_seq > cursor_seq"),
    )
    op.create_index("ix_session_progress_session", "session_progress", ["flow_id", "session_id"], unique=False)
    op.create_index(
        "ix_session_progress_unbuilt",
        "session_progress",
        ["memory_base_id", "generation"],
        unique=False,
        postgresql_where=sa.text("cursor_seq < build_seq"),
        sqlite_where=sa.text("cursor_seq < build_seq"),
    )
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
        "messages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("flow_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.String(length=128), nullable=False),
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
        sa.ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            name=op.f("fk_messages_flow_id_session_id"),
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_messages_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("flow_id", "session_id", "seq", name=op.f("uq_messages_flow_id_session_id_seq")),
    )
    op.create_index(
        "ix_messages_children",
        "messages",
        ["parent_message_id", "seq"],
        unique=False,
        postgresql_where=sa.text("parent_message_id IS NOT NULL"),
        sqlite_where=sa.text("parent_message_id IS NOT NULL"),
    )
    op.create_index("ix_messages_dialogue", "messages", ["flow_id", "session_id", "is_dialogue", "seq"], unique=False)
    op.create_index("ix_messages_outputs", "messages", ["flow_id", "session_id", "is_output", "seq"], unique=False)
    op.create_index("ix_messages_page", "messages", ["flow_id", "captured_at", "id"], unique=False)
    op.create_index(
        "ix_messages_parents",
        "messages",
        ["flow_id", "session_id", "seq"],
        unique=False,
        postgresql_where=sa.text("parent_message_id IS NOT NULL"),
        sqlite_where=sa.text("parent_message_id IS NOT NULL"),
    )
    op.create_index(op.f("ix_messages_position"), "messages", ["position"], unique=False)
    op.create_index("ix_messages_run", "messages", ["run_id", "seq"], unique=False)
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
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("outages", sa.Integer(), nullable=False),
        sa.Column("lost_workers", sa.Integer(), nullable=False),
        sa.Column("embedding_started", sa.Boolean(), nullable=False),
        sa.Column("batched", sa.Boolean(), nullable=False),
        sa.Column("run_alone", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("available_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("notified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notify_count", sa.Integer(), nullable=False),
        sa.Column("notify_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
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
    if op.get_context().dialect.name == "postgresql":
        # Packed numbers do not compress, and trying to costs every write.
        op.execute("ALTER TABLE token_vectors ALTER COLUMN vectors SET STORAGE EXTERNAL")


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    op.drop_index("ix_token_vectors_position", table_name="token_vectors")
    op.drop_table("token_vectors")
    op.drop_index("ix_ledger_message", table_name="ledger")
    op.drop_index("ix_ledger_ingested", table_name="ledger")
    op.drop_table("ledger")
    op.drop_index(
        "uq_ingestion_jobs_active",
        table_name="ingestion_jobs",
        postgresql_where=sa.text("state IN ('queued', 'running')"),
        sqlite_where=sa.text("state IN ('queued', 'running')"),
    )
    op.drop_index("ix_ingestion_jobs_started", table_name="ingestion_jobs")
    op.drop_index("ix_ingestion_jobs_progress", table_name="ingestion_jobs")
    op.drop_index(
        "ix_ingestion_jobs_queued",
        table_name="ingestion_jobs",
        postgresql_where=sa.text("state = 'queued'"),
        sqlite_where=sa.text("state = 'queued'"),
    )
    op.drop_index("ix_ingestion_jobs_page", table_name="ingestion_jobs")
    op.drop_table("ingestion_jobs")
    op.drop_index("ix_dead_letters_generation", table_name="dead_letters")
    op.drop_table("dead_letters")
    op.drop_index("ix_messages_run", table_name="messages")
    op.drop_index(op.f("ix_messages_position"), table_name="messages")
    op.drop_index(
        "ix_messages_parents",
        table_name="messages",
        postgresql_where=sa.text("parent_message_id IS NOT NULL"),
        sqlite_where=sa.text("parent_message_id IS NOT NULL"),
    )
    op.drop_index("ix_messages_page", table_name="messages")
    op.drop_index("ix_messages_outputs", table_name="messages")
    op.drop_index("ix_messages_dialogue", table_name="messages")
    op.drop_index(
        "ix_messages_children",
        table_name="messages",
        postgresql_where=sa.text("parent_message_id IS NOT NULL"),
        sqlite_where=sa.text("parent_message_id IS NOT NULL"),
    )
    op.drop_table("messages")
    op.drop_index("ix_memory_use_messages_use", table_name="memory_use_messages")
    op.drop_table("memory_use_messages")
    op.drop_index(
        "ix_session_progress_unbuilt",
        table_name="session_progress",
        postgresql_where=sa.text("cursor_seq < build_seq"),
        sqlite_where=sa.text("cursor_seq < build_seq"),
    )
    op.drop_index("ix_session_progress_session", table_name="session_progress")
    op.drop_index(
        "ix_session_progress_pending",
        table_name="session_progress",
        postgresql_where=sa.text("target_seq > cursor_seq"),
        sqlite_where=sa.text("target_seq > cursor_seq"),
    )
    op.drop_index("ix_session_progress_lease", table_name="session_progress")
    op.drop_index("ix_session_progress_idle", table_name="session_progress")
    op.drop_index(
        "ix_session_progress_dirty",
        table_name="session_progress",
        postgresql_where=sa.text("dirty > repaired"),
        sqlite_where=sa.text("dirty > repaired"),
    )
    op.drop_index("ix_session_progress_audit", table_name="session_progress")
    op.drop_table("session_progress")
    op.drop_index("ix_documents_knowledge_base", table_name="documents")
    op.drop_table("documents")
    op.drop_index("ix_chat_records_request", table_name="chat_records")
    op.drop_index("ix_chat_records_flow", table_name="chat_records")
    op.drop_table("chat_records")
    op.drop_index("ix_summaries_notify", table_name="summaries")
    op.drop_table("summaries")
    op.drop_index("ix_speakers_session", table_name="speakers")
    op.drop_table("speakers")
    op.drop_index("ix_runs_session", table_name="runs")
    op.drop_index("ix_runs_page", table_name="runs")
    op.drop_table("runs")
    op.drop_index("ix_node_executions_node", table_name="node_executions")
    op.drop_table("node_executions")
    op.drop_index("ix_memory_uses_session", table_name="memory_uses")
    op.drop_table("memory_uses")
    op.drop_index("ix_knowledge_bases_page", table_name="knowledge_bases")
    op.drop_table("knowledge_bases")
    op.drop_table("generations")
    op.drop_index("ix_chats_notify", table_name="chats")
    op.drop_index("ix_chats_page", table_name="chats")
    op.drop_index("ix_chats_end_user", table_name="chats")
    op.drop_table("chats")
    op.drop_index(op.f("ix_web_tickets_expires_at"), table_name="web_tickets")
    op.drop_table("web_tickets")
    op.drop_index("ix_sessions_recent", table_name="sessions")
    op.drop_index("ix_sessions_page", table_name="sessions")
    op.drop_index("ix_sessions_end_user", table_name="sessions")
    op.drop_index("ix_sessions_deleted", table_name="sessions")
    op.drop_table("sessions")
    op.drop_index("ix_memory_bases_page", table_name="memory_bases")
    op.drop_index(op.f("ix_memory_bases_flow_id"), table_name="memory_bases")
    op.drop_table("memory_bases")
    op.drop_index("ix_deleted_messages_expires", table_name="deleted_messages")
    op.drop_index("ix_deleted_messages_session", table_name="deleted_messages")
    op.drop_table("deleted_messages")
    op.drop_index("ix_chat_memories_page", table_name="chat_memories")
    op.drop_table("chat_memories")
    op.drop_index("ix_flows_page", table_name="flows")
    op.drop_table("flows")
    op.drop_index(op.f("ix_api_keys_user_id"), table_name="api_keys")
    op.drop_table("api_keys")
    op.drop_table("users")
    op.drop_index("ix_postings_position", table_name="postings")
    op.drop_table("postings")
    op.drop_table("heartbeats")
