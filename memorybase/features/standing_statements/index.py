"""Keeps the rows of standing statements, in the transaction that captures, edits or restores a message.

So a statement is stored once with its message, whatever memory bases ingest, and the next context can contain it. A
message without one costs a search for a few words, before the transaction begins, and no SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.messages import message_text
from memorybase.core.models import Message
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services
from memorybase.features.standing_statements import finder
from memorybase.features.standing_statements.finder import Statement
from memorybase.features.standing_statements.queries import statements as rows

# A message's row, the statements that were found in it, and what people made of them.
Found = tuple[Mapping[str, Any], Sequence[Statement], Sequence[Mapping[str, Any]]]


class Reread(NamedTuple):
    """Number of messages read, number of new statements, and the last seq."""

    messages: int
    new: int
    last_seq: int


def find(services: Services, role: str, content: Any, is_dialogue: bool) -> list[Statement]:
    """The statements of a message; only users' messages have any, and not those that failed. Find them before the
    transaction begins, so that it stays short."""
    if role != "user" or not is_dialogue or not services.settings.find_standing:
        return []
    return finder.find(message_text(content))


def add(db: OrmSession, session: SessionRow, messages: Iterable[Found]) -> None:
    """Add the statements of newly inserted messages."""
    rows.add(db, [row for found in messages for row in _rows(session, *found)])


def replace(db: OrmSession, services: Services, session: SessionRow, message: Message) -> int:
    """Update the statements of an edited message, and return the number of new ones. One that the message still states
    stays as it is, with the changes that a person made. The caller holds the session's lock."""
    found = find(services, message.role, message.content, message.is_dialogue)
    stored = rows.keys_of_message(db, message.id)
    gone = stored - {key_of(statement.text) for statement in found}
    if gone:
        rows.remove(db, message.id, gone)
    new = [statement for statement in found if key_of(statement.text) not in stored]
    return rows.add_missing(db, _rows(session, {"id": message.id, "timestamp": message.timestamp}, new))


def reread(db: OrmSession, services: Services, session: SessionRow, after_seq: int, *, limit: int) -> Reread:
    """Follow the present content of some messages of a locked session."""
    messages = message_queries.dialogue_after(db, session.flow_id, session.session_id, after_seq, limit=limit)
    new = sum(replace(db, services, session, message) for message in messages if message.role == "user")
    return Reread(len(messages), new, messages[-1].seq if messages else after_seq)


def changes_of(db: OrmSession, message_ids: Collection[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """By message: people's changes of its statements, in types of JSON, for a copy of the message."""
    return {
        message_id: [
            {
                "kind": each.kind,
                "found": each.found,
                "edited": each.edited,
                "deleted_at": _text(each.deleted_at),
                "changed_by": each.changed_by,
                "changed_at": _text(each.changed_at),
            }
            for each in changed
        ]
        for message_id, changed in rows.changed_of_messages(db, message_ids).items()
    }


def key_of(found: str) -> bytes:
    """The key of a statement within its message."""
    return hashlib.sha256(found.casefold().encode()).digest()


def _rows(
    session: SessionRow,
    message: Mapping[str, Any],
    found: Sequence[Statement],
    changes: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Rows of the statements that were found, and of those that a person changed, also where this version of the
    finder misses them."""
    changed = {key_of(change["found"]): change for change in changes}
    kinds = {key_of(statement.text): (statement.kind, statement.text) for statement in found}
    kinds |= {key: (change["kind"], change["found"]) for key, change in changed.items() if key not in kinds}
    return [
        {
            "id": uuid4(),
            "flow_id": session.flow_id,
            "session_uuid": session.id,
            "message_id": message["id"],
            "end_user_id": session.end_user_id,
            "kind": kind,
            "found": text,
            "found_key": key,
            "ordinal": ordinal,
            "said_at": message["timestamp"],
            **_changed(changed.get(key)),
        }
        for ordinal, (key, (kind, text)) in enumerate(kinds.items())
    ]


def _changed(change: Mapping[str, Any] | None) -> dict[str, Any]:
    if change is None:
        return {"edited": None, "deleted_at": None, "changed_by": None, "changed_at": None}
    return {
        "edited": change["edited"],
        "deleted_at": _moment(change["deleted_at"]),
        "changed_by": change["changed_by"],
        "changed_at": _moment(change["changed_at"]),
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
