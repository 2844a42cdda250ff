"""Home: what needs a person, what was captured and is ingested, the flows, the latest runs, the parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web import timeline
from api.web.badges import Badge
from api.web.calls import without_content
from api.web.extension import Fixes, problem_pages
from api.web.memory_state import state_of
from api.web.rendering import plural
from api.web.views import first_minute
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.ingestion import flush
from memorybase.core.memory_bases import dead_letters, manage, regenerate
from memorybase.core.memory_bases.dead_letters import DeadLetterAction
from memorybase.core.operations import health, stack_parts
from memorybase.core.operations.problems import FixAction, Problems, problems
from memorybase.core.operations.stack_parts import PartView
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.read_models import jobs as work
from memorybase.core.read_models import overview as overviews
from memorybase.core.read_models import titles
from memorybase.core.read_models.jobs import JobView
from memorybase.core.read_models.latest_runs import LatestRun
from memorybase.core.read_models.onboarding import onboarding
from memorybase.core.read_models.overview import Overview, OverviewBucket, Window
from memorybase.core.services import Services

router = APIRouter(include_in_schema=False)
Result = TypeVar("Result")

WINDOWS = {Window.HOUR: "1 h", Window.DAY: "24 h", Window.WEEK: "7 d"}
CHART_TITLES = {
    Window.HOUR: "Messages, by 5 minutes",
    Window.DAY: "Messages by hour",
    Window.WEEK: "Messages, by 6 hours",
}
SPANS = {Window.HOUR: "five minutes", Window.DAY: "hour", Window.WEEK: "six hours"}  # of a bar
KINDS = {"searchable": "Ingested", "waiting": "Waiting", "failed": "Failed", "lost": "Lost", "other": "History only"}


@router.get("/")
async def home(visit: Visitor, window: str = "", guide: str = "") -> Response:
    if guide == "off":
        return first_minute.leave(visit)
    chosen = _window(window)
    seen, found, outlook = await asyncio.gather(
        _or_none(visit, problems, visit.deadlines.part), _or_none(visit, overviews.overview, chosen), _outlook(visit)
    )
    begins, is_open = found is not None and first_minute.begins(visit, found), first_minute.is_open(visit)
    steps = await _or_none(visit, onboarding) if begins or is_open else None
    if begins and steps is not None and not steps.captured:  # the overview may be of before the first run
        return first_minute.enter(visit)
    values = await _overview_values(visit, found, chosen)
    outlook["held"] = await _held(visit, seen)
    return visit.page(
        "home.html",
        place="home",
        title="Home",
        seen=seen,
        pages=problem_pages(),
        steps=steps if is_open else None,
        version="",
        **outlook,
        **values,
    )


@router.get("/home/problems")
@without_content
async def live_problems(visit: Visitor) -> Response:
    seen, outlook = await asyncio.gather(_or_none(visit, problems, visit.deadlines.part), _outlook(visit))
    return visit.live("home_problems.html", seen=seen, pages=problem_pages(), held=await _held(visit, seen), **outlook)


@router.get("/home/overview")
async def live_overview(visit: Visitor, window: str = "") -> Response:
    chosen = _window(window)
    found = await _or_none(visit, overviews.overview, chosen)
    return visit.live("home_overview.html", **await _overview_values(visit, found, chosen))


@router.get("/home/parts")
@without_content
async def live_parts(visit: Visitor) -> Response:
    return visit.live("home_parts.html", parts=await _or_none(visit, _parts, visit.deadlines.part))


@router.get("/alert")
@without_content
async def alert(visit: Visitor) -> Response:
    """The bar on every page; Home shows the problems themselves."""
    shown = urlsplit(visit.request.headers.get("hx-current-url", "")).path.rstrip("/")
    seen = await _or_none(visit, problems, visit.deadlines.part)
    return visit.fragment("alert.html", seen=seen, is_home=shown == visit.root)


@router.post("/fix")
async def fix(visit: Visitor, action: Annotated[FixAction, Form()]) -> Response:
    """What a button beside a problem does, with what it is about: a memory, a job, something of a feature."""
    form = await visit.request.form()
    for fixes in (*_OWN_FIXES, *problem_pages().values()):
        if fixes.about in form and action in fixes.actions:
            return visit.done("/", await fixes.actions[action](visit, _uuid(fixes.about, form[fixes.about])))
    raise errors.InvalidRequest("action must be one of the buttons of a problem", field="action", value=action)


def _uuid(name: str, sent: object) -> UUID:
    try:
        return UUID(str(sent))
    except ValueError as error:
        raise errors.InvalidRequest(f"{name} must be a UUID", field=name, value=sent) from error


async def _rebuild(visit: Visit, base_id: UUID) -> str:
    try:
        await visit.write(regenerate.regenerate, base_id)
    except errors.BuildActive:
        return "It is being rebuilt already."
    return "The rebuild has started. Searches work again as it completes."


async def _retry(visit: Visit, base_id: UUID) -> str:
    wanted = DeadLetterFilter(memory_base_id=base_id)
    done = await visit.write(dead_letters.act_on_dead_letters, DeadLetterAction.RETRY, wanted)
    rest = f" Retry again for the other {done.remaining:,}." if done.remaining else ""
    return f"{plural(len(done.results), 'message')} retried.{rest}"


async def _sync(visit: Visit, base_id: UUID) -> str:
    try:
        done = await visit.write(flush.flush, base_id)
    except errors.IngestionActive:
        return "It is ingesting already."
    except errors.MemoryBasePaused:
        return "It is paused. Resume it first."
    return f"{plural(len(done.jobs) + done.deferred, 'session')} being ingested."


async def _turn_on(visit: Visit, base_id: UUID) -> str:
    await visit.write(manage.update_memory_base, base_id, {"auto_capture": True})
    return "Auto-capture is on. What waits is ingested with the next captures, or by Ingest now."


async def _resume(visit: Visit, base_id: UUID) -> str:
    await visit.write(manage.update_memory_base, base_id, {"paused": False})
    return "It is resumed. What waits is ingested within seconds."


async def _cancel(visit: Visit, job_id: UUID) -> str:
    await visit.write(regenerate.cancel_job, job_id)
    return "The job is cancelled. What it was to ingest waits for the next capture, or for Ingest now."


_OWN_FIXES = (
    Fixes(about="job_id", actions={FixAction.CANCEL: _cancel}),
    Fixes(
        about="memory_base_id",
        actions={
            FixAction.REBUILD: _rebuild,
            FixAction.RETRY: _retry,
            FixAction.SYNC: _sync,
            FixAction.TURN_ON: _turn_on,
            FixAction.RESUME: _resume,
        },
    ),
)


async def _or_none(visit: Visit, function: Callable[..., Result], *args: Any) -> Result | None:
    """The result, or None if the database does not answer in time."""
    try:
        return await visit.within(visit.deadlines.home, function, *args)
    except (TimeoutError, errors.EnvironmentFailure):
        return None


async def _held(visit: Visit, seen: Problems | None) -> dict[UUID, tuple[JobView, str]]:
    """The jobs that problems are about, with the title of the session of each."""
    found: dict[UUID, tuple[JobView, str]] = {}
    for job_id in [each.job_id for each in seen.problems if each.job_id is not None] if seen else ():
        try:
            job = await visit.within(visit.deadlines.home, work.get_job, job_id)
            named = await visit.within(visit.deadlines.home, titles.session_titles, [(job.flow_id, job.session_id)])
        except (TimeoutError, errors.EnvironmentFailure, errors.NotFound):
            continue
        found[job_id] = (job, titles.title_of(named, job.flow_id, job.session_id))
    return found


async def _outlook(visit: Visit) -> dict[str, Any]:
    """`waiting`: messages of the last day that are not ingested yet. `backlog`: what of all is due."""
    found = await _or_none(visit, overviews.overview, Window.DAY)
    waiting = found.waiting + found.failed + found.lost if found else 0
    return {"waiting": waiting, "backlog": await _or_none(visit, health.backlog) if waiting else None}


def _parts(services: Services, _user_id: UUID, seconds: float) -> list[PartView]:
    return stack_parts.part_views(services, seconds=seconds)


def _window(text: str) -> Window:
    return Window(text) if text in set(Window) else Window.DAY


async def _overview_values(visit: Visit, found: Overview | None, window: Window) -> dict[str, Any]:
    """What the template of the overview shows."""
    values: dict[str, Any] = {"window": window.value, "windows": WINDOWS, "chart_title": CHART_TITLES[window]}
    if found is None:
        return values | {"found": None}
    counted = found.searchable + found.waiting + found.failed + found.lost
    top = max([1, *(sum(_amounts(bucket).values()) for bucket in found.buckets)])
    runs = [run.run_id for run in found.latest_runs]
    return values | {
        "found": found,
        "written_at": await _or_none(visit, titles.runs_written_at, runs) or {},
        "share": None if not counted else 100 * found.searchable / counted,
        "columns": [(f"{bucket.at.day} {bucket.at:%b %H:%M} UTC", _amounts(bucket)) for bucket in found.buckets],
        "kinds": {kind: KINDS[kind] for kind in KINDS if any(_amounts(bucket)[kind] for bucket in found.buckets)},
        "top": top,
        "filled": sum(any(_amounts(bucket).values()) for bucket in found.buckets),
        "span": SPANS[window],
        "run_state": _run_state,
        "state_of": state_of,
    }


def _amounts(bucket: OverviewBucket) -> dict[str, int]:
    return {kind: getattr(bucket, kind) for kind in KINDS}


def _run_state(run: LatestRun) -> Badge:
    if run.state is SearchState.WAITING:
        return Badge(
            "waiting", f"Waiting: {run.pending:,} of {run.threshold:,}" if run.threshold else "Waits for Ingest now"
        )
    return timeline.of_run(run.state, run.searchable_after_seconds)
