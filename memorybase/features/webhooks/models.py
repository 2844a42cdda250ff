"""Webhooks: endpoints that events are sent to, and the outbox of their deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ColumnElement, ForeignKey, Index, String, Text, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import NAME_LENGTH, Base, Json, partial_index

# Exactly the conditions of the partial indexes: with parameters SQLite would not use them.
DELIVERY_IS_PENDING: ColumnElement[Any] = literal_column("webhook_deliveries.state = 'pending'")
IS_DEAD: ColumnElement[Any] = literal_column("webhook_deliveries.state = 'dead'")
IS_FINISHED: ColumnElement[Any] = literal_column("webhook_deliveries.state <> 'pending'")


class WebhookEndpoint(Base):
    """A URL that gets the events of one user. Its secrets are stored as they are: every request is signed with them."""

    __tablename__ = "webhook_endpoints"
    noun = "webhook"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    url: Mapped[str] = mapped_column(Text)
    description: Mapped[str] = mapped_column(String(NAME_LENGTH))
    event_types: Mapped[list[str]] = mapped_column(Json)
    secret: Mapped[str] = mapped_column(String(128))
    former_secret: Mapped[str | None] = mapped_column(String(128))  # signs too until former_secret_until
    former_secret_until: Mapped[datetime | None]
    failing_since: Mapped[datetime | None]  # the first failed attempt after the last successful one
    disabled_at: Mapped[datetime | None]
    disabled_reason: Mapped[str | None] = mapped_column(String(16))  # request, gone or failing
    created_at: Mapped[datetime]


class WebhookDelivery(Base):
    """An event on its way to one endpoint, written in the transaction of the event."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        CheckConstraint("state IN ('pending', 'delivered', 'dead')", name="state"),
        partial_index("ix_webhook_deliveries_due", "endpoint_id", "available_at", where="state = 'pending'"),
        Index("ix_webhook_deliveries_page", "endpoint_id", "occurred_at", "id"),
        partial_index("ix_webhook_deliveries_finished", "finished_at", where="state <> 'pending'"),
        partial_index("ix_webhook_deliveries_dead", "endpoint_id", "occurred_at", where="state = 'dead'"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    endpoint_id: Mapped[UUID] = mapped_column(ForeignKey("webhook_endpoints.id", ondelete="CASCADE"))
    event_id: Mapped[UUID]  # sent as webhook-id: the same for each endpoint, attempt and replay
    event_type: Mapped[str] = mapped_column(String(64))
    body: Mapped[str] = mapped_column(Text)  # exactly what is signed and sent
    state: Mapped[str] = mapped_column(String(16))
    attempts: Mapped[int] = mapped_column(default=0)
    epoch: Mapped[int] = mapped_column(default=0)  # the fencing token of its claim
    available_at: Mapped[datetime]  # the next attempt; while one is in progress, the end of its lease
    last_attempt_at: Mapped[datetime | None]
    last_status: Mapped[int | None]
    last_error: Mapped[str | None] = mapped_column(String(200))
    occurred_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
