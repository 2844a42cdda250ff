"""Memory bases: create, read, change, flush, regenerate, compare with the vector store, delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints
from sqlalchemy.orm import Session as OrmSession

from api import waiting
from api.admission import Work, admission_of
from api.deps import BaseNamed, FlowFilter, FlowId, MemoryBaseId, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.idempotency import keeping
from api.key_limits import BASE_IN_PATH, FLOW_IN_PATH, FLOW_IN_QUERY, Rule, end_user_in, flow_in, memory_base_in
from api.locations import location
from api.memory_base_schemas import (
    DECIDED_BY_SERVER,
    FlushBody,
    MemoryBaseBody,
    MemoryBaseChanges,
    MemoryBaseSettings,
    RegenerateBody,
)
from api.operations import operation
from api.routes.flows import deleted
from api.schemas import (
    CONFLICT,
    MAX_WAIT_SECONDS,
    Accepted,
    Identifier,
    Moment,
    Regeneration,
    Repairs,
    SentUuid,
    Stored,
)
from api.search_schemas import WeightsBody
from memorybase.core import caveats, ids
from memorybase.core.auth.api_keys import Principal
from memorybase.core.database.paging import Page
from memorybase.core.ingestion import flush
from memorybase.core.ingestion.flush import FlushResult, JobBrief
from memorybase.core.memory_bases import consistency, dead_letters, deletion, manage, regenerate
from memorybase.core.memory_bases.regenerate import RegenerateResult
from memorybase.core.models import ID_LENGTH, JobState
from memorybase.core.queries.base_sessions import BaseSessionQuery, SessionState
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.queries.job_lists import JobFilter
from memorybase.core.queries.memory_base_lists import MemoryBaseOrder, MemoryBaseQuery, MemoryBaseStatus
from memorybase.core.queries.session_lists import SessionOrder
from memorybase.core.read_models import activity, memory_bases
from memorybase.core.read_models import jobs as work
from memorybase.core.read_models.activity import Activity
from memorybase.core.read_models.jobs import DeadLetterView, JobView
from memorybase.core.read_models.memory_bases import BaseSessionView, MemoryBaseView
from memorybase.core.search import weights
from memorybase.core.search.weights import StoredWeights, WeightSet, WeightsView
from memorybase.core.services import Services

router = keyed_router("memories")

DeadLetterId = Annotated[SentUuid, Path(description="The UUID of the dead letter.")]
Text = Annotated[Stored, StringConstraints(min_length=1, max_length=ID_LENGTH)]
Wait = Annotated[int, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until the jobs end.")]


class MemoryBaseFilter(BaseModel):
    """Which memory bases to list, and in which order."""

    text: Text | None = Field(
        default=None, description="Only memory bases with this text in their name or in that of their flow."
    )
    auto_capture: bool | None = Field(default=None, description="Only memory bases whose auto-capture is on, or off.")
    status: MemoryBaseStatus | None = Field(default=None, description="Only memory bases with this status.")
    mismatch: bool | None = Field(
        default=None, description="Only memory bases that have lost vectors, or only those that have not."
    )
    dead_letters: bool | None = Field(
        default=None, description="Only memory bases that have dead letters, or only those that have none."
    )
    order: MemoryBaseOrder = Field(
        default="created", description="`created`: oldest first. `recent`: latest first. `name`: by name."
    )


class BaseSessionFilter(BaseModel):
    """Which sessions of a memory base to list, and in which order."""

    state: SessionState | None = Field(default=None, description="Only sessions in this state.")
    end_user_id: Identifier | None = Field(default=None, description="Only sessions of this end user.")
    text: Text | None = Field(
        default=None, description="Only sessions with this text in their id or in that of their end user."
    )
    order: SessionOrder = Field(
        default="created", description="`created`: oldest first. `recent`: latest capture first."
    )


@router.post("/memories", status_code=201, responses=CONFLICT)
@operation(limits=Rule([flow_in("body")]), without_effect=DECIDED_BY_SERVER, once=True)
def create_memory_base(
    body: MemoryBaseBody, services: ServicesDep, caller: Writer, request: Request, response: Response
) -> MemoryBaseView:
    """Create a memory base over a flow's messages. A name or kb_name in use is 409 with `existing_id`."""
    flow_id = ids.flow_id(caller.user_id, body.flow_id)
    new = manage.NewMemoryBase(**body.model_dump() | {"flow_id": flow_id})

    def answer(db: OrmSession, base_id: UUID) -> tuple[MemoryBaseView, dict[str, str]]:
        return memory_bases.base_view(db, services, caller.user_id, base_id), location("memories", base_id)

    base_id = manage.create_memory_base(services, caller.user_id, new, before_commit=keeping(request, 201, answer))
    response.headers.update(location("memories", base_id))
    return memory_bases.get_memory_base(services, caller.user_id, base_id)


@router.put("/flows/{flow_id}/memories/{name}", responses={201: {"model": MemoryBaseView}, **CONFLICT})
@operation(limits=FLOW_IN_PATH)
def put_memory_base(
    flow_id: FlowId,
    name: BaseNamed,
    services: ServicesDep,
    caller: Writer,
    response: Response,
    body: MemoryBaseSettings | None = None,
) -> MemoryBaseView:
    """Create the flow's memory base of this name (201), or find the one it has (200). Nothing of that one is changed: a
    fixed setting that differs is 409, and `warnings` name the others."""
    settings = body or MemoryBaseSettings()
    new = manage.NewMemoryBase(name=name, flow_id=flow_id, **settings.model_dump())
    given = settings.model_dump(exclude_unset=True, exclude_none=True)
    put = manage.put_memory_base(services, caller.user_id, new, given=given)
    if put.created:
        response.status_code = 201
        response.headers.update(location("memories", put.id))
    view = memory_bases.get_memory_base(services, caller.user_id, put.id)
    return replace(view, warnings=(*view.warnings, *(caveats.kept(name, value) for name, value in put.kept.items())))


@router.get("/memories")
@operation(limits=FLOW_IN_QUERY)
def list_memory_bases(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    which: Annotated[MemoryBaseFilter, Query()],
) -> Page[MemoryBaseView]:
    """List memory bases: oldest first, latest first, by name, or the highest priority first."""
    query = MemoryBaseQuery(flow_id, **dict(which))
    return memory_bases.list_memory_bases(services, caller.user_id, page, query)


@router.get("/memories/{memory_base_id}")
@operation(limits=BASE_IN_PATH)
def get_memory_base(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Reader) -> MemoryBaseView:
    """Read a memory base with its progress."""
    return memory_bases.get_memory_base(services, caller.user_id, memory_base_id)


@router.patch("/memories/{memory_base_id}")
@operation(limits=BASE_IN_PATH)
def update_memory_base(
    memory_base_id: MemoryBaseId, body: MemoryBaseChanges, services: ServicesDep, caller: Writer
) -> MemoryBaseView:
    """Change name, threshold, auto_capture, idle_after, retain_days or priority, pause its ingestion or resume it. This
    starts no job."""
    manage.update_memory_base(services, caller.user_id, memory_base_id, body.given())
    return memory_bases.get_memory_base(services, caller.user_id, memory_base_id)


@router.delete("/memories/{memory_base_id}", status_code=204, responses={202: {"model": Accepted}})
@operation(limits=BASE_IN_PATH)
def delete_memory_base(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Writer) -> Response:
    """Delete a memory base and its knowledge base: 204, or 202 while its jobs stop. It is invisible at once."""
    return deleted(deletion.delete_memory_base(services, caller.user_id, memory_base_id))


@router.get("/memories/{memory_base_id}/sessions")
@operation(limits=Rule([memory_base_in("path")], [end_user_in("query")]))
def list_memory_base_sessions(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    which: Annotated[BaseSessionFilter, Query()],
) -> Page[BaseSessionView]:
    """List the sessions of the flow with their progress, tracked or not."""
    query = BaseSessionQuery(**dict(which))
    return memory_bases.list_base_sessions(services, caller.user_id, memory_base_id, page, query)


@router.post("/memories/{memory_base_id}/flush", status_code=202, responses={200: {"model": FlushResult}, **CONFLICT})
@operation(limits=BASE_IN_PATH, work=Work.STREAM)
async def flush_memory_base(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Writer,
    request: Request,
    response: Response,
    body: FlushBody | None = None,
    wait: Wait = 0,
) -> FlushResult:
    """Ingest pending messages of one session, of several or of all, whatever the threshold.

    202 with the jobs; 200 if nothing was pending or all jobs ended within `wait` seconds. With `session_ids` every
    session has a result: a job, a conflict with an active one, or why it was skipped. Without, at most 200 jobs are
    queued at once; `deferred` more sessions are due and get theirs within seconds.
    """
    chosen = body or FlushBody()
    result = await admission_of(request)[Work.CHANGE].run(
        lambda: (
            flush.flush(services, caller.user_id, memory_base_id, chosen.session_id)
            if chosen.session_ids is None
            else flush.flush_sessions(services, caller.user_id, memory_base_id, chosen.session_ids)
        )
    )
    ended = not result.jobs
    if result.jobs and wait:
        result, ended = await _ended(request, services, caller, memory_base_id, result, wait)
    response.status_code = 200 if ended and not result.deferred else 202
    return result


@router.post("/memories/{memory_base_id}/update", status_code=202, responses={200: {"model": FlushResult}, **CONFLICT})
@operation(limits=BASE_IN_PATH, work=Work.STREAM)
async def sync_memory_base(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Writer,
    request: Request,
    response: Response,
    body: FlushBody | None = None,
    wait: Wait = 0,
) -> FlushResult:
    """Ingest what is pending now, as POST /memories/{memory_base_id}/flush does."""
    return await flush_memory_base(memory_base_id, services, caller, request, response, body, wait)


@router.post("/memories/{memory_base_id}/regenerate", status_code=202, responses=CONFLICT)
@operation(limits=BASE_IN_PATH, once=True)
def regenerate_memory_base(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Writer,
    request: Request,
    body: RegenerateBody | None = None,
) -> Regeneration:
    """Rebuild the knowledge base from the stored messages. Searches read the old one until the build is complete."""
    changes = (body or RegenerateBody()).model_dump()
    result = regenerate.regenerate(
        services,
        caller.user_id,
        memory_base_id,
        **changes,
        before_commit=keeping(request, 202, lambda _, result: (_regeneration(result), {})),
    )
    return _regeneration(result)


@router.get("/memories/{memory_base_id}/mismatch")
@operation(limits=BASE_IN_PATH, work=Work.COMPARE)
def check_mismatch(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Reader) -> consistency.Mismatch:
    """Compare the vector store with the ledger, chunk by chunk."""
    return consistency.check_mismatch(services, caller.user_id, memory_base_id)


@router.get("/memories/{memory_base_id}/weights")
@operation(limits=BASE_IN_PATH)
def get_search_weights(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Reader) -> WeightsView:
    """Show the weights of search signals: the defaults, the memory base's own, and its previous ones."""
    return weights.get_weights(services, caller.user_id, memory_base_id)


@router.put("/memories/{memory_base_id}/weights")
@operation(limits=BASE_IN_PATH)
def set_search_weights(
    memory_base_id: MemoryBaseId, body: WeightsBody, services: ServicesDep, caller: Writer
) -> WeightsView:
    """Set the memory base's own weights. Searches use them at once. To undo, set the previous weights."""
    wanted = StoredWeights(
        sets={name: WeightSet(each.bias, each.weights) for name, each in body.sets.items()},
        fitted_at=body.fitted_at,
        questions=body.questions,
        note=body.note,
        half_life_days=body.half_life_days,
    )
    weights.set_weights(services, caller.user_id, memory_base_id, wanted)
    return weights.get_weights(services, caller.user_id, memory_base_id)


@router.delete("/memories/{memory_base_id}/weights", status_code=204)
@operation(limits=BASE_IN_PATH)
def reset_search_weights(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Writer) -> Response:
    """Return to the default weights. The memory base's own become the previous ones."""
    weights.set_weights(services, caller.user_id, memory_base_id, None)
    return Response(status_code=204)


@router.get("/memories/{memory_base_id}/activity")
@operation(limits=BASE_IN_PATH)
def get_activity(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Reader,
    since: Annotated[Moment, Query(description="Start of the time range, inclusive.")],
    until: Annotated[Moment | None, Query(description="Default and maximum: now.")] = None,
    buckets: Annotated[
        int, Query(ge=1, le=activity.MAX_BUCKETS, description="About how many buckets to return.")
    ] = activity.DEFAULT_BUCKETS,
) -> Activity:
    """Count messages captured and ingested over time, with ingestion delays. The window is at most 31 days."""
    return activity.activity(services, caller.user_id, memory_base_id, since=since, until=until, buckets=buckets)


@router.get("/memories/{memory_base_id}/jobs")
@operation(limits=BASE_IN_PATH)
def list_jobs(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    state: Annotated[JobState | None, Query(description="Only jobs in this state.")] = None,
    session_id: Annotated[Identifier | None, Query(description="Only jobs of this session.")] = None,
) -> Page[JobView]:
    """List the jobs of a memory base, newest first."""
    wanted = JobFilter(memory_base_id=memory_base_id, session_id=session_id, state=state)
    return work.list_jobs(services, caller.user_id, wanted, page)


@router.get("/memories/{memory_base_id}/dead-letters")
@operation(limits=BASE_IN_PATH)
def list_dead_letters(
    memory_base_id: MemoryBaseId, services: ServicesDep, caller: Reader, page: PageDep
) -> Page[DeadLetterView]:
    """List messages that could not be embedded, with error and attempts."""
    wanted = DeadLetterFilter(memory_base_id=memory_base_id)
    return work.list_dead_letters(services, caller.user_id, wanted, page)


@router.post("/memories/{memory_base_id}/dead-letters/{dead_letter_id}/retry", status_code=202)
@operation(limits=BASE_IN_PATH)
def retry_dead_letter(
    memory_base_id: MemoryBaseId, dead_letter_id: DeadLetterId, services: ServicesDep, caller: Writer
) -> Repairs:
    """Try again to embed the message of a dead letter."""
    job_ids = dead_letters.retry_dead_letter(services, caller.user_id, memory_base_id, dead_letter_id)
    return Repairs(job_ids=job_ids)


@router.delete("/memories/{memory_base_id}/dead-letters/{dead_letter_id}", status_code=204)
@operation(limits=BASE_IN_PATH)
def discard_dead_letter(
    memory_base_id: MemoryBaseId, dead_letter_id: DeadLetterId, services: ServicesDep, caller: Writer
) -> Response:
    """Discard a dead letter: this memory base skips the message, which stays stored."""
    dead_letters.discard_dead_letter(services, caller.user_id, memory_base_id, dead_letter_id)
    return Response(status_code=204)


def _regeneration(result: RegenerateResult) -> Regeneration:
    jobs = [JobBrief(job.id, job.session_id, JobState(job.state)) for job in result.jobs]
    return Regeneration(generation=result.generation, jobs=jobs)


async def _ended(
    request: Request, services: Services, caller: Principal, base_id: UUID, result: FlushResult, seconds: int
) -> tuple[FlushResult, bool]:
    """Wait until these jobs and their follow-up jobs have ended; their states, and whether all have ended."""
    sessions = [job.session_id for job in result.jobs]
    reading = admission_of(request)[Work.STREAM]
    targets = await reading.run(lambda: work.pending_targets(services, caller.user_id, base_id, sessions))

    def ended(active: dict[str, int] | None) -> bool:
        return active is not None and not work.jobs_pending(active, targets)

    polls = waiting.polls_of(request, work.active_jobs)
    active = await waiting.until(request, polls, base_id, None, ended, seconds=seconds)
    states = await reading.run(lambda: work.job_states(services, [job.id for job in result.jobs]))
    jobs = [replace(job, state=states.get(job.id, job.state)) for job in result.jobs]
    return replace(result, jobs=jobs), ended(active)
