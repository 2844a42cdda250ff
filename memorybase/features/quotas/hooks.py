"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Hooks, Pace, Step
from memorybase.core.queries.timestamps import NOW, Limit
from memorybase.features.quotas import charges, counting, usage
from memorybase.features.quotas.models import QuotaCounter

HOOKS = Hooks(
    charge_messages=charges.charge_messages,
    charge_search=charges.charge_search,
    on_end_user_erased=counting.forget_end_user,
    problems=usage.problems,
    limits=lambda _: [Limit(QuotaCounter.recount_at, counting.MOST_PAUSE, becomes=NOW)],
    steps=(
        Step("quotas_recounted", counting.recount),
        Step("quota_windows_deleted", counting.forget_windows, Pace.SELDOM),
    ),
)
