"""SQL for lists and groups of dead letters, within one user."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow, AnySelect, Found, Keyset, PageRequest, fetch_page
from memorybase.models import DeadLetter, Flow, MemoryBase, Message, Session, SessionProgress
from memorybase.queries.dead_letters import DeadLetterFilter, is_shown, joined, matching, message_text

_DEAD_LETTERS = Keyset("dead-letters", (DeadLetter.created_at, DeadLetter.id))


def dead_letters_page(db: OrmSession, user_id: UUID, wanted: DeadLetterFilter, request: PageRequest) -> Found:
    """The message is null if it was deleted since."""
    conditions = matching(db, user_id, wanted)
    counting = joined(sa.select(DeadLetter.id)).where(*conditions)
    return fetch_page(db, _dead_letters().where(*conditions), counting, _DEAD_LETTERS, request)


def dead_letters_of_ids(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> Sequence[AnyRow]:
    return db.execute(_dead_letters().where(is_shown(user_id), DeadLetter.id.in_(ids))).all()


def dead_letter_causes(db: OrmSession, user_id: UUID, wanted: DeadLetterFilter) -> Sequence[AnyRow]:
    """Each cause with its numbers, most messages first."""
    counts: tuple[sa.ColumnElement[Any], ...] = (
        *_counts(),
        sa.func.count(message_text.distinct()).label("texts"),
        sa.func.count(DeadLetter.memory_base_id.distinct()).label("memory_bases"),
    )
    statement = joined(sa.select(DeadLetter.error_code, *counts)).where(*matching(db, user_id, wanted))
    return db.execute(statement.group_by(DeadLetter.error_code).order_by(sa.desc("messages"), "error_code")).all()


def dead_letter_texts(db: OrmSession, user_id: UUID, wanted: DeadLetterFilter, *, per_cause: int) -> Sequence[AnyRow]:
    """Each text of each cause with its numbers and one of its dead letters, most messages first."""
    first = sa.func.min(sa.cast(DeadLetter.id, sa.Text)).label("example_id")
    groups = (
        joined(sa.select(DeadLetter.error_code, message_text.label("text"), first, *_counts()))
        .where(*matching(db, user_id, wanted))
        .group_by(DeadLetter.error_code, message_text)
        .subquery()
    )
    order = (groups.c.messages.desc(), groups.c.example_id)
    rank = sa.func.row_number().over(partition_by=groups.c.error_code, order_by=order).label("rank")
    ranked = sa.select(groups, rank).subquery()
    statement = sa.select(ranked).where(ranked.c.rank <= per_cause)
    return db.execute(statement.order_by(ranked.c.messages.desc(), ranked.c.example_id)).all()


def messages_of_ids(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> Sequence[AnyRow]:
    of_session = sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id)
    statement = (
        sa.select(Message, Session.end_user_id, sa.null().label("ingested"))
        .join(Session, of_session)
        .join(Flow, Flow.id == Message.flow_id)
        .where(Message.id.in_(ids), Flow.user_id == user_id, Flow.deleting_at.is_(None))
    )
    return db.execute(statement).all()


def _counts() -> tuple[sa.ColumnElement[Any], ...]:
    return (
        sa.func.count().label("messages"),
        sa.func.sum(sa.case((DeadLetter.state == "retrying", 1), else_=0)).label("retrying"),
        sa.func.count(DeadLetter.progress_id.distinct()).label("sessions"),
        sa.func.min(DeadLetter.created_at).label("since"),
    )


def _dead_letters() -> AnySelect:
    columns = (
        DeadLetter,
        MemoryBase.name.label("memory_base_name"),
        SessionProgress.session_id,
        Message,
        Session.end_user_id,
        sa.null().label("ingested"),
    )
    of_session = sa.and_(Session.flow_id == SessionProgress.flow_id, Session.session_id == SessionProgress.session_id)
    return joined(sa.select(*columns)).outerjoin(Session, of_session)
