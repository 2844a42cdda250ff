"""Connections, transactions, and statements that work on SQLite and PostgreSQL.

    engine     Database: transaction() writes and commits, reading() sees one snapshot; callbacks after a commit
    postgresql its engine for PostgreSQL: timeouts, standbys, broken connections
    violations the error for a constraint that a write violated
    replica    reads on a standby that has replayed what was committed before
    upsert     INSERT ... ON CONFLICT for both dialects; the number of rows that a statement wrote
    lookup     a row by its primary key, with a cached statement
    records    rows as NamedTuples and dataclasses, for what every capture and job reads
    json_text  search for text within JSON columns
    batches    long lists as one parameter or in pages; deletes of bounded size
    paging     pages and cursors of lists
    clock      the database's clock, which all processes share
    due        a write transaction only if there is something to change
    sqlite_copy  a copy of a SQLite database in use
    migrate    run Alembic from code

Only `engine` commits. This package knows nothing of the domain's tables but their constraints.
"""

from __future__ import annotations
