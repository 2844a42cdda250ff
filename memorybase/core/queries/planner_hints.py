"""Hints that keep a database from a wrong plan, by name. Each says which plan needs it, and which test of
`tests/integration/database/test_query_plans.py` fails without it."""

from __future__ import annotations

import sqlalchemy as sa

from memorybase.core.database.paging import AnySelect
from memorybase.core.models import IS_ACTIVE, IngestionJob

# An active job, found by the partial index on active jobs. With a memory base SQLite would choose the index on all of
# its jobs, unless there is a condition on the second column too:
# test_active_jobs_of_a_memory_base_are_found_without_its_ended_ones.
IS_ACTIVE_BY_INDEX: sa.ColumnElement[bool] = sa.and_(IngestionJob.active_in >= "", IS_ACTIVE)


def for_each_row(found: AnySelect) -> sa.FromClause:
    """The rows of a SELECT that is run for each row before it, for PostgreSQL.

    A planner does not know how few sessions are behind, and would begin with the messages or the progress of all:
    test_messages_that_wait_are_read_session_by_session. It cannot pull up a SELECT with an OFFSET. SQLite has no
    LATERAL, and keeps the order of joins.
    """
    return found.offset(0).lateral()
