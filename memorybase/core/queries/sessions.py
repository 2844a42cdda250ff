"""Sessions, for captures, edits and deletions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import batches, clock, records
from memorybase.core.database.upsert import core, insert_if_absent
from memorybase.core.models import (
    Capture,
    Flow,
    MemoryUse,
    Message,
    MessageChange,
    NodeExecution,
    RestorableMessage,
    Run,
    Session,
)
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, own_flow
from memorybase.core.queries.pending import is_counted


@dataclass(slots=True)
class SessionRow:
    """A session that this transaction has locked. `save` writes what captures change, `update` other columns."""

    id: UUID
    flow_id: UUID
    session_id: str
    first_position: int
    end_user_id: str | None
    last_seq: int
    documents: int
    terms: int
    packed_seq: int
    keyword_language: str | None
    last_captured_at: datetime
    deleted_at: datetime | None
    expires_at: datetime | None


# Statements of every capture and job are built once, on tables: database/records.py says why.
_SESSIONS = core(Session).c
_THIS_SESSION = sa.and_(_SESSIONS.flow_id == bindparam("flow_id"), _SESSIONS.session_id == bindparam("session_id"))
_OPEN = sa.select(*records.columns(Session, SessionRow)).where(_THIS_SESSION).with_for_update(key_share=True)
_SAVED = ("end_user_id", "last_seq", "documents", "terms", "keyword_language", "last_captured_at", "deleted_at")
_SAVE = sa.update(core(Session)).where(_SESSIONS.id == bindparam("row_id"))
_SESSION_FOR_SHARE = (
    sa.select(Session.id)
    .where(Session.flow_id == bindparam("flow_id"), Session.session_id == bindparam("session_id"))
    .with_for_update(read=True)
)
_SHARE_KNOWN = _SESSION_FOR_SHARE.where(Session.deleted_at.is_(None))
_END_USER = sa.select(_SESSIONS.end_user_id).where(_THIS_SESSION)

# The columns of a session whose rename is done.
RENAMED: Mapping[str, Any] = {"former_id": None, "renamed_at": None}


def open_session(db: OrmSession, *, flow_id: UUID, session_id: str, end_user_id: str | None) -> SessionRow:
    """Insert the session if it is new, and lock it: until the commit only this transaction assigns its seqs."""
    opened = lock_session(db, flow_id, session_id)
    if opened is not None:
        if opened.deleted_at is not None and has_rows(db, opened):
            raise errors.DatabaseUnavailable("The session is being deleted. Repeat the call in a few seconds")
        return opened
    now = clock.now(db)
    new = {
        "id": uuid4(),
        "flow_id": flow_id,
        "session_id": session_id,
        "end_user_id": end_user_id,
        "last_seq": 0,
        "created_at": now,
        "last_captured_at": now,
        "metadata": {},
    }
    insert_if_absent(db, Session, new, "flow_id", "session_id")
    opened = lock_session(db, flow_id, session_id)
    if opened is None:  # deleted between insert and lock
        raise errors.ConstraintViolated("The session was deleted between insert and lock")
    return opened


def lock_session(db: OrmSession, flow_id: UUID, session_id: str) -> SessionRow | None:
    return records.fetch_one(db, SessionRow, _OPEN, {"flow_id": flow_id, "session_id": session_id})


def save(db: OrmSession, session: SessionRow) -> None:
    """Write what may have changed of it."""
    records.execute(db, _SAVE, {"row_id": session.id, **{name: getattr(session, name) for name in _SAVED}})


def update(db: OrmSession, session: SessionRow, **changes: Any) -> None:
    """Write these columns of a locked session."""
    records.execute(db, _SAVE, {"row_id": session.id, **changes})
    for name in changes.keys() & SessionRow.__annotations__:
        setattr(session, name, changes[name])


def lock_sessions(db: OrmSession, flow_id: UUID, session_ids: Sequence[str]) -> list[str]:
    """Lock these sessions in the order in which Python sorts them; those that are not deleted."""
    mine = (Session.flow_id == flow_id, Session.session_id.in_(session_ids), Session.deleted_at.is_(None))
    found = sa.select(Session.session_id).where(*mine).order_by(_in_order_of_python(db))
    return list(db.scalars(found.with_for_update(key_share=True)))


def lock_some(db: OrmSession, flow_id: UUID, *, limit: int, wait: bool) -> list[SessionRow]:
    """Lock some sessions of a flow to delete them; without `wait` only those that no other transaction has locked."""
    some = sa.select(*records.columns(Session, SessionRow)).where(Session.flow_id == flow_id).limit(limit)
    return records.fetch_all(db, SessionRow, some.with_for_update(skip_locked=not wait), {})


def lock_ids(db: OrmSession, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Lock the sessions with these `sessions.id` in the order in which Python sorts the ids that callers know; those
    ids of the ones that are not deleted."""
    found = sa.select(Session.id, Session.session_id).where(Session.id.in_(ids), Session.deleted_at.is_(None))
    return {
        row[0]: row[1] for row in db.execute(found.order_by(_in_order_of_python(db)).with_for_update(key_share=True))
    }


def _in_order_of_python(db: OrmSession) -> sa.ColumnElement[str]:
    return Session.session_id.collate("C" if db.get_bind().dialect.name == "postgresql" else "BINARY")


def with_counted(db: OrmSession, flow_id: UUID, session_ids: Sequence[str], capture: Capture) -> list[str]:
    """The sessions among these that have counted messages."""
    has_counted = sa.exists().where(MESSAGE_OF_SESSION, is_counted(capture))
    found = sa.select(Session.session_id).where(Session.flow_id == flow_id, Session.session_id.in_(session_ids))
    return list(db.scalars(found.where(has_counted)))


def share_session(db: OrmSession, flow_id: UUID, session_id: str) -> UUID | None:
    """Share-lock the session; its `sessions.id`, None if there is none or it was deleted."""
    return db.scalar(_SHARE_KNOWN, {"flow_id": flow_id, "session_id": session_id})


def share_sessions_of_messages(
    db: OrmSession, flow_id: UUID, session_id: str | None, message_ids: Collection[UUID]
) -> None:
    """Share-lock this session and those of the messages: nothing of them is deleted until the transaction ends."""
    names = {session_id} if session_id is not None else set()
    for some in batches.pages(message_ids):
        mine = (Message.flow_id == flow_id, Message.id.in_(some))
        of_messages = sa.select(Session.session_id).join(Message, MESSAGE_OF_SESSION)
        names.update(db.scalars(of_messages.where(*mine).distinct()))
    for name in sorted(names):  # the common lock order
        db.scalar(_SESSION_FOR_SHARE, {"flow_id": flow_id, "session_id": name})  # deleted ones too


def has_end_users(db: OrmSession, flow_id: UUID) -> bool:
    """Whether any session of the flow belongs to an end user, deleted ones included."""
    named = sa.select(Session.end_user_id).where(Session.flow_id == flow_id, Session.end_user_id.is_not(None)).limit(1)
    return db.scalar(named) is not None


def fetch_session(db: OrmSession, flow_id: UUID, session_id: str) -> Session | None:
    return db.scalar(sa.select(Session).where(Session.flow_id == flow_id, Session.session_id == session_id))


def rows_of_user(db: OrmSession, user_id: UUID, flow_id: UUID, session_ids: Collection[str]) -> list[SessionRow]:
    """The sessions among these of a flow of the user, without deleted ones; none is locked."""
    mine = (own_flow(user_id), Session.flow_id == flow_id)
    found: list[SessionRow] = []
    for some in batches.pages(session_ids):
        statement = sa.select(*records.columns(Session, SessionRow)).join(Flow, Flow.id == Session.flow_id)
        rows = db.execute(statement.where(*mine, Session.session_id.in_(some), Session.deleted_at.is_(None)))
        found += [SessionRow(*row) for row in rows]
    return found


def metadata_of(db: OrmSession, session: SessionRow) -> dict[str, Any]:
    found: dict[str, Any] = db.scalars(sa.select(Session.meta).where(Session.id == session.id)).one()
    return found


def end_user_of(db: OrmSession, flow_id: UUID, session_id: str) -> str | None:
    found: str | None = records.execute(db, _END_USER, {"flow_id": flow_id, "session_id": session_id}).scalar()
    return found


def has_rows(db: OrmSession, session: SessionRow) -> bool:
    """Whether a session that is marked as deleted still has rows that are deleted in pages."""
    which = sa.and_(Session.flow_id == session.flow_id, Session.session_id == session.session_id)
    return db.scalar(sa.select(Session.id).where(which, rows_are_left())) is not None


def rows_are_left() -> sa.ColumnElement[bool]:
    """Whether a session that is marked as deleted has messages or runs, or what was stored about it before."""
    kinds: tuple[type[Any], ...] = (Message, Run, MessageChange, RestorableMessage)
    of_session = (
        *(sa.exists().where(table.session_uuid == Session.id) for table in kinds),
        sa.exists().where(NodeExecution.session_uuid == Session.id, NodeExecution.created_at <= Session.deleted_at),
        sa.exists().where(
            MemoryUse.flow_id == Session.flow_id,
            MemoryUse.session_id == Session.session_id,
            MemoryUse.recorded_at <= Session.deleted_at,
        ),
    )
    return sa.or_(*(each.correlate(Session) for each in of_session))


def delete_session(db: OrmSession, session: SessionRow) -> None:
    db.execute(sa.delete(Session).where(Session.id == session.id))


class Rename(NamedTuple):
    """Pending work of a session's rename: find what refers to the former id, up to when it was stored, and write
    messages again, up to this seq."""

    former_id: str
    renamed_at: datetime
    seq: int


def rename_session(db: OrmSession, session: SessionRow, new_session_id: str, now: datetime) -> None:
    """Rename it; foreign keys rename progress, summaries and rows of features. All that is many refers to its key."""
    former = {"former_id": session.session_id, "renamed_at": now, "renamed_seq": session.last_seq}
    update(db, session, session_id=new_session_id, **former)


def unfinished_rename(db: OrmSession, session: SessionRow) -> Rename | None:
    columns = (Session.former_id, Session.renamed_at, Session.renamed_seq)
    former_id, renamed_at, seq = db.execute(sa.select(*columns).where(Session.id == session.id)).one()
    return None if former_id is None or renamed_at is None else Rename(former_id, renamed_at, seq)


def is_being_renamed(db: OrmSession, flow_id: UUID, session_id: str) -> bool:
    mine = (Session.flow_id == flow_id, Session.session_id == session_id, Session.renamed_at.is_not(None))
    return db.scalar(sa.select(Session.id).where(*mine)) is not None


def renamed_sessions(db: OrmSession, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, session id) of sessions whose rename is not done, the longest waiting first."""
    found = sa.select(Session.flow_id, Session.session_id).where(Session.renamed_at.is_not(None))
    return [(row[0], row[1]) for row in db.execute(found.order_by(Session.renamed_at).limit(limit))]


def sessions_of_end_user(db: OrmSession, user_id: UUID, end_user_id: str, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, session id) of up to `limit` sessions of an end user, in all of the user's flows."""
    statement = (
        sa.select(Session.flow_id, Session.session_id)
        .join(Flow, Flow.id == Session.flow_id)
        .where(
            own_flow(user_id),
            Session.end_user_id == end_user_id,
            Session.deleted_at.is_(None),
        )
        .order_by(Session.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in db.execute(statement)]


def known_sessions(db: OrmSession, flow_id: UUID, session_ids: Sequence[str]) -> list[str]:
    """The sessions among these that exist, in their order."""
    found: set[str] = set()
    for some in batches.pages(session_ids):
        wanted = (Session.flow_id == flow_id, Session.session_id.in_(some), Session.deleted_at.is_(None))
        found.update(db.scalars(sa.select(Session.session_id).where(*wanted)))
    return [each for each in session_ids if each in found]


def sessions_in_erasure(db: OrmSession, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, session id) of sessions that are marked as deleted and still have rows that are deleted in pages."""
    found = sa.select(Session.flow_id, Session.session_id).where(Session.deleted_at.is_not(None), rows_are_left())
    return [(row[0], row[1]) for row in db.execute(found.limit(limit))]


def ids_in_erasure(db: OrmSession) -> Sequence[UUID]:
    """`sessions.id` of up to 200 of them."""
    found = sa.select(Session.id).where(Session.deleted_at.is_not(None), rows_are_left())
    return db.scalars(found.limit(200)).all()
