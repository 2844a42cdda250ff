"""The quotas, who is charged, and the bounds that hold for a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Literal, cast
from uuid import UUID

from memorybase import errors
from memorybase.queries import quota_counters
from memorybase.queries.quota_counters import NO_WINDOW
from memorybase.services import Services
from memorybase.settings import MAX_QUOTA, QuotaName, Settings

Whose = Literal["user", "key"]

WINDOWS: Mapping[str, timedelta] = {"messages_per_day": timedelta(days=1), "searches_per_minute": timedelta(minutes=1)}


@dataclass(frozen=True, slots=True)
class Quotas:
    """Quotas of a user or a key. None: those of the settings for all of them; there, unlimited."""

    messages_per_day: int | None = None
    stored_messages: int | None = None
    searches_per_minute: int | None = None
    end_users: int | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not 0 <= value <= MAX_QUOTA:
                raise errors.InvalidRequest(
                    f"{name} must be 0 to {MAX_QUOTA}", field=name, value=value, limit=[0, MAX_QUOTA]
                )

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Quotas:
        """The quotas that a row states."""
        return cls(**{name: value for name, value in (stored or {}).items() if name in NAMES})

    def stored(self) -> dict[str, int] | None:
        """The value of a row's column."""
        return {name: value for name, value in asdict(self).items() if value is not None} or None


NAMES: tuple[QuotaName, ...] = cast("tuple[QuotaName, ...]", tuple(field.name for field in fields(Quotas)))


@dataclass(frozen=True, slots=True)
class Bound:
    """One quota of a user or a key. `subject_id`: the user, or the first of the keys that were rotated."""

    quota: QuotaName
    whose: Whose
    subject_id: UUID
    user_id: UUID
    limit: int

    @property
    def counter(self) -> tuple[UUID, QuotaName]:
        return self.subject_id, self.quota


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is charged, and the bounds that hold for it, by what they count."""

    user_id: UUID
    key_id: UUID | None = None  # the first of the keys that were rotated into the caller's
    messages: tuple[Bound, ...] = ()  # both quotas of messages
    searches: tuple[Bound, ...] = ()
    end_users: tuple[Bound, ...] = ()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return self.messages + self.searches + self.end_users

    @property
    def attributed_to(self) -> UUID | None:
        """The key to store with new rows: only a key that they are counted for."""
        stores = any(bound.quota == "stored_messages" and bound.whose == "key" for bound in self.messages)
        return self.key_id if stores else None


_acting: ContextVar[Caller | None] = ContextVar("quota_caller", default=None)


@contextmanager
def acting_as(caller: Caller | None) -> Iterator[None]:
    """Charge captures and searches to this caller, also in threads of this request."""
    token = _acting.set(caller)
    try:
        yield
    finally:
        _acting.reset(token)


def caller_of(
    settings: Settings,
    user_id: UUID,
    of_user: Mapping[str, int] | None,
    key_id: UUID | None = None,
    of_key: Mapping[str, int] | None = None,
) -> Caller:
    """The caller with these rows of quotas, and the defaults of the settings."""
    bounds = _bounds(settings, "user", user_id, user_id, of_user)
    if key_id is not None:
        bounds += _bounds(settings, "key", key_id, user_id, of_key)
    return Caller(
        user_id,
        key_id,
        messages=tuple(each for each in bounds if each.quota in ("messages_per_day", "stored_messages")),
        searches=tuple(each for each in bounds if each.quota == "searches_per_minute"),
        end_users=tuple(each for each in bounds if each.quota == "end_users"),
    )


def limit_of(settings: Settings, whose: Whose, name: QuotaName, stored: Mapping[str, int] | None) -> int | None:
    """The quota of the row, else that of the settings; None: unlimited."""
    own = (stored or {}).get(name)
    defaults = settings.user_quotas if whose == "user" else settings.key_quotas
    return defaults.get(name) if own is None else own


def window_of(quota: str, now: datetime) -> tuple[datetime, datetime | None]:
    """The start of the current window and its end, in UTC; without an end for what is stored."""
    length = WINDOWS.get(quota)
    if length is None:
        return NO_WINDOW, None
    start = now - (now - NO_WINDOW) % length
    return start, start + length


def current(services: Services, user_id: UUID) -> Caller:
    """Who is charged for a call of this user. Without a key: the user."""
    acting = _acting.get()
    if acting is not None and acting.user_id == user_id:
        return acting
    with services.database.reading(snapshot=False) as db:
        return caller_of(services.settings, user_id, quota_counters.quotas_of_user(db, user_id))


def _bounds(
    settings: Settings, whose: Whose, subject_id: UUID, user_id: UUID, stored: Mapping[str, int] | None
) -> list[Bound]:
    limits = {name: limit_of(settings, whose, name, stored) for name in NAMES}
    return [Bound(name, whose, subject_id, user_id, limit) for name, limit in limits.items() if limit is not None]
