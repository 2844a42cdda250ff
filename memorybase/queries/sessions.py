"""Flows, sessions, runs and messages, for captures, edits and deletions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase import errors
from memorybase.database import batches, clock, lookup, records
from memorybase.database.upsert import core, insert_if_absent
from memorybase.models import (
    Capture,
    Chat,
    ChatMemory,
    ChatRecord,
    DeletedMessage,
    FactSource,
    Flow,
    MemoryBase,
    MemoryUse,
    Message,
    MessageChange,
    NodeExecution,
    RestorableMessage,
    Run,
    Session,
    SessionSummary,
)


class KnownMessage(NamedTuple):
    """What a repeated capture needs to know of a stored message."""

    id: UUID
    flow_id: UUID
    session_id: str
    external_id: str | None
    seq: int
    fingerprint: bytes


@dataclass(slots=True)
class OpenSession:
    """A session that a capture has locked. `save` writes what the capture changed."""

    id: UUID
    flow_id: UUID
    session_id: str
    first_position: int
    end_user_id: str | None
    last_seq: int
    documents: int
    terms: int
    keyword_language: str | None
    last_captured_at: datetime
    deleted_at: datetime | None


AnySession = Session | OpenSession


class KnownRun(NamedTuple):
    """What a repeated capture needs to know of a stored run."""

    id: UUID
    flow_id: UUID
    session_id: str
    fingerprint: bytes | None


class CountedMessage(NamedTuple):
    """A message to embed."""

    id: UUID
    run_id: UUID
    seq: int
    role: str
    content: Any
    version: int
    timestamp: datetime
    position: int


class MessageSize(NamedTuple):
    seq: int
    text_bytes: int


def count_within(sizes: Sequence[MessageSize], max_bytes: int) -> int:
    """How many of the first messages fit within these bytes together; at least one if there is one."""
    totals = accumulate(size.text_bytes for size in sizes)
    return sum(number == 0 or total <= max_bytes for number, total in enumerate(totals))


def counted(capture: Capture) -> sa.ColumnElement[bool]:
    """Whether a message counts: outputs only, or every user and assistant message."""
    return Message.is_output == sa.true() if capture == Capture.OUTPUTS else Message.is_dialogue == sa.true()


# Statements of every capture and job are built once, on tables: database/records.py says why.
_FLOWS, _SESSIONS, _RUNS, _MESSAGES = core(Flow).c, core(Session).c, core(Run).c, core(Message).c
_OF_USER = sa.and_(
    _FLOWS.id == bindparam("flow_id"), _FLOWS.user_id == bindparam("user_id"), _FLOWS.deleting_at.is_(None)
)
_FLOW, _FLOW_IS_THERE = sa.select(Flow).where(_OF_USER), sa.select(_FLOWS.id).where(_OF_USER)
_THIS_SESSION = sa.and_(_SESSIONS.flow_id == bindparam("flow_id"), _SESSIONS.session_id == bindparam("session_id"))
_OPEN = sa.select(*records.columns(Session, OpenSession)).where(_THIS_SESSION).with_for_update(key_share=True)
_SAVED = ("end_user_id", "last_seq", "documents", "terms", "keyword_language", "last_captured_at", "deleted_at")
_SAVE = sa.update(core(Session)).where(_SESSIONS.id == bindparam("row_id"))
_SESSION_FOR_UPDATE = (
    sa.select(Session)
    .where(Session.flow_id == bindparam("flow_id"), Session.session_id == bindparam("session_id"))
    .with_for_update(key_share=True)
    .execution_options(populate_existing=True)
)
_SESSION_FOR_SHARE = (
    sa.select(Session.id)
    .where(Session.flow_id == bindparam("flow_id"), Session.session_id == bindparam("session_id"))
    .with_for_update(read=True)
)
_END_USER = sa.select(_SESSIONS.end_user_id).where(_THIS_SESSION)
_INSERT_MESSAGES = sa.insert(core(Message))
_KNOWN_RUNS = sa.select(*records.columns(Run, KnownRun)).where(_RUNS.id.in_(bindparam("ids", expanding=True)))
_SET_FINGERPRINT = sa.update(core(Run)).where(_RUNS.id == bindparam("run_id"))
_KNOWN = sa.select(*records.columns(Message, KnownMessage)).where(_MESSAGES.id.in_(bindparam("ids", expanding=True)))


def fetch_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> Flow | None:
    """The user's flow, unless it is being deleted."""
    return db.scalar(_FLOW, {"flow_id": flow_id, "user_id": user_id})


def has_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> bool:
    """Whether the user has this flow, and it is not being deleted."""
    return records.execute(db, _FLOW_IS_THERE, {"flow_id": flow_id, "user_id": user_id}).first() is not None


def lock_flow(db: OrmSession, flow_id: UUID) -> Flow | None:
    return db.scalar(
        sa.select(Flow)
        .where(Flow.id == flow_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )


def open_session(db: OrmSession, *, flow_id: UUID, session_id: str, end_user_id: str | None) -> OpenSession:
    """Insert the session if it is new, and lock it: until the commit only this transaction assigns its seqs."""
    opened = lock_open_session(db, flow_id, session_id)
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
    opened = lock_open_session(db, flow_id, session_id)
    if opened is None:  # deleted between insert and lock
        raise errors.ConstraintViolated("The session was deleted between insert and lock")
    return opened


def lock_open_session(db: OrmSession, flow_id: UUID, session_id: str) -> OpenSession | None:
    return records.fetch_one(db, OpenSession, _OPEN, {"flow_id": flow_id, "session_id": session_id})


def save(db: OrmSession, session: OpenSession) -> None:
    """Write what may have changed of it."""
    records.execute(db, _SAVE, {"row_id": session.id, **{name: getattr(session, name) for name in _SAVED}})


def lock_session(db: OrmSession, flow_id: UUID, session_id: str) -> Session | None:
    return db.scalar(_SESSION_FOR_UPDATE, {"flow_id": flow_id, "session_id": session_id})


def lock_sessions(db: OrmSession, flow_id: UUID, session_ids: Sequence[str]) -> list[str]:
    """Lock these sessions in the order in which Python sorts them; those that are not deleted."""
    order = Session.session_id.collate("C" if db.get_bind().dialect.name == "postgresql" else "BINARY")
    return list(
        db.scalars(
            sa.select(Session.session_id)
            .where(Session.flow_id == flow_id, Session.session_id.in_(session_ids), Session.deleted_at.is_(None))
            .order_by(order)
            .with_for_update(key_share=True)
        )
    )


def lock_ids(db: OrmSession, ids: Sequence[UUID]) -> dict[UUID, str]:
    """The same by `sessions.id`: their ids as callers know them."""
    order = Session.session_id.collate("C" if db.get_bind().dialect.name == "postgresql" else "BINARY")
    found = sa.select(Session.id, Session.session_id).where(Session.id.in_(ids), Session.deleted_at.is_(None))
    return {row[0]: row[1] for row in db.execute(found.order_by(order).with_for_update(key_share=True))}


def with_counted(db: OrmSession, flow_id: UUID, session_ids: Sequence[str], capture: Capture) -> list[str]:
    """Those of these sessions that have counted messages."""
    has_counted = sa.exists().where(
        Message.flow_id == Session.flow_id, Message.session_id == Session.session_id, counted(capture)
    )
    found = sa.select(Session.session_id).where(Session.flow_id == flow_id, Session.session_id.in_(session_ids))
    return list(db.scalars(found.where(has_counted)))


def share_session(db: OrmSession, flow_id: UUID, session_id: str) -> bool:
    """Share-lock the session; False if there is none."""
    return db.scalar(_SESSION_FOR_SHARE, {"flow_id": flow_id, "session_id": session_id}) is not None


def share_sessions_of_messages(
    db: OrmSession, flow_id: UUID, session_id: str | None, message_ids: Collection[UUID]
) -> None:
    """Share-lock this session and those of the messages: nothing of them is deleted until the transaction ends."""
    names = {session_id} if session_id is not None else set()
    for some in batches.pages(message_ids):
        mine = (Message.flow_id == flow_id, Message.id.in_(some))
        names.update(db.scalars(sa.select(Message.session_id).where(*mine).distinct()))
    for name in sorted(names):  # the common lock order
        share_session(db, flow_id, name)


def has_identical_message(db: OrmSession, message: Message) -> bool:
    """Whether another message of the session has identical content."""
    others = (Message.flow_id == message.flow_id, Message.session_id == message.session_id, Message.id != message.id)
    same = sa.exists().where(*others, Message.fingerprint == message.fingerprint)
    return db.scalar(sa.select(same)) is True


def has_external_id(db: OrmSession, flow_id: UUID, external_id: str) -> bool:
    """Whether the flow has a message with this id of the caller."""
    same = sa.exists().where(Message.flow_id == flow_id, Message.external_id == external_id)
    return db.scalar(sa.select(same)) is True


def present(
    db: OrmSession, flow_id: UUID, message_ids: Collection[UUID], *, end_user_id: str | None = None
) -> set[UUID]:
    """The ids among these that are messages of the flow, and of the end user if one is named."""
    statement = sa.select(Message.id).where(Message.flow_id == flow_id)
    if end_user_id is not None:
        same = sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id)
        statement = statement.join(Session, same).where(Session.end_user_id == end_user_id)
    found: set[UUID] = set()
    for some in batches.pages(message_ids):
        found.update(db.scalars(statement.where(Message.id.in_(some))))
    return found


def has_end_users(db: OrmSession, flow_id: UUID) -> bool:
    """Whether any session of the flow belongs to an end user, deleted ones included."""
    named = sa.select(Session.end_user_id).where(Session.flow_id == flow_id, Session.end_user_id.is_not(None)).limit(1)
    return db.scalar(named) is not None


def fetch_session(db: OrmSession, flow_id: UUID, session_id: str) -> Session | None:
    return db.scalar(sa.select(Session).where(Session.flow_id == flow_id, Session.session_id == session_id))


def dialogue_after(db: OrmSession, flow_id: UUID, session_id: str, seq: int, *, limit: int) -> Sequence[Message]:
    """The session's next user and assistant messages, in order."""
    return db.scalars(
        sa.select(Message)
        .where(
            Message.flow_id == flow_id,
            Message.session_id == session_id,
            Message.is_dialogue == sa.true(),
            Message.seq > seq,
        )
        .order_by(Message.seq)
        .limit(limit)
    ).all()


def rows_of_user(db: OrmSession, user_id: UUID, flow_id: UUID, session_ids: Collection[str]) -> list[Session]:
    """The sessions among these of a flow of the user, without deleted ones."""
    mine = (Flow.user_id == user_id, Flow.deleting_at.is_(None), Session.flow_id == flow_id)
    found: list[Session] = []
    for some in batches.pages(session_ids):
        statement = sa.select(Session).join(Flow, Flow.id == Session.flow_id)
        found += db.scalars(statement.where(*mine, Session.session_id.in_(some), Session.deleted_at.is_(None)))
    return found


def end_user_of(db: OrmSession, flow_id: UUID, session_id: str) -> str | None:
    found: str | None = records.execute(db, _END_USER, {"flow_id": flow_id, "session_id": session_id}).scalar()
    return found


def fetch_run(db: OrmSession, run_id: UUID) -> Run | None:
    return lookup.get(db, Run, run_id)


def fetch_run_of_user(db: OrmSession, user_id: UUID, run_id: UUID) -> Run | None:
    """The run, if its flow is the user's and not being deleted."""
    in_flow = sa.and_(Flow.id == Run.flow_id, Flow.user_id == user_id, Flow.deleting_at.is_(None))
    return db.scalar(sa.select(Run).join(Flow, in_flow).where(Run.id == run_id))


def known_runs(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, KnownRun]:
    """The stored runs among these ids, of any flow."""
    return {run.id: run for run in records.fetch_all(db, KnownRun, _KNOWN_RUNS, {"ids": list(ids)})}


def set_run_fingerprint(db: OrmSession, run_id: UUID, fingerprint: bytes) -> None:
    records.execute(db, _SET_FINGERPRINT, {"run_id": run_id, "fingerprint": fingerprint})


def add_run(db: OrmSession, values: dict[str, Any]) -> bool:
    """Insert a run; False if it exists."""
    return insert_if_absent(db, Run, values, "id")


def rename_run(db: OrmSession, session: AnySession, old_id: UUID, run_id: UUID) -> None:
    """A run got another id than the one under which its node executions and memory uses were stored before."""
    in_session = (NodeExecution.flow_id == session.flow_id, NodeExecution.session_id == session.session_id)
    db.execute(sa.update(NodeExecution).where(*in_session, NodeExecution.run_id == old_id).values(run_id=run_id))
    in_flow = (MemoryUse.flow_id == session.flow_id, MemoryUse.run_id == old_id)
    db.execute(sa.update(MemoryUse).where(*in_flow).values(run_id=run_id))


def message_by_id(db: OrmSession, message_id: UUID) -> Message | None:
    return lookup.get(db, Message, message_id)


def known_messages(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, KnownMessage]:
    """The stored messages among these ids, of any flow."""
    pages = (records.fetch_all(db, KnownMessage, _KNOWN, {"ids": some}) for some in batches.pages(ids))
    return {message.id: message for page in pages for message in page}


def rename_parents(db: OrmSession, session: AnySession, new_ids: Mapping[UUID, UUID]) -> None:
    """Messages were stored under other ids than those by which their replies, captured before, name them."""
    in_session = (Message.flow_id == session.flow_id, Message.session_id == session.session_id)
    found: set[UUID | None] = set()
    for some in batches.pages(new_ids):
        found.update(
            db.scalars(sa.select(Message.parent_message_id).where(*in_session, Message.parent_message_id.in_(some)))
        )
    for old_id in found:
        if old_id is not None:
            replies = sa.update(Message).where(*in_session, Message.parent_message_id == old_id)
            db.execute(replies.values(parent_message_id=new_ids[old_id]))


def ids_in_session(db: OrmSession, flow_id: UUID, session_id: str, ids: Iterable[UUID]) -> set[UUID]:
    """The ids among these that are messages of the session."""
    found: set[UUID] = set()
    for some in batches.pages(ids):
        found.update(
            db.scalars(
                sa.select(Message.id).where(
                    Message.flow_id == flow_id, Message.session_id == session_id, Message.id.in_(some)
                )
            )
        )
    return found


def edited_since(db: OrmSession, ids: Iterable[UUID], moment: datetime, now: datetime) -> set[UUID]:
    """The messages among these that were edited after that time, and not in the future: the clock was stepped back."""
    found: set[UUID] = set()
    for some in batches.pages(ids):
        found.update(
            db.scalars(
                sa.select(Message.id).where(Message.id.in_(some), Message.edited_at > moment, Message.edited_at <= now)
            )
        )
    return found


def insert_messages(db: OrmSession, rows: Sequence[dict[str, Any]]) -> None:
    """Insert messages, given by column names."""
    if rows:
        # By id: two flows that store the same ids at the same time must not wait for each other.
        records.execute(db, _INSERT_MESSAGES, sorted(rows, key=lambda row: row["id"].int))


def fetch_message(db: OrmSession, user_id: UUID, message_id: UUID) -> Message | None:
    return db.scalar(
        sa.select(Message)
        .join(Flow, Flow.id == Message.flow_id)
        .join(Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id))
        .where(Message.id == message_id, Flow.user_id == user_id, Flow.deleting_at.is_(None))
        .where(Session.deleted_at.is_(None))
    )


def count_counted(
    db: OrmSession, *, flow_id: UUID, session_id: str, capture: Capture, after_seq: int, at_most: int
) -> int:
    """How many counted messages lie beyond a seq; counts up to `at_most`, which bounds the cost."""
    parameters = {"flow_id": flow_id, "session_id": session_id, "after_seq": after_seq, "at_most": at_most}
    count: int = records.execute(db, _count_counted(capture), parameters).scalar_one()
    return count


def _counted_after(capture: Capture) -> sa.ColumnElement[bool]:
    is_counted = _MESSAGES.is_output if capture == Capture.OUTPUTS else _MESSAGES.is_dialogue
    return sa.and_(
        _MESSAGES.flow_id == bindparam("flow_id"),
        _MESSAGES.session_id == bindparam("session_id"),
        is_counted == sa.true(),
        _MESSAGES.seq > bindparam("after_seq"),
    )


@lru_cache
def _count_counted(capture: Capture) -> sa.Select[int]:
    found = (
        sa.select(_MESSAGES.seq)
        .where(_counted_after(capture))
        .order_by(_MESSAGES.seq)
        .limit(bindparam("at_most", type_=sa.Integer))
        .subquery()
    )
    return sa.select(sa.func.count()).select_from(found)


def sizes_after(
    db: OrmSession,
    *,
    flow_id: UUID,
    session_id: str,
    capture: Capture,
    after_seq: int,
    to_seq: int,
    at_most: int,
) -> list[MessageSize]:
    """Seq and size of the next counted messages, in order."""
    parameters = {
        "flow_id": flow_id,
        "session_id": session_id,
        "after_seq": after_seq,
        "to_seq": to_seq,
        "at_most": at_most,
    }
    return records.fetch_all(db, MessageSize, _sizes_after(capture), parameters)


@lru_cache
def _sizes_after(capture: Capture) -> sa.Select[int, int]:
    return (
        sa.select(_MESSAGES.seq, _MESSAGES.text_bytes)
        .where(_counted_after(capture), _MESSAGES.seq <= bindparam("to_seq"))
        .order_by(_MESSAGES.seq)
        .limit(bindparam("at_most", type_=sa.Integer))
    )


def counted_columns() -> sa.Select[UUID, UUID, int, str, Any, int, datetime, int]:
    """The columns of CountedMessage."""
    return sa.select(
        Message.id,
        Message.run_id,
        Message.seq,
        Message.role,
        Message.content,
        Message.version,
        Message.timestamp,
        Message.position,
    )


def fetch_range(
    db: OrmSession, *, flow_id: UUID, session_id: str, capture: Capture, from_seq: int, to_seq: int
) -> list[CountedMessage]:
    """The counted messages of (from_seq, to_seq], in seq order."""
    parameters = {"flow_id": flow_id, "session_id": session_id, "from_seq": from_seq, "to_seq": to_seq}
    return [CountedMessage(*row) for row in db.execute(_range(capture), parameters)]


@lru_cache
def _range(capture: Capture) -> sa.Select[UUID, UUID, int, str, Any, int, datetime, int]:
    return (
        counted_columns()
        .where(
            Message.flow_id == bindparam("flow_id"),
            Message.session_id == bindparam("session_id"),
            counted(capture),
            Message.seq > bindparam("from_seq"),
            Message.seq <= bindparam("to_seq"),
        )
        .order_by(Message.seq)
    )


def messages_after(
    db: OrmSession, flow_id: UUID, session_id: str, *, after_seq: int, to_seq: int, limit: int
) -> list[Message]:
    """The oldest messages of (after_seq, to_seq], in order."""
    return list(
        db.scalars(
            sa.select(Message)
            .where(
                Message.flow_id == flow_id,
                Message.session_id == session_id,
                Message.seq > after_seq,
                Message.seq <= to_seq,
            )
            .order_by(Message.seq)
            .limit(limit)
        )
    )


def ids_of_run(db: OrmSession, run_id: UUID) -> list[UUID]:
    return list(db.scalars(sa.select(Message.id).where(Message.run_id == run_id).order_by(Message.seq)))


def has_rows(db: OrmSession, session: AnySession) -> bool:
    """Whether a session that is marked as deleted still has messages or runs, which are deleted last."""
    which = sa.and_(Session.flow_id == session.flow_id, Session.session_id == session.session_id)
    return db.scalar(sa.select(Session.id).where(which, rows_are_left())) is not None


def rows_are_left() -> sa.ColumnElement[bool]:
    """Whether a session has messages or runs."""
    of_session = (
        sa.exists().where(table.flow_id == Session.flow_id, table.session_id == Session.session_id).correlate(Session)
        for table in (Message, Run)
    )
    return sa.or_(*of_session)


def raise_versions(db: OrmSession, flow_id: UUID, session_id: str) -> None:
    """Raise the version of every dialogue message of a session: every store writes them again."""
    db.execute(
        sa.update(Message)
        .where(Message.flow_id == flow_id, Message.session_id == session_id, Message.is_dialogue == sa.true())
        .values(version=Message.version + 1)
    )
    # Their texts are the same: what was derived from them still holds.
    of_session = sa.select(Message.id).where(Message.flow_id == flow_id, Message.session_id == session_id)
    db.execute(
        sa.update(FactSource)
        .where(FactSource.message_id.in_(of_session.where(Message.is_dialogue == sa.true())))
        .values(version=FactSource.version + 1)
        .execution_options(synchronize_session=False)
    )


def begin_flow_deletion(db: OrmSession, flow_id: UUID, now: datetime) -> None:
    db.execute(sa.update(Flow).where(Flow.id == flow_id).values(deleting_at=now))


def unshared_external_id(db: OrmSession, flow_id: UUID) -> str | None:
    """The flow's external id; None if it has none or a flow of another user has the same."""
    other = aliased(Flow)
    is_shared = sa.exists().where(other.external_id == Flow.external_id, other.id != Flow.id)
    return db.scalar(sa.select(Flow.external_id).where(Flow.id == flow_id, ~is_shared))


def flows_in_deletion(db: OrmSession) -> list[UUID]:
    """Those without a memory base: these are deleted first."""
    has_base = sa.exists().where(MemoryBase.flow_id == Flow.id)
    return list(db.scalars(sa.select(Flow.id).where(Flow.deleting_at.is_not(None), ~has_base)))


def delete_rows_of_flow(db: OrmSession, flow_id: UUID, *, limit: int) -> bool:
    """Delete up to `limit` rows of a flow without memory bases; False once nothing is left."""
    # Each table after those that refer to it: the deletions cascade to nothing.
    tables: tuple[type[Any], ...] = (
        MemoryUse,
        NodeExecution,
        SessionSummary,
        ChatRecord,
        Chat,
        ChatMemory,
        MessageChange,
        RestorableMessage,
        Message,
        Run,
        DeletedMessage,
        Session,
    )
    return any(batches.delete_some(db, table, table.flow_id == flow_id, limit=limit) for table in tables)


def delete_flow(db: OrmSession, flow_id: UUID) -> None:
    """Delete the flow, and what a capture that started before the deletion has stored since."""
    db.execute(sa.delete(Flow).where(Flow.id == flow_id))


def delete_session(db: OrmSession, session: Session) -> None:
    db.execute(sa.delete(Session).where(Session.id == session.id))


def rename_session(db: OrmSession, session: Session, new_session_id: str) -> None:
    """Rename it; foreign keys rename its messages, runs and progress rows, but not its memory uses."""
    db.execute(sa.update(Session).where(Session.id == session.id).values(session_id=new_session_id))


def sessions_of_end_user(db: OrmSession, user_id: UUID, end_user_id: str, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, session id) of up to `limit` sessions of an end user, in all of the user's flows."""
    statement = (
        sa.select(Session.flow_id, Session.session_id)
        .join(Flow, Flow.id == Session.flow_id)
        .where(
            Flow.user_id == user_id,
            Flow.deleting_at.is_(None),
            Session.end_user_id == end_user_id,
            Session.deleted_at.is_(None),
        )
        .order_by(Session.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in db.execute(statement)]


def known_sessions(db: OrmSession, flow_id: UUID, session_ids: Sequence[str]) -> list[str]:
    """Those of these sessions that exist, in their order."""
    found: set[str] = set()
    for some in batches.pages(session_ids):
        wanted = (Session.flow_id == flow_id, Session.session_id.in_(some), Session.deleted_at.is_(None))
        found.update(db.scalars(sa.select(Session.session_id).where(*wanted)))
    return [each for each in session_ids if each in found]
