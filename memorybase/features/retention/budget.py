"""What one pass of the sweeper may do. Each step of retention has the same bound: a number of short transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from memorybase.core import errors
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

TRANSACTIONS = 50
MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Deleted:
    """The rows that one transaction deleted. `is_complete`: nothing is left of what it looked at."""

    counts: dict[str, int]
    is_complete: bool = True


NOTHING = Deleted({})


@dataclass(slots=True)
class Budget:
    """Remaining transactions of a pass, the rows that they have deleted, and the number that failed."""

    left: int = field(default_factory=lambda: TRANSACTIONS)
    deleted: int = 0
    failures: int = 0

    @property
    def is_spent(self) -> bool:
        return self.left <= 0

    def spend(self, delete: Callable[..., Deleted], *args: object) -> bool:
        """Run one transaction. Returns whether it was complete. One that fails must not keep the next ones waiting,
        unless the database is down: raises EnvironmentFailure for the last of MOST_FAILURES."""
        self.left -= 1
        try:
            deleted = delete(*args)
        except errors.EnvironmentFailure as error:
            self.failures += 1
            if self.failures >= MOST_FAILURES:
                raise
            log.warning("expiry_failed", step=delete.__name__, error_code=error.code)
            return False
        self.deleted += sum(deleted.counts.values())
        return deleted.is_complete

    def over(self, ids: Iterable[UUID], step: Callable[[UUID, Budget], object]) -> int:
        """Take the step for each id until the budget is spent. Returns the number of rows that were deleted."""
        for each in ids:
            if self.is_spent:
                break
            step(each, self)
        return self.deleted

    def repeat(self, delete: Callable[..., Deleted], *args: object) -> None:
        """Run such transactions until one is complete or none is left."""
        while not self.is_spent and not self.spend(delete, *args):
            pass
