"""Copies of deleted messages whose time is over."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.models import RestorableMessage
from memorybase.core.queries import restorable_messages
from memorybase.features.retention.queries import holds

Kept = RestorableMessage


def has_before(db: OrmSession, moment: datetime) -> bool:
    """Whether a message was deleted before then that no legal hold keeps."""
    return db.scalar(sa.select(Kept.message_id).where(*_is_over(moment)).limit(1)) is not None


def delete_before(db: OrmSession, moment: datetime, *, limit: int) -> int:
    """Delete up to `limit` messages, with their changes, for good: those deleted before then that no legal hold keeps.
    Returns the number deleted."""
    found = sa.select(Kept).where(*_is_over(moment)).order_by(Kept.deleted_at).limit(limit)
    return restorable_messages.delete_for_good(db, db.scalars(found).all())


def _is_over(moment: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return Kept.deleted_at <= moment, ~holds.restorable_held()
