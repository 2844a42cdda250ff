"""The installation's key for placeholders."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import LargeBinary, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import Base

ONLY = 1  # the id of the only row


class RedactionKey(Base):
    """The key of the hashes in placeholders. Created with the first placeholder and never changed: a new one would make
    equal secrets look different, and a repeated capture look like another one."""

    __tablename__ = "redaction_keys"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    key: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]
