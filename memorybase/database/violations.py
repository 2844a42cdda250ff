"""Errors for constraints that a write can violate because of another request at the same time.

A check or NOT NULL is no race: input is validated before, so its violation is a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sqlalchemy as sa

from memorybase import errors
from memorybase.models import Base

UNIQUE = frozenset({"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_ROWID"})
REFERENCE = frozenset({"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"})


class Gone(errors.NotFound, errors.ConstraintViolated):
    """What the request refers to was deleted at the same time."""

    retryable = False


class NameTaken(errors.NameTaken, errors.ConstraintViolated):
    """This name is already in use. Choose another."""

    retryable = False


class SessionTaken(errors.SessionConflict, errors.ConstraintViolated):
    """A session with this id exists."""

    retryable = False


# What callers call the row of each table that others refer to.
NOUNS: Mapping[str, str] = {
    "api_keys": "key",
    "chat_memories": "chat memory",
    "chats": "chat",
    "facts": "fact",
    "flows": "flow",
    "generations": "memory base",
    "knowledge_bases": "knowledge base",
    "ledger": "message",
    "memory_bases": "memory base",
    "memory_uses": "memory use",
    "messages": "message",
    "runs": "run",
    "session_progress": "session",
    "sessions": "session",
    "users": "user",
    "webhook_endpoints": "webhook",
}

# The unique keys that a caller chooses, with the field that names them.
CHOSEN: Mapping[str, tuple[type[errors.ConstraintViolated], str]] = {
    "uq_knowledge_bases_user_id_name": (NameTaken, "name"),
    "uq_memory_bases_user_id_name": (NameTaken, "name"),
    "uq_sessions_flow_id_session_id": (SessionTaken, "new_session_id"),
    "uq_users_name": (NameTaken, "name"),
}
# The others, like the primary keys: the same request finds the other one's row when it is sent again.
REPEATABLE = frozenset(
    {
        "uq_api_keys_key_hash",
        "uq_audit_entries_seq",
        "uq_chat_memories_flow_id_node_id",
        "uq_chat_records_chat_row_id_message_id",
        "uq_chats_chat_memory_id_chat_id",
        "uq_dead_letters_progress_id_message_id",
        "uq_distillations_memory_base_id_flow_id_session_id",
        "uq_flows_user_id_external_id",
        "uq_ingestion_jobs_active",
        "uq_knowledge_bases_memory_base_id",
        "uq_memory_uses_flow_id_run_id_node_id",
        "uq_messages_external_id",
        "uq_messages_session_uuid_seq",
        "uq_node_executions_external_id",
        "uq_retention_passes_open",
        "uq_runs_external_id",
        "uq_search_labels_user_id_question_key_message_id",
        "uq_session_progress_memory_base_id_session_id_generation",
        "uq_session_progress_memory_base_id_session_uuid_generation",
        "uq_standing_statements_message_id_found_key",
        "uq_summaries_flow_id_session_id_preset_summarizer",
    }
)


def error_of(exc: sa.exc.IntegrityError) -> errors.MemorybaseError:
    """The error for whoever sent the statement. It names no value: the driver's message quotes whole rows."""
    state = getattr(exc.orig, "sqlstate", None) or getattr(exc.orig, "sqlite_errorname", None)
    constraint = _constraint(exc)
    if state in UNIQUE:
        return taken(constraint)
    if state not in REFERENCE:
        return errors.StatementRefused(f"The database refused a statement: {state}", constraint=constraint)
    if (exc.statement or "").lstrip().upper().startswith("DELETE"):  # another request refers to the row since
        return errors.ConstraintViolated(constraint=constraint)
    return gone(constraint)


def taken(constraint: str) -> errors.ConstraintViolated:
    """Another request has stored a row with the same unique key."""
    kind, field = CHOSEN.get(constraint, (errors.ConstraintViolated, None))
    return kind(field=field, constraint=constraint)


def gone(constraint: str) -> Gone:
    """Another request has deleted the row that a foreign key refers to; SQLite does not say which."""
    noun = _referred().get(constraint)
    return Gone(None if noun is None else f"The {noun} was deleted at the same time", constraint=constraint)


def _constraint(exc: sa.exc.IntegrityError) -> str:
    """Its name; of SQLite, which has none, its table and columns where it says them."""
    name = getattr(getattr(exc.orig, "diag", None), "constraint_name", None)
    if name:
        return str(name)
    columns = str(exc.orig).partition("failed: ")[2]
    return _unique_keys().get(columns, columns)


@lru_cache
def _referred() -> Mapping[str, str]:
    """The noun of the table that each foreign key refers to."""
    tables = Base.metadata.tables.values()
    return {str(key.name): NOUNS[key.referred_table.name] for table in tables for key in table.foreign_key_constraints}


@lru_cache
def _unique_keys() -> Mapping[str, str]:
    """Unique keys by the columns that SQLite's errors name."""
    found: dict[str, str] = {}
    for table in Base.metadata.tables.values():
        keys = [each for each in table.constraints if isinstance(each, sa.PrimaryKeyConstraint | sa.UniqueConstraint)]
        indexes = [index for index in table.indexes if index.unique]
        found |= {
            ", ".join(f"{table.name}.{each.name}" for each in key.columns): str(key.name) for key in [*keys, *indexes]
        }
    return found
