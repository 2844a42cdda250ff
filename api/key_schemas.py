"""Bodies and answers of API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from api.schemas import Body, Identifier, Moment, Name
from memorybase.auth.api_keys import DEFAULT_OVERLAP, MAX_OVERLAP
from memorybase.auth.limits import MAX_FLOWS
from memorybase.quota_settings import MAX_QUOTA

Quota = Annotated[int, Field(ge=0, le=MAX_QUOTA)]


class QuotasBody(Body):
    """What a key may use; null: the default of the settings."""

    messages_per_day: Quota | None = None
    stored_messages: Quota | None = None
    searches_per_minute: Quota | None = None
    end_users: Quota | None = None


class KeyBody(Body):
    """A new API key."""

    name: Name
    scopes: list[Literal["read", "write", "admin"]] = Field(min_length=1, max_length=3)
    expires_at: Moment | None = None
    flow_ids: list[Identifier] | None = Field(default=None, min_length=1, max_length=MAX_FLOWS)
    end_user_id: Identifier | None = None
    quotas: QuotasBody | None = None


class RotationBody(Body):
    """How long the old key stays valid, and when the new one expires."""

    overlap_seconds: int = Field(
        default=int(DEFAULT_OVERLAP.total_seconds()), ge=0, le=int(MAX_OVERLAP.total_seconds())
    )
    expires_at: Moment | None = None


class KeyQuotas(BaseModel):
    """The quotas that were set for a key; null: the default of the settings. GET /usage has the limits that hold."""

    messages_per_day: int | None = None
    stored_messages: int | None = None
    searches_per_minute: int | None = None
    end_users: int | None = None


class KeyAnswer(BaseModel):
    """An API key, without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    flow_ids: list[UUID] | None
    end_user_id: str | None
    rotated_to: UUID | None
    quotas: KeyQuotas


class NewKeyAnswer(KeyAnswer):
    """A new key. Only this response contains the secret."""

    secret: str
