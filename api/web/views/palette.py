"""The command palette (Ctrl-K): places, and what has a name like the text."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter
from fastapi.responses import Response

from api.web.rendering import address
from api.web.visits import Visitor
from memorybase.core.read_models.sessions import Named, find_named, get_flows
from memorybase.core.read_models.titles import is_generated

router = APIRouter(include_in_schema=False)

ICONS = {"flow": "conversations", "memory": "memories", "session": "conversations", "person": "person"}
LABELS = {"flow": "Flow", "memory": "Memory", "session": "Session", "person": "Person"}


@router.get("/palette")
async def palette(visit: Visitor, q: str = "") -> Response:
    text = q.strip()
    found = await visit.read(find_named, text)
    flows = await visit.read(get_flows, {each.flow_id for each in found if each.flow_id and each.kind != "flow"})
    flow_names = {id_: flow.name for id_, flow in flows.items()}
    alike = Counter(_shown(each) for each in found)
    named = [
        {
            "icon": ICONS[each.kind],
            "kind": LABELS[each.kind],
            "name": each.name,
            "flow": flow_names.get(each.flow_id, "") if each.flow_id else "",
            "at": each.written_at,
            "id": (each.id[:8] if is_generated(each.id) else each.id) if alike[_shown(each)] > 1 else "",
            "path": _path(each),
        }
        for each in found
    ]
    return visit.fragment("palette.html", q=text, named=named)


def _shown(named: Named) -> tuple[object, ...]:
    """What an entry shows, down to the minute: those that show the same have their ids too."""
    minute = named.written_at.replace(second=0, microsecond=0) if named.written_at else None
    return named.kind, named.name, named.flow_id, minute


def _path(named: Named) -> str:
    """The page of what was found, below /ui."""
    if named.kind == "flow":
        return address("/conversations", flow=named.id)
    if named.kind == "memory":
        return f"/memories/{named.id}"
    if named.kind == "session":
        return address("/session", flow=named.flow_id, id=named.id)
    return address("/person", id=named.id)
