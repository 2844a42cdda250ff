"""What the core calls."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from memorybase.core.extension import Hooks, Pace, Step
from memorybase.core.models import Flow, MemoryBase, MemoryUse
from memorybase.core.queries.expiry import MAX_RETAIN_DAYS
from memorybase.core.queries.memory_uses import LATEST_CAPTURE
from memorybase.core.queries.timestamps import NOW, Limit
from memorybase.core.services import Services
from memorybase.features.retention import copies, forgetting, passes, receipts, uses
from memorybase.features.retention.queries import holds


def _limits(_services: Services) -> Iterator[Limit]:
    yield Limit(MemoryUse.run_due_at, LATEST_CAPTURE)
    yield Limit(Flow.retention_due_at, max(passes.INTERVAL, passes.LEASE), becomes=NOW)
    yield Limit(MemoryBase.forget_due_at, max(passes.INTERVAL, forgetting.LEASE), becomes=NOW)
    # At least a day ago; what was captured before it is never looked at again.
    yield Limit(MemoryBase.forgotten_until, -timedelta(days=1), becomes=-timedelta(days=MAX_RETAIN_DAYS))


HOOKS = Hooks(
    before_deletion=holds.refuse_if_held,
    limits=_limits,
    steps=(
        Step("expired", passes.expire, full=1),
        Step("forgotten", forgetting.forget_expired, full=1),
        Step("memory_uses", uses.delete_expired, Pace.SELDOM, full=1),
        Step("receipts", receipts.clean_up, Pace.SELDOM),
        Step("deleted_emptied", copies.delete_expired, full=1),
    ),
)
