"""The statistics of a million messages in a small database: the planner decides as it would in a large one.

They are those of a store that bench/scale.py filled with 10,000 messages in 1,000 sessions and 19 small flows,
multiplied: so many times as many sessions, each so many times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from memorybase.core.database.engine import Database

# As sqlite_stat1 has them: table, index, rows, and the rows with equal first columns of the index, on average.
STATISTICS = """
flows ix_flows_page 20 20 1 1
flows sqlite_autoindex_flows_1 20 1
flows sqlite_autoindex_flows_2 20 20 20
generations sqlite_autoindex_generations_1 20 1 1
ingestion_jobs ix_ingestion_jobs_page 1214 61 1 1
ingestion_jobs ix_ingestion_jobs_progress 1214 1
ingestion_jobs ix_ingestion_jobs_started 1214 1
ingestion_jobs sqlite_autoindex_ingestion_jobs_1 1214 1
knowledge_bases ix_knowledge_bases_page 20 20 1 1
knowledge_bases sqlite_autoindex_knowledge_bases_1 20 1
knowledge_bases sqlite_autoindex_knowledge_bases_2 20 1
knowledge_bases sqlite_autoindex_knowledge_bases_3 20 20 1
ledger ix_ledger_ingested 12048 603 603 1
ledger ix_ledger_message 12048 603 603 1
ledger sqlite_autoindex_ledger_1 12048 11 1
memory_bases ix_memory_bases_flow_id 20 1
memory_bases ix_memory_bases_page 20 20 1 1
memory_bases sqlite_autoindex_memory_bases_1 20 1
memory_bases sqlite_autoindex_memory_bases_2 20 20 1
messages ix_messages_dialogue 12100 11 11 1
messages ix_messages_outputs 12100 11 8 1
messages ix_messages_page 12100 605 1 1 1 1
messages ix_messages_position 12100 1
messages ix_messages_run 12100 2 1
messages sqlite_autoindex_messages_1 12100 1
messages sqlite_autoindex_messages_2 12100 11 1
postings ix_postings_position 220273 19
postings postings 220273 5 1
runs ix_runs_page 6339 317 1 1
runs ix_runs_session 6339 6 1 1
runs sqlite_autoindex_runs_1 6339 1
session_progress ix_session_progress_audit 1200 1200
session_progress ix_session_progress_idle 1200 1200
session_progress ix_session_progress_lease 1200 1200
session_progress ix_session_progress_session 1200 60 1
session_progress ix_session_progress_totals 1200 60 60 7 1
session_progress sqlite_autoindex_session_progress_1 1200 1
session_progress sqlite_autoindex_session_progress_2 1200 60 1 1
session_progress sqlite_autoindex_session_progress_3 1200 60 1 1
sessions ix_sessions_behind 26 2 1
sessions ix_sessions_end_user 1200 60 6 1 1
sessions ix_sessions_page 1200 60 1 1
sessions ix_sessions_recent 1200 60 1 1
sessions ix_sessions_unpacked 26 2
sessions sqlite_autoindex_sessions_1 1200 1
sessions sqlite_autoindex_sessions_2 1200 60 1
speakers ix_speakers_session 1650 2
speakers sqlite_autoindex_speakers_1 1650 83 6 1
token_vectors ix_token_vectors_position 12048 603 603 1
token_vectors sqlite_autoindex_token_vectors_1 12048 11 1
"""
OF_MESSAGES = ("messages", "runs", "postings", "ledger", "token_vectors", "ingestion_jobs")
OF_SESSIONS = ("sessions", "session_progress", "speakers")
IN_A_FLOW = 60  # so many rows at least share a flow or a memory base, and fewer share a session
POSTINGS_OF_A_TERM = 100
# Distinct values of columns in which rows of one flow or session agree.
DISTINCT = {"flow_id": 20, "memory_base_id": 20, "generation": 1, "is_output": 2, "is_dialogue": 1, "user_id": 1}
OWN_VALUES = ("id", "position", "message_id", "captured_at", "created_at", "last_captured_at", "ingested_at")
MOSTLY_NULL = ("deleted_at", "lease_until", "audit_at", "idle_due_at", "parent_message_id", "external_id")


def pretend(database: Database, *, sessions: int, length: int) -> None:
    """Multiply the statistics. Call it once the test has its rows."""
    lines = [_multiplied(line, sessions, length) for line in STATISTICS.strip().splitlines()]
    if database.is_sqlite:
        with database.transaction() as db:
            _of_sqlite(db.connection(), lines)
    else:
        with database.engine.connect() as connection:
            _of_postgresql(connection.execution_options(isolation_level="AUTOCOMMIT"), lines)
    database.dispose()  # SQLite reads them when a connection is opened


def forget(database: Database) -> None:
    """For PostgreSQL, whose databases are lent to the next test."""
    if not database.is_sqlite:
        with database.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(sa.text("ANALYZE"))


def _multiplied(line: str, sessions: int, length: int) -> tuple[str, str, str]:
    """(table, index, numbers)."""
    table, index, *numbers = line.split(" ")
    all_rows = sessions * (length if table in OF_MESSAGES else 1 if table in OF_SESSIONS else 0) or 1
    of_session = length if table in OF_MESSAGES and table != "postings" else 1
    rows, *shares = map(int, numbers)
    larger = [each * (all_rows if each >= IN_A_FLOW else of_session if each > 2 else 1) for each in shares]
    if index == "postings":
        larger[0] = POSTINGS_OF_A_TERM
    return table, index, " ".join(map(str, [rows * all_rows, *larger]))


def _of_sqlite(connection: sa.Connection, lines: Sequence[tuple[str, str, str]]) -> None:
    connection.exec_driver_sql("ANALYZE")  # creates the table
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    connection.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", list(lines))


def _of_postgresql(connection: sa.Connection, lines: Sequence[tuple[str, str, str]]) -> None:
    connection.exec_driver_sql("VACUUM ANALYZE")
    rows = {table: int(numbers.split()[0]) for table, _, numbers in lines}
    columns = sa.inspect(connection).get_columns
    of_sessions = rows["session_progress"]
    alike = {
        "session_id": of_sessions,
        "session_uuid": of_sessions,
        "progress_id": of_sessions,
        "end_user_id": of_sessions // 5,
        "run_id": rows["runs"],
        "term": rows["postings"] // POSTINGS_OF_A_TERM,
    }
    for table, count in rows.items():
        pages = connection.scalar(sa.text("SELECT greatest(pg_relation_size(:table) / 8192, 1)"), {"table": table})
        _restore(connection, "relation", table, f"'relpages', {pages}::int, 'reltuples', {count}::real")
        for name in (column["name"] for column in columns(table)):
            # Of the few rows: that all are of one flow, for example.
            connection.exec_driver_sql(f"SELECT pg_clear_attribute_stats('public', '{table}', '{name}', false)")
            distinct = count if name in OWN_VALUES else DISTINCT.get(name) or alike.get(name)
            nulls = 0.999 if name in MOSTLY_NULL else 0
            if distinct is not None or nulls:
                values = (
                    f"'null_frac', {nulls}::real, 'avg_width', 16, 'n_distinct', {min(distinct or 1_000, count)}::real"
                )
                _restore(connection, "attribute", table, f"'attname', '{name}', 'inherited', false, {values}")


def _restore(connection: sa.Connection, kind: str, table: str, values: str) -> None:
    named = f"'schemaname', 'public', 'relname', '{table}'"
    connection.exec_driver_sql(f"SELECT pg_restore_{kind}_stats({named}, {values})")
