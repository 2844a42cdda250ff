"""What each flow does with secrets, in the settings."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.calls import without_content
from api.web.extension import Pages
from api.web.visits import Visitor
from memorybase.core import ids
from memorybase.core.database.paging import PageRequest
from memorybase.core.read_models import sessions
from memorybase.core.sessions import flows

router = APIRouter(include_in_schema=False)

PATH = "/settings/secrets"
PAGE = 50
RULES = {"redact": "Redact", "keep": "Keep", "refuse": "Refuse"}

PAGES = Pages(router=router, tab=("secrets", "Secrets"))


@router.get(PATH)
@without_content
async def rules(visit: Visitor, cursor: str = "") -> Response:
    """The flows with what they do."""
    found = await visit.read(sessions.list_flows, PageRequest(size=PAGE, cursor=cursor or None))
    usual = RULES[visit.services.settings.secrets]
    return visit.settings(
        "settings_secrets.html", "secrets", "Secrets", found=found, cursor=cursor, rules=RULES, usual=usual
    )


@router.post(PATH)
async def save(
    visit: Visitor,
    flow: Annotated[str, Form()],
    rule: Annotated[Literal["", "keep", "redact", "refuse"], Form()] = "",
) -> Response:
    """Without a rule, the flow does what the installation does."""
    flow_id = ids.flow_id(visit.principal.user_id, flow)
    await visit.write(flows.update_flow, flow_id, {"secrets": rule or None})
    return visit.done(PATH, "Saved. It holds for what is sent from now on.")
