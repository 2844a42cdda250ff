"""Leases: renewed in a thread while a job runs, and checked before every write.

A claim is in SQL: an epoch on the session's row, which is the fencing token, and a lease on the database's clock. The
Redis lock only saves work. The check renews what the thread is late for: a worker that gets on with its jobs keeps
them, however busy the machine is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion.claim import Claim, ClaimKey
from memorybase.core.ingestion.scheduler import audit_time
from memorybase.core.locks import HeldLock
from memorybase.core.queries import cursors, jobs
from memorybase.core.queries.jobs import Totals
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

PROGRESS_SECONDS = 3.0  # between two times that progress is written

Result = TypeVar("Result")


class LeaseKeeper:
    """Renews the leases and session locks of a worker's claims, and checks in SQL whether claims still hold.

    Thread-safe.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._held: dict[ClaimKey, HeldClaim] = {}
        self._mutex = threading.Lock()
        self._renewing = threading.Lock()
        self._renewed_at = time.monotonic()
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
        """Renew this claim's lease, and its lock if it has one, until `drop`."""
        with self._mutex:
            self._held[claim.key] = HeldClaim(claim, lock)

    def drop(self, claim: Claim) -> None:
        """Stop renewing and release the session lock.

        Call it before the next job of the session is enqueued, or that job's worker finds the session busy.
        """
        with self._mutex:
            held_claim = self._held.pop(claim.key, None)
        if held_claim is not None and held_claim.lock is not None:
            held_claim.lock.release()

    def check(self, claims: Iterable[Claim]) -> set[ClaimKey]:
        """The claims among these that still hold, read from the database."""
        if self._is_late():
            self._renew_all()
        with self._mutex:
            keys = {claim.key for claim in claims if not self._is_lost(claim)}
        with self._services.database.reading() as db:
            return jobs.claims_that_hold(db, keys)

    def note_progress(self, claim: Claim, stored_chunks: int) -> None:
        """Let the next renewal write how many chunks are stored, if they are more than before this attempt."""
        with self._mutex:
            held_claim = self._held.get(claim.key)
            if held_claim is not None and stored_chunks > claim.job.stored_chunks:
                held_claim.stored_chunks = stored_chunks

    def begin_embedding(self, totals: Sequence[tuple[Claim, Totals]]) -> set[ClaimKey]:
        """From now on a lost worker counts against these jobs. Returns the claims among them that still hold.

        If several jobs are embedded at a time, they are marked as batched: a lost worker then says nothing about any
        one of them. The commit is durable and makes the claims before it durable too, so that after a power cut SQL
        still says which jobs may have written.
        """
        if not totals:
            return set()
        to_mark = {claim.key: total for claim, total in totals}
        with self._mutex:
            for key, total in to_mark.items():
                if held_claim := self._held.get(key):
                    held_claim.total = total
            started = {key: held_claim for key, held_claim in self._held.items() if held_claim.total is not None}
        batched = len(started) > 1
        # Jobs started earlier become batched too, but each is written once: many jobs start in small groups.
        to_mark |= {
            key: held_claim.total or Totals()
            for key, held_claim in started.items()
            if batched and not held_claim.batched
        }
        with self._services.database.transaction() as db:
            jobs.set_embedding_started(db, to_mark, batched=batched)
            held = jobs.claims_that_hold(db, [claim.key for claim, _ in totals])
        for held_claim in started.values():
            held_claim.batched = batched
        return held

    def _is_late(self) -> bool:
        waited = time.monotonic() - self._renewed_at
        if any(each.stored_chunks != each.written_chunks for each in self._held_claims()):
            return waited > PROGRESS_SECONDS
        return waited > 2 * self._services.settings.lease_renew_seconds

    def _is_lost(self, claim: Claim) -> bool:
        held_claim = self._held.get(claim.key)
        return held_claim is None or held_claim.lost

    def _held_claims(self) -> list[HeldClaim]:
        with self._mutex:
            return list(self._held.values())

    def _renew_until_stopped(self) -> None:
        while not self._stop.wait(self._services.settings.lease_renew_seconds):
            self._renew_all()

    def _renew_all(self) -> None:
        if not self._renewing.acquire(blocking=False):
            return  # the other thread is at it
        try:
            held = [held_claim for held_claim in self._held_claims() if not held_claim.lost]
            renewed = self._try(partial(self._renew, held, wait=False), held)
            if renewed is None:
                return
            for held_claim in held:
                self._try(partial(self._keep, held_claim, renewed=held_claim.claim.key in renewed), [held_claim])
            self._renewed_at = time.monotonic()
        finally:
            self._renewing.release()

    def _try(self, step: Callable[[], Result], held: Sequence[HeldClaim]) -> Result | None:
        """The result of the step; None if it fails. The leases are still valid for a while, and are checked before the
        next write; the thread must live to renew them."""
        try:
            return step()
        except errors.DatabaseUnavailable:
            log.warning("lease_renewal_failed", job_ids=[str(each.claim.job.id) for each in held])
        except Exception:  # a thread's edge: without it the worker would lose every claim, unseen
            log.exception("lease_renewal_failed", job_ids=[str(each.claim.job.id) for each in held])
        return None

    def _renew(self, held: Sequence[HeldClaim], *, wait: bool) -> set[ClaimKey]:
        """Renew these leases in one transaction; those that it renewed. After a power cut there is no worker either, so
        that no renewal waits for the disk."""
        claims = {(each.claim.progress_id, each.claim.job.epoch): each.claim.key for each in held}
        if not claims:
            return set()
        with self._services.database.transaction(durable=False) as db:
            until = clock.now(db) + timedelta(seconds=self._services.settings.lease_seconds)
            holding = jobs.claims_that_hold(db, claims.values())
            mine = [claim for claim, key in claims.items() if key in holding]
            rows = cursors.renew_leases(db, mine, until, wait=wait) if mine else set()
            progress = {
                each.claim.key: each.stored_chunks
                for each in held
                if each.claim.progress_id in rows and each.stored_chunks != each.written_chunks
            }
            if progress:
                jobs.set_progress(db, progress)
        for each in held:
            each.written_chunks = progress.get(each.claim.key, each.written_chunks)
        return {claims[claim] for claim in mine if claim[0] in rows}

    def _keep(self, held_claim: HeldClaim, *, renewed: bool) -> None:
        """Extend the session's lock. A lease that was not renewed with the others is lost, or its row was locked."""
        if renewed or self._renew([held_claim], wait=True):
            if held_claim.lock is not None:
                self._extend_lock(held_claim, held_claim.lock)
        else:
            # Not lost if the job has just ended.
            held_claim.lost = not self._is_dropped(held_claim.claim)

    def _is_dropped(self, claim: Claim) -> bool:
        with self._mutex:
            return claim.key not in self._held

    def _extend_lock(self, held_claim: HeldClaim, lock: HeldLock) -> None:
        try:
            if not lock.extend() and not self._is_dropped(held_claim.claim):
                log.warning("session_lock_lost", job_id=str(held_claim.claim.job.id))
                held_claim.lock = None
        except errors.LockUnavailable:
            # The claim in SQL decides; the lock only saves work.
            log.warning("session_lock_unreachable", job_id=str(held_claim.claim.job.id))


@dataclass(slots=True)
class HeldClaim:
    """A held claim, with its session lock unless Redis was unavailable."""

    claim: Claim
    lock: HeldLock | None
    total: Totals | None = None  # to embed; None: not started
    batched: bool = False  # as written in its row
    lost: bool = False
    stored_chunks: int = 0
    written_chunks: int = 0  # of these, as its row has it


def release(services: Services, claim: Claim, *, wrote: bool) -> None:
    """Release the lease of a claim that ended without an advance. Best effort: the lease expires anyway."""
    try:
        with services.database.transaction() as db:
            progress = cursors.lock_row(db, claim.progress_id)
            if progress is not None:
                audit_at = audit_time(clock.now(db), services.settings) if wrote else None
                epoch = claim.job.epoch
                cursors.release_lease(db, progress, epoch=epoch, audit_at=audit_at, written_as=claim.session_id)
    except errors.DatabaseUnavailable:
        log.warning("lease_release_failed", job_id=str(claim.job.id))
