"""Every constraint of the tables has an error that a caller can act on."""

from __future__ import annotations

import sqlalchemy as sa

from memorybase.core import errors
from memorybase.core.database import violations
from memorybase.core.models import Base

TABLES = list(Base.metadata.tables.values())
NOUNS = {mapper.local_table.name: getattr(mapper.class_, "noun", None) for mapper in Base.registry.mappers}  # type: ignore[attr-defined]
# Unique keys whose values no caller chooses.
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


def test_every_foreign_key_says_what_is_gone() -> None:
    for key in (key for table in TABLES for key in table.foreign_key_constraints):
        noun = NOUNS[key.referred_table.name]
        assert noun, f"add `noun`, what callers call a row, to the model of {key.referred_table.name}"
        error = violations.gone(str(key.name))
        assert (error.status_code, error.code, error.retryable) == (404, "not_found", False)
        assert error.message == f"The {noun} was deleted at the same time"


def test_every_unique_key_says_whether_to_repeat_the_request() -> None:
    unique = [each for table in TABLES for each in table.constraints if isinstance(each, sa.UniqueConstraint)]
    indexes = [index for table in TABLES for index in table.indexes if index.unique]
    names = {str(each.name) for each in [*unique, *indexes]}
    missing = names - violations.CHOSEN.keys() - REPEATABLE
    assert not missing, f"add {missing} to violations.CHOSEN if a caller chooses the value, else to REPEATABLE here"
    assert violations.CHOSEN.keys() | REPEATABLE == names
    assert not violations.CHOSEN.keys() & REPEATABLE
    for name in names | {str(table.primary_key.name) for table in TABLES}:
        error = violations.taken(name)
        assert error.status_code == 409
        assert error.retryable == (name not in violations.CHOSEN)
        assert isinstance(error, errors.ConstraintViolated)  # what was stored meanwhile can be looked up
