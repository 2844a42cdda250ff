"""History for a model's next turn, node executions, and the memory use of a run."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response

from api.deps import FlowFilter, FlowId, NodeExecutionId, NodeId, Reader, RunId, ServicesDep, Writer, keyed_router
from api.history_schemas import HistoryAnswer, HistoryBody
from api.locations import location
from api.memory_use_schemas import MemoryUseBody
from api.schemas import CONFLICT, NodeExecutionBody
from memorybase import ids
from memorybase.conversation import Prefixes
from memorybase.conversation.history import node_executions
from memorybase.conversation.history.node_executions import NodeExecutionView
from memorybase.conversation.history.read import read_history
from memorybase.conversation.history.token_buffer import Conversation, HistoryRequest
from memorybase.conversation.memory_use import record
from memorybase.conversation.memory_use.given import Given, GivenSource, record_given
from memorybase.conversation.memory_use.record import NodeUse, RunMemory
from memorybase.queries import caller_ids
from memorybase.read_models import run_story
from memorybase.read_models.run_story import RunStory

router = keyed_router("history")


@router.post("/history")
def get_history(body: HistoryBody, services: ServicesDep, caller: Reader) -> HistoryAnswer:
    """Read a session, or one node's part of it, as messages for a model. With `run_id` and `node_id` the memory use is
    recorded."""

    flow_id = ids.flow_id(caller.user_id, body.flow_id)

    def named(kind: ids.IdKind, value: str | None) -> UUID | None:
        given = None if value is None else ids.CallerId.of(caller.user_id, kind, value)
        return caller_ids.resolve(services, flow_id, given)

    given = read_history(
        Conversation(services, caller.user_id, flow_id, body.session_id),
        HistoryRequest(
            leaf_id=named("message", body.leaf_id),
            run_id=named("run", body.run_id),
            execution_id=named("node_execution", body.execution_id),
            index=body.index,
            max_tokens=body.max_tokens,
            message_limit=body.message_limit,
            on_missing=body.on_missing,
            unanswered=body.unanswered,
            format=body.format,
            prefixes=None if body.role_prefix is None else Prefixes(**body.role_prefix.model_dump()),
            roles=None if body.roles is None else frozenset(body.roles),
        ),
        mode=body.mode,
        node_id=body.node_id,
        model=body.model,
    )
    return HistoryAnswer(**given.view.as_dict(), execution_id=given.execution_id)


@router.put("/node-executions/{execution_id}", responses={201: {"model": NodeExecutionView}})
def put_node_execution(
    execution_id: NodeExecutionId,
    body: NodeExecutionBody,
    services: ServicesDep,
    caller: Writer,
    response: Response,
) -> NodeExecutionView:
    """Store a node execution (201) or replace it (200). Its run may be captured later."""
    new = node_executions.new_execution(caller.user_id, body.model_dump(), given=execution_id)
    flow_id = ids.flow_id(caller.user_id, body.flow_id)
    run_id = ids.CallerId.of(caller.user_id, "run", body.run_id)
    view, created = node_executions.put_execution(services, caller.user_id, flow_id, body.session_id, run_id, new)
    if created:
        response.status_code = 201
        response.headers.update(location("node-executions", view.id))
    return view


@router.get("/node-executions/{execution_id}")
def get_node_execution(
    execution_id: NodeExecutionId, flow_id: FlowFilter, services: ServicesDep, caller: Reader
) -> NodeExecutionView:
    """Read a node execution. An id of several flows is 409 without `flow_id`."""
    return node_executions.get_execution(services, caller.user_id, caller_ids.find(services, execution_id, flow_id))


@router.delete("/node-executions/{execution_id}", status_code=204)
def delete_node_execution(
    execution_id: NodeExecutionId, flow_id: FlowFilter, services: ServicesDep, caller: Writer
) -> None:
    """Delete a node execution and its outputs. Node memory is then read from the previous execution."""
    node_executions.delete_execution(services, caller.user_id, caller_ids.find(services, execution_id, flow_id))


@router.get("/flows/{flow_id}/runs/{run_id}/memory")
def get_run_memory(flow_id: FlowId, run_id: RunId, services: ServicesDep, caller: Reader) -> RunMemory:
    """Show the memory that each node of a run received."""
    return record.run_memory(services, caller.user_id, flow_id, run_id)


@router.put("/flows/{flow_id}/runs/{run_id}/memory/{node_id}", responses=CONFLICT)
def put_run_memory(
    flow_id: FlowId, run_id: RunId, node_id: NodeId, body: MemoryUseBody, services: ServicesDep, caller: Writer
) -> NodeUse:
    """Record the memory that a client gave a node's model itself, such as search results in its prompt. It replaces an
    earlier record of this run and node. If the run is not captured within a day, the record is deleted."""
    given = Given(
        session_id=body.session_id,
        end_user_id=body.end_user_id,
        query=body.query,
        messages=body.messages,
        sources=[
            GivenSource(
                kind=source.kind,
                message_ids=[
                    ids.CallerId.of(caller.user_id, "message", each, name="message_ids") for each in source.message_ids
                ],
                scores=source.scores,
                score=source.score,
                tokens=source.tokens,
            )
            for source in body.sources
        ],
    )
    return record_given(services, caller.user_id, flow_id, run_id, node_id, given)


@router.get("/flows/{flow_id}/runs/{run_id}/story")
def get_run_story(flow_id: FlowId, run_id: RunId, services: ServicesDep, caller: Reader) -> RunStory:
    """Show a run as one story: its question and answer, the memory that each node received and how well it fits, and
    when each memory base held the messages."""
    return run_story.run_story(services, caller.user_id, flow_id, run_id)
