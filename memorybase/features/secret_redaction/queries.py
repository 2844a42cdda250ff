"""Statements of the redaction of secrets."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.upsert import insert_if_absent
from memorybase.features.secret_redaction.models import ONLY, RedactionKey


def fetch_key(db: OrmSession) -> bytes | None:
    return db.scalar(sa.select(RedactionKey.key).where(RedactionKey.id == ONLY))


def add_key(db: OrmSession, key: bytes, now: datetime) -> None:
    """Store the key unless another process has stored one."""
    insert_if_absent(db, RedactionKey, {"id": ONLY, "key": key, "created_at": now}, "id")
