"""A session's messages read along a thread, from the newest backwards: each statement is bounded by what it returns.

What a message follows is not stored: a run may be captured in parts, a parent after its child, and an edit or a
deletion changes it. `_follows` is the rule; `inferred_parents` of `conversation.view.threads` is the same one for
records in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.database import batches
from memorybase.core.database.paging import AnyRow, AnySelect
from memorybase.core.models import (
    Message,
)
from memorybase.core.queries.joins import key_of
from memorybase.core.queries.messages import message_rows

NIL = UUID(int=0)
RUNS_A_QUERY = 100  # each is a separate range
NEWEST = 2**63 - 1  # no seq is higher
MOST_RANGES = 200  # in one condition; a page has no more messages than that
_READ_AT_ONCE = 500

Range = tuple[int, int]  # of seqs, both inclusive
Condition = sa.ColumnElement[bool]
Parents = dict[UUID, tuple[UUID | None, str | None]]  # of messages: parent_message_id and parent_rule

# The statements are built once: building them takes longer than running them.
_FLOW = sa.bindparam("flow_id", type_=Message.flow_id.type)
_SESSION = key_of(_FLOW, sa.bindparam("session_id", type_=sa.String()))
_TO_SEQ = sa.bindparam("to_seq", type_=Message.seq.type)
_FROM_SEQ = sa.bindparam("from_seq", type_=Message.seq.type)
_LIMIT = sa.bindparam("limit", type_=sa.Integer())
_IDS = sa.bindparam("ids", type_=Message.id.type, expanding=True)
_SEQS = sa.bindparam("seqs", type_=Message.seq.type, expanding=True)
_OF_SESSION = Message.session_uuid == _SESSION


class Link(NamedTuple):
    """A message without its content. `follows` is the seq of the message before it on its thread; None if the thread
    begins here or the message that parent_id names is missing."""

    seq: int
    id: UUID
    run_id: UUID
    role: str
    parent_id: UUID | None
    follows: int | None

    @property
    def is_broken(self) -> bool:
        """Whether the message that it names is missing."""
        return self.follows is None and self.parent_id not in {None, NIL}


class Neighbors(NamedTuple):
    """A link, and the seqs of the next message in the session and of the next one in its run."""

    link: Link
    newer: int | None
    next_in_run: int | None


def _follows(previous: sa.SQLColumnExpression[int | None]) -> sa.SQLColumnExpression[int | None]:
    """The rule: the seq that a message follows. `previous` is the seq before it in the session.

    A message follows the parent that it names, NIL being `previous`; a user message that names another run's user
    message follows that whole turn, to the end of its run. Without a parent it follows the message before it in its
    run. The first of a run follows `previous`, until the session has named a parent once: from then on it begins a
    thread, as after regenerating a first answer. If its parent was sent as null, it begins a thread as soon as the
    session names a parent at all, also later. After a deletion, a message may begin a
    thread in any case, or follow exactly what it names.
    """
    named, answer, earlier, linked = (aliased(Message) for _ in range(4))
    turn_end = sa.select(sa.func.max(answer.seq)).where(answer.run_id == named.run_id).scalar_subquery()
    is_question = sa.and_(named.role == "user", Message.role == "user", named.run_id != Message.run_id)
    is_turn = sa.and_(is_question, Message.parent_rule.is_distinct_from("exact"))
    parent = sa.select(sa.case((is_turn, turn_end), else_=named.seq)).where(
        named.id == Message.parent_message_id, named.session_uuid == _SESSION
    )
    before_in_run = sa.select(sa.func.max(earlier.seq)).where(
        earlier.run_id == Message.run_id, earlier.seq < Message.seq
    )
    first_link = sa.select(sa.func.min(linked.seq)).where(
        linked.session_uuid == _SESSION, linked.parent_message_id.is_not(None)
    )
    from_here_on = sa.case((Message.parent_rule == "linked", NEWEST), else_=Message.seq)
    begins = sa.case((first_link.scalar_subquery() <= from_here_on, sa.null()), else_=previous)
    return sa.case(
        (Message.parent_message_id == NIL, previous),
        (Message.parent_message_id.is_not(None), parent.scalar_subquery()),
        (Message.parent_rule == "none", sa.null()),
        else_=sa.func.coalesce(before_in_run.scalar_subquery(), begins),
    )


def _links() -> AnySelect:
    other = aliased(Message)
    in_session = other.session_uuid == _SESSION
    previous = sa.select(sa.func.max(other.seq)).where(in_session, other.seq < Message.seq).scalar_subquery()
    columns = (Message.seq, Message.id, Message.run_id, Message.role, Message.parent_message_id, _follows(previous))
    return sa.select(*columns).where(_OF_SESSION)


def _neighbors() -> AnySelect:
    other = aliased(Message)
    after = sa.select(sa.func.min(other.seq)).where(other.seq > Message.seq)
    in_session = after.where(other.session_uuid == _SESSION).scalar_subquery()
    in_run = after.where(other.run_id == Message.run_id).scalar_subquery()
    return _LINKS_AT.add_columns(in_session, in_run)


def _jumps() -> AnySelect:
    older = sa.select(sa.func.max(Message.seq)).where(_OF_SESSION, Message.seq < _FROM_SEQ).scalar_subquery()
    previous = sa.func.coalesce(sa.func.lag(Message.seq).over(order_by=Message.seq), older)
    links: AnySelect = sa.select(Message.seq, _follows(previous).label("follows"), previous.label("previous"))
    found = links.where(_OF_SESSION, Message.seq >= _FROM_SEQ).subquery()
    jumped = found.c.follows.is_distinct_from(found.c.previous)
    return sa.select(found.c.seq, found.c.follows).where(jumped).order_by(found.c.seq.desc())


_LINKS = _links()
_DOWN_FROM = _LINKS.where(Message.seq <= _TO_SEQ).order_by(Message.seq.desc()).limit(_LIMIT)
_LINKS_AT = _LINKS.where(Message.seq.in_(_SEQS))
_NEIGHBORS = _neighbors()
_CHILDREN = (
    _LINKS.where(Message.parent_message_id.in_(_IDS)).order_by(Message.parent_message_id, Message.seq).limit(_LIMIT)
)
_JUMPS = _jumps()
_SEQ_OF = sa.select(Message.seq).where(_OF_SESSION, Message.id == sa.bindparam("id"))
_LAST_OF_RUN = sa.select(sa.func.max(Message.seq)).where(_OF_SESSION, Message.run_id == sa.bindparam("run_id"))
_LAST_SAID_BY = (
    sa.select(Message.seq)
    .where(_OF_SESSION, Message.timestamp <= sa.bindparam("moment", type_=Message.timestamp.type))
    .order_by(Message.seq.desc())
    .limit(1)
)
_FIRST_LINK = (
    sa.select(Message.seq).where(_OF_SESSION, Message.parent_message_id.is_not(None)).order_by(Message.seq).limit(1)
)
_MESSAGES_AT = sa.select(Message).where(_OF_SESSION, Message.seq.in_(_SEQS))


def links_down_from(db: OrmSession, flow_id: UUID, session_id: str, *, to_seq: int | None, limit: int) -> list[Link]:
    """Messages up to a seq, or to the newest, newest first."""
    values = _values(flow_id, session_id, to_seq=NEWEST if to_seq is None else to_seq, limit=limit)
    return [Link(*row) for row in db.execute(_DOWN_FROM, values)]


def links_at(db: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Link]:
    """The messages of a session at these seqs, in any order."""
    return [
        Link(*row)
        for some in batches.pages(seqs)
        for row in db.execute(_LINKS_AT, _values(flow_id, session_id, seqs=some))
    ]


def neighbors(db: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Neighbors]:
    """The messages of a session at these seqs with what comes after them, in any order."""
    return [
        Neighbors(Link(*row[:6]), *row[6:])
        for some in batches.pages(seqs)
        for row in db.execute(_NEIGHBORS, _values(flow_id, session_id, seqs=some))
    ]


def children(db: OrmSession, flow_id: UUID, session_id: str, parents: Iterable[UUID], *, limit: int) -> list[Link]:
    """The messages of a session that name one of these as their parent, a parent's in seq order."""
    return [
        Link(*row)
        for some in batches.pages(parents)
        for row in db.execute(_CHILDREN, _values(flow_id, session_id, ids=some, limit=limit))
    ]


def jumps(db: OrmSession, flow_id: UUID, session_id: str, *, from_seq: int) -> list[tuple[int, int | None]]:
    """(seq, seq of what it follows) of the messages from a seq on that do not follow the one before them in the
    session, the newest first; None: it begins a thread."""
    return [(row[0], row[1]) for row in db.execute(_JUMPS, _values(flow_id, session_id, from_seq=from_seq))]


def questions_before(db: OrmSession, ends: Iterable[Link], *, reach: int, limit: int) -> list[UUID]:
    """The user messages of the same runs as these messages, at most `reach` seqs before them."""
    found: list[UUID] = []
    for some in batches.pages(ends, RUNS_A_QUERY):
        turns = [
            sa.and_(Message.run_id == end.run_id, Message.seq > end.seq - reach, Message.seq < end.seq) for end in some
        ]
        found += db.scalars(sa.select(Message.id).where(sa.or_(*turns), Message.role == "user").limit(limit))
    return found


def seq_of(db: OrmSession, flow_id: UUID, session_id: str, message_id: UUID) -> int | None:
    """None for a message of another session."""
    return db.scalar(_SEQ_OF, _values(flow_id, session_id, id=message_id))


def last_of_run(db: OrmSession, flow_id: UUID, session_id: str, run_id: UUID) -> int | None:
    """The seq of a run's newest message."""
    return db.scalar(_LAST_OF_RUN, _values(flow_id, session_id, run_id=run_id))


def last_said_by(db: OrmSession, flow_id: UUID, session_id: str, moment: datetime) -> int:
    """The highest seq of the session's messages that were said by then; 0, which is none's, if there is none."""
    return db.scalar(_LAST_SAID_BY, _values(flow_id, session_id, moment=moment)) or 0


def first_link(db: OrmSession, flow_id: UUID, session_id: str) -> int | None:
    """The seq of the first message of the session that names its parent."""
    return db.scalar(_FIRST_LINK, _values(flow_id, session_id))


def messages_at(db: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Message]:
    """The messages of a session at these seqs, in any order."""
    return [
        message
        for some in batches.pages(seqs)
        for message in db.scalars(_MESSAGES_AT, _values(flow_id, session_id, seqs=some))
    ]


def _values(flow_id: UUID, session_id: str, **values: Any) -> dict[str, Any]:
    return {"flow_id": flow_id, "session_id": session_id, **values}


def messages_in(
    db: OrmSession,
    flow_id: UUID,
    session_id: str,
    ranges: Sequence[Range],
    *,
    role: str | None,
    newest: bool,
    limit: int,
) -> list[AnyRow]:
    """The oldest or the newest messages within these ranges, in order of seq."""
    some = sorted(ranges, reverse=newest)[:MOST_RANGES]
    if not some:
        return []
    statement = (
        message_rows()
        .where(*_of_session(flow_id, session_id, role), sa.or_(*(Message.seq.between(*each) for each in some)))
        .order_by(Message.seq.desc() if newest else Message.seq)
        .limit(limit)
    )
    rows = list(db.execute(statement))
    return rows[::-1] if newest else rows


def newest_seq(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    return db.scalar(sa.select(sa.func.max(Message.seq)).where(*_of_session(flow_id, session_id, None))) or 0


def first_seq_since(db: OrmSession, flow_id: UUID, session_id: str, since: datetime) -> int | None:
    """The seq of the first message that was written at this time or later."""
    later = sa.select(sa.func.min(Message.seq)).where(
        *_of_session(flow_id, session_id, None), Message.timestamp >= since
    )
    return db.scalar(later)


def contents(db: OrmSession, flow_id: UUID, session_id: str, *, limit: int) -> Iterator[tuple[int, Any]]:
    """(seq, content) of the newest messages of a session with text, newest first, read piece by piece."""
    before: int | None = None
    left = limit
    while left > 0:
        statement = sa.select(Message.seq, Message.content).where(
            *_of_session(flow_id, session_id, None), Message.text_bytes > 0
        )
        if before is not None:
            statement = statement.where(Message.seq < before)
        rows = db.execute(statement.order_by(Message.seq.desc()).limit(min(left, _READ_AT_ONCE))).all()
        yield from ((seq, content) for seq, content in rows)
        if len(rows) < min(left, _READ_AT_ONCE):
            return
        left -= len(rows)
        before = rows[-1].seq


def _of_session(flow_id: UUID, session_id: str, role: str | None) -> list[sa.ColumnElement[bool]]:
    mine = [Message.session_uuid == key_of(flow_id, session_id)]
    return mine if role is None else [*mine, Message.role == role]


# What a deletion changes, so that no thread ends at the deleted message.


def parents_of(db: OrmSession, flow_id: UUID, ids: Iterable[UUID]) -> Parents:
    links = _parents()
    return {
        row_id: (parent_id, rule)
        for some in batches.pages(ids)
        for row_id, parent_id, rule in db.execute(links.where(Message.flow_id == flow_id, Message.id.in_(some)))
    }


def set_parents(
    db: OrmSession, flow_id: UUID, session_id: str, values: Mapping[str, object], which: Condition
) -> Parents:
    """Set the parents of these messages of the session; returns those that are replaced."""
    mine = (*_of_session(flow_id, session_id, None), which)
    replaced = {row_id: (parent_id, rule) for row_id, parent_id, rule in db.execute(_parents().where(*mine))}
    db.execute(sa.update(Message).where(*mine).values(**values).execution_options(synchronize_session=False))
    return replaced


def set_parent(db: OrmSession, flow_id: UUID, message_id: UUID, parent: UUID | None, rule: str | None) -> None:
    db.execute(
        sa.update(Message)
        .where(Message.flow_id == flow_id, Message.id == message_id)
        .values(parent_message_id=parent, parent_rule=rule)
        .execution_options(synchronize_session=False)
    )


def _parents() -> sa.Select[UUID, UUID | None, str | None]:
    return sa.select(Message.id, Message.parent_message_id, Message.parent_rule)


def is_at(*seqs: int) -> Condition:
    return Message.seq.in_(seqs)


def names(parent: Message) -> Condition:
    """Whether a message names this one as its parent."""
    return Message.parent_message_id == parent.id


def follows_turn_of(question: Message) -> Condition:
    """Whether a message is a question of another run that names this one, and so follows its whole turn."""
    is_question = (Message.role == "user", Message.run_id != question.run_id)
    return sa.and_(names(question), *is_question, Message.parent_rule.is_distinct_from("exact"))


def began_between(former: int, first: int | None) -> Condition:
    """Whether a message began a thread while the first one of the session that names a parent was at the seq `former`,
    and would not do so with the one at `first`, or none."""
    earlier = aliased(Message)
    is_first = ~sa.exists().where(earlier.run_id == Message.run_id, earlier.seq < Message.seq)
    began: Condition = Message.seq > former
    began = sa.or_(began, Message.parent_rule == "linked") if first is None else sa.and_(began, Message.seq < first)
    return sa.and_(began, Message.parent_message_id.is_(None), is_first)
