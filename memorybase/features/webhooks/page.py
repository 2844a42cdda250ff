"""Webhooks: where events are sent, what was sent, sending it again, discarding it. A secret is shown once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.badges import Badge
from api.web.calls import recorded_as, without_content
from api.web.extension import Pages, ProblemPage
from api.web.rendering import address, plural
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.operations.problems import FixAction, Problem, ProblemKind
from memorybase.features.webhooks import deliveries, endpoints
from memorybase.features.webhooks.deliveries import DeliveryState, DeliveryView
from memorybase.features.webhooks.endpoints import MAX_ENDPOINTS, WebhookView
from memorybase.features.webhooks.outbox import EventType

router = APIRouter(include_in_schema=False)

PAGE = 50
EVENTS = {
    EventType.JOB_COMPLETED: "A job is done",
    EventType.JOB_FAILED: "A job failed",
    EventType.DEAD_LETTER_CREATED: "A message could not be embedded",
    EventType.MEMORY_MISMATCH: "A memory differs from its store",
    EventType.MEMORY_REGENERATED: "A memory was rebuilt",
    EventType.SESSION_ERASED: "A session was erased",
    EventType.RETENTION_EXPIRED: "Data expired",
}
GIVEN = {  # what the form of a new webhook begins with
    "event": [EventType.JOB_FAILED, EventType.DEAD_LETTER_CREATED, EventType.MEMORY_MISMATCH]
}
REASONS = {"request": "Disabled", "gone": "Disabled: it answered 410", "failing": "Disabled: it failed for days"}
STATES = {
    DeliveryState.PENDING: Badge("waiting", "Pending"),
    DeliveryState.DELIVERED: Badge("ok", "Delivered"),
    DeliveryState.DEAD: Badge("failed", "Dead"),
}
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@router.get("/settings/webhooks")
@without_content
async def webhooks(visit: Visitor) -> Response:
    return await _page(visit)


@router.post("/settings/webhooks")
async def create(
    visit: Visitor,
    url: Annotated[str, Form()],
    description: Annotated[str, Form()] = "",
    event: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """Create a webhook. The answer shows its secret; no address and no later page does."""
    given = {"url": url, "description": description, "event": event or []}
    try:
        created = await visit.admin(
            endpoints.create,
            url=url.strip(),
            description=description.strip(),
            event_types=[each for each in EventType if each in given["event"]],
        )
    except errors.InvalidRequest as error:
        return await _page(visit, given=given, error=error)
    return await _page(visit, created=created)


@router.get("/settings/webhooks/{webhook_id}")
@without_content
async def webhook(
    visit: Visitor, webhook_id: UUID, state: str = "", cursor: str = "", test: UUID | None = None
) -> Response:
    """`test`: the delivery whose result is waited for."""
    hook = await visit.admin(endpoints.get_webhook, webhook_id)
    tested = None if test is None else await visit.admin(deliveries.get_delivery, webhook_id, test)
    chosen = next((each for each in DeliveryState if each == state), None)
    found = await visit.admin(
        deliveries.list_deliveries, webhook_id, PageRequest(size=PAGE, cursor=cursor or None), state=chosen
    )
    own = address(f"/settings/webhooks/{webhook_id}", state=chosen or "")
    return visit.settings(
        "settings_webhook.html",
        "webhooks",
        "Deliveries",
        hook=hook,
        found=found,
        state=chosen or "",
        states=STATES,
        cursor=cursor,
        own=own,
        state_of=_state_of,
        tested=tested,
        tested_state=_tested_state,
        version="",
        kept_days=deliveries.KEPT.days,
        now=datetime.now(UTC),
    )


@router.get("/settings/webhooks/{webhook_id}/tests/{delivery_id}")
@without_content
async def test_result(visit: Visitor, webhook_id: UUID, delivery_id: UUID) -> Response:
    """The result of a test, live."""
    tested = await visit.admin(deliveries.get_delivery, webhook_id, delivery_id)
    return visit.live("settings_webhook_test.html", tested=tested, tested_state=_tested_state)


@router.post("/settings/webhooks/{webhook_id}/test")
async def send_test_event(visit: Visitor, webhook_id: UUID) -> Response:
    sent = await visit.admin(deliveries.send_test, webhook_id)
    return visit.done(address(f"/settings/webhooks/{webhook_id}", test=sent.id))


@router.post("/settings/webhooks/{webhook_id}/enabled")
async def enable(visit: Visitor, webhook_id: UUID, on: Annotated[bool, Form()]) -> Response:
    await visit.admin(endpoints.change, webhook_id, {"enabled": on})
    return visit.done(f"/settings/webhooks/{webhook_id}", f"The webhook is {'enabled' if on else 'disabled'}.")


@router.post("/settings/webhooks/{webhook_id}/rotate")
async def rotate(visit: Visitor, webhook_id: UUID) -> Response:
    """A new secret, shown by this answer only."""
    return await _page(visit, created=await visit.admin(endpoints.rotate_secret, webhook_id))


@router.post("/settings/webhooks/{webhook_id}/delete")
@recorded_as("delete_webhook")
async def delete(visit: Visitor, webhook_id: UUID) -> Response:
    await visit.admin(endpoints.delete, webhook_id)
    return visit.done("/settings/webhooks", "The webhook was deleted.")


@router.post("/settings/webhooks/{webhook_id}/replay")
async def replay(visit: Visitor, webhook_id: UUID, delivery: Annotated[UUID | None, Form()] = None) -> Response:
    """Send one delivery again, or all dead ones."""
    path = f"/settings/webhooks/{webhook_id}"
    if delivery is not None:
        await visit.admin(deliveries.replay, webhook_id, delivery)
        return visit.done(path, "The delivery is sent again.")
    return visit.done(path, await replay_dead(visit, webhook_id))


@router.post("/settings/webhooks/{webhook_id}/discard")
async def discard(
    visit: Visitor,
    webhook_id: UUID,
    delivery: Annotated[UUID | None, Form()] = None,
    until: Annotated[datetime | None, Form()] = None,
) -> Response:
    """Discard one dead delivery, or those that were dead when the page was shown."""
    path = f"/settings/webhooks/{webhook_id}"
    if delivery is not None:
        await visit.admin(deliveries.discard, webhook_id, delivery)
        return visit.done(path, "The delivery was discarded.")
    result = await visit.admin(deliveries.discard_dead, webhook_id, until)
    more = " More are left: discard again." if result.remaining else ""
    were = "was" if result.discarded == 1 else "were"
    return visit.done(path, f"{plural(result.discarded, 'delivery', 'deliveries')} {were} discarded.{more}")


async def replay_dead(visit: Visit, webhook_id: UUID) -> str:
    """Send all dead deliveries again; the notice that says so."""
    result = await visit.admin(deliveries.replay_dead, webhook_id, BEGINNING)
    more = " More are left: replay again." if result.remaining else ""
    are = "is" if result.replayed == 1 else "are"
    return f"{plural(result.replayed, 'delivery', 'deliveries')} {are} sent again.{more}"


def _tested_state(tested: DeliveryView) -> Badge:
    if tested.state == DeliveryState.DELIVERED:
        return STATES[tested.state]
    return Badge("failed", "Failed") if tested.ended else Badge("waiting", "Waiting")


def _state_of(hook: WebhookView) -> Badge:
    if not hook.enabled:
        return Badge("off", REASONS[hook.disabled_reason or ""])
    return Badge("failed", "Failing") if hook.failing_since else Badge("ok", "Enabled")


async def _enable(visit: Visit, webhook_id: UUID) -> str:
    await visit.admin(endpoints.change, webhook_id, {"enabled": True})
    return "The webhook is enabled. What waits is sent now."


def _link(problem: Problem) -> tuple[str, str]:
    path = f"/settings/webhooks/{problem.webhook_id}"
    has_dead = any(fix.action is FixAction.REPLAY for fix in problem.fixes)
    return ("Review", f"{path}?state=dead") if has_dead else ("Details", path)


PAGES = Pages(
    router=router,
    tab=("webhooks", "Webhooks"),
    problems={
        ProblemKind.WEBHOOK: ProblemPage(
            about="webhook_id",
            scope="admin",
            actions={FixAction.ENABLE: _enable, FixAction.REPLAY: replay_dead},
            link=_link,
        )
    },
)


async def _page(visit: Visit, **values: Any) -> Response:
    listed = PageRequest(size=MAX_ENDPOINTS)
    found = (await visit.admin(endpoints.list_webhooks, listed)).items if visit.may("admin") else []
    shown: dict[str, Any] = {"given": GIVEN, "error": None, "created": None} | values
    return visit.settings(
        "settings_webhooks.html",
        "webhooks",
        "Webhooks",
        hooks=found,
        events=EVENTS,
        state_of=_state_of,
        **shown,
    )
