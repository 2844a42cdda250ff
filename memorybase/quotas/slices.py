"""The slices of quotas that this process holds. A capture or search only takes units from a number in memory."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary, ref

from memorybase import errors, metrics
from memorybase.database.engine import Database
from memorybase.quotas import counters
from memorybase.quotas.bounds import Bound
from memorybase.quotas.counters import Grant, Unspent
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

# The rest of a slice is returned after this time, so that other processes can use it. Then the window is looked up
# again, by the database's clock.
HELD_SECONDS = 10.0
REFUSED_SECONDS = 1.0  # a refused caller does not ask the database again for as long


@dataclass(slots=True)
class Slice:
    """Units of a bound that this process holds."""

    bound: Bound
    grant: Grant
    left: int
    until: float  # by the monotonic clock

    @property
    def unspent(self) -> Unspent | None:
        return Unspent(self.left, self.grant.window_start, self.grant.epoch) if self.left else None


@dataclass(frozen=True, slots=True)
class _Refusal:
    limit: int
    wanted: int
    error: errors.QuotaExceeded
    until: float


class Slices:
    """All slices of a process on one database. Thread-safe; its own thread gives old ones back."""

    def __init__(self, database: Database) -> None:
        self._database = ref(database)
        self._mutex = threading.Lock()
        self._held: dict[object, Slice] = {}
        self._refusals: dict[object, _Refusal] = {}
        self._filling: defaultdict[object, threading.Lock] = defaultdict(threading.Lock)
        self._keeper: threading.Thread | None = None
        self._closed = threading.Event()

    def spend(self, bounds: Sequence[Bound], units: int) -> list[Slice] | Bound:
        """Take the units of each of the bounds; the slices that they came from. Or take nothing: then the first bound
        whose slice has too little."""
        now = time.monotonic()
        spent: list[Slice] = []
        with self._mutex:
            for bound in bounds:
                held = self._held.get(bound.counter)
                if held is None or held.left < units or held.until <= now or held.bound.limit != bound.limit:
                    return bound
                spent.append(held)
            for held in spent:
                held.left -= units
        return spent

    def refund(self, spent: Sequence[Slice], units: int) -> None:
        """Refund units that were spent on something that was not stored. Units of a slice that was given back meanwhile
        are lost."""
        with self._mutex:
            for held in spent:
                held.left += units

    def fill(self, services: Services, bound: Bound, units: int) -> None:
        """Have at least these units in the bound's slice, if no other thread takes them. Raises QuotaExceeded."""
        with self._mutex:  # two threads must not make a lock each
            filling = self._filling[bound.counter]
        with filling:  # the others find a slice that this thread has filled
            if self._has(bound, units):
                return
            self._refuse_again(bound, units)
            with self._mutex:
                former = self._held.pop(bound.counter, None)
            try:
                grant = counters.take(services, bound, units, None if former is None else former.unspent)
            except errors.QuotaExceeded as error:
                until = time.monotonic() + REFUSED_SECONDS
                self._refusals[bound.counter] = _Refusal(bound.limit, units, error, until)
                raise
            self._hold(bound, grant)

    def unspent(self, bound: Bound, window_start: datetime, epoch: int) -> int:
        """Unspent units of the bound that this process holds in this window, since this recount."""
        with self._mutex:
            held = self._held.get(bound.counter)
            if held is None or (held.grant.window_start, held.grant.epoch) != (window_start, epoch):
                return 0
            return held.left

    def give_back(self, *, only_old: bool = False) -> None:
        """Give back what is left; at the end of the process all of it."""
        database = self._database()
        if database is None:
            return
        now = time.monotonic()
        with self._mutex:
            chosen = [held for held in self._held.values() if not only_old or held.until <= now]
            for held in chosen:
                del self._held[held.bound.counter]
        for held in chosen:
            unspent = held.unspent
            if unspent is None:
                continue
            try:
                counters.give_back(database, held.bound, unspent)
            except errors.MemorybaseError as error:
                log.warning("quota_slice_lost", quota=held.bound.quota, units=unspent.units, error_code=error.code)

    def close(self) -> None:
        """Give everything back. A later call may fill slices again."""
        self._closed.set()
        keeper = self._keeper
        if keeper is not None:
            keeper.join()
        self.give_back()

    def _has(self, bound: Bound, units: int) -> bool:
        found = self.spend((bound,), 0)
        return isinstance(found, list) and found[0].left >= units

    def _refuse_again(self, bound: Bound, units: int) -> None:
        found = self._refusals.get(bound.counter)
        if found is None:
            return
        if found.until <= time.monotonic() or found.limit != bound.limit:
            del self._refusals[bound.counter]
        elif units >= found.wanted:
            metrics.QUOTA_REFUSALS.labels(bound.quota, bound.whose).inc()
            raise _again(found.error)

    def _hold(self, bound: Bound, grant: Grant) -> None:
        seconds = HELD_SECONDS if grant.seconds is None else min(HELD_SECONDS, grant.seconds)
        with self._mutex:
            self._held[bound.counter] = Slice(bound, grant, grant.units, time.monotonic() + seconds)
            if self._keeper is None or not self._keeper.is_alive():
                self._closed.clear()
                self._keeper = threading.Thread(target=self._keep, name="quota-slices", daemon=True)
                self._keeper.start()

    def _keep(self) -> None:
        while not self._closed.wait(HELD_SECONDS / 2):
            self.give_back(only_old=True)
            with self._mutex:
                if not self._held:
                    self._keeper = None
                    return


def _again(error: errors.QuotaExceeded) -> errors.QuotaExceeded:
    details: dict[str, Any] = dict(error.details)
    return type(error)(error.message, limit=error.limit, **details)


_SLICES: WeakKeyDictionary[Database, Slices] = WeakKeyDictionary()
_making = threading.Lock()


def slices_of(database: Database) -> Slices:
    found = _SLICES.get(database)
    if found is None:
        with _making:
            found = _SLICES.setdefault(database, Slices(database))
    return found


def close(database: Database) -> None:
    """At the end of a process: give the rest back, so that others can use it."""
    found = _SLICES.get(database)
    if found is not None:
        found.close()
