"""Connections, transactions, and how statements are written on both databases.

    engine     Database: transaction() writes and commits, reading() sees one snapshot; callbacks after a commit
    upsert     INSERT ... ON CONFLICT for either dialect
    lookup     a row by its primary key, from a prepared statement
    batches    long lists as one parameter or in pages; deletes of bounded size
    paging     PageRequest, Page and cursors of lists
    clock      the database's clock, which all processes share
    migrate    Alembic from code

Only `engine` commits. Nothing here knows a table of the domain.
"""

from __future__ import annotations
