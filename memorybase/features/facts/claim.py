"""The claim of a worker on a session, and what it writes when no facts are stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines
from memorybase.core.conversation.summarizers import chat_completions
from memorybase.core.conversation.summarizers.chat_completions import EndpointUnavailable
from memorybase.core.database import clock
from memorybase.core.queries import leased_work
from memorybase.core.queries.leased_work import Claim, Work
from memorybase.core.services import Services, Task
from memorybase.core.telemetry import get_logger
from memorybase.features.facts import usage
from memorybase.features.facts.batch import Batch
from memorybase.features.facts.checks import Refusal
from memorybase.features.facts.models import Distillation
from memorybase.features.facts.queries import distillations

log = get_logger(__name__)

DISTILL = Task("memorybase.distill")  # a worker looks for sessions that are pending
MAX_ATTEMPTS = 4  # at a batch whose answers are useless; each has half as many messages
DAY_SPENT = "daily_tokens_spent"
ENDPOINT_AWAY = "distiller_unavailable"
LOST = "worker_lost"


def lease(services: Services) -> timedelta:
    """Time that a worker may take for a batch: two requests, if the endpoint refuses the schema, and the embedding."""
    return timedelta(seconds=services.settings.lease_seconds + 2 * chat_completions.TIMEOUT_SECONDS)


WORK = Work(Distillation, DISTILL, lease, only=(distillations.IS_ENABLED,), longest_pause=timedelta(days=1))


def take(services: Services) -> Claim[Distillation] | None:
    """Claim the next batch of the session that has waited longest; None if none waits."""
    with services.database.transaction() as db:
        now = clock.now(db)
        for row in leased_work.due(WORK, db, now, limit=1):
            values: dict[str, Any] = {} if row.lease_until is None else {"error_code": LOST}
            return leased_work.claim(db, row, now, lease(services), updated_at=now, **values)
    return None


def moved(claim: Claim[Distillation], batch: Batch, now: datetime) -> dict[str, Any]:
    """The row after the batch."""
    row = claim.row
    redo = [seq for seq in row.redo or () if seq not in batch.redone]
    cursor = row.cursor_seq if batch.redone else batch.to_seq
    return {
        "error_code": None,
        "updated_at": now,
        "cursor_seq": cursor,
        "redo": redo or None,
        "notify_at": now if redo else distillations.if_more_requested(cursor, now),
    }


def refuse(services: Services, claim: Claim[Distillation], batch: Batch, reason: Refusal) -> None:
    """Try again with fewer messages; after the last attempt go on behind them."""
    log.warning("distillation_refused", distillation_id=str(claim.id), reason=reason, attempts=claim.attempts)
    with services.database.transaction() as db:
        now = clock.now(db)
        if claim.attempts < MAX_ATTEMPTS:
            until = now + leased_work.backoff(claim.attempts)
            leased_work.put_off(db, claim, until, error_code=reason.value, updated_at=now)
        else:
            given_up = sum(each.is_new for each in batch.quoted)
            skipped = {"skipped": claim.row.skipped + given_up, "error_code": reason.value}
            leased_work.finish(db, claim, **moved(claim, batch, now) | skipped)


def put_off(services: Services, claim: Claim[Distillation], error: EndpointUnavailable) -> None:
    """The endpoint is unavailable: the attempt does not count, and the session waits, at least as long as it asks."""
    log.warning("distiller_unavailable", distillation_id=str(claim.id), status=error.status)
    with services.database.transaction() as db:
        now = clock.now(db)
        until = now + timedelta(seconds=max(deadlines.NOTIFY_AFTER_SECONDS, error.retry_after_seconds))
        _wait(db, claim, ENDPOINT_AWAY, now, until)


def wait(services: Services, claim: Claim[Distillation]) -> None:
    """The day's tokens are spent: wait for the next day."""
    with services.database.transaction() as db:
        now = clock.now(db)
        _wait(db, claim, DAY_SPENT, now, usage.next_day(now))
    log.warning("distillation_waits", distillation_id=str(claim.id), reason=DAY_SPENT)


def _wait(db: OrmSession, claim: Claim[Distillation], code: str, now: datetime, until: datetime) -> None:
    leased_work.put_off(db, claim, until, attempts=claim.row.attempts, error_code=code, updated_at=now)
