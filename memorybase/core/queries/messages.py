"""Messages: those that a capture stores, those that memory bases count, and their lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches, lookup, records
from memorybase.core.database.paging import (
    AnyRow,
    AnySelect,
    Condition,
    Found,
    Keyset,
    PageRequest,
    fetch_page,
    given,
    within,
)
from memorybase.core.database.upsert import core
from memorybase.core.ids import CallerId
from memorybase.core.models import (
    IS_MUTED,
    IS_PINNED,
    Capture,
    DeadLetter,
    Flow,
    LedgerEntry,
    MemoryBase,
    Message,
    Posting,
    Session,
)
from memorybase.core.queries import keyword_index, sessions
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, key_of, own_flow, serving_entry
from memorybase.core.queries.pending import is_due, is_pending
from memorybase.core.queries.sessions import SessionRow


class KnownMessage(NamedTuple):
    """The data of a stored message that a repeated capture needs."""

    id: UUID
    flow_id: UUID
    session_uuid: UUID
    external_id: str | None
    seq: int
    fingerprint: bytes


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


MessageState = Literal["muted", "pinned", "failed"]


class MessagePosition(NamedTuple):
    """Where a message stands in its session."""

    session_uuid: UUID
    seq: int


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """Which messages: those that match every field that is not None. `since` and `until` are inclusive; `before` and
    `after` are not, and mean one session. `failed`: no job could embed it in this version (a dead letter of the memory
    base)."""

    flow_id: UUID | None = None
    memory_base_id: UUID | None = None
    session_id: str | None = None
    run_id: CallerId | UUID | None = None
    end_user_id: str | None = None
    role: str | None = None
    is_output: bool | None = None
    ingested: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    before_message_id: CallerId | None = None
    after_message_id: CallerId | None = None
    before: MessagePosition | None = None  # of before_message_id
    after: MessagePosition | None = None  # of after_message_id
    state: MessageState | None = None
    find: str | None = None  # words, by the keyword index
    find_keys: tuple[tuple[int, ...], ...] | None = None  # of each of its terms in the flow's index
    find_positions: Sequence[int] | None = None  # of the rarest of these terms; None: too many
    order: Literal["asc", "desc"] = "asc"


# Statements of every capture and job are built once, on tables: database/records.py says why.
_MESSAGES = core(Message).c
_OF_SESSION = _MESSAGES.session_uuid == key_of(bindparam("flow_id"), bindparam("session_id"))
_INSERT_MESSAGES = sa.insert(core(Message))
_KNOWN = sa.select(*records.columns(Message, KnownMessage)).where(_MESSAGES.id.in_(bindparam("ids", expanding=True)))


def count_within(sizes: Sequence[MessageSize], max_bytes: int) -> int:
    """Number of the first messages that fit within these bytes together; at least one if there is one."""
    totals = accumulate(size.text_bytes for size in sizes)
    return sum(number == 0 or total <= max_bytes for number, total in enumerate(totals))


def has_identical_message(db: OrmSession, message: Message) -> bool:
    """Whether another message of the session has identical content."""
    others = (Message.session_uuid == message.session_uuid, Message.id != message.id)
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
        statement = statement.join(Session, MESSAGE_OF_SESSION).where(Session.end_user_id == end_user_id)
    found: set[UUID] = set()
    for some in batches.pages(message_ids):
        found.update(db.scalars(statement.where(Message.id.in_(some))))
    return found


def dialogue_after(db: OrmSession, flow_id: UUID, session_id: str, seq: int, *, limit: int) -> Sequence[Message]:
    """The session's next user and assistant messages, in order."""
    mine = (Message.session_uuid == key_of(flow_id, session_id), Message.is_dialogue == sa.true())
    return db.scalars(sa.select(Message).where(*mine, Message.seq > seq).order_by(Message.seq).limit(limit)).all()


def message_by_id(db: OrmSession, message_id: UUID) -> Message | None:
    return lookup.get(db, Message, message_id)


def known_messages(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, KnownMessage]:
    """The stored messages among these ids, of any flow."""
    pages = (records.fetch_all(db, KnownMessage, _KNOWN, {"ids": some}) for some in batches.pages(ids))
    return {message.id: message for page in pages for message in page}


def rename_parents(db: OrmSession, session: SessionRow, new_ids: Mapping[UUID, UUID]) -> None:
    """Point replies that arrived first at the ids under which their parents have now been stored."""
    in_session = Message.session_uuid == session.id
    found: set[UUID | None] = set()
    for some in batches.pages(new_ids):
        named = sa.select(Message.parent_message_id).where(in_session, Message.parent_message_id.in_(some))
        found.update(db.scalars(named))
    for old_id in found:
        if old_id is not None:
            replies = sa.update(Message).where(in_session, Message.parent_message_id == old_id)
            db.execute(replies.values(parent_message_id=new_ids[old_id]))


def ids_in_session(db: OrmSession, flow_id: UUID, session_id: str, ids: Iterable[UUID]) -> set[UUID]:
    """The ids among these that are messages of the session."""
    found: set[UUID] = set()
    for some in batches.pages(ids):
        mine = (Message.session_uuid == key_of(flow_id, session_id), Message.id.in_(some))
        found.update(db.scalars(sa.select(Message.id).where(*mine)))
    return found


def edited_since(db: OrmSession, ids: Iterable[UUID], moment: datetime, now: datetime) -> set[UUID]:
    """The messages among these that were edited after that time, and not in the future: the clock was stepped back."""
    found: set[UUID] = set()
    for some in batches.pages(ids):
        edited = (Message.id.in_(some), Message.edited_at > moment, Message.edited_at <= now)
        found.update(db.scalars(sa.select(Message.id).where(*edited)))
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
        .join(Session, MESSAGE_OF_SESSION)
        .where(Message.id == message_id, own_flow(user_id), Session.deleted_at.is_(None))
    )


def count_counted(
    db: OrmSession, *, flow_id: UUID, session_id: str, capture: Capture, after_seq: int, at_most: int
) -> int:
    """Number of counted messages beyond a seq; counts up to `at_most`, which bounds the cost."""
    parameters = {"flow_id": flow_id, "session_id": session_id, "after_seq": after_seq, "at_most": at_most}
    count: int = records.execute(db, _count_counted(capture), parameters).scalar_one()
    return count


@lru_cache
def _count_counted(capture: Capture) -> sa.Select[int]:
    found = (
        sa.select(_MESSAGES.seq)
        .where(_OF_SESSION, is_pending(capture, bindparam("after_seq"), _MESSAGES))
        .order_by(_MESSAGES.seq)
        .limit(bindparam("at_most", type_=sa.Integer))
        .subquery()
    )
    return sa.select(sa.func.count()).select_from(found)


def sizes_after(
    db: OrmSession, *, flow_id: UUID, session_id: str, capture: Capture, after_seq: int, to_seq: int, at_most: int
) -> list[MessageSize]:
    """Seq and size of the next counted messages, in order."""
    parameters = {"flow_id": flow_id, "session_id": session_id, "after_seq": after_seq, "to_seq": to_seq}
    return records.fetch_all(db, MessageSize, _sizes_after(capture), {**parameters, "at_most": at_most})


@lru_cache
def _sizes_after(capture: Capture) -> sa.Select[int, int]:
    return (
        sa.select(_MESSAGES.seq, _MESSAGES.text_bytes)
        .where(_OF_SESSION, is_due(capture, bindparam("after_seq"), bindparam("to_seq"), _MESSAGES))
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
            Message.session_uuid == key_of(bindparam("flow_id"), bindparam("session_id")),
            is_due(capture, bindparam("from_seq"), bindparam("to_seq")),
        )
        .order_by(Message.seq)
    )


def messages_after(
    db: OrmSession, flow_id: UUID, session_id: str, *, after_seq: int, to_seq: int, limit: int
) -> list[Message]:
    """The oldest messages of (after_seq, to_seq], in order."""
    mine = (Message.session_uuid == key_of(flow_id, session_id),)
    some = sa.select(Message).where(*mine, Message.seq > after_seq, Message.seq <= to_seq)
    return list(db.scalars(some.order_by(Message.seq).limit(limit)))


def ids_of_run(db: OrmSession, run_id: UUID) -> list[UUID]:
    return list(db.scalars(sa.select(Message.id).where(Message.run_id == run_id).order_by(Message.seq)))


def raise_versions(db: OrmSession, session: SessionRow, *, after: int, to_seq: int) -> None:
    """Raise the version of every dialogue message of a part of a session: every store writes them again."""
    within = (Message.seq > after, Message.seq <= to_seq)
    part = (Message.session_uuid == session.id, Message.is_dialogue == sa.true(), *within)
    db.execute(
        sa.update(Message).where(*part).values(version=Message.version + 1).execution_options(synchronize_session=False)
    )


def message_rows() -> AnySelect:
    """Messages as lists show them: Message, end_user_id, ingested."""
    return sa.select(Message, Session.end_user_id, sa.null().label("ingested")).join(Session, MESSAGE_OF_SESSION)


def messages_of_ids(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> list[AnyRow]:
    """The rows of the flow's messages among these ids, in any order."""
    return [
        row
        for some in batches.pages(ids)
        for row in db.execute(message_rows().where(Message.flow_id == flow_id, Message.id.in_(some)))
    ]


def messages_page(
    db: OrmSession, user_id: UUID, query: MessageQuery, base: MemoryBase | None, request: PageRequest
) -> Found:
    conditions = _message_conditions(user_id, query, base)
    if erasing := sessions.ids_in_erasure(db):
        conditions.append(Message.session_uuid.not_in(erasing))
    # Each message has a session; with an inner join and statistics SQLite may sort the messages of every session.
    statement = sa.select(Message, Session.end_user_id, _ingested(base).label("ingested"))
    statement = statement.outerjoin(Session, MESSAGE_OF_SESSION)
    counting = sa.select(Message.id).where(*conditions)
    return fetch_page(db, statement.where(*conditions), counting, _message_order(query), request)


def fetch_position(
    db: OrmSession, message_id: UUID, *, session_id: str | None, end_user_id: str | None
) -> MessagePosition | None:
    """Where a message stands; None if it is not of this session, or of a session of this end user."""
    found = sa.select(Message.session_uuid, Message.seq).join(Session, MESSAGE_OF_SESSION)
    which = [*given(session_id, Session.session_id), *given(end_user_id, Session.end_user_id)]
    row = db.execute(found.where(Message.id == message_id, Session.deleted_at.is_(None), *which)).one_or_none()
    return None if row is None else MessagePosition(*row)


def fetch_message_view(db: OrmSession, user_id: UUID, message_id: UUID) -> AnyRow | None:
    own = message_rows().join(Flow, Flow.id == Message.flow_id).where(own_flow(user_id), Session.deleted_at.is_(None))
    return db.execute(own.where(Message.id == message_id)).one_or_none()


def _message_order(query: MessageQuery) -> Keyset:
    """By seq within one session, by time of capture across sessions."""
    descending = query.order == "desc"
    is_of_session = query.before is not None or query.after is not None
    if is_of_session or query.run_id is not None or (query.flow_id is not None and query.session_id is not None):
        return Keyset("messages-of-session", (Message.seq,), descending)
    return Keyset("messages", (Message.captured_at, Message.seq, Message.id), descending)


def _message_conditions(user_id: UUID, query: MessageQuery, base: MemoryBase | None) -> list[sa.ColumnElement[bool]]:
    conditions = [
        *(given(query.flow_id, Message.flow_id) or [Message.flow_id.in_(sa.select(Flow.id).where(own_flow(user_id)))]),
        *given(query.run_id, Message.run_id),
        *given(query.role, Message.role),
        *given(query.is_output, Message.is_output),
        *given(query.session_id, partial(_in_session, user_id, query.flow_id)),
        *within(Message.timestamp, query.since, query.until),
        *given(query.before, lambda at: sa.and_(Message.session_uuid == at.session_uuid, Message.seq < at.seq)),
        *given(query.after, lambda at: sa.and_(Message.session_uuid == at.session_uuid, Message.seq > at.seq)),
        *given(query.end_user_id, _of_end_user),
        *given(query.state, partial(_in_state, base)),
    ]
    if query.find_keys is not None:
        # Without a term, only stop words were sent: nothing is indexed by them.
        conditions += [_has_term(keys) for keys in query.find_keys] or [sa.false()]
        if query.find_positions is not None:
            conditions.append(batches.is_among(Message.position, "find_positions", query.find_positions))
    return [*conditions, *given(query.ingested, lambda wanted: _ingested(base) if wanted else sa.not_(_ingested(base)))]


def _in_session(user_id: UUID, flow_id: UUID | None, session_id: str) -> sa.ColumnElement[bool]:
    if flow_id is not None:
        return Message.session_uuid == key_of(flow_id, session_id)
    own = Session.flow_id.in_(sa.select(Flow.id).where(own_flow(user_id)))
    named = sa.select(Session.id).where(own, Session.session_id == session_id)
    return Message.session_uuid.in_(named.correlate(None))


def _of_end_user(end_user_id: str) -> Condition:
    of_user = sa.select(Session.id).where(MESSAGE_OF_SESSION, Session.end_user_id == end_user_id)
    return of_user.correlate(Message).exists()


def _has_term(keys: tuple[int, ...]) -> sa.ColumnElement[bool]:
    return keyword_index.has_term(Posting.term.in_(keys), Message.position, Message)


def _in_state(base: MemoryBase | None, state: MessageState) -> sa.ColumnElement[Any]:
    if state != "failed":
        return IS_MUTED if state == "muted" else IS_PINNED
    if base is None:
        return sa.false()
    dead = sa.select(DeadLetter.message_id).where(
        DeadLetter.memory_base_id == base.id,
        DeadLetter.generation == base.serving,
        DeadLetter.state == "dead",
        DeadLetter.message_id == Message.id,
        DeadLetter.version == Message.version,
    )
    return dead.correlate(Message).exists()


def failed_among(db: OrmSession, base: MemoryBase, ids: Collection[UUID]) -> set[UUID]:
    """The failed ones among these messages, at most a page of ids."""
    return set(db.scalars(sa.select(Message.id).where(Message.id.in_(ids), _in_state(base, "failed"))))


def _ingested(base: MemoryBase | None) -> sa.ColumnElement[Any]:
    """Whether the ledger of the serving generation has the message; null without a memory base."""
    if base is None:
        return sa.null()
    return sa.select(LedgerEntry.message_id).where(serving_entry(base=base)).correlate(Message).exists()
