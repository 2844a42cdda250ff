"""Usage of quotas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.callers import Caller, caller_of, limits_of
from memorybase.core.database import clock
from memorybase.core.operations import stack_parts
from memorybase.core.operations.problems import Fix, FixAction, Problem, ProblemKind
from memorybase.core.queries import credentials
from memorybase.core.queries.ownership import not_found
from memorybase.core.services import Services
from memorybase.core.settings import QuotaName, Settings
from memorybase.features.quotas import counting, queries
from memorybase.features.quotas.bounds import NAMES, Bound, Whose, bounds_of, window_of
from memorybase.features.quotas.charges import FREED_BY


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """One quota and how much of it is in use."""

    quota: Annotated[
        QuotaName, Field(description="`messages_per_day`, `stored_messages`, `searches_per_minute` or `end_users`.")
    ]
    limit: Annotated[int | None, Field(description="The quota; null: unlimited.")]
    used: Annotated[
        int | None,
        Field(description="How much is in use; null without a limit, because nothing is counted then."),
    ]
    resets_at: Annotated[
        datetime | None, Field(description="When the window ends; null for what is stored, which falls by deletions.")
    ]


@dataclass(frozen=True, slots=True)
class Usage:
    """The quotas of a user, over all keys, and those of a key."""

    key_id: Annotated[UUID | None, Field(description="The key.")]
    user: Annotated[
        list[QuotaUsage], Field(description="Quotas of the user, over all of its keys; empty for a limited key.")
    ]
    key: Annotated[list[QuotaUsage], Field(description="Quotas of the key.")]


@dataclass(frozen=True, slots=True)
class UsedUp:
    """A quota of which nothing is left. `key_id` and `key_name`: of the key whose quota it is, else the user's own."""

    quota: QuotaName
    limit: int
    resets_at: datetime | None
    key_id: UUID | None
    key_name: str | None

    @property
    def text(self) -> str:
        """The refused kind of call, and the time until which it is refused."""
        whose = f"the API key {self.key_name}" if self.key_id else "the user"
        refused = f"{self.limit:,} of {self.limit:,} are used by {whose}; {REFUSED[self.quota]} are refused"
        if self.resets_at is None:
            return f"{refused}. {FREED_BY[self.quota]}."
        return f"{refused} until {self.resets_at:%Y-%m-%d %H:%M} UTC."


# What a used-up quota refuses.
REFUSED: dict[QuotaName, str] = {
    "messages_per_day": "new messages",
    "stored_messages": "new messages",
    "searches_per_minute": "searches",
    "end_users": "messages of new end users",
}


def used_up(db: OrmSession, settings: Settings, now: datetime, user_id: UUID | None = None) -> list[UsedUp]:
    """The quotas of the user and its keys, or of all users, of which nothing is left."""
    windows = {window_of(name, now)[0] for name in NAMES}
    found = []
    for row in queries.used_now(db, windows, user_id):
        name = cast("QuotaName", row.quota)
        is_of_user = row.key_id is None
        defaults, own = (settings.user_quotas, row.of_user) if is_of_user else (settings.key_quotas, row.of_key)
        limit = limits_of(defaults, own).get(name)
        if limit is not None and row.used >= limit:
            found.append(UsedUp(name, limit, window_of(name, now)[1], row.key_id, row.key_name))
    return found


def problems(db: OrmSession, services: Services, user_id: UUID) -> list[Problem]:
    """The quotas of the user and its keys of which nothing is left."""
    return [_problem(services, each) for each in used_up(db, services.settings, clock.now(db), user_id)]


def _problem(services: Services, full: UsedUp) -> Problem:
    command = stack_parts.command(services.settings, f"quotas show{f' --key {full.key_id}' if full.key_id else ''}")
    return Problem(
        kind=ProblemKind.QUOTA,
        title=f"The quota {full.quota} is used up",
        text=full.text,
        since=None,
        fixes=(Fix(FixAction.RUN_COMMAND, "Copy the command", command=command),),
    )


def usage_of_user(services: Services, user_id: UUID) -> Usage:
    """The user's usage, without that of a key."""
    with services.database.reading(snapshot=False) as db:
        of_user = credentials.quotas_of_user(db, user_id)
    return Usage(None, _listed(services, caller_of(services.settings, user_id, of_user), "user"), [])


def usage_of_key(services: Services, user_id: UUID, key_id: UUID) -> Usage:
    """Raises NotFound."""
    with services.database.reading(snapshot=False) as db:
        key = queries.key_of_user(db, user_id, key_id)
        of_user = credentials.quotas_of_user(db, user_id)
    if key is None:
        raise not_found("key", key_id)
    return usage_of_caller(
        services, key_id, caller_of(services.settings, user_id, of_user, key.quota_subject or key.id, key.quotas)
    )


def usage_of_caller(services: Services, key_id: UUID, caller: Caller) -> Usage:
    """Usage by the caller's quotas, whether or not it has an API key."""
    return Usage(key_id, _listed(services, caller, "user"), _listed(services, caller, "key"))


def _listed(services: Services, caller: Caller, whose: Whose) -> list[QuotaUsage]:
    """All quotas; those without a bound are unlimited."""
    by_name = {bound.quota: bound for bound in bounds_of(caller, *NAMES) if bound.whose == whose}
    with services.database.reading(snapshot=False) as db:
        now = clock.now(db)
    return [_usage_of(services, name, by_name.get(name), now) for name in NAMES]


def _usage_of(services: Services, name: QuotaName, bound: Bound | None, now: datetime) -> QuotaUsage:
    start, end = window_of(name, now)
    if bound is None:
        return QuotaUsage(name, None, None, end)
    with services.database.reading(snapshot=False) as db:
        used = queries.used(db, *bound.counter, start)
    if used is None and end is None:
        counting.start(bound, services)  # nothing was stored since the quota was set
        return _usage_of(services, name, bound, now)
    return QuotaUsage(name, bound.limit, used or 0, end)
