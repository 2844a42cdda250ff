"""Each component of the pages, in all its states: what a view is built from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter
from fastapi.responses import Response

from api.web.calls import without_content
from api.web.visits import Visitor

router = APIRouter(include_in_schema=False)


@router.get("/components")
@without_content
async def components(visit: Visitor) -> Response:
    return visit.page(
        "components.html", place="settings", title="Components", then=datetime.now(UTC) - timedelta(minutes=2)
    )
