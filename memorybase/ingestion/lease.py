"""A claim on a job, kept alive while the work lasts, and checked before every write.

The claim is SQL: an epoch on the session's row (the fencing token) and a lease on the database's clock. The Redis lock
beside it saves work and decides nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

from memorybase import errors
from memorybase.database import clock
from memorybase.ingestion.claim import Claim, ClaimKey
from memorybase.ingestion.scheduler import audit_time
from memorybase.locks import HeldLock
from memorybase.queries import cursors, jobs
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)


class LeaseKeeper:
    """Keeps the claims in hand: renews their leases and session locks from a thread of its own, and asks the database
    before every write whether they still hold. Any thread may call it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._held: dict[ClaimKey, HeldClaim] = {}
        self._turn = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_stopped, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        for held_claim in self._held_claims():
            self.drop(held_claim.claim)

    def hold(self, claim: Claim, lock: HeldLock | None) -> None:
        """From here on this claim is kept, and its lock with it."""
        with self._turn:
            self._held[claim.key] = HeldClaim(claim, lock)

    def drop(self, claim: Claim) -> None:
        """Keep it no longer, and give its session lock back. Before the ring for the session's next job, whose worker
        must not find the session busy."""
        with self._turn:
            held_claim = self._held.pop(claim.key, None)
        if held_claim is not None and held_claim.lock is not None:
            held_claim.lock.release()

    def check(self, claims: Iterable[Claim]) -> set[ClaimKey]:
        """Those among these that this worker still holds, by the database's word."""
        with self._turn:
            asked = {claim.key for claim in claims if not self._is_lost(claim)}
        with self._services.database.reading() as db:
            return jobs.claims_that_hold(db, asked)

    def mark_embedding_started(self, totals: Sequence[tuple[Claim, int]]) -> set[ClaimKey]:
        """From here on a lost worker counts against these jobs; those that this worker still holds.

        What is not alone in the worker's hands is under no suspicion yet: then all of them run alone first. This commit
        waits for the disk, and takes the claims before it along: what may have been written is known after a power cut.
        """
        beginning = {claim.key: total for claim, total in totals}
        with self._turn:
            for key, total in beginning.items():
                if held_claim := self._held.get(key):
                    held_claim.total = total
            begun = {key: held_claim for key, held_claim in self._held.items() if held_claim.total is not None}
        batched = len(begun) > 1
        # Those of before too, but each of them once: there may be many, and they begin in small groups.
        beginning |= {
            key: held_claim.total or 0 for key, held_claim in begun.items() if batched and not held_claim.batched
        }
        with self._services.database.transaction() as db:
            jobs.mark_embedding_started(db, beginning, batched=batched)
            held = jobs.claims_that_hold(db, [claim.key for claim, _ in totals])
        for held_claim in begun.values():
            held_claim.batched = batched
        return held

    def _is_lost(self, claim: Claim) -> bool:
        held_claim = self._held.get(claim.key)
        return held_claim is None or held_claim.lost

    def _held_claims(self) -> list[HeldClaim]:
        with self._turn:
            return list(self._held.values())

    def _renew_until_stopped(self) -> None:
        while not self._stop.wait(self._services.settings.lease_renew_seconds):
            for held_claim in self._held_claims():
                try:
                    held_claim.lost = held_claim.lost or not self._renew(held_claim)
                except errors.DatabaseUnavailable:
                    # The lease runs on; whether it still holds is asked again before the next write.
                    log.warning("lease_renewal_failed", job_id=str(held_claim.claim.job_id))

    def _renew(self, held_claim: HeldClaim) -> bool:
        claim = held_claim.claim
        with self._services.database.transaction() as db:
            until = clock.now(db) + timedelta(seconds=self._services.settings.lease_seconds)
            held = jobs.claims_that_hold(db, {claim.key})
            renewed = bool(held) and cursors.renew_lease(
                db, progress_id=claim.progress_id, epoch=claim.epoch, until=until
            )
        if not renewed:
            # A job that ended meanwhile has no lease to renew.
            return self._is_dropped(claim)
        if held_claim.lock is not None:
            self._extend_lock(held_claim, held_claim.lock)
        return True

    def _is_dropped(self, claim: Claim) -> bool:
        with self._turn:
            return claim.key not in self._held

    def _extend_lock(self, held_claim: HeldClaim, lock: HeldLock) -> None:
        try:
            if not lock.extend() and not self._is_dropped(held_claim.claim):
                log.warning("session_lock_lost", job_id=str(held_claim.claim.job_id))
                held_claim.lock = None
        except errors.LockUnavailable:
            # The SQL claim decides; the lock only saves a second worker the look.
            log.warning("session_lock_unreachable", job_id=str(held_claim.claim.job_id))


@dataclass(slots=True)
class HeldClaim:
    """A claim in hand, with its session lock unless Redis was away."""

    claim: Claim
    lock: HeldLock | None
    total: int | None = None  # messages to embed; None: not begun
    batched: bool = False  # said so in its row
    lost: bool = False


def release(services: Services, claim: Claim, *, wrote: bool) -> None:
    """Give up the lease of a claim that ended without an advance, best effort: it expires by itself."""
    try:
        with services.database.transaction() as db:
            now = clock.now(db)
            cursors.release_lease(
                db,
                progress_id=claim.progress_id,
                epoch=claim.epoch,
                audit_at=audit_time(now, services.settings) if wrote else None,
                written_as=claim.session_id,
            )
    except errors.DatabaseUnavailable:
        log.warning("lease_release_failed", job_id=str(claim.job_id))
