"""The settings of quotas: what each user and each key may use unless it has a quota of its own."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

MAX_QUOTA = 10**15


def _quota(what: str, whose: str) -> int | None:
    found: int | None = Field(None, ge=0, le=MAX_QUOTA, description=f"{what} of each {whose}; unset: unlimited.")
    return found


class QuotaSettings(BaseSettings):
    """Fields of `Settings`, named `<whose>_quota_<name of the quota>`."""

    user_quota_messages_per_day: int | None = _quota("Messages a day", "user")
    user_quota_stored_messages: int | None = _quota("Stored messages", "user")
    user_quota_searches_per_minute: int | None = _quota("Searches a minute", "user")
    user_quota_end_users: int | None = _quota("End users", "user")
    key_quota_messages_per_day: int | None = _quota("Messages a day", "API key")
    key_quota_stored_messages: int | None = _quota("Stored messages", "API key")
    key_quota_searches_per_minute: int | None = _quota("Searches a minute", "API key")
    key_quota_end_users: int | None = _quota("End users", "API key")
