"""Dead letters: messages that a generation could not embed, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.batches import pages
from memorybase.core.database.paging import AnyRow, AnySelect, Found, Keyset, Listing, PageRequest, given, within
from memorybase.core.database.upsert import core, insert
from memorybase.core.models import DeadLetter, Flow, MemoryBase, Message, Session, SessionProgress
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.joins import DEAD_LETTER_IS_SHOWN, key_of, own_base, own_flow
from memorybase.core.queries.ledger import SETTLED, _is_message
from memorybase.core.queries.messages import message_rows

message_text: sa.ColumnElement[str | None] = sa.cast(Message.content, sa.Text)  # as JSON


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which dead letters: those that match every field that is given; `since` and `until`: set aside then.

    `alike`: they have the cause and the text of one of these dead letters.
    """

    ids: Collection[UUID] | None = None
    memory_base_id: UUID | None = None
    cause: str | None = None
    alike: Collection[UUID] = ()
    flow_id: UUID | None = None
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Failure(NamedTuple):
    """Why a message could not be embedded."""

    message_id: UUID
    version: int
    code: str
    error: str


_SETTLED_OF_IDS = sa.select(DeadLetter.message_id, DeadLetter.version).where(
    DeadLetter.progress_id == sa.bindparam("progress_id"),
    DeadLetter.message_id.in_(sa.bindparam("ids", expanding=True)),
    DeadLetter.state.in_(SETTLED),
)

_CLEAR = sa.delete(core(DeadLetter)).where(
    core(DeadLetter).c.progress_id == sa.bindparam("progress_id"),
    core(DeadLetter).c.message_id.in_(sa.bindparam("ids", expanding=True)),
)


def settled_dead_letters(db: OrmSession, progress_id: UUID, ids: Collection[UUID]) -> set[tuple[UUID, int]]:
    """The settled dead letters among these messages, by id and version."""
    rows = db.execute(_SETTLED_OF_IDS, {"progress_id": progress_id, "ids": list(ids)})
    return {(message_id, version) for message_id, version in rows}


def add_dead_letters(
    db: OrmSession, *, base_id: UUID, generation: int, progress_id: UUID, failures: Sequence[Failure], now: datetime
) -> list[UUID]:
    """Write dead letters; a repeated failure counts as one more attempt. Their ids, in the order of the failures."""
    ids: list[UUID] = []
    for failure in failures:
        statement = insert(db, DeadLetter).values(
            id=uuid4(),
            memory_base_id=base_id,
            generation=generation,
            progress_id=progress_id,
            message_id=failure.message_id,
            version=failure.version,
            state="dead",
            error_code=failure.code,
            error=failure.error,
            attempts=1,
            created_at=now,
            updated_at=now,
        )
        stored = db.execute(
            statement.on_conflict_do_update(
                index_elements=["progress_id", "message_id"],
                set_={
                    "version": failure.version,
                    "state": "dead",
                    "error_code": failure.code,
                    "error": failure.error,
                    "attempts": DeadLetter.attempts + 1,
                    "updated_at": now,
                },
            ).returning(core(DeadLetter).c.id)
        )
        ids.append(stored.scalar_one())
    return ids


def clear_dead_letters(db: OrmSession, progress_id: UUID, ids: Collection[UUID]) -> None:
    """Delete the dead letters of messages that are now embedded or deleted."""
    for some in pages(ids):
        records.execute(db, _CLEAR, {"progress_id": progress_id, "ids": some})


def clear_forgotten(db: OrmSession, progress: ProgressRow, seq: int) -> None:
    """Delete the dead letters of the session's messages up to this seq."""
    of_session = Message.session_uuid == key_of(progress.flow_id, progress.session_id)
    ids = sa.select(Message.id).where(of_session, Message.seq <= seq)
    forgotten = sa.delete(DeadLetter).where(DeadLetter.progress_id == progress.id, DeadLetter.message_id.in_(ids))
    db.execute(forgotten.execution_options(synchronize_session=False))


def dead_letters_without_message(db: OrmSession, progress_id: UUID) -> list[UUID]:
    return list(
        db.scalars(
            sa.select(DeadLetter.message_id)
            .join(SessionProgress, SessionProgress.id == DeadLetter.progress_id)
            .outerjoin(Message, _is_message(DeadLetter.message_id))
            .where(DeadLetter.progress_id == progress_id, Message.id.is_(None))
        )
    )


def session_of_dead_letter(db: OrmSession, base_id: UUID, dead_letter_id: UUID) -> str | None:
    return db.scalar(
        sa.select(SessionProgress.session_id)
        .join(DeadLetter, DeadLetter.progress_id == SessionProgress.id)
        .where(DeadLetter.id == dead_letter_id, DeadLetter.memory_base_id == base_id)
    )


def fetch_dead_letter(db: OrmSession, base_id: UUID, dead_letter_id: UUID) -> DeadLetter | None:
    """A dead letter of the serving generation or the build, locked."""
    return db.scalar(
        sa.select(DeadLetter)
        .join(MemoryBase, MemoryBase.id == DeadLetter.memory_base_id)
        .where(
            DeadLetter.id == dead_letter_id,
            DeadLetter.memory_base_id == base_id,
            DeadLetter.generation.in_([MemoryBase.serving, MemoryBase.building]),
        )
        .with_for_update(of=DeadLetter)
        .execution_options(populate_existing=True)
    )


def is_shown(user_id: UUID) -> sa.ColumnElement[bool]:
    """A dead letter of the user's memory bases, in the serving generation or the build, that is not discarded."""
    return sa.and_(own_base(user_id), DEAD_LETTER_IS_SHOWN)


def matching(db: OrmSession, user_id: UUID, wanted: DeadLetterFilter) -> list[sa.ColumnElement[bool]]:
    """The conditions of a filter, on DeadLetter joined to MemoryBase, SessionProgress and outer joined to Message."""
    conditions = [
        is_shown(user_id),
        *given(wanted.ids, DeadLetter.id.in_),
        *given(wanted.memory_base_id, DeadLetter.memory_base_id),
        *given(wanted.cause, DeadLetter.error_code),
        *given(wanted.flow_id, MemoryBase.flow_id),
        *given(wanted.session_id, SessionProgress.session_id),
        *within(DeadLetter.created_at, wanted.since, wanted.until),
    ]
    if wanted.alike:
        pairs = db.execute(
            joined(sa.select(DeadLetter.error_code, message_text.label("text")).distinct()).where(
                is_shown(user_id), DeadLetter.id.in_(wanted.alike)
            )
        )
        conditions.append(sa.or_(sa.false(), *(_has_cause_and_text(code, text) for code, text in pairs)))
    return conditions


def joined(statement: AnySelect) -> AnySelect:
    """The statement on dead letters with their memory base, their session and their message, if it still exists."""
    return (
        statement.select_from(DeadLetter)
        .join(MemoryBase, MemoryBase.id == DeadLetter.memory_base_id)
        .join(SessionProgress, SessionProgress.id == DeadLetter.progress_id)
        .outerjoin(Message, Message.id == DeadLetter.message_id)
    )


_ROWS = joined(
    sa.select(
        DeadLetter,
        MemoryBase.name.label("memory_base_name"),
        SessionProgress.session_id,
        Message,
        Session.end_user_id,
        sa.null().label("ingested"),
    )
).outerjoin(
    Session, sa.and_(Session.flow_id == SessionProgress.flow_id, Session.session_id == SessionProgress.session_id)
)
_DEAD_LETTERS = Listing(
    _ROWS, Keyset("dead-letters", (DeadLetter.created_at, DeadLetter.id)), joined(sa.select(DeadLetter.id))
)


def _has_cause_and_text(code: str, text: str | None) -> sa.ColumnElement[bool]:
    same = message_text.is_(None) if text is None else message_text == text
    return sa.and_(DeadLetter.error_code == code, same)


class DeadLetterPlace(NamedTuple):
    """Location of a dead letter."""

    id: UUID
    memory_base_id: UUID
    session_id: str
    message_id: UUID


def find_dead_letters(
    db: OrmSession, user_id: UUID, wanted: DeadLetterFilter, *, states: Collection[str], limit: int
) -> list[DeadLetterPlace]:
    """Dead letters that match, oldest first."""
    columns = (DeadLetter.id, DeadLetter.memory_base_id, SessionProgress.session_id, DeadLetter.message_id)
    statement = (
        joined(sa.select(*columns))
        .where(*matching(db, user_id, wanted), DeadLetter.state.in_(states))
        .order_by(DeadLetter.created_at, DeadLetter.id)
        .limit(limit)
    )
    return [DeadLetterPlace(*row) for row in db.execute(statement)]


def count_dead_letters(db: OrmSession, user_id: UUID, wanted: DeadLetterFilter, *, states: Collection[str]) -> int:
    conditions = matching(db, user_id, wanted)
    statement = joined(sa.select(sa.func.count())).where(*conditions, DeadLetter.state.in_(states))
    return int(db.execute(statement).scalar_one())


def lock_dead_letters(db: OrmSession, base_id: UUID, ids: Collection[UUID]) -> list[DeadLetter]:
    """Lock the dead letters among these that are not discarded, of the serving generation or the build."""
    return list(
        db.scalars(
            sa.select(DeadLetter)
            .join(MemoryBase, MemoryBase.id == DeadLetter.memory_base_id)
            .where(DeadLetter.id.in_(ids), DeadLetter.memory_base_id == base_id, DEAD_LETTER_IS_SHOWN)
            .order_by(DeadLetter.id)
            .with_for_update(of=DeadLetter)
            .execution_options(populate_existing=True)
        )
    )


def dead_letters_page(db: OrmSession, user_id: UUID, wanted: DeadLetterFilter, request: PageRequest) -> Found:
    """The message is null if it was deleted since."""
    return _DEAD_LETTERS.page(db, request, *matching(db, user_id, wanted))


def dead_letters_of_ids(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> Sequence[AnyRow]:
    return db.execute(_ROWS.where(is_shown(user_id), DeadLetter.id.in_(ids))).all()


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
    own = message_rows().join(Flow, Flow.id == Message.flow_id).where(own_flow(user_id))
    return db.execute(own.where(Message.id.in_(ids))).all()


def _counts() -> tuple[sa.ColumnElement[Any], ...]:
    return (
        sa.func.count().label("messages"),
        sa.func.sum(sa.case((DeadLetter.state == "retrying", 1), else_=0)).label("retrying"),
        sa.func.count(DeadLetter.progress_id.distinct()).label("sessions"),
        sa.func.min(DeadLetter.created_at).label("since"),
    )
