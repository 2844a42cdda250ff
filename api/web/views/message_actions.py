"""Actions on chosen messages, from whatever page they were chosen on, and how they are taken back."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, cast, get_args
from uuid import UUID, uuid4

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.calls import recorded_as
from api.web.rendering import address, inside
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.sessions import curation, restoring
from memorybase.core.sessions.curation import Action, BulkAnswer, check_reason

router = APIRouter(include_in_schema=False, prefix="/messages")

DONE: dict[str, str] = {
    "mute": "muted",
    "unmute": "recalled again",
    "pin": "pinned",
    "unpin": "no longer pinned",
    "delete": "deleted",
    "restore": "restored",
}
Chosen = Annotated[list[UUID] | None, Form()]
Reason = Annotated[str, Form()]


@router.post("/act")
async def act(
    visit: Visitor,
    action: Annotated[str, Form()],
    ids: Chosen = None,
    reason: Reason = "",
    back: Annotated[str, Form()] = "/",
) -> Response:
    """One action on the chosen messages, then back to where they were chosen."""
    answer = await apply(visit, action, ids or [], reason, uuid4())
    undo = address("/messages/undo", batch=answer.batch_id, back=inside(back)) if answer.done else ""
    if action == "delete" and not visit.services.settings.deleted_retention_days:
        undo = ""
    return visit.done(inside(back), _said(answer), undo=undo)


@router.post("/undo")
async def undo(visit: Visitor, batch: UUID, back: str = "/", after: UUID | None = None) -> Response:
    """Take back what was done together, a part at a time."""
    attribution = Attribution(visit.principal.name, "Undone.")
    undone = await visit.write(curation.undo, batch, attribution, after=after)
    text = f"{undone.done:,} undone." if not undone.failed else f"{undone.done:,} undone, {undone.failed:,} not."
    if undone.after is None:
        return visit.done(inside(back), text)
    rest = address("/messages/undo", batch=batch, back=inside(back), after=undone.after)
    return visit.done(inside(back), f"{text} Undo takes back the next ones.", undo=rest)


@router.post("/purge")
@recorded_as("purge_message")
async def purge(visit: Visitor, ids: Chosen = None, back: Annotated[str, Form()] = "/") -> Response:
    """Delete deleted messages for good."""
    done = 0
    for each in ids or []:
        with suppress(errors.NotFound):  # restored or deleted for good by somebody else
            await visit.write(restoring.purge_message, each)
            done += 1
    return visit.done(inside(back), f"{done:,} deleted for good.")


async def apply(visit: Visit, action: str, ids: list[UUID], reason: str, batch: UUID) -> BulkAnswer:
    """One action on these messages, as one batch that can be taken back."""
    if action not in get_args(Action):
        raise errors.InvalidRequest(f"action must be one of {', '.join(get_args(Action))}", field="action")
    attribution = Attribution(visit.principal.name, check_reason(reason), batch)
    return await visit.write(curation.act, cast("Action", action), ids, attribution)


def _said(answer: BulkAnswer) -> str:
    text = f"{answer.done:,} {DONE[answer.action]}."
    first = next((each.error for each in answer.results if each.error), None)
    return text if first is None else f"{text} {answer.failed:,} not: {first['message']}."
