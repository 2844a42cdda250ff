"""Knowledge bases of documents. Those that memories manage are on the pages of the memories."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.badges import Badge
from api.web.calls import recorded_as, without_content
from api.web.extension import Pages
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.features.documents import knowledge
from memorybase.features.documents.knowledge import Status

router = APIRouter(include_in_schema=False)

PAGES = Pages(router=router, tab=("knowledge", "Knowledge bases"))
PAGE = 50


@router.get("/settings/knowledge")
@without_content
async def show(visit: Visitor) -> Response:
    return await _page(visit)


@router.post("/settings/knowledge")
async def create(visit: Visitor, name: Annotated[str, Form()]) -> Response:
    try:
        await visit.write(knowledge.create, name=name.strip())
    except errors.Forbidden:  # such a key is shown no form that could say so
        raise
    except (errors.CallerError, errors.EnvironmentFailure) as error:
        return await _page(visit, name=name, error=error)
    return visit.done("/settings/knowledge", f"{name.strip()} was created.")


@router.post("/settings/knowledge/delete")
@recorded_as("delete_knowledge_base")
async def delete(visit: Visitor, name: Annotated[str, Form()]) -> Response:
    await visit.write(knowledge.delete, name)
    return visit.done("/settings/knowledge", f"{name} was deleted.")


async def _page(visit: Visit, **values: Any) -> Response:
    cursor = visit.request.query_params.get("cursor") or None
    found = await visit.read(knowledge.list_knowledge_bases, PageRequest(size=PAGE, cursor=cursor), for_retrieval=True)
    shown: dict[str, Any] = {"name": "", "error": None} | values
    return visit.settings(
        "settings_knowledge.html",
        "knowledge",
        "Knowledge bases",
        found=found,
        cursor=cursor or "",
        state_of=_state_of,
        **shown,
    )


def _state_of(status: Status) -> Badge:
    return Badge("ok" if status == "ready" else "waiting", status.capitalize())
