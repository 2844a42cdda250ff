"""The statements of labels, always within one user."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import core, insert, rows_affected
from memorybase.core.models import ApiKey, Message
from memorybase.features.lab.models import SearchLabel

Label = SearchLabel

_ROWS = (
    sa.select(
        Label,
        Message.version.label("version"),
        Message.external_id.label("external_id"),
        ApiKey.name.label("key_name"),
    )
    .join(Message, Message.id == Label.message_id)
    .outerjoin(ApiKey, ApiKey.id == Label.marked_by)
)
_LABELS = Listing(_ROWS, Keyset("labels", (Label.marked_at, Label.id), descending=True), sa.select(Label.id))


def put_label(db: OrmSession, values: dict[str, Any], now: datetime) -> UUID:
    """Store a label, or change the one of the same question and message; returns its id."""
    statement = insert(db, Label).values(**values, marked_at=now)
    changed = {name: values[name] for name in ("right", "message_version", "settings", "marked_by")}
    found: UUID = db.execute(
        statement.on_conflict_do_update(
            index_elements=["user_id", "question_key", "message_id"], set_=changed | {"marked_at": now}
        ).returning(core(Label).c.id)
    ).scalar_one()
    return found


def label_row(db: OrmSession, user_id: UUID, label_id: UUID) -> AnyRow | None:
    return db.execute(_ROWS.where(Label.id == label_id, Label.user_id == user_id)).one_or_none()


def flow_of_label(db: OrmSession, user_id: UUID, label_id: UUID) -> UUID | None:
    return db.scalar(sa.select(Label.flow_id).where(Label.id == label_id, Label.user_id == user_id))


def labels_page(
    db: OrmSession, user_id: UUID, *, flow_id: UUID | None, right: bool | None, request: PageRequest
) -> Found:
    """Newest first."""
    conditions = (Label.user_id == user_id, *given(flow_id, Label.flow_id), *given(right, Label.right))
    return _LABELS.page(db, request, *conditions)


def labels_of_questions(db: OrmSession, flow_id: UUID | None, *, limit: int) -> Sequence[AnyRow]:
    """All labels of a flow, those of one question next to each other."""
    statement = sa.select(
        Label.question_key, Label.question, Label.session_id, Label.end_user_id, Label.message_id, Label.right
    )
    return db.execute(
        statement.where(Label.flow_id == flow_id).order_by(Label.question_key, Label.id).limit(limit)
    ).all()


def questions_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> Sequence[AnyRow]:
    """(key, question, end user) of the questions that were asked of a session alone."""
    statement = sa.select(Label.question_key, Label.question, Label.end_user_id)
    return db.execute(statement.where(Label.flow_id == flow_id, Label.session_id == session_id).distinct()).all()


def move_question(db: OrmSession, flow_id: UUID, former_key: bytes, key: bytes, session_id: str) -> None:
    """Give a question's labels another key and session, in place of those of the same messages that have that key."""
    labels = core(Label)
    moved = (labels.c.flow_id == flow_id, labels.c.question_key == former_key)
    replaced = labels.c.message_id.in_(sa.select(labels.c.message_id).where(*moved))
    db.execute(sa.delete(labels).where(labels.c.flow_id == flow_id, labels.c.question_key == key, replaced))
    db.execute(sa.update(labels).where(*moved).values(question_key=key, session_id=session_id))


def marks(
    db: OrmSession, user_id: UUID, question_keys: Collection[bytes], message_ids: Collection[UUID]
) -> dict[UUID, tuple[UUID, bool]]:
    """By message: the label of one of these questions, and whether it says right."""
    statement = sa.select(Label.message_id, Label.id, Label.right).where(
        Label.user_id == user_id, Label.question_key.in_(question_keys), Label.message_id.in_(message_ids)
    )
    return {message_id: (label_id, right) for message_id, label_id, right in db.execute(statement)}


def delete_label(db: OrmSession, user_id: UUID, label_id: UUID) -> int:
    labels = core(Label)
    return rows_affected(db, sa.delete(labels).where(labels.c.id == label_id, labels.c.user_id == user_id))
