"""Who calls, and what is charged to it: messages in the transaction that stores them, searches before they begin.

The core says what is used. Features count it, and refuse what is too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.extension import Charge
from memorybase.core.queries import credentials
from memorybase.core.services import Services
from memorybase.core.settings import QuotaName, Settings

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is charged: a user, and the key that it calls with. `of_user` and `of_key`: the quotas that hold for them;
    those that are left out are unlimited."""

    user_id: UUID
    of_user: Mapping[str, int]
    key_id: UUID | None = None  # the first of the keys that were rotated into the caller's
    of_key: Mapping[str, int] = field(default_factory=dict)

    @property
    def attributed_to(self) -> UUID | None:
        """The key to store with new rows: only a key that they are counted for."""
        return self.key_id if "stored_messages" in self.of_key else None


class CountFirst(Exception):
    """A hook cannot charge yet: `count` must be called outside the transaction, since it may be slow."""

    def __init__(self, count: Callable[[Services], object]) -> None:
        super().__init__()
        self.count = count


_acting: ContextVar[Caller | None] = ContextVar("caller", default=None)


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
    limits = limits_of(settings.user_quotas, of_user)
    return Caller(user_id, limits, key_id, {} if key_id is None else limits_of(settings.key_quotas, of_key))


def limits_of(defaults: Mapping[QuotaName, int], own: Mapping[str, int] | None) -> dict[str, int]:
    """The quotas of a row, and the defaults of the settings for those that it leaves out."""
    return dict(chain(defaults.items(), (own or {}).items()))


def charged(services: Services, user_id: UUID, store: Callable[[Caller], Result]) -> Result:
    """Call `store` with the caller that it charges in its transaction, and again after what had to be counted first.
    Raises QuotaExceeded."""
    caller = _current(services, user_id)
    while True:
        try:
            return store(caller)
        except CountFirst as first:
            first.count(services)


def charge_messages(db: OrmSession, services: Services, charge: Charge) -> None:
    """Charge messages at the end of the transaction that stores them, within `charged`: until it commits, others that
    charge the same caller may wait. Raises QuotaExceeded."""
    for hooks in services.hooks:
        hooks.charge_messages(db, charge)


def charge_search(services: Services, user_id: UUID) -> None:
    """Charge one search. Raises QuotaExceeded."""
    caller = _current(services, user_id)
    for hooks in services.hooks:
        hooks.charge_search(services, caller)


def forget_end_user(db: OrmSession, services: Services, user_id: UUID, end_user_id: str) -> None:
    """The end user was erased."""
    for hooks in services.hooks:
        hooks.on_end_user_erased(db, user_id, end_user_id)


def _current(services: Services, user_id: UUID) -> Caller:
    """Who is charged for a call of this user. Without a key: the user."""
    acting = _acting.get()
    if acting is not None and acting.user_id == user_id:
        return acting
    with services.database.reading(snapshot=False) as db:
        return caller_of(services.settings, user_id, credentials.quotas_of_user(db, user_id))
