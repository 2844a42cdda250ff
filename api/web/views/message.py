"""One message: its text to edit with the difference as it is written, its flags, and its history."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.rendering import address, inside
from api.web.views.message_actions import DONE, Reason
from api.web.visits import Visitor
from memorybase.core import errors, messages
from memorybase.core.database.paging import PageRequest
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.read_models import sessions, titles
from memorybase.core.read_models.sessions import MessageView
from memorybase.core.sessions import curation, edits
from memorybase.core.sessions.curation import check_reason
from memorybase.core.sessions.difference import Piece, difference

router = APIRouter(include_in_schema=False)

TEXT_TYPES = {"text", "input_text", "output_text"}
Texts = Annotated[list[str] | None, Form()]


@router.get("/message")
async def message(visit: Visitor, id: UUID, back: str = "/", cursor: str = "") -> Response:  # noqa: A002 - an address
    return await _page(visit, await visit.read(sessions.get_message, id), back, cursor)


async def _page(
    visit: Visitor, found: MessageView, back: str, cursor: str = "", *, typed: list[str] | None = None, reason: str = ""
) -> Response:
    """The page. `typed`: the texts of an edit that was not saved, because somebody else had changed the message."""
    changes = await visit.read(curation.history, found.id, PageRequest(size=20, cursor=cursor or None))
    named = await visit.read(titles.session_titles, [(found.flow_id, found.session_id)])
    words = {**DONE, "edit": "edited", "unmute": "unmuted", "unpin": "unpinned"}
    return visit.page(
        "message.html",
        place="conversations",
        title=f"Message {found.seq}",
        message=found,
        texts=texts_of(found.content) if typed is None else typed,
        conflict=None if typed is None else _difference(found.content, typed),
        reason=reason,
        status=200 if typed is None else 409,
        changes=changes,
        words=words,
        back=inside(back),
        first=bool(cursor),
        titles=named,
    )


@router.post("/message")
async def edit(
    visit: Visitor,
    message: Annotated[UUID, Form()],
    version: Annotated[int, Form()],
    text: Texts = None,
    reason: Reason = "",
    back: Annotated[str, Form()] = "/",
) -> Response:
    found = await visit.read(sessions.get_message, message)
    content = with_texts(found.content, text or [])
    here = address("/message", id=message, back=inside(back))
    if content == found.content:
        return visit.done(here, "Nothing changed.")
    changes = messages.normalise_changes({"content": content})
    attribution = Attribution(visit.principal.name, check_reason(reason), uuid4())
    try:
        await visit.write(edits.edit_message, message, changes, attribution, version=version)
    except errors.MessageConflict:
        found = await visit.read(sessions.get_message, message)
        return await _page(visit, found, back, typed=text or [], reason=reason)
    then = inside(back) if back != "/" else here
    undo = address("/messages/undo", batch=attribution.batch_id, back=then)
    return visit.done(then, "Saved. Searches find the new text.", undo=undo)


@router.post("/message/difference")
async def preview(visit: Visitor, message: Annotated[UUID, Form()], text: Texts = None) -> Response:
    """What the edit would change, while it is written."""
    found = await visit.read(sessions.get_message, message)
    return visit.fragment("message_difference.html", pieces=_difference(found.content, text or []))


def _difference(content: Any, texts: list[str]) -> list[Piece]:
    return difference(messages.message_text(content), messages.message_text(with_texts(content, texts)))


def texts_of(content: Any) -> list[str]:
    """The texts of a content that can be edited."""
    if not isinstance(content, list):
        return [content or ""]
    return [part["text"] for part in content if part.get("type") in TEXT_TYPES]


def with_texts(content: Any, texts: list[str]) -> Any:
    """The content with these texts in place of its own. Browsers send line breaks as two characters."""
    new = [text.replace("\r\n", "\n") for text in texts]
    if not isinstance(content, list):
        return (new[0] if new else "") or content
    following = iter(new)
    return [
        {**part, "text": next(following, part["text"])} if part.get("type") in TEXT_TYPES else part for part in content
    ]
