"""What metrics and the list of problems say of webhooks."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.extension import Gauge
from memorybase.core.operations.problems import Fix, FixAction, Problem, ProblemKind, plural
from memorybase.core.queries.problems import COUNT_TO
from memorybase.core.services import Services
from memorybase.features.webhooks import queries
from memorybase.features.webhooks.endpoints import DISABLED_ON_REQUEST
from memorybase.features.webhooks.models import WebhookEndpoint
from memorybase.features.webhooks.queries import DeadDeliveries


def gauges(db: OrmSession, _services: Services) -> list[Gauge]:
    """How many webhooks work, and how many deliveries wait."""
    return [
        Gauge(
            "memorybase_webhooks",
            "Webhooks; failing: the last attempt failed.",
            queries.count_by_health(db)._asdict(),
            label="state",
        ),
        Gauge(
            "memorybase_webhook_deliveries_pending",
            "Deliveries to enabled webhooks that wait for their next attempt.",
            {"": queries.count_pending(db)},
        ),
    ]


def problems(db: OrmSession, _services: Services, user_id: UUID) -> list[Problem]:
    """The user's webhooks that are disabled because they failed, or that did not get events, in the order of their
    creation. What somebody has disabled fails no more."""
    found = [each for each in queries.endpoints_of(db, user_id) if each.disabled_reason != DISABLED_ON_REQUEST]
    dead = queries.dead_deliveries(db, [each.id for each in found], at_most=COUNT_TO)
    return [_problem(each, dead.get(each.id)) for each in found if each.disabled_at is not None or each.id in dead]


def _problem(hook: WebhookEndpoint, dead: DeadDeliveries | None) -> Problem:
    path, count = f"/v1/webhooks/{hook.id}", dead.events if dead else 0
    since = _iso(dead.since) if dead else None
    enable = Fix(FixAction.ENABLE, "Enable", "PATCH", path, {"enabled": True})
    replay = Fix(FixAction.REPLAY, f"Replay {count:,}", "POST", f"{path}/replay", {"since": since})
    reason = "It answered 410." if hook.disabled_reason == "gone" else "All attempts failed for days."
    missed = f"{plural(count, 'event')} {'was' if count == 1 else 'were'} not delivered"
    # The rest of a URL may be a secret, and problems are shown to keys that may not read webhooks.
    name = hook.description or urlsplit(hook.url).hostname or ""
    is_disabled = hook.disabled_at is not None
    return Problem(
        kind=ProblemKind.WEBHOOK,
        title=f"The webhook {name} is disabled" if is_disabled else missed,
        text=f"{reason} {missed + '; new ones are not recorded' if count else 'Events are not recorded for it'}."
        if is_disabled
        else f"All attempts to send them to the webhook {name} failed.",
        since=hook.disabled_at or (dead.since if dead else None),
        webhook_id=hook.id,
        fixes=(*([enable] if is_disabled else []), *([replay] if count else [])),
    )


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
