"""API keys: created and rotated with their secret shown once, limited, listed, revoked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.calls import without_content
from api.web.visits import Visit, Visitor
from memorybase.core import errors, ids
from memorybase.core.auth import api_keys
from memorybase.core.auth.api_keys import SCOPES
from memorybase.core.auth.limits import scopes_of
from memorybase.core.database.paging import PageRequest
from memorybase.core.read_models import sessions

router = APIRouter(include_in_schema=False)

FLOWS = 200  # to choose from; beyond, by id
LIFETIMES = {0: "Never", 1: "In a day", 7: "In 7 days", 30: "In 30 days", 90: "In 90 days", 365: "In a year"}
OVERLAPS = {0: "Not at all", 3_600: "An hour", 86_400: "A day", 604_800: "7 days", 2_592_000: "30 days"}
OVERLAP = 86_400  # unless another is chosen
SCOPE_WORDS = {
    "read": "Read",
    "write": "Write: capture, ingest, edit, delete",
    "admin": "Admin: keys and all settings",
    "metrics": "Metrics alone",
}
GIVEN = {"scope": ["read", "write"]}  # what the form of a new key begins with


@router.get("/settings/keys")
@without_content
async def keys(visit: Visitor) -> Response:
    return await _page(visit)


@router.post("/settings/keys")
async def create(
    visit: Visitor,
    name: Annotated[str, Form()] = "",
    scope: Annotated[list[str] | None, Form()] = None,
    days: Annotated[int, Form(ge=0, le=36_500)] = 0,
    flow: Annotated[list[str] | None, Form()] = None,
    other_flows: Annotated[str, Form()] = "",
    end_user: Annotated[str, Form()] = "",
) -> Response:
    """Create a key. The answer shows its secret; no address and no later page does."""
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    named = [*(flow or []), *(line.strip() for line in other_flows.splitlines() if line.strip())]
    given = {
        "name": name,
        "scope": scope or [],
        "days": days,
        "flow": flow or [],
        "other_flows": other_flows,
        "end_user": end_user,
    }
    try:
        key, secret = await visit.admin(
            api_keys.create_key,
            name=name.strip(),
            scopes=scope or [],
            expires_at=expires_at,
            flow_ids=[ids.flow_id(visit.principal.user_id, each) for each in named] or None,
            end_user_id=end_user.strip() or None,
        )
    except (errors.InvalidRequest, errors.NotFound) as error:
        return await _page(visit, given=given, error=error)
    return await _page(visit, created=key, secret=secret)


@router.post("/settings/keys/{key_id}/rotate")
async def rotate(visit: Visitor, key_id: UUID, overlap: Annotated[int, Form()]) -> Response:
    """A new key in place of this one, with its secret as above."""
    key, secret = await visit.admin(api_keys.rotate_key, key_id, overlap_seconds=overlap)
    return await _page(visit, created=key, secret=secret, overlap=overlap)


@router.post("/settings/keys/{key_id}/revoke")
async def revoke(visit: Visitor, key_id: UUID) -> Response:
    await visit.admin(api_keys.revoke_key, key_id)
    return visit.done("/settings/keys", "The key was revoked. Requests with it are refused from now on.")


async def _page(visit: Visit, **values: Any) -> Response:
    found = await visit.admin(api_keys.list_keys) if visit.may("admin") else []
    flows = await visit.read(sessions.list_flows, PageRequest(size=FLOWS))
    limited_to = {UUID(each) for key in found for each in key.flow_ids or ()}
    names = {each.id: each.name for each in (await visit.read(sessions.get_flows, limited_to)).values()}
    shown: dict[str, Any] = {"given": GIVEN, "error": None, "created": None, "secret": "", "overlap": None} | values
    return visit.settings(
        "settings_keys.html",
        "keys",
        "Keys",
        keys=found,
        scopes=SCOPES,
        scope_words=SCOPE_WORDS,
        lifetimes=LIFETIMES,
        overlaps=OVERLAPS,
        usual_overlap=OVERLAP,
        scopes_of=scopes_of,
        flows=flows,
        flow_names={str(each): name for each, name in names.items()},
        now=datetime.now(UTC),
        **shown,
    )
