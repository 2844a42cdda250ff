"""Addresses of pages that moved: links that people kept still lead there."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from api.web.calls import without_content
from api.web.rendering import address
from api.web.visits import Visit, Visitor

router = APIRouter(include_in_schema=False)

MOVED = {"/health": "/settings/health", "/keys": "/settings/keys", "/knowledge-bases": "/settings/knowledge"}


def _add(former: str, path: str) -> None:
    @router.get(former)
    async def moved(visit: Visitor) -> Response:
        return _moved(visit, path)


def _moved(visit: Visit, path: str) -> Response:
    return RedirectResponse(f"{visit.root}{path}", status_code=301)


for _former, _path in MOVED.items():
    _add(_former, _path)


@router.get("/memories/{memory_base_id}/jobs")
@without_content
async def jobs_of_memory(visit: Visitor, memory_base_id: UUID) -> Response:
    return _moved(visit, address("/jobs", memory=memory_base_id))


@router.get("/flows/{flow_id}/sessions")
@without_content
async def sessions_of_flow(visit: Visitor, flow_id: str) -> Response:
    return _moved(visit, address("/conversations", flow=flow_id))


@router.get("/flows/{flow_id}/runs")
@without_content
async def runs_of_flow(visit: Visitor, flow_id: str) -> Response:
    return _moved(visit, address("/conversations", tab="runs", flow=flow_id))


@router.get("/flows/{flow_id}/runs/{run_id}")
@without_content
async def run(visit: Visitor, flow_id: str, run_id: str) -> Response:
    return _moved(visit, address("/run", flow=flow_id, id=run_id))
