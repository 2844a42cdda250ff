"""A memory's overview: its sessions with find, state and person, and actions on the chosen ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.badges import EMPTY, SEARCH_STATES, Badge
from api.web.memory_state import state_of
from api.web.views.conversations import delete_sessions
from api.web.views.memory_frame import memory_page
from api.web.visits import Visit, Visitor
from memorybase.core.database.paging import Page, PageRequest
from memorybase.core.ingestion import flush
from memorybase.core.ingestion.flush import FlushResult
from memorybase.core.queries.base_sessions import BaseSessionQuery, SessionState
from memorybase.core.queries.coverage import SearchState
from memorybase.core.read_models import memory_bases, titles
from memorybase.core.read_models.memory_bases import BaseSessionView, MemoryBaseView
from memorybase.core.sessions.bulk import Chosen

router = APIRouter(include_in_schema=False)

PAGE = 50
STATES = {
    SessionState.PENDING: SEARCH_STATES[SearchState.WAITING],
    SessionState.INGESTING: SEARCH_STATES[SearchState.INGESTING],
    SessionState.FAILED: SEARCH_STATES[SearchState.FAILED],
    SessionState.SYNCED: SEARCH_STATES[SearchState.SEARCHABLE],
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action did with one session."""

    session_id: str
    badge: Badge


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    values = await _list(visit, memory)
    return await memory_page(visit, "memory_overview.html", memory, "overview", version="", **values)


@router.get("/memories/{memory_base_id}/sessions")
async def sessions_list(visit: Visitor, memory_base_id: UUID) -> Response:
    """The list alone, live."""
    memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
    return visit.live("memory_sessions.html", memory=memory, **await _list(visit, memory))


@router.post("/memories/{memory_base_id}/sessions")
async def act(
    visit: Visitor,
    memory_base_id: UUID,
    action: Annotated[str, Form()],
    session: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """Sync or delete the chosen sessions. Without JavaScript an answer is a page, with it a part of one."""
    memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
    chosen = session or []
    outcomes: list[Outcome] = []
    if action == "sync" and chosen:
        outcomes = _synced(await visit.write(flush.flush_sessions, memory.id, chosen[: flush.MAX_SESSIONS]), chosen)
    elif action == "delete-now" and chosen:
        planned = [Chosen(memory.flow_id, each) for each in chosen]
        return await delete_sessions(visit, planned, f"/memories/{memory.id}")
    named = await visit.read(titles.session_titles, [(memory.flow_id, each) for each in chosen])
    values: dict[str, Any] = {
        "memory": memory,
        "action": action,
        "chosen": chosen,
        "outcomes": outcomes,
        "titles": named,
    }
    if visit.is_fragment:
        return visit.fragment("memory_session_results.html", **values)
    return visit.page("memory_session_page.html", place="memories", title=memory.name, **values)


def _synced(result: FlushResult, chosen: list[str]) -> list[Outcome]:
    reasons = {job.session_id: Badge("working", "Being ingested") for job in result.jobs}
    reasons |= {each.session_id: Badge("working", "Is being ingested already") for each in result.conflicts}
    words = {"nothing_pending": "Nothing waits", "not_found": "No longer exists"}
    reasons |= {each.session_id: Badge("off", words[each.reason]) for each in result.skipped}
    return [Outcome(each, reasons[each]) for each in dict.fromkeys(chosen) if each in reasons]


async def _list(visit: Visit, memory: MemoryBaseView) -> dict[str, Any]:
    """The sessions that the address asks for, with the title of each."""
    asked = visit.request.query_params
    state = asked.get("state", "")
    query = BaseSessionQuery(
        state=SessionState(state) if state in set(SessionState) else None,
        end_user_id=asked.get("person") or None,
        text=asked.get("q", "").strip() or None,
        order="created" if asked.get("sort") == "created" else "recent",
        without_planned=True,
    )
    request = PageRequest(size=PAGE, cursor=asked.get("cursor") or None)
    page: Page[BaseSessionView] = await visit.read(memory_bases.list_base_sessions, memory.id, request, query)
    named = await visit.read(titles.session_titles, [(memory.flow_id, each.session_id) for each in page.items])
    kept = [(name, value) for name, value in asked.items() if name not in {"seen", "cursor", "tab"} and value]
    states = dict(STATES)
    if memory.mismatch:  # whose vectors it lost is not known
        states[SessionState.SYNCED] = state_of(memory).badge
    if memory.paused_at is not None:
        states[SessionState.PENDING] = Badge("off", "Paused")

    def state_of_session(session: BaseSessionView) -> Badge:
        if session.state == SessionState.SYNCED and not session.total_messages:
            return EMPTY
        found = states[session.state]
        waits = session.state == SessionState.PENDING
        return found._replace(text=f"{found.text}: {session.pending_messages}") if waits else found

    return {
        "query": query,
        "sessions": page,
        "titles": named,
        "states": states,
        "state_of": state_of_session,
        "kept": urlencode(kept),
        "cursor": request.cursor or "",
    }
