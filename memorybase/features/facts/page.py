"""A memory's facts: turn distillation on or off, what it used, and the facts with their sources."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.calls import recorded_as
from api.web.extension import MemoryTab, Pages
from api.web.rendering import address
from api.web.views.memory_frame import memory_page
from api.web.visits import Visit, Visitor
from memorybase.core.database.paging import PageRequest
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.features.facts import manage
from memorybase.features.facts.queries.facts import FactState
from memorybase.features.facts.recall import FactHit, FactQuery

router = APIRouter(include_in_schema=False)

STATES: dict[str, FactState] = {"current": "current", "superseded": "superseded", "all": "all"}
FOUND = 20  # of a search
MAX_QUESTION_CHARS = 1_000


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    asked = visit.request.query_params
    question, state = asked.get("q", "").strip()[:MAX_QUESTION_CHARS], STATES.get(asked.get("state", ""), "current")
    status = await visit.read(manage.get_distillation, memory.id)
    page = await visit.read(
        manage.list_facts, memory.id, PageRequest(size=50, cursor=asked.get("cursor") or None), state=state
    )
    found: list[FactHit] = []
    if question:
        query = FactQuery(query=question, base_ids=[memory.id], top_k=FOUND)
        found = await visit.read(manage.search_facts, query)
    return await memory_page(
        visit,
        "memory_facts.html",
        memory,
        "facts",
        distillation=status,
        facts=page,
        found=found,
        question=question,
        fact_state=state,
        next_url=_next(memory.id, state, page.next_cursor),
    )


PAGES = Pages(router=router, memory_tab=MemoryTab("facts", "Facts", show))


def _next(base_id: UUID, state: str, cursor: str | None) -> str:
    return address(f"/memories/{base_id}", tab="facts", state=state, cursor=cursor) if cursor else ""


@router.post("/memories/{memory_base_id}/distillation")
async def set_distillation(visit: Visitor, memory_base_id: UUID, on: Annotated[bool, Form()]) -> Response:
    await visit.write(manage.set_distillation, memory_base_id, enabled=on)
    notice = "Facts are derived from what is ingested from now on." if on else "No more facts are derived."
    return visit.done(f"/memories/{memory_base_id}?tab=facts", notice)


@router.post("/memories/{memory_base_id}/facts/delete")
@recorded_as("delete_fact")
async def delete_fact(visit: Visitor, memory_base_id: UUID, fact: Annotated[UUID, Form()]) -> Response:
    await visit.write(manage.delete_fact, memory_base_id, fact)
    return visit.done(f"/memories/{memory_base_id}?tab=facts", "The fact was deleted. Its messages stay.")
