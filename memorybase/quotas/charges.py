"""Charges captures, restorations and searches to quotas. Stored rows are charged in their transaction, once their
number is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from memorybase import errors, metrics
from memorybase.quotas import people
from memorybase.quotas.bounds import Bound, Caller, current
from memorybase.quotas.slices import Slice, slices_of
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

Result = TypeVar("Result")


class _MustWait(Exception):
    """The database must be asked, which a transaction with locks does not do."""

    def __init__(self, bound: Bound, units: int, end_user_id: str | None = None) -> None:
        super().__init__()
        self.bound = bound
        self.units = units
        self.end_user_id = end_user_id


class Charge:
    """The part of the caller's quotas that one capture uses."""

    def __init__(self, services: Services, caller: Caller) -> None:
        self._services = services
        self._caller = caller
        self._slices = slices_of(services.database)
        self._spent: list[Slice] = []
        self._units = 0
        self._unchecked: set[Bound] = set()  # their counters could not be reached
        self._admitted: set[Bound] = set()  # they count the capture's end user

    @property
    def attributed_to(self) -> UUID | None:
        """The key that the stored messages count for."""
        return self._caller.attributed_to

    def messages(self, units: int, end_user_id: str | None) -> None:
        """Charge new messages, in the transaction that stores them: to be called once in it, before the insert."""
        if not units or not self._caller.bounds:
            return
        if end_user_id is not None:
            for bound in self._caller.end_users:
                is_settled = bound in self._unchecked or bound in self._admitted
                if not is_settled and not people.is_known(self._services, bound, end_user_id):
                    raise _MustWait(bound, units, end_user_id)
        self._spend(self._caller.messages, units)

    def restored(self, units: int) -> None:
        """Charge deleted messages that are stored again: they are no new ones of the day, nor is their end user."""
        self._spend(tuple(each for each in self._caller.messages if each.quota == "stored_messages"), units)

    def search(self) -> None:
        self._spend(self._caller.searches, 1)

    def _spend(self, bounds: tuple[Bound, ...], units: int) -> None:
        found = self._slices.spend([each for each in bounds if each not in self._unchecked], units)
        if not isinstance(found, list):
            raise _MustWait(found, units)
        self._spent, self._units = found, units

    def undo(self) -> None:
        """Nothing was stored."""
        self._slices.refund(self._spent, self._units)
        self._spent, self._units = [], 0

    def ask(self, what: _MustWait) -> None:
        """Ask the database. If it does not answer, the call is admitted: a quota must not lose a message. Raises
        QuotaExceeded."""
        try:
            if what.end_user_id is not None:
                people.admit(self._services, what.bound, what.end_user_id)
                self._admitted.add(what.bound)
            else:
                self._slices.fill(self._services, what.bound, what.units)
        except errors.EnvironmentFailure as error:
            metrics.QUOTA_UNCHECKED.labels(what.bound.quota).inc()
            log.warning("quota_unchecked", quota=what.bound.quota, error_code=error.code)
            self._unchecked.add(what.bound)


def charged(services: Services, user_id: UUID, store: Callable[[Charge], Result]) -> Result:
    """Call `store`, which charges what it stores within its transaction. It is called again if the database had to be
    asked in between. Raises QuotaExceeded, also when nothing of it was stored."""
    charge = Charge(services, current(services, user_id))
    while True:
        try:
            return store(charge)
        except _MustWait as what:
            charge.ask(what)
        except errors.EnvironmentFailure:
            raise  # it may be committed all the same, and stays charged
        except BaseException:
            charge.undo()
            raise


def charge_search(services: Services, user_id: UUID) -> None:
    """One search. Raises QuotaExceeded."""
    if current(services, user_id).searches:
        charged(services, user_id, Charge.search)
