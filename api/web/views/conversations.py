"""Conversations: sessions, runs and people of all flows or one; many sessions are ingested or deleted at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Form
from fastapi.responses import Response

from api.web import timeline
from api.web.badges import SEARCH_STATES, Badge
from api.web.calls import recorded_as
from api.web.rendering import UNDO_SECONDS, address, inside, plural
from api.web.visits import Visit, Visitor
from memorybase.core import errors, ids
from memorybase.core.database.paging import Page, PageRequest
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.end_users import EndUserOrder
from memorybase.core.queries.runs import RunFilter
from memorybase.core.queries.session_lists import CHUNKS, SessionFilter
from memorybase.core.read_models import end_users, runs, sessions, titles
from memorybase.core.read_models.end_users import EndUserView
from memorybase.core.read_models.runs import RunView
from memorybase.core.read_models.sessions import FlowView, SessionView
from memorybase.core.sessions import bulk, planned_deletion
from memorybase.core.sessions.bulk import Chosen

router = APIRouter(include_in_schema=False)

PATH = "/conversations"
TABS = {"sessions": "Sessions", "runs": "Runs", "people": "People"}
TIMES = {"1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days"}
SPANS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
SYNCED = {
    "active": "A job is ingesting it already",
    "nothing_pending": "Nothing waits",
    "no_memory": "Its flow has no memory",
    "not_found": "There is no such session",
}
FLOWS = 200  # in the list to choose from
MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class Filters:
    """What the address of the list says. A value that it cannot have is left out."""

    tab: str = "sessions"
    flow: str = ""
    person: str = ""
    q: str = ""
    state: str = ""
    since: str = ""
    sort: str = ""
    cursor: str = ""

    @property
    def is_narrow(self) -> bool:
        return bool(self.flow or self.person or self.q or self.state or self.since)

    def url(self, **changes: Any) -> str:
        """The address with these changes, of the first page unless they have a cursor."""
        fields = asdict(self) | {"cursor": ""} | changes
        return address(PATH, **fields | {"tab": "" if fields["tab"] == "sessions" else fields["tab"]})


async def _filters(given: Annotated[Filters, Depends()]) -> Filters:
    is_people = given.tab == "people"
    sort = "" if given.tab == "runs" else "sessions" if is_people else "created"
    return replace(
        given,
        tab=given.tab if given.tab in TABS else "sessions",
        person="" if is_people else given.person.strip(),
        q=given.q.strip()[:MAX_TEXT],
        state=given.state if given.state in set(SearchState) and not is_people else "",
        since=given.since if given.since in TIMES and not is_people else "",
        sort=given.sort if given.sort == sort else "",
    )


Wanted = Annotated[Filters, Depends(_filters)]


@router.get(PATH)
async def conversations(visit: Visitor, filters: Wanted) -> Response:
    flow_id = ids.flow_id(visit.principal.user_id, filters.flow) if filters.flow else None
    flows = (await visit.read(sessions.list_flows, PageRequest(size=FLOWS))).items
    chosen = None if flow_id is None else await visit.read(sessions.get_flow, flow_id)
    found = await _found(visit, filters, flow_id)
    named = {flow.id: flow.name for flow in [*flows, *([chosen] if chosen else [])]}
    unnamed = {item.flow_id for item in found.items if not isinstance(item, EndUserView)} - named.keys()
    named |= {each.id: each.name for each in (await visit.read(sessions.get_flows, unnamed)).values()}
    named_sessions = {(each.flow_id, each.session_id) for each in found.items if not isinstance(each, EndUserView)}
    run_ids = {each.run_id for each in found.items if isinstance(each, RunView)}
    answer = visit.page(
        "conversations.html",
        place="conversations",
        title="Conversations",
        filters=filters,
        found=found,
        flows=flows,
        flow_id=flow_id,
        names=named,
        titles=await visit.read(titles.session_titles, named_sessions),
        written_at=await visit.read(titles.runs_written_at, run_ids),
        looked_through=f"{sum(CHUNKS):,}",
        filter_chips=_chips(visit.root, filters, chosen),
        tabs_of=[(name, text, visit.root + filters.url(tab=name, sort="")) for name, text in TABS.items()],
        state_of=_state_of,
        times=TIMES,
    )
    if visit.is_fragment:  # the browser's address: without the empty fields of the form
        answer.headers["HX-Push-Url"] = visit.root + filters.url(cursor=filters.cursor)
    return answer


def _state_of(run: RunView) -> Badge:
    return timeline.of_run(run.state, run.searchable_after_seconds)


async def _found(
    visit: Visit, filters: Filters, flow_id: UUID | None
) -> Page[SessionView] | Page[RunView] | Page[EndUserView]:
    request = PageRequest(cursor=filters.cursor or None)
    state = SearchState(filters.state) if filters.state else None
    since = datetime.now(UTC) - SPANS[filters.since] if filters.since else None
    text, person = filters.q or None, filters.person or None
    if filters.tab == "people":
        order: EndUserOrder = "sessions" if filters.sort else "recent"
        return await visit.read(end_users.list_end_users, request, flow_id=flow_id, text=text, order=order)
    if filters.tab == "runs":
        wanted = RunFilter(flow_id=flow_id, end_user_id=person, text=text, state=state, since=since)
        return await visit.read(runs.list_runs, wanted, request)
    sorted_ = SessionFilter(flow_id, person, text, state, since, None, "created" if filters.sort else "recent", True)
    return await visit.read(sessions.list_sessions, sorted_, request)


def _chips(root: str, filters: Filters, flow: FlowView | None) -> list[tuple[str, str, str]]:
    """Of each filter: its name, its value, the address without it."""
    values = {
        "flow": ("Flow", "" if flow is None else flow.name),
        "person": ("Person", filters.person),
        "q": ("Text", filters.q),
        "state": ("State", SEARCH_STATES[SearchState(filters.state)].text if filters.state else ""),
        "since": ("Captured", TIMES.get(filters.since, "")),
    }
    return [(name, value, root + filters.url(**{key: ""})) for key, (name, value) in values.items() if value]


# Many sessions at once


def _chosen(visit: Visit, values: list[str]) -> list[Chosen]:
    """Of the checkboxes: the flow's UUID, a slash, the session's id."""
    parts = [value.partition("/") for value in values]
    return [Chosen(ids.flow_id(visit.principal.user_id, flow), session) for flow, _, session in parts if session]


@router.post(f"{PATH}/sync")
async def sync(visit: Visitor, s: Annotated[list[str], Form()], back: Annotated[str, Form()] = PATH) -> Response:
    """Show what was queued for each session, and then how far each one is."""
    results = await visit.write(bulk.sync_sessions, _chosen(visit, s))
    named = await visit.read(
        titles.session_titles, [(each.session.flow_id, each.session.session_id) for each in results]
    )
    return visit.page(
        "conversations_sync.html",
        place="conversations",
        title="Ingest sessions",
        values=s,
        back=inside(back, PATH),
        results=results,
        words=SYNCED,
        rows=await _states(visit, s),
        titles=named,
    )


@router.post(f"{PATH}/progress")
async def progress(visit: Visitor, s: Annotated[list[str], Form()]) -> Response:
    rows = await _states(visit, s)
    named = await visit.read(titles.session_titles, [(flow_id, session_id) for flow_id, session_id, _ in rows])
    return visit.fragment("conversations_progress.html", values=s, rows=rows, titles=named)


async def _states(visit: Visit, values: list[str]) -> list[tuple[UUID, str, SearchState | None]]:
    return await visit.read(sessions.states_of, _chosen(visit, values))


@router.post(f"{PATH}/delete")
@recorded_as("delete_session")
async def delete(visit: Visitor, s: Annotated[list[str], Form()], back: Annotated[str, Form()] = PATH) -> Response:
    return await delete_sessions(visit, _chosen(visit, s), inside(back, PATH))


async def delete_sessions(visit: Visit, chosen: list[Chosen], back: str) -> Response:
    """Plan the deletion; the page at `back` offers the undo."""
    planned = await visit.write(planned_deletion.plan_sessions, chosen)
    notice = f"{plural(len(planned.sessions), 'session')} will be deleted in {UNDO_SECONDS} s."
    if planned.missing:
        notice += f" {plural(len(planned.missing), 'session')} did not exist: {', '.join(planned.missing[:3])}."
    undo = address(f"{PATH}/undo", batch=planned.batch_id, back=back) if planned.sessions else ""
    return visit.done(back, notice, undo=undo)


@router.post(f"{PATH}/undo")
async def undo(visit: Visitor, batch: UUID, back: str = PATH) -> Response:
    try:
        kept = await visit.write(planned_deletion.undo, batch)
    except errors.NotFound:
        return visit.done(inside(back, PATH), "It is too late to undo: the sessions are deleted.")
    return visit.done(inside(back, PATH), f"{plural(kept, 'session')} kept.")
