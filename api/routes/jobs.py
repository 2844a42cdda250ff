"""Jobs: list, read, wait for, watch, cancel."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from fastapi import Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, StringConstraints, model_validator

from api import waiting
from api.admission import Work, admission_of
from api.contract.lines import EVENTS, EVENTS_OF_JOB, STREAM_HEADERS
from api.deps import PageDep, Reader, ServicesDep, Writer, check_key, keyed_router
from api.key_limits import Rule, job_in_path, memory_base_in
from api.operations import operation
from api.schemas import CONFLICT, MAX_WAIT_SECONDS, Body, Identifier, Moment, SentUuid, Stored, Until
from memorybase.core import ids
from memorybase.core.database.paging import Page
from memorybase.core.memory_bases import job_actions, regenerate
from memorybase.core.memory_bases.job_actions import AT_ONCE, MAX_AT_ONCE, JobResults
from memorybase.core.models import JobKind, JobState
from memorybase.core.queries.job_lists import JobAction, JobFilter
from memorybase.core.queries.ownership import not_found
from memorybase.core.read_models import jobs
from memorybase.core.read_models.jobs import JobView

CODE_LENGTH = 64


class JobActionBody(Body):
    """An action, and the jobs to apply it to: those that match every field."""

    action: JobAction = Field(
        description="`retry`: run what waits after an outage now. `cancel`: end queued and running jobs; "
        "their messages stay pending."
    )
    ids: Annotated[list[UUID] | None, Field(min_length=1, max_length=MAX_AT_ONCE)] = Field(
        default=None, description="These jobs."
    )
    memory_base_id: UUID | None = Field(default=None, description="Only jobs of this memory base.")
    flow_id: Identifier | None = Field(default=None, description="Only jobs of this flow: its id, or yours.")
    session_id: Identifier | None = Field(default=None, description="Only jobs of this session.")
    error_code: Annotated[Stored, StringConstraints(min_length=1, max_length=CODE_LENGTH)] | None = Field(
        default=None, description="Only jobs whose last attempt ended with this error code."
    )
    since: Moment | None = Field(default=None, description="Only jobs created then or later.")
    until: Until | None = Field(default=None, description="Only jobs created then or earlier.")
    dry_run: bool = Field(default=False, description="Count what matches and change nothing.")
    limit: Annotated[int, Field(ge=1, le=MAX_AT_ONCE)] = Field(
        default=AT_ONCE, description="At most this many, oldest first."
    )

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        fields = (self.ids, self.memory_base_id, self.flow_id, self.session_id, self.error_code, self.since, self.until)
        if self.action is JobAction.CANCEL and all(value is None for value in fields):
            raise ValueError("ids, memory_base_id, flow_id, session_id, error_code, since or until must be given")
        return self


router = keyed_router("jobs")

_JOB = Rule([job_in_path], [])

JobId = Annotated[SentUuid, Path(description="The UUID of the job.")]


@router.get("/jobs")
@operation(limits=Rule([memory_base_in("query")]))
def list_all_jobs(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    memory_base_id: Annotated[UUID | None, Query(description="Only jobs of this memory base.")] = None,
    state: Annotated[JobState | None, Query(description="Only jobs in this state.")] = None,
    kind: Annotated[JobKind | None, Query(description="Only jobs of this kind.")] = None,
    session_id: Annotated[Identifier | None, Query(description="Only jobs of this session.")] = None,
) -> Page[JobView]:
    """List the jobs of all memory bases, newest first."""
    wanted = JobFilter(memory_base_id=memory_base_id, session_id=session_id, state=state, kind=kind)
    return jobs.list_jobs(services, caller.user_id, wanted, page)


@router.post("/jobs/actions")
def act_on_jobs(body: JobActionBody, services: ServicesDep, caller: Writer) -> JobResults:
    """Retry or cancel the jobs that match, oldest first, with a result for each; with `dry_run`, count them.

    A retry runs what waits after an outage now. The messages of a cancelled job stay stored and pending. Repeat the
    call while `remaining` is not 0.
    """
    wanted = JobFilter(
        body.ids,
        body.memory_base_id,
        None if body.flow_id is None else ids.flow_id(caller.user_id, body.flow_id),
        body.session_id,
        body.error_code,
        body.since,
        body.until,
    )
    return job_actions.act_on_jobs(
        services, caller.user_id, body.action, wanted, limit=body.limit, dry_run=body.dry_run
    )


@router.get("/jobs/{job_id}")
@operation(limits=_JOB, work=Work.STREAM)
async def get_job(
    job_id: JobId,
    services: ServicesDep,
    caller: Reader,
    request: Request,
    wait: Annotated[int, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until the job ends.")] = 0,
) -> JobView:
    """Read a job, or wait until it ends."""
    first = await admission_of(request)[Work.STREAM].run(lambda: jobs.get_job(services, caller.user_id, job_id))

    polls = waiting.polls_of(request, jobs.get_jobs)
    last = await waiting.until(request, polls, job_id, first, lambda job: job is None or job.ended, seconds=wait)
    if last is None:
        raise not_found("job", job_id)
    return last


@router.get(
    "/jobs/{job_id}/events",
    response_class=StreamingResponse,
    responses={200: EVENTS_OF_JOB},
)
@operation(limits=_JOB, work=Work.STREAM)
async def watch_job(job_id: JobId, services: ServicesDep, caller: Reader, request: Request) -> StreamingResponse:
    """Stream server-sent events: `job` after each change, `end` with the last state, `unauthorized` if the key was
    revoked."""
    first = await admission_of(request)[Work.STREAM].run(lambda: jobs.get_job(services, caller.user_id, job_id))
    admission_of(request).check_waits()
    events = waiting.job_events(request, first, lambda: check_key(request))
    return StreamingResponse(events, media_type=EVENTS, headers=STREAM_HEADERS)


@router.delete("/jobs/{job_id}", status_code=204, responses=CONFLICT)
@operation(limits=Rule([job_in_path]))
def cancel_job(job_id: JobId, services: ServicesDep, caller: Writer) -> Response:
    """Cancel a job. Its messages stay pending."""
    regenerate.cancel_job(services, caller.user_id, job_id)
    return Response(status_code=204)
