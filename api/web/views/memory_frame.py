"""The frame of a memory's tabs: its name, state, actions and tabs."""

from __future__ import annotations

from typing import Any

from fastapi.responses import Response

from api.web.extension import memory_tabs
from api.web.memory_state import state_of
from api.web.rendering import address, plural
from api.web.visits import Visit
from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.models import JobState
from memorybase.core.queries.base_sessions import BaseSessionQuery, SessionState
from memorybase.core.queries.job_lists import JobFilter
from memorybase.core.read_models import jobs, memory_bases, sessions
from memorybase.core.read_models.memory_bases import MemoryBaseView

COUNTED_SESSIONS = 5_000  # of a larger flow the waiting sessions are not counted with every look


async def status_values(visit: Visit, memory: MemoryBaseView) -> dict[str, Any]:
    """What memory_status.html shows. `waiting`: sessions that a sync would start; None if they are not counted."""
    building = (await visit.read(memory_bases.get_generations, memory.id)).building
    waiting: int | None = 0
    if memory.pending_messages and building is None:
        waiting = None
        if memory.sessions <= COUNTED_SESSIONS:
            pending = BaseSessionQuery(state=SessionState.PENDING)
            waiting = (await visit.read(memory_bases.list_base_sessions, memory.id, PageRequest(size=1), pending)).total
    held = await _held(visit, memory) if memory.pending_messages else None
    return {"memory": memory, "state": state_of(memory), "building": building, "waiting": waiting, "held": held}


async def _held(visit: Visit, memory: MemoryBaseView) -> tuple[str, str] | None:
    """What messages wait for while the memory has jobs, in words, and where these jobs are listed."""
    of_memory = address("/jobs", tab="running", memory=str(memory.id))
    one = PageRequest(size=1)
    running = (await visit.read(jobs.list_jobs, JobFilter(memory_base_id=memory.id, state=JobState.RUNNING), one)).total
    queued = (await visit.read(jobs.list_jobs, JobFilter(memory_base_id=memory.id, state=JobState.QUEUED), one)).total
    waits = f"{plural(queued, 'job')} {'is' if queued == 1 else 'are'} queued" if queued else ""
    if running:
        return f"{plural(running, 'job')} {'runs' if running == 1 else 'run'}{waits and ', '}{waits}", of_memory
    if not queued:
        return None
    first = await visit.read(jobs.holding_job)
    if first is None or first.memory_base_id == memory.id:
        return waits, of_memory
    return f"{waits} behind a job of {first.memory_base_name}", address("/jobs", tab="running")


async def memory_page(visit: Visit, template: str, memory: MemoryBaseView, tab: str, **values: Any) -> Response:
    """A tab's page. The template extends memory.html and fills its block `tab`."""
    flow = await visit.read(sessions.get_flow, memory.flow_id)
    status = await status_values(visit, memory)
    stores = visit.services.settings.known_vector_stores
    return visit.page(
        template,
        place="memories",
        title=memory.name,
        flow=flow,
        tab=tab,
        tabs=_tabs(),
        stores=stores,
        **status,
        **values,
    )


def sentence(error: errors.MemorybaseError) -> str:
    """The message of an error, as a sentence."""
    return error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."


def _tabs() -> list[tuple[str, str]]:
    """Names and labels."""
    of_features = [(tab.name, tab.label) for tab in memory_tabs()]
    return [
        ("overview", "Overview"),
        ("messages", "Messages"),
        *of_features,
        ("settings", "Settings"),
    ]
