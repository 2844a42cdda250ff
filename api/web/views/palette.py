"""The command palette (Ctrl-K): places, and what has a name like the text."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from api.web.rendering import address
from api.web.visits import Visitor
from memorybase.read_models.sessions import Named, find_named

router = APIRouter(include_in_schema=False)

ICONS = {"flow": "conversations", "memory": "memories", "session": "conversations", "person": "person"}
LABELS = {"flow": "Flow", "memory": "Memory", "session": "Session", "person": "Person"}


@router.get("/palette")
async def palette(visit: Visitor, q: str = "") -> Response:
    text = q.strip()
    named = [
        (ICONS[each.kind], LABELS[each.kind], each.name, _path(each)) for each in await visit.read(find_named, text)
    ]
    return visit.fragment("palette.html", q=text, named=named)


def _path(named: Named) -> str:
    """The page of what was found, below /ui."""
    if named.kind == "flow":
        return address("/conversations", flow=named.id)
    if named.kind == "memory":
        return f"/memories/{named.id}"
    if named.kind == "session":
        return address("/session", flow=named.flow_id, id=named.id)
    return address("/person", id=named.id)
