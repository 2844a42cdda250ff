"""A session's messages read along a thread, from the newest backwards: each statement is bounded by what it returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.database import batches
from memorybase.database.paging import AnySelect
from memorybase.models import Message

RUNS_A_QUERY = 100  # each is a range of its own


class Link(NamedTuple):
    """What a thread follows of a message; `before_in_run` is the seq of the one before it in its run."""

    seq: int
    id: UUID
    run_id: UUID
    role: str
    parent_id: UUID | None
    before_in_run: int | None


class Placed(NamedTuple):
    """A link, and the seqs of those beside it: before it and next in the session, next in its run, last of its run."""

    link: Link
    older: int | None
    newer: int | None
    next_in_run: int | None
    last_in_run: int


def links_down_from(db: OrmSession, flow_id: UUID, session_id: str, *, to_seq: int | None, limit: int) -> list[Link]:
    """Messages up to a seq, or to the newest, newest first."""
    statement = (
        sa.select(*_link_columns())
        .where(Message.flow_id == flow_id, Message.session_id == session_id)
        .order_by(Message.seq.desc())
        .limit(limit)
    )
    if to_seq is not None:
        statement = statement.where(Message.seq <= to_seq)
    return [Link(*row) for row in db.execute(statement)]


def placed(
    db: OrmSession, flow_id: UUID, session_id: str, *, ids: Iterable[UUID] = (), seqs: Iterable[int] = ()
) -> list[Placed]:
    """The messages of a session with these ids, and those at these seqs."""
    other = aliased(Message)
    beside = sa.and_(other.flow_id == flow_id, other.session_id == session_id)
    columns = (
        *_link_columns(),
        sa.select(sa.func.max(other.seq)).where(beside, other.seq < Message.seq).scalar_subquery(),
        sa.select(sa.func.min(other.seq)).where(beside, other.seq > Message.seq).scalar_subquery(),
        sa.select(sa.func.min(other.seq))
        .where(other.run_id == Message.run_id, other.seq > Message.seq)
        .scalar_subquery(),
        sa.select(sa.func.max(other.seq)).where(other.run_id == Message.run_id).scalar_subquery(),
    )
    found: list[Placed] = []
    for key, values in ((Message.id, ids), (Message.seq, seqs)):
        for some in batches.pages(values):
            rows = db.execute(
                sa.select(*columns).where(Message.flow_id == flow_id, Message.session_id == session_id, key.in_(some))
            )
            found += [Placed(Link(*row[:6]), *row[6:]) for row in rows]
    return found


def children(db: OrmSession, flow_id: UUID, session_id: str, parents: Iterable[UUID], *, limit: int) -> list[Link]:
    """The messages of a session that name one of these as the message they answer, a parent's in seq order."""
    found: list[Link] = []
    for some in batches.pages(parents):
        rows = db.execute(
            sa.select(*_link_columns())
            .where(Message.flow_id == flow_id, Message.session_id == session_id, Message.parent_message_id.in_(some))
            .order_by(Message.parent_message_id, Message.seq)
            .limit(limit)
        )
        found += [Link(*row) for row in rows]
    return found


def jumps(
    db: OrmSession, flow_id: UUID, session_id: str, *, from_seq: int, first_link: int | None
) -> list[tuple[int, int | None]]:
    """(seq, seq of what it follows) of the messages from a seq on that follow another than the one before them in the
    session, the newest first; None: it begins a thread. What is stored decides, so one statement reads them all."""
    own = sa.and_(Message.flow_id == flow_id, Message.session_id == session_id, Message.seq >= from_seq)
    older = sa.select(sa.func.max(Message.seq)).where(
        Message.flow_id == flow_id, Message.session_id == session_id, Message.seq < from_seq
    )
    lag = sa.func.coalesce(sa.func.lag(Message.seq).over(order_by=Message.seq), older.scalar_subquery())
    links: AnySelect = sa.select(
        *(c.label(name) for c, name in zip(_link_columns(), Link._fields, strict=True)), lag.label("older")
    )
    link = links.where(own).subquery()
    named, answered = aliased(Message), aliased(Message)
    of_session = sa.and_(named.flow_id == flow_id, named.session_id == session_id)
    turn_end = sa.select(sa.func.max(answered.seq)).where(answered.run_id == named.run_id).scalar_subquery()
    is_turn = sa.and_(named.role == "user", link.c.role == "user", named.run_id != link.c.run_id)
    begins = sa.false() if first_link is None else link.c.seq >= first_link
    follows = sa.case(
        (link.c.parent_id == UUID(int=0), link.c.older),
        (link.c.parent_id.is_not(None), sa.case((is_turn, turn_end), else_=named.seq)),
        (link.c.before_in_run.is_not(None), link.c.before_in_run),
        (begins, sa.null()),
        else_=link.c.older,
    )
    found = (
        sa.select(link.c.seq, follows.label("follows"), link.c.older)
        .outerjoin(named, sa.and_(named.id == link.c.parent_id, of_session))
        .subquery()
    )
    statement = sa.select(found.c.seq, found.c.follows).where(found.c.follows.is_distinct_from(found.c.older))
    return [(row[0], row[1]) for row in db.execute(statement.order_by(found.c.seq.desc()))]


def questions_before(db: OrmSession, ends: Iterable[Link], *, reach: int, limit: int) -> list[Link]:
    """The user messages of the same runs as these messages, no more than so many seqs before them."""
    found: list[Link] = []
    for some in batches.pages(ends, RUNS_A_QUERY):
        turns = [
            sa.and_(Message.run_id == end.run_id, Message.seq > end.seq - reach, Message.seq < end.seq) for end in some
        ]
        statement = sa.select(*_link_columns()).where(sa.or_(*turns), Message.role == "user")
        found += [Link(*row) for row in db.execute(statement.limit(limit))]
    return found


def _link_columns() -> tuple[sa.SQLColumnExpression[Any], ...]:
    earlier = aliased(Message)
    before = (
        sa.select(sa.func.max(earlier.seq))
        .where(earlier.run_id == Message.run_id, earlier.seq < Message.seq)
        .scalar_subquery()
    )
    return Message.seq, Message.id, Message.run_id, Message.role, Message.parent_message_id, before


def seq_of(db: OrmSession, flow_id: UUID, session_id: str, message_id: UUID) -> int | None:
    """None for a message that is not of that session."""
    return db.scalar(
        sa.select(Message.seq).where(
            Message.id == message_id, Message.flow_id == flow_id, Message.session_id == session_id
        )
    )


def last_of_run(db: OrmSession, flow_id: UUID, session_id: str, run_id: UUID) -> int | None:
    """The seq of a run's newest message."""
    return db.scalar(
        sa.select(Message.seq)
        .where(Message.run_id == run_id, Message.flow_id == flow_id, Message.session_id == session_id)
        .order_by(Message.seq.desc())
        .limit(1)
    )


def first_with_parent(db: OrmSession, flow_id: UUID, session_id: str) -> int | None:
    """The seq of the first message that names the one it answers."""
    return db.scalar(
        sa.select(Message.seq)
        .where(Message.flow_id == flow_id, Message.session_id == session_id, Message.parent_message_id.is_not(None))
        .order_by(Message.seq)
        .limit(1)
    )


def messages_at(db: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Message]:
    """The messages of a session at these seqs, in any order."""
    found: list[Message] = []
    for some in batches.pages(seqs):
        found += db.scalars(
            sa.select(Message).where(
                Message.flow_id == flow_id, Message.session_id == session_id, Message.seq.in_(some)
            )
        )
    return found
