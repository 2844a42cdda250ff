"""Deleted messages that can still be restored: each with every column of its row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import insert
from memorybase.core.models import Flow, Message, MessageChange, RestorableMessage, Session, UtcDateTime
from memorybase.core.queries.joins import own_flow
from memorybase.core.queries.sessions import SessionRow

Kept = RestorableMessage
_DELETED = Listing(
    sa.select(Kept, Session.session_id, Session.end_user_id)
    .join(Flow, Flow.id == Kept.flow_id)
    .join(Session, Session.id == Kept.session_uuid),
    Keyset("deleted-messages", (Kept.deleted_at, Kept.message_id), descending=True),
)
_COLUMNS = Message.__table__.columns


def as_json(message: Message) -> dict[str, Any]:
    """Every column of a message's row, in types of JSON."""
    mapper = sa.inspect(Message, raiseerr=True)
    return {c.name: _plain(getattr(message, mapper.get_property_by_column(c).key)) for c in _COLUMNS}


def from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The row again, by names of columns. Columns that are newer than the deletion keep their defaults."""
    return {column.name: _typed(values[column.name], column) for column in _COLUMNS if column.name in values}


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def _typed(value: Any, column: sa.ColumnElement[Any]) -> Any:
    if value is None or isinstance(column.type, sa.JSON):
        return value
    if isinstance(column.type, UtcDateTime):
        return datetime.fromisoformat(value)
    kind = column.type.python_type
    if kind is UUID:
        return UUID(value)
    return bytes.fromhex(value) if kind is bytes else value


def keep(db: OrmSession, session: SessionRow, values: Mapping[str, Any]) -> None:
    """Keep a message that is being deleted; an older copy with the same id goes."""
    row = {"session_uuid": session.id, **values}
    statement = insert(db, Kept).values(**row)
    changed = {name: statement.excluded[name] for name in row if name not in ("flow_id", "message_id")}
    db.execute(statement.on_conflict_do_update(index_elements=["flow_id", "message_id"], set_=changed))


def fetch(
    db: OrmSession, user_id: UUID, message_id: UUID, flow_id: UUID | None, since: datetime, *, lock: bool = False
) -> Kept | None:
    """The user's deleted message, unless it was deleted before `since`."""
    found = _own(user_id, since).where(Kept.message_id == message_id)
    if flow_id is not None:
        found = found.where(Kept.flow_id == flow_id)
    if lock:
        found = found.with_for_update(of=Kept).execution_options(populate_existing=True)
    kept: Kept | None = db.scalar(found)
    return kept


def ids_by_external_id(
    db: OrmSession, user_id: UUID, external_id: str, flow_id: UUID | None, since: datetime
) -> Sequence[UUID]:
    """At most two deleted messages with this external id."""
    found = _own(user_id, since).where(Kept.message["external_id"].as_string() == external_id)
    if flow_id is not None:
        found = found.where(Kept.flow_id == flow_id)
    return [kept.message_id for kept in db.scalars(found.limit(2))]


def page(
    db: OrmSession,
    user_id: UUID,
    request: PageRequest,
    *,
    flow_id: UUID | None,
    session_id: str | None,
    since: datetime,
) -> Found:
    """The user's deleted messages with the present ids of their sessions, the last deleted first."""
    wanted = (*given(flow_id, Kept.flow_id), *given(session_id, Session.session_id))
    return _DELETED.page(db, request, own_flow(user_id), Kept.deleted_at > since, *wanted)


def _own(user_id: UUID, since: datetime) -> sa.Select[Any]:
    owned = sa.select(Kept).join(Flow, Flow.id == Kept.flow_id)
    return owned.where(own_flow(user_id), Kept.deleted_at > since)


def session_of(db: OrmSession, kept: Kept) -> Session | None:
    return db.scalar(
        sa.select(Session).where(Session.id == kept.session_uuid).execution_options(populate_existing=True)
    )


def of_ids(db: OrmSession, session: SessionRow, ids: Collection[UUID]) -> dict[UUID, Kept]:
    """The deleted messages of the session among these ids."""
    found: dict[UUID, Kept] = {}
    for some in batches.pages(ids):
        rows = sa.select(Kept).where(
            Kept.flow_id == session.flow_id, Kept.session_uuid == session.id, Kept.message_id.in_(some)
        )
        found.update((kept.message_id, kept) for kept in db.scalars(rows))
    return found


def delete_captured_before(db: OrmSession, session: SessionRow, moment: datetime, *, limit: int) -> int:
    """Delete up to `limit` messages of the session that were captured before then, with their changes, for good."""
    mine = (Kept.flow_id == session.flow_id, Kept.session_uuid == session.id, captured_before(db, moment))
    return delete_for_good(db, db.scalars(sa.select(Kept).where(*mine).limit(limit)).all())


def captured_before(db: OrmSession, moment: datetime) -> sa.ColumnElement[bool]:
    """Whether the message was captured until then. All times are in UTC: as bytes, their texts sort as they do."""
    bytewise = "C" if db.get_bind().dialect.name == "postgresql" else "BINARY"
    captured_at: sa.ColumnElement[str] = Kept.message["captured_at"].as_string()
    return captured_at.collate(bytewise) <= moment.astimezone(UTC).isoformat()


def delete_for_good(db: OrmSession, expired: Sequence[Kept]) -> int:
    """Delete these messages with their changes. Returns the number deleted."""
    for kept in expired:
        of_message = (MessageChange.flow_id == kept.flow_id, MessageChange.message_id == kept.message_id)
        db.execute(
            sa.delete(MessageChange)
            .where(*of_message, MessageChange.session_uuid == kept.session_uuid)
            .execution_options(synchronize_session=False)
        )
        db.delete(kept)
    return len(expired)
