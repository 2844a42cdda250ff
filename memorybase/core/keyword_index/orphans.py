"""The sweeper's step that deletes postings whose message is gone: versions before have left some.

Postings have no foreign key to messages. Whoever deletes messages deletes their postings too, so that this finds
nothing in an index that this version alone has written.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

from memorybase.core.queries import posting_blocks
from memorybase.core.queries.posting_blocks import Place
from memorybase.core.services import Services

PAGE = 1_000  # rows of the index that one pass looks at, some 5 ms
REST_SECONDS = 3_600.0  # after the last page of the index, before the first one again


FIRST = Place(-(1 << 63), 0)


def _anywhere() -> Place:
    return Place(-secrets.randbits(52), 0)


@dataclass(slots=True)
class Walk:
    """Where and when the next pass of this process continues. The first walk of a process begins anywhere: with one
    process for each pass, every page has its turn too."""

    after: Place = field(default_factory=_anywhere)
    not_before: float = 0.0  # on the monotonic clock


def collect(services: Services) -> int:
    """Delete orphaned postings from the next page of the index. Returns the number of rows deleted or shortened."""
    database, walk = services.database, services.state.of(Walk)
    if time.monotonic() < walk.not_before:
        return 0
    with database.reading() as db:
        rows = posting_blocks.rows_after(db, walk.after, limit=PAGE)
        is_clean = not posting_blocks.without_message(db, rows)
    removed = 0
    if not is_clean:
        with database.transaction(durable=False) as db:
            # Rows that another transaction has locked have their message, or are being deleted.
            locked = posting_blocks.rows_after(db, walk.after, limit=PAGE, lock=True)
            removed = posting_blocks.remove_without_message(db, locked)
    if len(rows) < PAGE:
        walk.after, walk.not_before = FIRST, time.monotonic() + REST_SECONDS
    else:
        walk.after = rows[-1].place
    return removed
