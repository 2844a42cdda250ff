"""Find statements in messages that were captured before they were looked for. Repeating it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from memorybase.core.queries import sessions
from memorybase.core.services import Services
from memorybase.features.standing_statements import index
from memorybase.features.standing_statements.index import Reread
from memorybase.features.standing_statements.queries import statements as rows

PAGE = 100  # messages in one transaction, while captures into their session wait


def find_in_stored(services: Services) -> Iterator[Reread]:
    """Read every session again; yields what each page brought. Statements that people deleted stay deleted.

    Each page is one transaction under its session's lock, so captures and edits continue.
    """
    last: UUID | None = None
    while True:
        with services.database.reading() as db:
            page = rows.sessions_after(db, last, limit=PAGE)
        for _, flow_id, session_id in page:
            yield from _find_in_session(services, flow_id, session_id)
        if not page:
            return
        last = page[-1][0]


def _find_in_session(services: Services, flow_id: UUID, session_id: str) -> Iterator[Reread]:
    last_seq, is_done = 0, False
    while not is_done:
        with services.database.transaction() as db:
            session = sessions.lock_session(db, flow_id, session_id)
            if session is None:  # deleted or renamed meanwhile
                return
            read = index.reread(db, services, session, last_seq, limit=PAGE)
            last_seq, is_done = read.last_seq, read.messages < PAGE
        yield read
