"""What a flow does with secrets that callers send."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any
from uuid import UUID

from memorybase.core import errors, metrics
from memorybase.core.extension import Screened
from memorybase.core.queries import flows
from memorybase.core.services import Services
from memorybase.features.secret_redaction import finder
from memorybase.features.secret_redaction.placeholders import key_of, placeholder


def screen(services: Services, user_id: UUID, flow_id: UUID | None, value: Any, where: str) -> Screened | None:
    """The value with placeholders, as it is if the flow keeps secrets, None if it has none. Raises SecretRefused.

    The flow is read only for a value with a secret: few have one."""
    counts = Counter[str]()

    def found(kind: str, secret: str, field: str, at: int) -> str:
        rule = rule_of_flow()
        metrics.SECRETS.labels(kind, rule).inc()
        if rule == "refuse":
            raise errors.SecretRefused(
                f"{field} has a secret ({kind}) at character {at + 1}, and the flow refuses secrets. Nothing was "
                "stored: send it without, or PATCH the flow's `secrets` to redact",
                field=field,
                kind=kind,
                at=at + 1,
            )
        counts[kind] += 1
        return placeholder(key_of(services), kind, secret)

    rule_of_flow = cache(lambda: _rule(services, user_id, flow_id))
    new = finder.replace(value, where, found)
    if not counts:
        return None
    return Screened(value, {}) if rule_of_flow() == "keep" else Screened(new, counts)


def comparable(services: Services, value: Any) -> Any:
    """The value with placeholders, whatever a flow does; the same object if it has no secrets."""
    return finder.replace(value, "", lambda kind, secret, *_: placeholder(key_of(services), kind, secret))


def _rule(services: Services, user_id: UUID, flow_id: UUID | None) -> str:
    if flow_id is None:
        return services.settings.secrets
    with services.database.reading() as db:
        return flows.secrets(db, user_id, flow_id) or services.settings.secrets
