"""The sweeper's step that packs postings in blocks: a half to a tenth as many rows remain.

Captures add rows. Once many messages of a session wait, or nothing is captured into it for a while, one row takes the
place of all that a term occurs in a block of the session: queries/posting_blocks.py has the form. Edits and deletions
take a message out of rows and blocks in their own transaction.
"""

from __future__ import annotations

from datetime import timedelta

from memorybase.core.database import clock
from memorybase.core.queries import posting_blocks, sessions
from memorybase.core.queries.posting_blocks import Unpacked
from memorybase.core.services import Services

PAGE = 128  # messages in one transaction, some 50 ms, while captures into the session wait
PAGES_A_PASS = 100
IDLE_SECONDS = 3_600.0


def pack(services: Services) -> int:
    """Pack up to PAGES_A_PASS pages, and return their number."""
    packed = 0
    while packed < PAGES_A_PASS:
        with services.database.reading(snapshot=False) as db:
            idle_since = clock.now(db) - timedelta(seconds=IDLE_SECONDS)
            due = posting_blocks.unpacked_sessions(
                db, messages=PAGE, idle_since=idle_since, limit=PAGES_A_PASS - packed
            )
        if not due:
            break
        for session in due:
            _pack_page(services, session)
        packed += len(due)
    return packed


def _pack_page(services: Services, due: Unpacked) -> None:
    with services.database.transaction(durable=False) as db:
        session = sessions.lock_session(db, due.flow_id, due.session_id)
        if session is None:  # deleted or renamed meanwhile
            return
        last = min(session.last_seq, session.packed_seq + PAGE)
        if last > session.packed_seq:
            first = session.first_position + session.packed_seq + 1
            posting_blocks.pack_positions(db, first, session.first_position + last)
            sessions.update(db, session, packed_seq=last)
