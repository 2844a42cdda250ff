"""The standing statements of a person in a flow, or of a session: correct and delete them, add them to contexts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.badges import Badge
from api.web.calls import recorded_as
from api.web.extension import Pages, PersonCard
from api.web.rendering import address, inside
from api.web.visits import Visitor
from memorybase.core import ids
from memorybase.core.read_models import sessions, titles
from memorybase.core.sessions import flows
from memorybase.features.standing_statements import statements
from memorybase.features.standing_statements.finder import MAX_CHARS
from memorybase.features.standing_statements.statements import StandingStatementView

router = APIRouter(include_in_schema=False)

PAGES = Pages(
    router=router,
    session_link=("Standing statements", "/standing"),
    person_card=PersonCard(statements.flows_of_end_user, "person_standing.html"),
)
Back = Annotated[str, Form()]


@router.get("/standing")
async def standing(
    visit: Visitor, flow: str = "", person: str = "", session: str = "", every: bool = False
) -> Response:
    flow_id = ids.flow_id(visit.principal.user_id, flow)
    found = await visit.read(
        statements.list_statements, flow_id, end_user_id=person or None, session_id=session or None, every=every
    )
    return visit.page(
        "standing.html",
        place="conversations",
        title="Standing statements",
        found=found,
        every=every,
        flow=await visit.read(sessions.get_flow, flow_id),
        longest=MAX_CHARS,
        state_of=_state_of,
        titles=await visit.read(titles.session_titles, [(flow_id, session)] if session else []),
        here=lambda **changes: address("/standing", **{"flow": flow, "person": person, "session": session, **changes}),
    )


def _state_of(found: StandingStatementView) -> Badge:
    return Badge("ok" if found.state == "active" else "off", found.state.capitalize())


@router.post("/standing/contexts")
async def contexts(
    visit: Visitor, flow: Annotated[str, Form()], on: Annotated[bool, Form()], back: Back = "/"
) -> Response:
    """Whether the flow's contexts contain them unless a call says otherwise."""
    await visit.write(flows.update_flow, ids.flow_id(visit.principal.user_id, flow), {"standing": on})
    return visit.done(
        inside(back), "Contexts contain them." if on else "Contexts contain them where a call asks for it."
    )


@router.post("/standing/{statement_id}")
async def edit(visit: Visitor, statement_id: UUID, text: Annotated[str, Form()] = "", back: Back = "/") -> Response:
    """A person's own words; without any, what was found holds again."""
    wanted = text.strip() or None
    await visit.write(statements.edit_statement, statement_id, wanted, by=visit.principal.name)
    return visit.done(inside(back), "Saved." if wanted else "The words of the message hold again.")


@router.post("/standing/{statement_id}/delete")
@recorded_as("delete_standing_statement")
async def delete(visit: Visitor, statement_id: UUID, back: Back = "/") -> Response:
    await visit.write(statements.delete_statement, statement_id, by=visit.principal.name)
    return visit.done(inside(back), "Deleted. It is not found again; the message stays.")
