"""What the core calls."""

from __future__ import annotations

from memorybase.core.extension import Hooks, Pace, Step
from memorybase.core.services import Services
from memorybase.core.sessions.receipts import Remainder
from memorybase.features.audit_log import chain, recording
from memorybase.features.audit_log.queries import IS_UNSEALED


def _remainders(services: Services) -> list[Remainder]:
    if services.settings.audit == "off":
        return []
    days = services.settings.audit_retention_days
    until = f"for {days} days" if days else "for ever"
    return [Remainder("audit_log", f"Ids of calls in the audit log, also the end user's, {until}.")]


HOOKS = Hooks(
    call_logs=(recording.CALL_LOG,),
    remainders=_remainders,
    steps=(
        Step("audit_sealed", chain.seal, Pace.DUE, is_due=IS_UNSEALED),
        Step("audit_pruned", chain.prune, Pace.SELDOM),
    ),
)
