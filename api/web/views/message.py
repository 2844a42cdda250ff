"""One message: its text to edit with the difference as it is written, its flags, and its history."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.rendering import address, inside
from api.web.views.message_actions import DONE, Reason
from api.web.visits import Visitor
from memorybase.core import messages
from memorybase.core.database.paging import PageRequest
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.read_models import sessions, titles
from memorybase.core.sessions import curation, edits
from memorybase.core.sessions.curation import check_reason
from memorybase.core.sessions.difference import difference

router = APIRouter(include_in_schema=False)

TEXT_TYPES = {"text", "input_text", "output_text"}
Texts = Annotated[list[str] | None, Form()]


@router.get("/message")
async def message(visit: Visitor, id: UUID, back: str = "/", cursor: str = "") -> Response:  # noqa: A002 - an address
    found = await visit.read(sessions.get_message, id)
    changes = await visit.read(curation.history, id, PageRequest(size=20, cursor=cursor or None))
    named = await visit.read(titles.session_titles, [(found.flow_id, found.session_id)])
    words = {**DONE, "edit": "edited", "unmute": "unmuted", "unpin": "unpinned"}
    return visit.page(
        "message.html",
        place="conversations",
        title=f"Message {found.seq}",
        message=found,
        texts=texts_of(found.content),
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
    await visit.write(edits.edit_message, message, changes, attribution)
    then = inside(back) if back != "/" else here
    undo = address("/messages/undo", batch=attribution.batch_id, back=then)
    return visit.done(then, "Saved. Searches find the new text.", undo=undo)


@router.post("/message/difference")
async def preview(visit: Visitor, message: Annotated[UUID, Form()], text: Texts = None) -> Response:
    """What the edit would change, while it is written."""
    found = await visit.read(sessions.get_message, message)
    new = messages.message_text(with_texts(found.content, text or []))
    return visit.fragment("message_difference.html", pieces=difference(messages.message_text(found.content), new))


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
