"""Users, their API keys, links to the web page, and requests that may be repeated."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Integer, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base, Json

PERSON = 5  # version of the UUID of a person who signs in: it is made of the issuer and the subject


class User(Base):
    """An owner of data. There is one, `local`."""

    __tablename__ = "users"
    noun = "user"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    created_at: Mapped[datetime]
    quotas: Mapped[dict[str, int] | None] = mapped_column(Json)  # by name; those that are left out: of the settings


class ApiKey(Base):
    """An API key: only its SHA-256 is stored, and a prefix to recognise it by.

    A key that is limited to flows or to an end user keeps its scopes in `limited_scopes`, and `scopes` is empty: a
    version that does not know the limits refuses the key.

    A person who has signed in at the OpenID Connect provider has such a row too, with the hash of no secret."""

    __tablename__ = "api_keys"
    noun = "key"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    prefix: Mapped[str] = mapped_column(String(16))
    key_hash: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    scopes: Mapped[list[str]] = mapped_column(Json)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    limited_scopes: Mapped[list[str] | None] = mapped_column(Json)
    flow_ids: Mapped[list[str] | None] = mapped_column(Json)  # null: all flows
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))  # null: all end users
    rotated_to: Mapped[UUID | None]  # the key that replaces it
    quotas: Mapped[dict[str, int] | None] = mapped_column(Json)  # as in users
    quota_subject: Mapped[UUID | None] = mapped_column(index=True)  # the first key of its rotations; null: this one

    @property
    def is_person(self) -> bool:
        """Whether this is a person who signs in at the provider, and no key."""
        return self.id.version == PERSON


class WebTicket(Base):
    """Access to the web page with the rights of a key: a link for one use, or the session that it opens.

    Only the SHA-256 of its token is stored.
    """

    __tablename__ = "web_tickets"
    __table_args__ = (CheckConstraint("kind IN ('link', 'session')", name="kind"),)

    token_hash: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    key_id: Mapped[UUID] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class IdempotencyKey(Base):
    """A request under an Idempotency-Key: its claim while it runs, then its answer. Of the key, only its SHA-256."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key_hash: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary(32))  # SHA-256 of method, path, query and body
    operation_id: Mapped[UUID]  # random; each attempt derives the same ids from it
    token: Mapped[UUID | None]  # the attempt that runs; None: none does
    lease_until: Mapped[datetime | None]  # of that attempt, without renewal
    status: Mapped[int | None] = mapped_column(Integer)
    body: Mapped[str | None]
    location: Mapped[str | None]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
