"""The keyword index of a large PostgreSQL database in hash partitions, made while captures and searches go on.

A copy is filled page by page while a trigger repeats every write in it; then it takes the table's place. A search reads
one partition for each of its terms. A partition is vacuumed and reindexed by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.queries import keyword_partitions

MOST = 256
PAGE = 50_000  # rows in one transaction
LEAST_PAGE = 500
LOCK_SECONDS = 1  # everybody else queues behind the lock meanwhile
LOCK_TRIES = 30
PAUSE_SECONDS = 0.5


def existing(database: Database) -> int:
    """Number of partitions of the keyword index; 0: it is one table. Raises InvalidRequest on SQLite."""
    if database.is_sqlite:
        raise errors.InvalidRequest("Only PostgreSQL has partitions, and this database is SQLite")
    with database.reading() as db:
        return keyword_partitions.partitions(db, "postings")


def estimated_rows(database: Database) -> int:
    """The rows of the table by PostgreSQL's statistics."""
    with database.reading() as db:
        return keyword_partitions.estimated_rows(db)


def partition(database: Database, number: int, *, page: int = PAGE) -> Iterator[int]:
    """Divide the table into partitions; yields how many rows each step read. Goes on with what was interrupted.

    Raises InvalidRequest; DatabaseUnavailable if transactions keep the table for longer than LOCK_TRIES.
    """
    if not 2 <= number <= MOST:
        raise errors.InvalidRequest(f"partitions must be 2 to {MOST} (got {number})")
    if found := existing(database):
        raise errors.InvalidRequest(f"The keyword index has {found} partitions already")
    return _steps(database, number, page)


def abandon(database: Database) -> None:
    """End what was interrupted: the copy and its trigger are dropped. Raises InvalidRequest on SQLite."""
    existing(database)
    with _changing_the_table(database) as db:
        keyword_partitions.abandon(db)


def _steps(database: Database, number: int, page: int) -> Iterator[int]:
    _begin(database, number)
    yield from _copy(database, page)
    with database.transaction(durable=False) as db:
        keyword_partitions.analyze(db)
    with _changing_the_table(database) as db:
        if not keyword_partitions.partitions(db, "postings"):  # another process was faster
            keyword_partitions.switch(db)


def _begin(database: Database, number: int) -> None:
    with _changing_the_table(database) as db:
        begun = keyword_partitions.partitions(db, "postings_copy")
        if not begun:
            keyword_partitions.begin(db, number)
        elif begun != number:
            raise errors.InvalidRequest(
                f"partitions must be {begun}, as when it was interrupted, or abandon that first (got {number})"
            )


def _copy(database: Database, most: int) -> Iterator[int]:
    after = {"term": -(2**63), "position": -(2**63)}
    size = most
    while True:
        with database.transaction(durable=False) as db:
            page = keyword_partitions.copy_page(db, {**after, "size": size})
        if page is None:
            size = max(LEAST_PAGE, size // 2)
            time.sleep(PAUSE_SECONDS)
            continue
        if not page:
            return
        after = {"term": page[0], "position": page[1]}
        size = min(most, size * 2)
        yield page[2]


@contextmanager
def _changing_the_table(database: Database) -> Iterator[OrmSession]:
    """A transaction that nobody else reads or writes the table in."""
    with database.transaction() as db:
        for _ in range(LOCK_TRIES):
            if keyword_partitions.lock(db, LOCK_SECONDS):
                yield db
                return
            time.sleep(PAUSE_SECONDS)
        raise errors.DatabaseUnavailable("Other transactions keep the keyword index: try again later")
