"""A session's messages read along a thread, from the newest backwards: each statement is bounded by what it returns.

What a message follows is not stored: a run may be captured in parts, a parent after its child, and an edit or a
deletion changes it. `_follows` is the rule; `inferred_parents` of `conversation.view.threads` is the same one for
records in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.database import batches
from memorybase.models import Message

NIL = UUID(int=0)
RUNS_A_QUERY = 100  # each is a range of its own


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


def links_down_from(db: OrmSession, flow_id: UUID, session_id: str, *, to_seq: int | None, limit: int) -> list[Link]:
    """Messages up to a seq, or to the newest, newest first."""
    statement = _links(flow_id, session_id).order_by(Message.seq.desc()).limit(limit)
    if to_seq is not None:
        statement = statement.where(Message.seq <= to_seq)
    return [Link(*row) for row in db.execute(statement)]


def links_at(db: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Link]:
    """The messages of a session at these seqs, in any order."""
    statement = _links(flow_id, session_id)
    return [Link(*row) for some in batches.pages(seqs) for row in db.execute(statement.where(Message.seq.in_(some)))]


def neighbors(db: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Neighbors]:
    """The messages of a session at these seqs with what comes after them, in any order."""
    other = aliased(Message)
    after = sa.select(sa.func.min(other.seq)).where(other.seq > Message.seq)
    statement = _links(flow_id, session_id).add_columns(
        after.where(other.flow_id == flow_id, other.session_id == session_id).scalar_subquery(),
        after.where(other.run_id == Message.run_id).scalar_subquery(),
    )
    return [
        Neighbors(Link(*row[:6]), *row[6:])
        for some in batches.pages(seqs)
        for row in db.execute(statement.where(Message.seq.in_(some)))
    ]


def children(db: OrmSession, flow_id: UUID, session_id: str, parents: Iterable[UUID], *, limit: int) -> list[Link]:
    """The messages of a session that name one of these as their parent, a parent's in seq order."""
    statement = _links(flow_id, session_id).order_by(Message.parent_message_id, Message.seq).limit(limit)
    return [
        Link(*row)
        for some in batches.pages(parents)
        for row in db.execute(statement.where(Message.parent_message_id.in_(some)))
    ]


def jumps(db: OrmSession, flow_id: UUID, session_id: str, *, from_seq: int) -> list[tuple[int, int | None]]:
    """(seq, seq of what it follows) of the messages from a seq on that follow another than the one before them in the
    session, the newest first; None: it begins a thread."""
    own = sa.and_(Message.flow_id == flow_id, Message.session_id == session_id)
    older = sa.select(sa.func.max(Message.seq)).where(own, Message.seq < from_seq).scalar_subquery()
    previous = sa.func.coalesce(sa.func.lag(Message.seq).over(order_by=Message.seq), older)
    found = (
        sa.select(Message.seq, _follows(flow_id, session_id, previous).label("follows"), previous.label("previous"))
        .where(own, Message.seq >= from_seq)
        .subquery()
    )
    statement = sa.select(found.c.seq, found.c.follows).where(found.c.follows.is_distinct_from(found.c.previous))
    return [(row[0], row[1]) for row in db.execute(statement.order_by(found.c.seq.desc()))]


def questions_before(db: OrmSession, ends: Iterable[Link], *, reach: int, limit: int) -> list[UUID]:
    """The user messages of the same runs as these messages, no more than so many seqs before them."""
    found: list[UUID] = []
    for some in batches.pages(ends, RUNS_A_QUERY):
        turns = [
            sa.and_(Message.run_id == end.run_id, Message.seq > end.seq - reach, Message.seq < end.seq) for end in some
        ]
        found += db.scalars(sa.select(Message.id).where(sa.or_(*turns), Message.role == "user").limit(limit))
    return found


def _links(flow_id: UUID, session_id: str) -> sa.Select[Any]:
    other = aliased(Message)
    previous = sa.select(sa.func.max(other.seq)).where(
        other.flow_id == flow_id, other.session_id == session_id, other.seq < Message.seq
    )
    return sa.select(
        Message.seq,
        Message.id,
        Message.run_id,
        Message.role,
        Message.parent_message_id,
        _follows(flow_id, session_id, previous.scalar_subquery()),
    ).where(Message.flow_id == flow_id, Message.session_id == session_id)


def _follows(
    flow_id: UUID, session_id: str, previous: sa.SQLColumnExpression[int | None]
) -> sa.SQLColumnExpression[int | None]:
    """The rule: the seq that a message follows. `previous` is the seq before it in the session.

    A message follows the parent that it names, NIL being `previous`; a user message that names another run's user
    message follows that whole turn, to the end of its run. Without a parent it follows the message before it in its
    run. The first of a run follows `previous`, until the session has named a parent once: from then on it begins a
    thread, as after regenerating a first answer.
    """
    named, answer, earlier, linked = (aliased(Message) for _ in range(4))
    turn_end = sa.select(sa.func.max(answer.seq)).where(answer.run_id == named.run_id).scalar_subquery()
    is_turn = sa.and_(named.role == "user", Message.role == "user", named.run_id != Message.run_id)
    parent = sa.select(sa.case((is_turn, turn_end), else_=named.seq)).where(
        named.id == Message.parent_message_id, named.flow_id == flow_id, named.session_id == session_id
    )
    before_in_run = sa.select(sa.func.max(earlier.seq)).where(
        earlier.run_id == Message.run_id, earlier.seq < Message.seq
    )
    first_link = sa.select(sa.func.min(linked.seq)).where(
        linked.flow_id == flow_id, linked.session_id == session_id, linked.parent_message_id.is_not(None)
    )
    begins = sa.case((first_link.scalar_subquery() <= Message.seq, sa.null()), else_=previous)
    return sa.case(
        (Message.parent_message_id == NIL, previous),
        (Message.parent_message_id.is_not(None), parent.scalar_subquery()),
        else_=sa.func.coalesce(before_in_run.scalar_subquery(), begins),
    )


def seq_of(db: OrmSession, flow_id: UUID, session_id: str, message_id: UUID) -> int | None:
    """None for a message of another session."""
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


def has_parents(db: OrmSession, flow_id: UUID, session_id: str) -> bool:
    """Whether a message of the session names the one that it answers."""
    statement = sa.select(Message.seq).where(
        Message.flow_id == flow_id, Message.session_id == session_id, Message.parent_message_id.is_not(None)
    )
    return db.scalar(statement.limit(1)) is not None


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
