"""Postpones a job without counting an attempt against its messages: the environment failed, or others wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from memorybase.core import deadlines, errors
from memorybase.core.ingestion.claim import Claim
from memorybase.core.ingestion.settlement import Settlement
from memorybase.core.services import Services
from memorybase.core.settings import Settings

Result = TypeVar("Result")

RETRY_SECONDS = 1.0  # between two attempts to postpone a job while the database is unavailable


def postpone(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> datetime | None:
    """Requeue the job for later. Returns when it may run again, or None if the claim is lost.

    Waits for a database that is unavailable.
    """
    return _once_available(partial(_postpone, services, claim, error, wrote=wrote))


def give_way(services: Services, claim: Claim, stored_chunks: int) -> bool:
    """Queue the job behind those that wait; it continues behind the chunks that are stored. False: the claim is lost.

    Waits for a database that is unavailable.
    """
    return _once_available(partial(_give_way, services, claim, stored_chunks))


def _once_available(step: Callable[[], Result]) -> Result:
    give_up_at = time.monotonic() + deadlines.JOB_SECONDS
    while True:
        try:
            return step()
        except errors.DatabaseUnavailable:
            # There is no other work without the database, and an expired lease would count as a lost worker.
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(RETRY_SECONDS)


def _give_way(services: Services, claim: Claim, stored_chunks: int) -> bool:
    with services.database.transaction() as db:
        # Audited: if the job is cancelled before it continues, nothing else finds these chunks.
        settlement = Settlement.releasing(db, services, claim, wrote=True)
        if settlement is None:
            return False
        settlement.give_way(stored_chunks)
        return True


def _postpone(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> datetime | None:
    with services.database.transaction() as db:
        settlement = Settlement.releasing(db, services, claim, wrote=wrote)
        if settlement is None:
            return None
        seconds = backoff_seconds(services.settings, settlement.job.outages)
        retry_at = settlement.now + timedelta(seconds=seconds)
        settlement.postpone(error, retry_at)
        return retry_at


def backoff_seconds(settings: Settings, outages: int) -> float:
    """Exponential, bounded, with jitter, so that not all jobs reach a recovered store at once."""
    ceiling: float = min(settings.backoff_max_seconds, deadlines.BACKOFF_SECONDS * 2 ** min(outages, 16))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret
