"""What the core calls."""

from __future__ import annotations

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.context import Resolved
from memorybase.core.conversation.context_parts import ContextParts
from memorybase.core.extension import Hooks, OfMessages, SessionRows
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services
from memorybase.features.standing_statements import copies, index
from memorybase.features.standing_statements.context_profile import profile_part
from memorybase.features.standing_statements.context_statements import statements_part
from memorybase.features.standing_statements.queries import statements


def _context_parts(services: Services, db: OrmSession, resolved: Resolved) -> ContextParts:
    return ContextParts(statements_part(db, resolved), profile_part(services, db, resolved))


def _counts(db: OrmSession, session: SessionRow) -> dict[str, int]:
    return {"standing_statements": statements.count_of_session(db, session.id)}


def _delete(db: OrmSession, session: SessionRow, limit: int) -> int:
    return statements.delete_of_session(db, session.id, limit=limit)


HOOKS = Hooks(
    of_messages=(
        OfMessages(
            field=copies.FIELD,
            find=index.find,
            add=index.add,
            replace=index.replace,
            copies=index.changes_of,
            read=copies.read,
        ),
    ),
    session_rows=(SessionRows(_counts, _delete),),
    context_parts=_context_parts,
)
