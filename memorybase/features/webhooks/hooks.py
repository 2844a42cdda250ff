"""What the core calls."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from memorybase.core.extension import Background, Hooks, Pace, Step
from memorybase.core.queries.timestamps import NOW, Limit
from memorybase.core.services import Services
from memorybase.features.webhooks import deliveries, health, outbox, sender
from memorybase.features.webhooks.endpoints import MAX_OVERLAP_HOURS
from memorybase.features.webhooks.models import DELIVERY_IS_PENDING, WebhookDelivery, WebhookEndpoint


def _limits(_services: Services) -> Iterator[Limit]:
    yield Limit(WebhookDelivery.available_at, sender.longest_pause(), DELIVERY_IS_PENDING, becomes=NOW)
    yield Limit(WebhookEndpoint.former_secret_until, timedelta(hours=MAX_OVERLAP_HOURS))


HOOKS = Hooks(
    on_events=outbox.record,
    problems=health.problems,
    gauges=health.gauges,
    limits=_limits,
    steps=(Step("deliveries_deleted", deliveries.delete_old, Pace.SELDOM),),
    background=(Background("webhooks", sender.send_until, sender.send_due),),
)
