"""Flows, and the capture of their runs."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, Field

from api.admission import Work
from api.deps import (
    FlowFilter,
    FlowId,
    PageDep,
    Reader,
    RunId,
    ServicesDep,
    TextQuery,
    Writer,
    keyed_router,
)
from api.idempotency import keeping, operation_id
from api.key_limits import FLOW_IN_PATH, Rule, end_user_in, flow_in, row_in_path, session_in, without
from api.locations import location
from api.middleware import path_text
from api.operations import operation
from api.schemas import (
    CONFLICT,
    FLOW_ZONE,
    NOT_GIVEN,
    Accepted,
    Body,
    CaptureAnswer,
    CaptureBody,
    FlowBody,
    Identifier,
    Moment,
    Name,
    RetainDays,
    TimeZone,
    Until,
)
from memorybase.core import caveats, ids, messages
from memorybase.core.auth.api_keys import Principal
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.node_executions import NewExecution
from memorybase.core.database.paging import Page
from memorybase.core.described import FLOW_SECRETS
from memorybase.core.ingestion import capture
from memorybase.core.models import ID_LENGTH
from memorybase.core.queries import caller_ids
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.runs import RunFilter
from memorybase.core.read_models import runs, sessions
from memorybase.core.read_models.runs import RunView
from memorybase.core.read_models.sessions import FlowView
from memorybase.core.screening import counting
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import flows
from memorybase.core.settings import SecretRule

router = keyed_router("flows")


class FlowChanges(Body):
    """The fields of a flow to change."""

    name: Annotated[Name, Field(description="The new name.")] = NOT_GIVEN
    retain_days: RetainDays | None = Field(
        default=None, description="Days until what was captured is deleted; null: it is kept."
    )
    standing: Annotated[
        bool,
        Field(
            description="Whether contexts contain the end user's standing statements unless the call says otherwise."
        ),
    ] = NOT_GIVEN
    secrets: Annotated[SecretRule | None, Field(description=FLOW_SECRETS)] = NOT_GIVEN
    time_zone: Annotated[TimeZone, Field(description=FLOW_ZONE)] = NOT_GIVEN


class RunListFilter(BaseModel):
    """Which runs to list."""

    session_id: Identifier | None = Field(default=None, description="Only runs of this session.")
    end_user_id: Identifier | None = Field(default=None, description="Only runs in this end user's sessions.")
    text: TextQuery = Field(default=None, alias="q")
    state: SearchState | None = Field(default=None, description="Only runs in this state.")
    since: Moment | None = Field(
        default=None,
        description="Only runs captured from this time on. Inclusive, like `until`. Without a time zone: UTC.",
    )
    until: Until | None = Field(default=None, description="Only runs captured up to this time.")


@router.post("/flows", status_code=201)
@operation(once=True)
def create_flow(
    body: FlowBody, services: ServicesDep, caller: Writer, request: Request, response: Response
) -> FlowView:
    """Create a flow with a generated id. To choose the id, use PUT /flows/{flow_id}."""
    flow = flows.create_flow(
        services,
        caller.user_id,
        name=body.name,
        time_zone=body.time_zone,
        before_commit=keeping(request, 201, lambda _, flow: (sessions.flow_view(flow), location("flows", flow.id))),
    )
    response.headers.update(location("flows", flow.id))
    return sessions.flow_view(flow)


@router.put("/flows/{flow_id}", responses={201: {"model": FlowView}})
@operation(limits=FLOW_IN_PATH, not_found=False)  # it creates the flow
def put_flow(
    flow_id: Annotated[str, Path(description="A UUID, or any string.", max_length=ID_LENGTH)],
    body: FlowBody,
    services: ServicesDep,
    caller: Writer,
    response: Response,
) -> FlowView:
    """Create a flow with your own id (201), or rename it (200)."""
    given = ids.CallerId.of(caller.user_id, "flow", path_text(flow_id))
    flow, created = flows.put_flow(
        services,
        caller.user_id,
        name=body.name,
        time_zone=body.time_zone,
        flow_id=given.own,
        external_id=given.external_id,
    )
    if created:
        response.status_code = 201
        response.headers.update(location("flows", flow.id))
    return sessions.flow_view(flow)


@router.get("/flows")
@operation(limits=Rule([], []))
def list_flows(services: ServicesDep, caller: Reader, page: PageDep) -> Page[FlowView]:
    """List flows, oldest first. A key that is limited to flows lists these; one that is limited to an end user alone
    lists those with sessions of the end user."""
    return sessions.list_flows(services, caller.user_id, page, caller.limits)


@router.get("/flows/{flow_id}")
@operation(limits=Rule([flow_in("path")], []))
def get_flow(flow_id: FlowId, services: ServicesDep, caller: Reader) -> FlowView:
    """Read a flow."""
    return sessions.get_flow(services, caller.user_id, flow_id)


@router.patch("/flows/{flow_id}")
@operation(limits=FLOW_IN_PATH)
def update_flow(flow_id: FlowId, body: FlowChanges, services: ServicesDep, caller: Writer) -> FlowView:
    """Change a flow. Messages older than the days that it keeps are deleted by the sweeper's next pass."""
    return sessions.flow_view(flows.update_flow(services, caller.user_id, flow_id, body.given()))


@router.delete("/flows/{flow_id}", status_code=204, responses={202: {"model": Accepted}})
@operation(limits=FLOW_IN_PATH, work=Work.BULK)
def delete_flow(flow_id: FlowId, services: ServicesDep, caller: Writer) -> Response:
    """Delete a flow and everything in it: 204, or 202 while its jobs stop. It is invisible at once."""
    return deleted(session_deletion.delete_flow(services, caller.user_id, flow_id))


@router.post(
    "/flows/{flow_id}/runs",
    status_code=201,
    response_model=CaptureAnswer,
    responses={200: {"model": CaptureAnswer}, **CONFLICT},
)
@operation(
    limits=Rule([flow_in("path")], [end_user_in("body"), session_in("body"), without("node_executions")]),
    work=Work.CAPTURE,
    once=True,
)
def capture_run(
    flow_id: FlowId, body: CaptureBody, services: ServicesDep, caller: Writer, request: Request
) -> Response:
    """Capture a run's messages: 201, or 200 if all of them are stored already. Node executions are stored afterwards;
    a failed one is reported in its result and fails nothing else."""
    run = _capture_request(body, caller, operation_id(request))
    executions = _executions(body, caller.user_id)
    with counting() as replaced:
        result = capture.capture(services, caller.user_id, flow_id, run)
        answer = CaptureAnswer.model_validate(result)
        answer.node_executions = node_executions.report_executions(
            services, caller.user_id, flow_id, result.session_id, result.run_id, executions
        )
    answer.warnings = caveats.in_metadata(field for message in run.messages for field in message.undefined)
    answer.warnings += caveats.redacted(replaced)
    # Serialized here, in this thread: FastAPI would validate it again in another thread.
    created = location("flows", flow_id, "runs", result.run_id) if result.created else None
    return _json(answer, 201 if result.created else 200, created)


@router.get("/flows/{flow_id}/runs")
@operation(limits=FLOW_IN_PATH)
def list_runs(flow_id: FlowId, services: ServicesDep, caller: Reader, page: PageDep) -> Page[RunView]:
    """List the runs of a flow, newest first."""
    return runs.list_runs(services, caller.user_id, RunFilter(flow_id), page)


@router.get("/flows/{flow_id}/runs/{run_id}")
@operation(limits=Rule([flow_in("path")], [row_in_path("run")]))
def get_run_of_flow(flow_id: FlowId, run_id: RunId, services: ServicesDep, caller: Reader) -> RunView:
    """Read a run of a flow."""
    return runs.get_run(services, caller.user_id, caller_ids.find(services, run_id, flow_id))


@router.get("/runs")
@operation(limits=Rule([flow_in("query")], [end_user_in("query")]))
def find_runs(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    which: Annotated[RunListFilter, Query()],
) -> Page[RunView]:
    """List the runs of all flows, newest first. With `q` or `state` a page looks through a bounded number of runs:
    `next_cursor` continues even after an empty page."""
    wanted = RunFilter(flow_id, **dict(which))
    return runs.list_runs(services, caller.user_id, wanted, page)


@router.get("/runs/{run_id}")
@operation(limits=Rule([flow_in("query")], [row_in_path("run")]))
def get_run(run_id: RunId, flow_id: FlowFilter, services: ServicesDep, caller: Reader) -> RunView:
    """Read a run. Run ids are unique within their flow; an id of several flows is 409 without `flow_id`."""
    return runs.get_run(services, caller.user_id, caller_ids.find(services, run_id, flow_id))


def deleted(finished: bool) -> Response:
    """204, or 202 if the sweeper finishes the deletion."""
    if finished:
        return Response(status_code=204)
    return _json(Accepted(), 202)


def _json(answer: BaseModel, status_code: int, headers: dict[str, str] | None = None) -> Response:
    return Response(answer.model_dump_json(), status_code=status_code, headers=headers, media_type="application/json")


def _capture_request(body: CaptureBody, caller: Principal, run_id: UUID | None) -> capture.CaptureRequest:
    """`run_id`: for a body without one."""
    return capture.CaptureRequest(
        session_id=body.session_id,
        messages=messages.normalise_all(
            body.messages,
            user_id=caller.user_id,
        ),
        run_id=run_id if body.run_id is None else ids.CallerId.of(caller.user_id, "run", body.run_id),
        end_user_id=body.end_user_id,
        on_conflict=body.on_conflict,
        by=caller.name,
    )


def _executions(body: CaptureBody, user_id: UUID) -> list[NewExecution]:
    """All executions, validated before anything is stored."""
    found: list[NewExecution] = []
    for index, each in enumerate(body.node_executions):
        where = f"node_executions[{index}]"
        given = None if each.id is None else ids.CallerId.of(user_id, "node_execution", each.id, name=f"{where}.id")
        found.append(node_executions.new_execution(user_id, each.model_dump(), where=where, given=given))
    return found
