"""A session as a conversation: along one branch, group by group; what was found in it; one message up close."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from api.web import timeline
from api.web.bubbles import bubbles
from api.web.extension import session_links, session_notes
from api.web.rendering import address
from api.web.visits import Visit, Visitor
from memorybase.core import errors, ids
from memorybase.core.database.paging import MAX_INTEGER, PageRequest
from memorybase.core.models import ID_LENGTH
from memorybase.core.read_models import ingestion, run_story, sessions, titles, transcript
from memorybase.core.read_models.sessions import MessageView
from memorybase.core.read_models.transcript import Place
from memorybase.core.sessions import edits

router = APIRouter(include_in_schema=False)

ROLES = (("", "All"), ("user", "User"), ("assistant", "Assistant"), ("tool", "Tools"), ("system", "System"))
USES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address says to show of a session."""

    flow: str = ""
    id: str = ""
    branch: int | None = None
    role: str = ""
    find: str = ""

    def shown(self, visit: Visit) -> Shown:
        """Without values that it cannot have."""
        flow_id = ids.flow_id(visit.principal.user_id, self.flow)
        return Shown(flow_id, self.id, self.branch, self.role if self.role in dict(ROLES) else "", self.find.strip())


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a session."""

    flow_id: UUID
    id: str
    branch: int | None
    role: str
    find: str

    def url(self, path: str = "/session", **changes: Any) -> str:
        fields = {"flow": self.flow_id, "id": self.id, "branch": self.branch, "role": self.role, "find": self.find}
        return address(path, **(fields | changes))

    def place(self, **where: int | None) -> Place:
        return Place(through=self.branch, role=self.role or None, **where)


@router.get("/session")
async def session(
    visit: Visitor,
    asked: Annotated[Asked, Depends()],
    at: str = "",
    day: str = "",
    flow_id: str = "",
    session_id: str = "",
) -> Response:
    if flow_id and session_id:  # of a former address
        return RedirectResponse(f"{visit.root}{address('/session', flow=flow_id, id=session_id)}", 301)
    shown = asked.shown(visit)
    found: list[int] = []
    if day:
        seq = await visit.read(transcript.first_since, shown.flow_id, shown.id, _start_of(day))
        return RedirectResponse(f"{visit.root}{shown.url(at=seq)}", 303)
    if shown.find:
        found = await visit.read(transcript.find, shown.flow_id, shown.id, shown.find)
    here = await _seq(visit, shown, at) or (found[-1] if found else None)
    about = await visit.read(sessions.get_session, shown.flow_id, shown.id)
    read = await visit.read(transcript.read_transcript, shown.flow_id, shown.id, shown.place(at=here))
    titled = await visit.read(titles.session_titles, [(shown.flow_id, shown.id)])
    return visit.page(
        "session.html",
        place="conversations",
        title=titles.title_of(titled, shown.flow_id, shown.id),
        about=about,
        shown=shown,
        titled=titled.get((shown.flow_id, shown.id)),
        here=here,
        roles=ROLES,
        flow=await visit.read(sessions.get_flow, shown.flow_id),
        notes=await session_notes(visit, shown.flow_id, shown.id),
        links=session_links(),
        before=max((seq for seq in found if here is not None and seq < here), default=None),
        after=min((seq for seq in found if here is not None and seq > here), default=None),
        found=found,
        found_at=found.index(here) + 1 if here in found else 0,
        **_group(read, ends_at_newest=here is None),
    )


@router.get("/session/part")
async def part(
    visit: Visitor, asked: Annotated[Asked, Depends()], before: int | None = None, after: int | None = None
) -> Response:
    """The group before or after one that is shown."""
    shown = asked.shown(visit)
    read = await visit.read(
        transcript.read_transcript, shown.flow_id, shown.id, shown.place(before=before, after=after)
    )
    return visit.fragment(
        "session_group.html", shown=shown, here=None, way="up" if after is None else "down", **_group(read)
    )


@router.get("/session/states")
async def states(
    visit: Visitor,
    flow: str,
    id: str,  # noqa: A002 - in the address
    seq: Annotated[list[Annotated[int, Field(ge=0, le=MAX_INTEGER)]], Query(max_length=transcript.GROUP)],
) -> Response:
    """The states of messages that waited when they were shown."""
    flow_id = ids.flow_id(visit.principal.user_id, flow)
    messages, holdings = await visit.read(transcript.read_messages, flow_id, id, seq)
    shown = bubbles(messages, holdings, {})
    return visit.live("session_states.html", bubbles=shown, flow_id=flow_id, session_id=id)


@router.get("/session/message")
async def message(visit: Visitor, flow: str, message: str) -> Response:
    """One message up close: in which memories it is, which runs used it, and how to correct it."""
    given = await _message(visit, flow, message)
    held = await visit.read(ingestion.message_ingestion, given.id)
    uses = await visit.read(run_story.uses_of_message, given.id, PageRequest(size=USES_SHOWN))
    return visit.fragment(
        "session_message.html",
        message=given,
        held=held,
        uses=uses,
        idle=await visit.read(ingestion.idle_times, given.flow_id),
        state_of=timeline.state_of,
        starts=timeline.starts,
    )


@router.post("/session/rename")
async def rename(
    visit: Visitor,
    flow: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - in the address
    name: Annotated[str, Form()],
) -> Response:
    flow_id = ids.flow_id(visit.principal.user_id, flow)
    name = name.strip()
    if not 1 <= len(name) <= ID_LENGTH:
        raise errors.InvalidRequest(
            f"A session's id must be a text of 1 to {ID_LENGTH} characters",
            field="name",
            value=len(name),
            limit=ID_LENGTH,
        )
    await visit.write(edits.update_session, flow_id, id, new_session_id=name, metadata=None)
    return visit.done(address("/session", flow=flow, id=name), f"Renamed to {name}.")


def _group(read: transcript.Transcript, *, ends_at_newest: bool = False) -> dict[str, Any]:
    """What session_group.html shows."""
    return {
        "bubbles": bubbles(read.messages, read.holdings, read.branches),
        "older": read.messages[0].seq if read.older and read.messages else None,
        "newer": read.messages[-1].seq if read.newer and read.messages else None,
        "ends_at_newest": ends_at_newest,
        "through": read.through,
    }


async def _seq(visit: Visit, shown: Shown, at: str) -> int | None:
    """The seq that the address names, by itself or by a message's id."""
    if not at:
        return None
    if at.isdecimal() and len(at) < 19:
        return int(at)
    given = await _message(visit, str(shown.flow_id), at)
    return given.seq if given.session_id == shown.id else None


async def _message(visit: Visit, flow: str, given: str) -> MessageView:
    flow_id = ids.flow_id(visit.principal.user_id, flow)
    caller_id = ids.CallerId.of(visit.principal.user_id, "message", given)
    return await visit.read(sessions.find_message, flow_id, caller_id)


def _start_of(day: str) -> datetime:
    try:
        found = date.fromisoformat(day)
    except ValueError as error:
        raise errors.InvalidRequest("day must be a date such as 2026-11-16", field="day", value=day) from error
    return datetime(found.year, found.month, found.day, tzinfo=UTC)
