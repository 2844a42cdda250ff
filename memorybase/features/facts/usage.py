"""Tokens and cost: counted for each memory base, bounded for each day of the whole installation.

A request is charged with an estimate before it is sent, which the endpoint's own count replaces: a worker that is
killed meanwhile leaves the estimate, so what was used is never less than what was counted. Workers check the bound
before they charge, so together they may exceed it by one request each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.features.facts.queries import facts as fact_rows


@dataclass(frozen=True, slots=True)
class Charge:
    """An estimate that was charged on a day, in tokens."""

    base_id: UUID
    at: datetime
    prompt: int
    completion: int


def charge(services: Services, base_id: UUID, prompt: int, completion: int) -> Charge | None:
    """Charge a request before it is sent; None if the day's tokens do not suffice."""
    with services.database.transaction() as db:
        now = clock.now(db)
        used = fact_rows.tokens_of_day(db, now.date())
        if used + prompt + completion > services.settings.distiller_daily_tokens:
            return None
        counts = {"requests": 1, "prompt_tokens": prompt, "completion_tokens": completion}
        fact_rows.add_usage(db, base_id, now.date(), counts, {})
        return Charge(base_id, now, prompt, completion)


def settle(
    services: Services, charged: Charge, prompt: int, completion: int, *, refused: Mapping[str, int] | None = None
) -> None:
    """Replace the estimate by what was used, on the day that was charged."""
    counts = {"prompt_tokens": prompt - charged.prompt, "completion_tokens": completion - charged.completion}
    with services.database.transaction() as db:
        fact_rows.add_usage(db, charged.base_id, charged.at.date(), counts, refused or {})


@dataclass(frozen=True, slots=True)
class Today:
    """Today's usage of the installation, and the waiting sessions; counts stop at 100,000."""

    pending: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    facts: int
    refused: int


def today(db: OrmSession, settings: Settings, now: datetime) -> Today:
    pending = fact_rows.count_pending(db)
    day = fact_rows.usage_of_day(db, now.date())
    if day is None:
        return Today(pending, 0, 0, 0.0, 0, 0)
    price = cost(settings, day.prompt_tokens, day.completion_tokens) or 0.0
    return Today(pending, day.prompt_tokens, day.completion_tokens, price, day.facts, day.refused)


def next_day(now: datetime) -> datetime:
    """When the day's tokens are available again."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), tzinfo=UTC)


def cost(settings: Settings, prompt_tokens: int, completion_tokens: int) -> float | None:
    """The cost of these tokens, in the currency of token_prices; None without a price."""
    prices = settings.token_prices.get(settings.distiller_model or settings.summarizer_model)
    if not prices:
        return None
    return (prices.get("input", 0) * prompt_tokens + prices.get("output", 0) * completion_tokens) / 1_000_000
