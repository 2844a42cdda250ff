"""A session's messages read along a thread, from the newest backwards: each statement is bounded by what it returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.models import Message
from memorybase.queries import bounds


class Link(NamedTuple):
    """What a thread follows of a message; `before_in_run` is the seq of the one before it in its run."""

    seq: int
    id: UUID
    run_id: UUID
    role: str
    parent_id: UUID | None
    before_in_run: int | None


def links_down_from(
    session: OrmSession, flow_id: UUID, session_id: str, *, to_seq: int | None, limit: int
) -> list[Link]:
    """Messages up to a seq, or to the newest, newest first."""
    earlier = aliased(Message)
    before = (
        sa.select(sa.func.max(earlier.seq))
        .where(earlier.run_id == Message.run_id, earlier.seq < Message.seq)
        .scalar_subquery()
    )
    statement = (
        sa.select(Message.seq, Message.id, Message.run_id, Message.role, Message.parent_message_id, before)
        .where(Message.flow_id == flow_id, Message.session_id == session_id)
        .order_by(Message.seq.desc())
        .limit(limit)
    )
    if to_seq is not None:
        statement = statement.where(Message.seq <= to_seq)
    return [Link(*row) for row in session.execute(statement)]


def seq_of(session: OrmSession, flow_id: UUID, session_id: str, message_id: UUID) -> int | None:
    """None for a message that is not of that session."""
    return session.scalar(
        sa.select(Message.seq).where(
            Message.id == message_id, Message.flow_id == flow_id, Message.session_id == session_id
        )
    )


def last_of_run(session: OrmSession, flow_id: UUID, session_id: str, run_id: UUID) -> int | None:
    """The seq of a run's newest message."""
    return session.scalar(
        sa.select(Message.seq)
        .where(Message.run_id == run_id, Message.flow_id == flow_id, Message.session_id == session_id)
        .order_by(Message.seq.desc())
        .limit(1)
    )


def first_with_parent(session: OrmSession, flow_id: UUID, session_id: str) -> int | None:
    """The seq of the first message that names the one it answers."""
    return session.scalar(
        sa.select(Message.seq)
        .where(Message.flow_id == flow_id, Message.session_id == session_id, Message.parent_message_id.is_not(None))
        .order_by(Message.seq)
        .limit(1)
    )


def messages_at(session: OrmSession, flow_id: UUID, session_id: str, seqs: Iterable[int]) -> list[Message]:
    """The messages of a session at these seqs, in any order."""
    found: list[Message] = []
    for some in bounds.pages(seqs):
        found += session.scalars(
            sa.select(Message).where(
                Message.flow_id == flow_id, Message.session_id == session_id, Message.seq.in_(some)
            )
        )
    return found
