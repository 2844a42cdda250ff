"""Request bodies and answers of API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from api.schemas import Body, Identifier, Moment, Name, SentUuid
from memorybase.core.auth.api_keys import DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS
from memorybase.core.auth.limits import MAX_FLOWS, scopes_of
from memorybase.core.models import ApiKey
from memorybase.core.settings import MAX_QUOTA

KeyId = Annotated[SentUuid, Path(description="The UUID of the key.")]
Quota = Annotated[int, Field(ge=0, le=MAX_QUOTA)]
MESSAGES_PER_DAY = "New messages a day in UTC, captured or of chats; null: the default of the settings."
STORED_MESSAGES = "Messages stored now, captured or of chats; null: the default of the settings."
SEARCHES_PER_MINUTE = "Searches a minute, and contexts with a query; null: the default of the settings."
END_USERS = "End users that something is stored of; null: the default of the settings."


class QuotasBody(Body):
    """Quotas of a key; null: the default of the settings."""

    messages_per_day: Quota | None = Field(default=None, description=MESSAGES_PER_DAY)
    stored_messages: Quota | None = Field(default=None, description=STORED_MESSAGES)
    searches_per_minute: Quota | None = Field(default=None, description=SEARCHES_PER_MINUTE)
    end_users: Quota | None = Field(default=None, description=END_USERS)


class KeyBody(Body):
    """A new API key."""

    name: Name = Field(description="The name, for people.")
    scopes: list[Literal["read", "write", "admin", "metrics"]] = Field(
        min_length=1, max_length=4, description="What the key allows: `read`, `write`, `admin`, `metrics`."
    )
    expires_at: Moment | None = Field(default=None, description="When the key stops working; by default never.")
    flow_ids: list[Identifier] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_FLOWS,
        description="Limit the key to these flows, each a UUID or the caller's id; by default it reaches all.",
    )
    end_user_id: Identifier | None = Field(
        default=None, description="Limit the key to this end user; by default it reaches all."
    )
    quotas: QuotasBody | None = Field(
        default=None, description="What the key may use; by default what the settings say."
    )


class RotationBody(Body):
    """Time that the old key stays valid, and the expiry of the new one."""

    overlap_seconds: int = Field(
        default=DEFAULT_OVERLAP_SECONDS,
        ge=0,
        le=MAX_OVERLAP_SECONDS,
        description="Seconds for which the old key stays valid; 0: it ends at once.",
    )
    expires_at: Moment | None = Field(
        default=None, description="When the new key stops working; by default when the old one would have."
    )


class KeyQuotas(BaseModel):
    """The quotas that were set for a key; null: the default of the settings. GET /usage has the limits that hold."""

    messages_per_day: int | None = Field(default=None, description=MESSAGES_PER_DAY)
    stored_messages: int | None = Field(default=None, description=STORED_MESSAGES)
    searches_per_minute: int | None = Field(default=None, description=SEARCHES_PER_MINUTE)
    end_users: int | None = Field(default=None, description=END_USERS)


class KeyAnswer(BaseModel):
    """An API key, without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The UUID.")
    name: str = Field(description="The name, for people.")
    prefix: str = Field(description="The first characters of the secret, to recognize the key by.")
    scopes: list[str] = Field(description="What the key allows.")
    created_at: datetime = Field(description="When it was created.")
    expires_at: datetime | None = Field(description="When the key stops working; null if never.")
    last_used_at: datetime | None = Field(description="When the key was last used; null if never.")
    flow_ids: list[UUID] | None = Field(description="The only flows of the key; null for all.")
    end_user_id: str | None = Field(description="The only end user of the key; null for all.")
    rotated_to: UUID | None = Field(description="The key that replaces this one; null if none does.")
    quotas: KeyQuotas = Field(description="The quotas that were set for the key.")


class NewKeyAnswer(KeyAnswer):
    """A new key. Only this response contains the secret."""

    secret: str = Field(description="The key itself. It is shown only here.")


def key_answer(key: ApiKey) -> KeyAnswer:
    """The answer of a key's row."""
    return KeyAnswer(
        **{name: getattr(key, name) for name in KeyAnswer.model_fields if name not in ("scopes", "quotas")},
        scopes=scopes_of(key),
        quotas=KeyQuotas(**(key.quotas or {})),
    )
