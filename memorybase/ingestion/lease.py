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


class Guard:
    """Keeps the claims in hand: renews their leases and session locks from a thread of its own, and asks the database
    before every write whether they still hold. Any thread may call it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._held: dict[ClaimKey, _Hand] = {}
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
        for hand in self._hands():
            self.drop(hand.claim)

    def take(self, claim: Claim, lock: HeldLock | None) -> None:
        """From here on this claim is kept, and its lock with it."""
        with self._turn:
            self._held[claim.key] = _Hand(claim, lock)

    def drop(self, claim: Claim) -> None:
        """Keep it no longer, and give its session lock back. Before the ring for the session's next job, whose worker
        must not find the session busy."""
        with self._turn:
            hand = self._held.pop(claim.key, None)
        if hand is not None and hand.lock is not None:
            hand.lock.release()

    def check(self, claims: Iterable[Claim]) -> set[ClaimKey]:
        """Those among these that this worker still holds, by the database's word."""
        with self._turn:
            asked = {claim.key for claim in claims if not self._is_lost(claim)}
        with self._services.database.reading() as session:
            return jobs.claims_that_hold(session, asked)

    def begin_embedding(self, totals: Sequence[tuple[Claim, int]]) -> set[ClaimKey]:
        """From here on a lost worker counts against these jobs; those that this worker still holds.

        What is not alone in the worker's hands is under no suspicion yet: then all of them run alone first. This commit
        waits for the disk, and takes the claims before it along: what may have been written is known after a power cut.
        """
        beginning = {claim.key: total for claim, total in totals}
        with self._turn:
            for key, total in beginning.items():
                if hand := self._held.get(key):
                    hand.total = total
            begun = {key: hand for key, hand in self._held.items() if hand.total is not None}
        together = len(begun) > 1
        # Those of before too, but each of them once: there may be many, and they begin in small groups.
        beginning |= {key: hand.total or 0 for key, hand in begun.items() if together and not hand.together}
        with self._services.database.transaction() as session:
            jobs.begin_embedding(session, beginning, together=together)
            held = jobs.claims_that_hold(session, [claim.key for claim, _ in totals])
        for hand in begun.values():
            hand.together = together
        return held

    def _is_lost(self, claim: Claim) -> bool:
        hand = self._held.get(claim.key)
        return hand is None or hand.lost

    def _hands(self) -> list[_Hand]:
        with self._turn:
            return list(self._held.values())

    def _renew_until_stopped(self) -> None:
        while not self._stop.wait(self._services.settings.lease_renew_seconds):
            for hand in self._hands():
                try:
                    hand.lost = hand.lost or not self._renew(hand)
                except errors.DatabaseUnavailable:
                    # The lease runs on; whether it still holds is asked again before the next write.
                    log.warning("lease_renewal_failed", job_id=str(hand.claim.job_id))

    def _renew(self, hand: _Hand) -> bool:
        claim = hand.claim
        with self._services.database.transaction() as session:
            until = clock.now(session) + timedelta(seconds=self._services.settings.lease_seconds)
            held = jobs.claims_that_hold(session, {claim.key})
            renewed = bool(held) and cursors.renew_lease(session, row_id=claim.row_id, epoch=claim.epoch, until=until)
        if not renewed:
            # A job that ended meanwhile has no lease to renew.
            return self._is_dropped(claim)
        if hand.lock is not None:
            self._extend_lock(hand, hand.lock)
        return True

    def _is_dropped(self, claim: Claim) -> bool:
        with self._turn:
            return claim.key not in self._held

    def _extend_lock(self, hand: _Hand, lock: HeldLock) -> None:
        try:
            if not lock.extend() and not self._is_dropped(hand.claim):
                log.warning("session_lock_lost", job_id=str(hand.claim.job_id))
                hand.lock = None
        except errors.LockUnavailable:
            # The SQL claim decides; the lock only saves a second worker the look.
            log.warning("session_lock_unreachable", job_id=str(hand.claim.job_id))


@dataclass(slots=True)
class _Hand:
    """A claim in hand, with its session lock unless Redis was away."""

    claim: Claim
    lock: HeldLock | None
    total: int | None = None  # messages to embed; None: not begun
    together: bool = False  # said so in its row
    lost: bool = False


def release(services: Services, claim: Claim, *, wrote: bool) -> None:
    """Give up the lease of a claim that ended without an advance, best effort: it expires by itself."""
    try:
        with services.database.transaction() as session:
            now = clock.now(session)
            cursors.release_lease(
                session,
                row_id=claim.row_id,
                epoch=claim.epoch,
                audit_at=audit_time(now, services.settings) if wrote else None,
                written_as=claim.session_id,
            )
    except errors.DatabaseUnavailable:
        log.warning("lease_release_failed", job_id=str(claim.job_id))
