"""Executions of nodes as runtimes report them: the source of node memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions, errors, messages
from memorybase.core.caveats import Redacted
from memorybase.core.database import clock
from memorybase.core.deletions import OfSession
from memorybase.core.described import CreatedAt, ExternalId, FlowId, Id, NodeId, RunId, SessionId, UpdatedAt
from memorybase.core.ids import CallerId
from memorybase.core.models import NodeExecution
from memorybase.core.queries import caller_ids, memory_uses, runs, sessions
from memorybase.core.queries import node_executions as queries
from memorybase.core.queries.ownership import check_flow, require
from memorybase.core.screening import screen
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

ExecutionStatus = Literal["running", "succeeded", "failed", "exception", "stopped"]
MAX_INDEX = 2**31 - 1
MAX_EXECUTIONS = 200  # in one POST of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class NewExecution:
    """An execution to store; `id` is None if the caller gave none. `index` counts a node's executions in a run."""

    id: CallerId | None = None
    node_id: str
    index: int = 0
    status: ExecutionStatus
    outputs: dict[str, Any]
    few_shots: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class NodeExecutionView:
    """A stored execution."""

    id: Id
    external_id: ExternalId
    flow_id: FlowId
    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    index: Annotated[int, Field(description="Number of this execution among the node's executions in the run.")]
    status: Annotated[str, Field(description="How the execution ended; node memory reads only `succeeded` ones.")]
    outputs: Annotated[dict[str, Any], Field(description="What the node returned.")]
    few_shots: Annotated[list[Any], Field(description="Messages that the node's template puts before its context.")]
    created_at: CreatedAt
    updated_at: UpdatedAt
    warnings: Redacted = ()


@dataclass(frozen=True, slots=True)
class ReportedExecution:
    """The result for an execution that came with its run."""

    id: Annotated[UUID, Field(description="The UUID of the node execution.")]
    node_id: NodeId
    index: Annotated[int, Field(description="Number of this execution among the node's executions in the run.")]
    created: Annotated[bool, Field(description="Whether it is new; false if it was replaced.")]
    error: Annotated[
        str | None,
        Field(exclude_if=lambda value: value is None),
        Field(description="Code of the error if it was not stored; absent otherwise."),
    ] = None


def new_execution(
    user_id: UUID, raw: Mapping[str, Any], *, where: str = "", given: CallerId | None = None
) -> NewExecution:
    """Normalize outputs and few-shots: messages of any accepted shape. Raises InvalidRequest with the field."""
    prefix = f"{where}." if where else ""
    outputs = dict(raw["outputs"])
    messages.check_json(outputs, f"{prefix}outputs")
    text = outputs.get("text")
    if text is not None and not isinstance(text, str):
        raise errors.InvalidRequest("text must be a string", field=f"{prefix}outputs.text")
    if outputs.get("branch") is None:
        outputs.pop("branch", None)  # null means the same as none
    branch = outputs.get("branch")
    if branch is not None and (isinstance(branch, bool) or not isinstance(branch, int | str)):
        raise errors.InvalidRequest("branch must be a whole number or a string", field=f"{prefix}outputs.branch")
    context = outputs.get("context")
    outputs["context"] = _messages(user_id, [] if context is None else context, f"{prefix}outputs.context")
    few_shots = _messages(user_id, raw.get("few_shots") or [], f"{prefix}few_shots")
    size = len(messages.canonical([outputs, few_shots]))
    limit = messages.MAX_MESSAGE_BYTES
    if size > limit:
        raise errors.InvalidRequest(
            f"outputs and few_shots must be at most {limit} bytes (got {size})",
            field=f"{prefix}outputs",
            value=size,
            limit=limit,
        )
    return NewExecution(
        node_id=raw["node_id"],
        index=raw["index"],
        status=raw["status"],
        outputs=outputs,
        few_shots=few_shots,
        id=given,
    )


def put_execution(
    services: Services,
    user_id: UUID,
    flow_id: UUID,
    session_id: str,
    run_id: CallerId | UUID,
    new: NewExecution,
    *,
    past: datetime | None = None,
) -> tuple[NodeExecutionView, bool]:
    """Store an execution, or replace the one with its id; returns whether it is new. The run may be captured later; a
    missing session is created, and a deleted one begins again. `past`: when an imported execution was created; it
    replaces nothing. Raises NotFound for another user's flow, RunConflict for a run of another session,
    DatabaseUnavailable while the session is being deleted."""
    run_id = CallerId.of(user_id, "run", run_id) if isinstance(run_id, UUID) else run_id
    given = {"outputs": new.outputs, "few_shots": new.few_shots}
    screened = screen(services, user_id, flow_id, given)
    new = replace(new, **screened)
    try:
        return _put(services, user_id, flow_id, session_id, run_id, new, past)
    except errors.ConstraintViolated:  # another request stored the same id: now we find it
        return _put(services, user_id, flow_id, session_id, run_id, new, past)


def report_executions(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, run_id: UUID, new: Sequence[NewExecution]
) -> list[ReportedExecution]:
    """Store the executions of a captured run, each in its own transaction: no error may undo the capture."""
    reported: list[ReportedExecution] = []
    for execution in new:
        error = None
        created = False
        try:
            view, created = put_execution(services, user_id, flow_id, session_id, run_id, execution)
            identity = view.id
        except errors.MemorybaseError as failure:
            log.warning("node_execution_not_stored", run_id=str(run_id), error_code=failure.code)
            error = failure.code
            identity = _identity(user_id, run_id, execution).in_flow(flow_id)[0]
        reported.append(ReportedExecution(identity, execution.node_id, execution.index, created, error))
    return reported


def get_execution(services: Services, user_id: UUID, execution_id: UUID) -> NodeExecutionView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return _view(_found(db, user_id, execution_id))


def delete_execution(services: Services, user_id: UUID, execution_id: UUID) -> None:
    """Delete an execution, and redact its outputs in recorded uses; node memory then reads the one before. Raises
    NotFound, Held."""
    with services.database.transaction() as db:
        row = _found(db, user_id, execution_id)
        session = sessions.lock_session(db, row.flow_id, row.session_id)  # nobody records a use of it meanwhile
        if session is not None:
            deletions.check(db, services, user_id, OfSession(session))
        memory_uses.redact_uses(db, row.flow_id, [execution_id])
        db.delete(row)


def _put(
    services: Services,
    user_id: UUID,
    flow_id: UUID,
    session_id: str,
    given_run: CallerId,
    new: NewExecution,
    past: datetime | None,
) -> tuple[NodeExecutionView, bool]:
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        session_uuid = sessions.share_session(db, flow_id, session_id)
        if session_uuid is None:
            session = sessions.open_session(db, flow_id=flow_id, session_id=session_id, end_user_id=None)
            if session.deleted_at is not None:  # it begins again, as with a capture
                sessions.update(db, session, deleted_at=None)
            session_uuid = session.id
        run_id = caller_ids.in_flow(db, flow_id, given_run)  # with the session locked: a capture may store it now
        _check_run(db, flow_id, session_uuid, run_id)
        given = _identity(user_id, run_id, new)
        stored = queries.executions_of_ids(db, given.in_flow(flow_id))
        row = next((each for each in stored.values() if each.flow_id == flow_id), None)
        if row is not None and past is not None:
            return _view(row), False
        now = clock.now(db)
        is_new = row is None
        if row is None:
            row = NodeExecution(id=caller_ids.free(db, flow_id, given, stored), flow_id=flow_id, created_at=past or now)
            row.external_id = None if new.id is None else given.external_id_of(row.id)
            db.add(row)
        row.session_uuid, row.run_id = session_uuid, run_id
        row.node_id, row.index, row.status = new.node_id, new.index, new.status
        row.outputs, row.few_shots, row.updated_at = new.outputs, new.few_shots, now
        db.flush()
        return _view(row), is_new


def _check_run(db: OrmSession, flow_id: UUID, session_uuid: UUID, run_id: UUID) -> None:
    run = runs.fetch_run(db, run_id)
    if run is None or run.flow_id != flow_id or run.session_uuid == session_uuid:
        return
    raise errors.RunConflict("The run belongs to another session", field="run_id", value=run_id)


def _found(db: OrmSession, user_id: UUID, execution_id: UUID) -> NodeExecution:
    return require(queries.fetch(db, user_id, execution_id), "node execution", execution_id)


def _identity(user_id: UUID, run_id: UUID, new: NewExecution) -> CallerId:
    """The given id. Without one, an execution that is reported again gets the same id."""
    branch = new.outputs.get("branch")
    suffix = "" if branch is None else f":{branch}"
    generated = uuid5(run_id, f"node_execution:{new.index}:{new.node_id}{suffix}")
    return new.id or CallerId.of(user_id, "node_execution", generated)


def _messages(user_id: UUID, raw: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(raw, list):
        raise errors.InvalidRequest("context and few_shots must be lists of messages", field=where)
    normalized = messages.normalise_all(
        [_with_text_parts(message) for message in raw],
        user_id=user_id,
        where=where,
    )
    fields = ("role", "content", "tool_calls", "tool_call_id", "name")
    return [
        {name: value for name in fields if (value := getattr(message, name)) is not None or name == "content"}
        for message in normalized
    ]


def _with_text_parts(raw: Any) -> Any:
    """Some runtimes keep the text of a part under "data"."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("content"), list):
        return raw
    parts = [
        {"type": "text", "text": part["data"]}
        if isinstance(part, Mapping) and part.get("type") == "text" and "text" not in part and "data" in part
        else part
        for part in raw["content"]
    ]
    return {**raw, "content": parts}


def _view(row: NodeExecution) -> NodeExecutionView:
    stored = NodeExecutionView.__dataclass_fields__.keys() - {"warnings"}
    return NodeExecutionView(**{name: getattr(row, name) for name in stored})
