"""Standing statements: rows of messages, what people made of them, and whose they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches, records
from memorybase.core.database.paging import AnySelect
from memorybase.core.database.upsert import core, insert_if_absent
from memorybase.core.messages import message_text
from memorybase.core.models import Flow, Message, Session
from memorybase.core.queries import message_changes
from memorybase.core.queries.key_limits import FlowAndEndUser
from memorybase.features.standing_statements.models import StandingStatement

Statement = StandingStatement


class Said(NamedTuple):
    """A statement with what its message says about its origin."""

    id: UUID
    kind: str
    found: str
    edited: str | None
    said_at: datetime
    deleted_at: datetime | None
    changed_by: str | None
    changed_at: datetime | None
    message_id: UUID
    message_external_id: str | None
    session_id: str
    seq: int
    sender_name: str | None


class Owner(NamedTuple):
    """Owner of statements: an end user in a flow, or one session without an end user (`session_uuid`)."""

    flow_id: UUID
    end_user_id: str | None
    session_uuid: UUID | None


class FlowOfEndUser(NamedTuple):
    """A flow, and how many statements of an end user were found in it."""

    flow_id: UUID
    flow_name: str
    found: int


_INSERT = sa.insert(core(Statement))


def add(db: OrmSession, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        records.execute(db, _INSERT, list(rows))


def add_missing(db: OrmSession, rows: Iterable[Mapping[str, Any]]) -> int:
    """Add rows that their messages do not have yet, and return their number."""
    return sum(insert_if_absent(db, Statement, row, "message_id", "found_key") for row in rows)


def keys_of_message(db: OrmSession, message_id: UUID) -> set[bytes]:
    return set(db.scalars(sa.select(Statement.found_key).where(Statement.message_id == message_id)))


def remove(db: OrmSession, message_id: UUID, keys: Collection[bytes]) -> None:
    """Remove what a message no longer states."""
    which = (Statement.message_id == message_id, Statement.found_key.in_(keys))
    db.execute(sa.delete(Statement).where(*which).execution_options(synchronize_session=False))


def count_of_session(db: OrmSession, session_uuid: UUID) -> int:
    counted = sa.select(sa.func.count()).where(Statement.session_uuid == session_uuid)
    return db.execute(counted).scalar_one()


def delete_of_session(db: OrmSession, session_uuid: UUID, *, limit: int) -> int:
    """Up to `limit`; returns how many."""
    return batches.delete_some(db, Statement, Statement.session_uuid == session_uuid, limit=limit)


def newest(db: OrmSession, owner: Owner, *, limit: int, as_of: datetime | None = None) -> list[Said]:
    """The owner's newest statements, or those on a date, also deleted ones, the latest first. Those of muted messages
    are left out."""
    statement = (
        _said()
        .where(*_of(owner), Message.muted == sa.false())
        .order_by(Statement.said_at.desc(), Message.seq.desc(), Statement.ordinal.desc())
        .limit(limit)
    )
    if as_of is None:
        return [Said(*row) for row in db.execute(statement)]
    said = [Said(*row) for row in db.execute(statement.where(Statement.said_at <= as_of))]
    then = message_changes.former_contents(db, owner.flow_id, {each.message_id for each in said}, as_of)
    return [_as_of(each, as_of) for each in said if each.message_id not in then or _states(then[each.message_id], each)]


def _states(content: Any, statement: Said) -> bool:
    """Whether a former content has the statement, which was found in the present one."""
    return " ".join(statement.found.split()) in " ".join(message_text(content).split())


def _as_of(statement: Said, moment: datetime) -> Said:
    """The statement without the words that a person gave it later."""
    is_later = statement.changed_at is not None and statement.changed_at > moment
    return statement._replace(edited=None) if is_later else statement


def one(db: OrmSession, user_id: UUID, statement_id: UUID) -> Said | None:
    row = db.execute(_said().where(*_of_user(user_id), Statement.id == statement_id)).one_or_none()
    return None if row is None else Said(*row)


def owner_of(db: OrmSession, user_id: UUID, statement_id: UUID) -> FlowAndEndUser | None:
    """The flow and the end user of the user's statement."""
    statement = sa.select(Statement.flow_id, Statement.end_user_id).join(Flow, Flow.id == Statement.flow_id)
    row = db.execute(statement.where(Statement.id == statement_id, Flow.user_id == user_id)).one_or_none()
    return None if row is None else FlowAndEndUser(*row)


def lock(db: OrmSession, user_id: UUID, statement_id: UUID) -> Statement | None:
    """The user's statement, unless its flow is being deleted."""
    statement = sa.select(Statement).join(Flow, Flow.id == Statement.flow_id)
    found: Statement | None = db.scalar(
        statement.where(*_of_user(user_id), Statement.id == statement_id).with_for_update(of=Statement)
    )
    return found


def changed_of_messages(db: OrmSession, message_ids: Collection[UUID]) -> dict[UUID, list[Statement]]:
    """By message: the statements that people changed."""
    changed = sa.select(Statement).where(Statement.message_id.in_(message_ids), Statement.changed_at.is_not(None))
    found: dict[UUID, list[Statement]] = {}
    for statement in db.scalars(changed.order_by(Statement.ordinal)):
        found.setdefault(statement.message_id, []).append(statement)
    return found


def flows_of_end_user(db: OrmSession, user_id: UUID, end_user_id: str) -> list[FlowOfEndUser]:
    statement = (
        sa.select(Flow.id, Flow.name, sa.func.count())
        .join(Statement, sa.and_(Statement.flow_id == Flow.id, Statement.end_user_id == end_user_id))
        .where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
        .group_by(Flow.id, Flow.name)
        .order_by(Flow.name, Flow.id)
    )
    return [FlowOfEndUser(*row) for row in db.execute(statement)]


def adds_to_contexts(db: OrmSession, flow_id: UUID) -> bool:
    """Whether the flow's contexts contain standing statements unless the call says otherwise."""
    return db.scalar(sa.select(Flow.standing).where(Flow.id == flow_id)) is True


def _said() -> AnySelect:
    return sa.select(
        Statement.id,
        Statement.kind,
        Statement.found,
        Statement.edited,
        Statement.said_at,
        Statement.deleted_at,
        Statement.changed_by,
        Statement.changed_at,
        Statement.message_id,
        Message.external_id,
        Message.session_id,
        Message.seq,
        Message.sender_name,
    ).join(Message, Message.id == Statement.message_id)


def _of(owner: Owner) -> list[sa.ColumnElement[bool]]:
    if owner.session_uuid is not None:
        return [Statement.session_uuid == owner.session_uuid]
    if owner.end_user_id is None:
        return [Statement.flow_id == owner.flow_id, Statement.end_user_id.is_(None)]
    return [Statement.flow_id == owner.flow_id, Statement.end_user_id == owner.end_user_id]


def _of_user(user_id: UUID) -> tuple[sa.ColumnElement[bool], ...]:
    flows = sa.select(Flow.id).where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
    return (Statement.flow_id.in_(flows),)


def sessions_after(db: OrmSession, after: UUID | None, *, limit: int) -> list[tuple[UUID, UUID, str]]:
    """Sessions by row id: row id, flow, session id."""
    statement = sa.select(Session.id, Session.flow_id, Session.session_id).where(Session.deleted_at.is_(None))
    if after is not None:
        statement = statement.where(Session.id > after)
    return [(row[0], row[1], row[2]) for row in db.execute(statement.order_by(Session.id).limit(limit))]
