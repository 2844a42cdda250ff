"""The audit log: who changed or read what, when, and from where; never the text."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base, BigId, Json


class AuditEntry(Base):
    """One change or read. The sweeper seals it: it gets the next `seq`, and a hash that covers the previous entry's.

    Triggers refuse to change a sealed entry, and to delete any that is not pruned. No foreign keys: an entry outlives
    what it names."""

    __tablename__ = "audit_entries"
    __table_args__ = (
        UniqueConstraint("seq"),
        CheckConstraint("kind IN ('change', 'read', 'denied', 'prune')", name="kind"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    seq: Mapped[int | None] = mapped_column(BigInteger)  # null: not sealed yet
    hash: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(16))
    user_id: Mapped[UUID | None]
    key_id: Mapped[UUID | None]
    person: Mapped[str | None] = mapped_column(String(NAME_LENGTH))  # whom the proxy or the operating system names
    via: Mapped[str] = mapped_column(String(16))
    operation: Mapped[str] = mapped_column(String(NAME_LENGTH))
    objects: Mapped[dict[str, Any]] = mapped_column(Json)
    address: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    request_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))


class AuditChain(Base):
    """The one row of the chain's ends. Its lock makes one sealer work at a time. Entries up to `pruned_seq` are
    deleted; `pruned_hash` is the hash of the last of them."""

    __tablename__ = "audit_chain"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    pruned_seq: Mapped[int] = mapped_column(BigInteger)
    pruned_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
