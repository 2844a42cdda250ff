"""API keys: created with their secret shown once, listed, revoked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.visits import Visit, Visitor
from memorybase import errors
from memorybase.auth import api_keys
from memorybase.auth.api_keys import SCOPES

router = APIRouter(include_in_schema=False)

LIFETIMES = {0: "Never", 30: "In 30 days", 90: "In 90 days", 365: "In a year"}
SCOPE_WORDS = {
    "read": "Read", "write": "Write: capture, ingest, edit, delete", "admin": "Admin: create and revoke keys",
}  # fmt: skip


@router.get("/settings/keys")
async def keys(visit: Visitor) -> Response:
    return await _page(visit)


@router.post("/settings/keys")
async def create(
    visit: Visitor,
    name: Annotated[str, Form()],
    scope: Annotated[list[str] | None, Form()] = None,
    days: Annotated[int, Form(ge=0, le=36_500)] = 0,
) -> Response:
    """Create a key. The answer shows its secret; no address and no later page does."""
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    given = {"name": name, "scope": scope or [], "days": days}
    try:
        key, secret = await visit.admin(
            api_keys.create_key, name=name.strip(), scopes=scope or [], expires_at=expires_at
        )
    except errors.InvalidRequest as error:
        return await _page(visit, given=given, error=error)
    return await _page(visit, created=key, secret=secret)


@router.post("/settings/keys/{key_id}/revoke")
async def revoke(visit: Visitor, key_id: UUID) -> Response:
    await visit.admin(api_keys.revoke_key, key_id)
    return visit.done("/settings/keys", "The key was revoked. Requests with it are refused from now on.")


async def _page(visit: Visit, **values: Any) -> Response:
    found = await visit.admin(api_keys.list_keys) if visit.may("admin") else []
    shown: dict[str, Any] = {"given": {}, "error": None, "created": None, "secret": ""} | values
    return visit.page(
        "settings_keys.html", place="settings", title="Keys", tab="keys", keys=found, scopes=SCOPES,
        scope_words=SCOPE_WORDS, lifetimes=LIFETIMES, **shown,
    )  # fmt: skip
