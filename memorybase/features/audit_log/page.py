"""The audit log: who changed or read what, filtered; and its export."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from api.proxy_user import USER
from api.web.calls import without_content
from api.web.extension import Pages
from api.web.rendering import address
from api.web.visits import Visitor
from memorybase.core.auth import api_keys
from memorybase.core.database.paging import MAX_INTEGER, PageRequest
from memorybase.features.audit_log import entries
from memorybase.features.audit_log.queries import EntryFilter
from memorybase.features.audit_log.recording import Kind

router = APIRouter(include_in_schema=False)

PAGE = 50
PATH = "/settings/audit"
KINDS: dict[Kind, str] = {
    "change": "Changes",
    "read": "Reads",
    "denied": "Refusals",
    "prune": "Deletions of old entries",
}
MAX_OPERATION = 200


@router.get(PATH)
@without_content
async def audit(
    visit: Visitor,
    kind: str = "",
    key: str = "",
    operation: Annotated[str, Query(max_length=MAX_OPERATION)] = "",
    mine: bool = False,
    cursor: str = "",
) -> Response:
    """What cannot be a filter is left out. `mine`: also what this reader read on the page."""
    values: dict[str, Any] = {
        "kinds": KINDS,
        "kind": kind if kind in get_args(Kind) else "",
        "key": key,
        "operation": operation.strip(),
        "mine": mine,
        "cursor": cursor,
        "is_on": visit.services.settings.audit != "off",
    }
    if not visit.may("admin"):
        return visit.settings("settings_audit.html", "audit", "Audit log", found=None, **values)
    keys = await visit.admin(api_keys.list_keys)
    chosen = next((each.id for each in keys if str(each.id) == key), None)
    wanted = EntryFilter(
        chosen,
        values["operation"] or None,
        values["kind"] or None,
        unless_read_by=None if mine else (visit.principal.key_id, visit.request.scope.get(USER)),
    )
    found = await visit.admin(entries.list_entries, wanted, PageRequest(size=PAGE, cursor=cursor or None))
    own = address(PATH, kind=values["kind"], key=chosen, operation=values["operation"], mine="true" if mine else None)
    return visit.settings(
        "settings_audit.html",
        "audit",
        "Audit log",
        found=found,
        own=own,
        keys=keys,
        key_names={each.id: each.name for each in keys},
        **values | {"key": str(chosen or "")},
    )


@router.get(f"{PATH}/export")
async def export(visit: Visitor, after_seq: Annotated[int, Query(ge=0, le=MAX_INTEGER)] = 0) -> Response:
    """The sealed entries as JSON lines, like GET /audit/export."""
    lines = await visit.admin(entries.export_entries, EntryFilter(), after_seq)
    return StreamingResponse(
        lines,
        media_type="application/jsonl",
        headers={"Content-Disposition": 'attachment; filename="audit.jsonl"', "Cache-Control": "no-store"},
    )


PAGES = Pages(router=router, tab=("audit", "Audit log"))
