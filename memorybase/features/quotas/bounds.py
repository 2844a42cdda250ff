"""The quotas, and the bounds that hold for a caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args
from uuid import UUID

from memorybase.core.callers import Caller
from memorybase.core.settings import QuotaName
from memorybase.features.quotas.queries import NO_WINDOW

Whose = Literal["user", "key"]

NAMES: tuple[QuotaName, ...] = get_args(QuotaName)
WINDOWS: Mapping[str, timedelta] = {"messages_per_day": timedelta(days=1), "searches_per_minute": timedelta(minutes=1)}


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


def bounds_of(caller: Caller, *names: QuotaName) -> list[Bound]:
    """The bounds of these quotas, in their order: the user's, then the key's."""
    user_id, of_user, of_key = caller.user_id, caller.of_user, caller.of_key
    found = [Bound(name, "user", user_id, user_id, of_user[name]) for name in names if name in of_user]
    if caller.key_id is not None:
        found += [Bound(name, "key", caller.key_id, user_id, of_key[name]) for name in names if name in of_key]
    return found


def window_of(quota: str, now: datetime) -> tuple[datetime, datetime | None]:
    """The start of the current window and its end, in UTC; without an end for what is stored."""
    length = WINDOWS.get(quota)
    if length is None:
        return NO_WINDOW, None
    start = now - (now - NO_WINDOW) % length
    return start, start + length
