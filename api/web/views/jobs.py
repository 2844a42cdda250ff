"""Jobs: what failed, by cause and text, to retry or discard; what runs; all jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.job_words import details_of
from api.web.views.memory_frame import sentence
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.memory_bases import dead_letters, job_actions, regenerate
from memorybase.core.memory_bases.dead_letters import DeadLetterAction, DeadLetterResult
from memorybase.core.messages import message_text
from memorybase.core.models import JobState
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.queries.job_lists import JobAction, JobFilter
from memorybase.core.queries.memory_base_lists import MemoryBaseQuery
from memorybase.core.read_models import dead_letters as groups
from memorybase.core.read_models import jobs as work
from memorybase.core.read_models import memory_bases, titles

router = APIRouter(include_in_schema=False)

PAGE = 50
MEMORIES_OFFERED = 200
CAUSES = {
    "text_rejected": "The model gave no valid vector",
    "vector_rejected": "The vector store refused the vector",
    "worker_lost": "The worker crashed on the message",
    "unexpected": "An unexpected error",
}
FEW = 10  # results that are shown without being asked for
KINDS = {"ingest": "Ingest", "repair": "Repair", "regenerate": "Rebuild"}
TABS = {"problems": "jobs_problems.html", "running": "jobs_table.html", "all": "jobs_table.html"}


@router.get("/jobs")
async def jobs(visit: Visitor) -> Response:
    bases = await visit.read(
        memory_bases.list_memory_bases,
        PageRequest(size=MEMORIES_OFFERED),
        MemoryBaseQuery(order="name", without_planned=True),
    )
    values = await _values(visit)
    return visit.page("jobs.html", place="jobs", title="Jobs", memories=bases.items, version="", **values)


@router.get("/jobs/part")
async def part(visit: Visitor) -> Response:
    """The open tab alone, live."""
    values = await _values(visit)
    return visit.live(TABS[values["tab"]], **values)


@router.post("/jobs/dead-letters")
async def act(
    visit: Visitor,
    action: Annotated[Literal["retry", "discard", "discard-now"], Form()],
    memory: Annotated[UUID | None, Form()] = None,
    cause: Annotated[str, Form()] = "",
    alike: Annotated[list[UUID] | None, Form()] = None,
) -> Response:
    """Retry, ask before discarding, or discard: those of a cause, or those alike to the chosen ones."""
    chosen = alike or []
    wanted = DeadLetterFilter(memory_base_id=memory, cause=cause or None, alike=chosen)
    values: dict[str, Any] = {"memory": memory or "", "cause": cause, "alike": chosen, "causes": CAUSES}
    if action == "discard":
        found = await visit.read(groups.group_dead_letters, wanted)
        return _answer(visit, "jobs_discard.html", messages=found.messages, **values)
    done = await visit.write(
        dead_letters.act_on_dead_letters,
        DeadLetterAction.DISCARD if action == "discard-now" else DeadLetterAction.RETRY,
        wanted,
    )
    return _answer(
        visit,
        "jobs_results.html",
        action=done.action,
        remaining=done.remaining,
        done=len(done.results),
        **values,
        **await _outcomes(visit, _pairs(done.results)),
    )


@router.post("/jobs/dead-letters/results")
async def results(visit: Visitor, pair: Annotated[list[str], Form()]) -> Response:
    """What became of those that were retried, live."""
    ids = [(_uuid(letter), _uuid(message)) for letter, _, message in (each.partition(":") for each in pair)]
    pairs = [(letter, message) for letter, message in ids if letter is not None and message is not None]
    return visit.fragment("jobs_outcomes.html", **await _outcomes(visit, pairs))


@router.post("/jobs/cancel")
async def cancel(
    visit: Visitor,
    job: Annotated[list[UUID] | None, Form()] = None,
    only: Annotated[UUID | None, Form()] = None,
) -> Response:
    """Cancel the chosen jobs, with a result for each; or the one whose button it is."""
    outcomes: list[tuple[work.JobView | None, str]] = []
    for job_id in [only] if only is not None else (job or [])[:PAGE]:
        try:
            found = await visit.read(work.get_job, job_id)
            await visit.write(regenerate.cancel_job, job_id)
        except errors.CallerError as error:
            outcomes.append((None, sentence(error)))
        else:
            outcomes.append((found, "Cancelled. Its messages wait again."))
    named = [(each.flow_id, each.session_id) for each, _ in outcomes if each]
    return _answer(
        visit, "jobs_cancelled.html", outcomes=outcomes, titles=await visit.read(titles.session_titles, named)
    )


@router.post("/jobs/retry")
async def retry(visit: Visitor, memory: Annotated[UUID | None, Form()] = None) -> Response:
    """Run the jobs now that wait after an outage; the next ones follow by themselves."""
    wanted = JobFilter(memory_base_id=memory)
    done = await visit.write(job_actions.act_on_jobs, JobAction.RETRY, wanted)
    return _answer(visit, "jobs_retried.html", done=done, memory=memory or "")


def _answer(visit: Visit, template: str, **values: Any) -> Response:
    """A part of the page, or without JavaScript a page around it."""
    if visit.is_fragment:
        return visit.fragment(template, **values)
    return visit.page("jobs_answer.html", place="jobs", title="Jobs", inner=template, **values)


def _pairs(found: Sequence[DeadLetterResult]) -> list[tuple[UUID, UUID]]:
    return [(each.id, each.message_id) for each in found if each.message_id is not None]


async def _outcomes(visit: Visit, pairs: Sequence[tuple[UUID, UUID]]) -> dict[str, Any]:
    found = await visit.read(groups.outcomes, pairs)
    counts = {name: sum(each.outcome == name for each in found) for name in ("retrying", "searchable", "failed")}
    named = {(each.message.flow_id, each.message.session_id) for each in found if each.message is not None}
    return {
        "pairs": pairs,
        "outcomes": found,
        "few": FEW,
        "counts": counts,
        "text_of": message_text,
        "titles": await visit.read(titles.session_titles, named),
    }


@dataclass(frozen=True, slots=True)
class Listed:
    """The jobs that a tab lists, and how many run and wait."""

    jobs: list[work.JobView]
    total: int
    following: str | None
    running: int
    queued: int


async def _values(visit: Visit) -> dict[str, Any]:
    asked = visit.request.query_params
    tab = asked.get("tab", "")
    tab = tab if tab in TABS else "problems"
    memory, cause = _uuid(asked.get("memory", "")), asked.get("cause") or None
    state, cursor = asked.get("state", ""), asked.get("cursor") or None
    found = await visit.read(groups.group_dead_letters, DeadLetterFilter(memory_base_id=memory, cause=cause))
    wanted = JobFilter(memory_base_id=memory, state=JobState(state) if state in set(JobState) else None)
    listed = await _listed(visit, wanted, PageRequest(size=PAGE, cursor=cursor) if tab == "all" else None)
    ids = [each.id for each in listed.jobs if each.state == JobState.RUNNING]
    workers = await visit.read(work.workers_of, ids) if ids and visit.may("admin") else {}
    kept = [(name, value) for name, value in asked.items() if name not in {"seen", "cursor"} and value]
    failing = (text.example.message for group in found.causes for text in group.texts)
    named = {(each.flow_id, each.session_id) for each in (*listed.jobs, *failing) if each is not None}
    now = datetime.now(UTC)
    return {
        "tab": tab,
        "memory": str(memory or ""),
        "cause": cause or "",
        "state": state,
        "found": found,
        "causes": CAUSES,
        "running": listed.running,
        "queued": listed.queued,
        "details": {each.id: details_of(each, workers.get(each.id), listed.running, now) for each in listed.jobs},
        "listed": listed.jobs,
        "total": listed.total,
        "following": listed.following,
        "cursor": cursor or "",
        "kept": urlencode(kept),
        "kinds": KINDS,
        "text_of": message_text,
        "titles": await visit.read(titles.session_titles, named),
    }


async def _listed(visit: Visit, wanted: JobFilter, page: PageRequest | None) -> Listed:
    """A page of the jobs that match; without one the running and the queued ones of the memory base."""
    running, queued = [
        await visit.read(work.list_jobs, replace(wanted, state=state), PageRequest(size=PAGE))
        for state in (JobState.RUNNING, JobState.QUEUED)
    ]
    if page is None:
        active = [*running.items, *queued.items]
        return Listed(active, running.total + queued.total, None, running.total, queued.total)
    found = await visit.read(work.list_jobs, wanted, page)
    return Listed(found.items, found.total, found.next_cursor, running.total, queued.total)


def _uuid(value: str) -> UUID | None:
    """For what is only shown: an action would take everything instead."""
    try:
        return UUID(value)
    except ValueError:
        return None
