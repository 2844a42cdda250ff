"""The claim of a worker on a session: taken, and given back with what came of it, by compare-and-set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session as OrmSession

from memorybase import deadlines
from memorybase.conversation.summarizers import chat_completions
from memorybase.conversation.summarizers.chat_completions import EndpointUnavailable
from memorybase.database import clock
from memorybase.features.facts import usage
from memorybase.features.facts.batch import Batch
from memorybase.features.facts.checks import Refusal
from memorybase.features.facts.models import Distillation
from memorybase.features.facts.queries import distillations
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

MAX_ATTEMPTS = 4  # at a batch whose answers are useless; each has half as many messages
LONGEST_BACKOFF = timedelta(minutes=10)
DAY_SPENT = "daily_tokens_spent"
ENDPOINT_AWAY = "distiller_unavailable"
LOST = "worker_lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """Of the next batch of a session."""

    row: Distillation  # as it was before the claim

    @property
    def version(self) -> int:
        return self.row.version + 1

    @property
    def attempts(self) -> int:
        return self.row.attempts + 1


def lease(services: Services) -> timedelta:
    """Time that a worker may take for a batch: two requests, if the endpoint refuses the schema, and the embedding."""
    return timedelta(seconds=services.settings.lease_seconds + 2 * chat_completions.TIMEOUT_SECONDS)


def take(services: Services) -> Claim | None:
    """Claim the session that has waited longest; None if none waits."""
    with services.database.transaction() as db:
        now = clock.now(db)
        row = distillations.claim_next(db, now)
        if row is None:
            return None
        claim = Claim(row)
        values = {
            "version": claim.version,
            "attempts": claim.attempts,
            "lease_until": now + lease(services),
            "updated_at": now,
            **({"error_code": LOST} if row.lease_until is not None else {}),
        }
        is_claimed = distillations.write(db, row.id, version=row.version, session_id=row.session_id, values=values)
        db.expunge(row)
        return claim if is_claimed else None


def moved(claim: Claim, batch: Batch, now: datetime) -> dict[str, Any]:
    """The row after the batch."""
    row = claim.row
    redo = [seq for seq in row.redo or () if seq not in batch.redone]
    cursor = row.cursor_seq if batch.redone else batch.to_seq
    is_more = bool(redo) or row.target_seq > cursor
    return {
        "version": claim.version + 1,
        "lease_until": None,
        "attempts": 0,
        "error_code": None,
        "updated_at": now,
        "cursor_seq": cursor,
        "redo": redo or None,
        "notify_at": now if is_more else None,
    }


def refuse(services: Services, claim: Claim, batch: Batch, reason: Refusal) -> None:
    """Try again with fewer messages; after the last attempt go on behind them."""
    log.warning("distillation_refused", distillation_id=str(claim.row.id), reason=reason, attempts=claim.attempts)
    with services.database.transaction() as db:
        now = clock.now(db)
        if claim.attempts < MAX_ATTEMPTS:
            pause = timedelta(seconds=deadlines.BACKOFF_SECONDS * 2**claim.attempts)
            values = {
                "version": claim.version + 1,
                "lease_until": None,
                "error_code": reason.value,
                "updated_at": now,
                "notify_at": now + min(pause, LONGEST_BACKOFF),
            }
        else:
            given_up = sum(each.is_new for each in batch.quoted)
            skipped = {"skipped": claim.row.skipped + given_up, "error_code": reason.value}
            values = moved(claim, batch, now) | skipped
        _write(db, claim, values)


def put_off(services: Services, claim: Claim, error: EndpointUnavailable) -> None:
    """The endpoint is unavailable: the attempt does not count, and the session waits, at least as long as it asks."""
    log.warning("distiller_unavailable", distillation_id=str(claim.row.id), status=error.status)
    with services.database.transaction() as db:
        now = clock.now(db)
        pause = timedelta(seconds=max(deadlines.NOTIFY_AFTER_SECONDS, error.retry_after_seconds))
        _write(db, claim, _pending(claim, ENDPOINT_AWAY, now, now + pause))


def wait(services: Services, claim: Claim) -> None:
    """The day's tokens are spent: wait for the next day."""
    with services.database.transaction() as db:
        now = clock.now(db)
        _write(db, claim, _pending(claim, DAY_SPENT, now, usage.next_day(now)))
    log.warning("distillation_waits", distillation_id=str(claim.row.id), reason=DAY_SPENT)


def _pending(claim: Claim, code: str, now: datetime, until: datetime) -> dict[str, Any]:
    return {
        "version": claim.version + 1,
        "lease_until": None,
        "attempts": claim.row.attempts,
        "error_code": code,
        "notify_at": until,
        "updated_at": now,
    }


def _write(db: OrmSession, claim: Claim, values: Mapping[str, Any]) -> None:
    distillations.write(db, claim.row.id, version=claim.version, session_id=claim.row.session_id, values=values)
