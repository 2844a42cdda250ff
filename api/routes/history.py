"""History for a model's next turn, node executions, and the memory use of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Self
from uuid import UUID

from fastapi import Response
from pydantic import Field, StringConstraints, model_validator

from api.admission import Work
from api.deps import FlowFilter, FlowId, NodeExecutionId, NodeId, Reader, RunId, ServicesDep, Writer, keyed_router
from api.key_limits import FLOW_IN_PATH, FLOW_IN_QUERY, Rule, end_user_in, flow_in, known_row, row_in_path, session_in
from api.locations import location
from api.operations import operation
from api.schemas import (
    CONFLICT,
    MAX_VIEW_TOKENS,
    QUERY_BOUND,
    Body,
    GivenFlow,
    GivenSession,
    Identifier,
    ModelName,
    NodeExecutionBody,
    Role,
    SentMessages,
    Stored,
    ViewAnswer,
)
from memorybase.core import caveats, ids
from memorybase.core.conversation import Prefixes
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.node_executions import MAX_INDEX, NodeExecutionView
from memorybase.core.conversation.history.read import read_history
from memorybase.core.conversation.history.request import (
    DEFAULT_MAX_TOKENS,
    MAX_TURNS,
    Conversation,
    HistoryRequest,
    Mode,
    OnMissing,
    Unanswered,
)
from memorybase.core.conversation.memory_use import record
from memorybase.core.conversation.memory_use.given import MAX_SOURCE_IDS, Given, GivenSource, record_given
from memorybase.core.conversation.memory_use.record import NodeUse, RunMemory
from memorybase.core.conversation.view.records import Kind
from memorybase.core.conversation.view.rendering import Format
from memorybase.core.messages import MAX_MESSAGES
from memorybase.core.models import NAME_LENGTH
from memorybase.core.queries import caller_ids
from memorybase.core.read_models import run_story
from memorybase.core.read_models.run_story import RunStory
from memorybase.core.screening import counting

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class MemorySourceBody(Body):
    """Origin of a message of a memory use."""

    kind: Kind = Field(
        default="recall",
        description="How the message was given: by `recall`, as `history`, in a `summary`, as `standing` "
        "statement, `fact`, or `predefined`.",
    )
    message_ids: list[Identifier] = Field(
        default_factory=list,
        max_length=MAX_SOURCE_IDS,
        description="The stored messages in it: their UUIDs or the caller's ids. If one is not stored, or is "
        "another end user's, the text is stored as `[deleted]`.",
    )
    scores: list[Score | None] = Field(
        default_factory=list,
        max_length=MAX_SOURCE_IDS,
        description="The score of each of `message_ids`, if they were found by a search.",
    )
    score: Score | None = Field(default=None, description="The score of the message; default: the best of `scores`.")
    tokens: int | None = Field(
        default=None, ge=0, le=MAX_VIEW_TOKENS, description="Number of tokens; default: the server counts them."
    )


class MemoryUseBody(Body):
    """The memory that a model was given, and the search that found it. Without messages the search found nothing."""

    session_id: GivenSession
    end_user_id: Identifier | None = Field(
        default=None, description="The person that the session belongs to. Messages of others count as not stored."
    )
    query: Stored | None = Field(default=None, description=f"What was looked for; null if nothing was. {QUERY_BOUND}")
    messages: SentMessages = Field(
        default_factory=list,
        description="The messages as the model received them, in OpenAI's format: "
        "{role, content}. " + f"At most {MAX_MESSAGES}.",
    )
    sources: list[MemorySourceBody] = Field(
        default_factory=list, description="Where each message comes from, parallel to `messages`."
    )


class RolePrefix(Body):
    """Prefixes of the lines in the view's text."""

    user: Annotated[Stored, StringConstraints(max_length=NAME_LENGTH)] = Field(
        default="Human", description="Prefix of what users say."
    )
    assistant: Annotated[Stored, StringConstraints(max_length=NAME_LENGTH)] = Field(
        default="Assistant", description="Prefix of what the model says."
    )


class HistoryBody(Body):
    """The history to read: of a session, or of one node in it."""

    flow_id: GivenFlow
    session_id: GivenSession
    mode: Mode = Field(
        default="conversation", description="`conversation` reads the session, `node` the context of one node."
    )
    node_id: Identifier | None = Field(
        default=None, description="The node whose history to read; required in mode node."
    )
    leaf_id: Identifier | None = Field(
        default=None, description="Last message of the thread; default: the newest message."
    )
    message_limit: int | None = Field(default=None, ge=0, le=MAX_TURNS, description="Maximum turns; 0: unlimited.")
    max_tokens: int = Field(
        default=DEFAULT_MAX_TOKENS, ge=0, le=MAX_VIEW_TOKENS, description="Maximum tokens, in whole turns."
    )
    role_prefix: RolePrefix | None = Field(default=None, description="Prefixes of the lines in `text`.")
    on_missing: OnMissing = Field(
        default="empty", description="What a missing session or node execution is: an empty view or 404."
    )
    unanswered: Unanswered = Field(
        default="drop",
        description="Whether a question at the end that has no answer yet is part of the history. Only without run_id.",
    )
    format: Format = Field(
        default="openai", description="Format of `messages`: `openai` or `langchain`; `text` if only `text` is read."
    )
    roles: list[Role] | None = Field(default=None, max_length=8, description="Only messages of these roles.")
    model: ModelName | None = Field(
        default=None,
        description="The model that reads the messages; it decides the token counter and whether calls come with "
        "their reasoning.",
    )
    run_id: Identifier | None = Field(default=None, description="The current run; its own messages are left out.")
    execution_id: Identifier | None = Field(
        default=None,
        description="In mode node: the current execution in run_id. If an earlier attempt reported it, it and later "
        "executions of the node in this run are left out.",
    )
    index: int | None = Field(
        default=None,
        ge=0,
        le=MAX_INDEX,
        description="The current execution by its index, if each attempt has another id.",
    )

    @model_validator(mode="after")
    def _executions_are_of_a_run(self) -> Self:
        if self.run_id is None and (self.execution_id is not None or self.index is not None):
            raise ValueError("execution_id and index require run_id")
        return self


class HistoryAnswer(ViewAnswer):
    """A view; in mode node with the execution that it was read from."""

    execution_id: UUID | None = Field(
        default=None,
        description="In mode `node`: the execution that the view was read from; null if the node has not "
        "succeeded yet.",
    )


router = keyed_router("history")


@router.post("/history")
@operation(
    limits=Rule(
        [flow_in("body")],
        [
            session_in("body"),
            known_row("message", "leaf_id"),
            known_row("run", "run_id"),
            known_row("node_execution", "execution_id"),
        ],
    )
)
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
            mode=body.mode,
            node_id=body.node_id,
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
            model=body.model,
        ),
    )
    return HistoryAnswer(**given.view.as_dict(), execution_id=given.execution_id)


@router.put("/node-executions/{execution_id}", responses={201: {"model": NodeExecutionView}})
@operation(limits=Rule([flow_in("body")]), work=Work.CAPTURE)
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
    with counting() as replaced:
        view, created = node_executions.put_execution(services, caller.user_id, flow_id, body.session_id, run_id, new)
    if created:
        response.status_code = 201
        response.headers.update(location("node-executions", view.id))
    return replace(view, warnings=caveats.redacted(replaced))


@router.get("/node-executions/{execution_id}")
@operation(limits=Rule([flow_in("query")], [row_in_path("node_execution")]))
def get_node_execution(
    execution_id: NodeExecutionId, flow_id: FlowFilter, services: ServicesDep, caller: Reader
) -> NodeExecutionView:
    """Read a node execution. An id of several flows is 409 without `flow_id`."""
    return node_executions.get_execution(services, caller.user_id, caller_ids.find(services, execution_id, flow_id))


@router.delete("/node-executions/{execution_id}", status_code=204)
@operation(limits=FLOW_IN_QUERY)
def delete_node_execution(
    execution_id: NodeExecutionId, flow_id: FlowFilter, services: ServicesDep, caller: Writer
) -> None:
    """Delete a node execution and its outputs. Node memory is then read from the previous execution."""
    node_executions.delete_execution(services, caller.user_id, caller_ids.find(services, execution_id, flow_id))


@router.get("/flows/{flow_id}/runs/{run_id}/memory")
@operation(limits=FLOW_IN_PATH)
def get_run_memory(flow_id: FlowId, run_id: RunId, services: ServicesDep, caller: Reader) -> RunMemory:
    """Show the memory that each node of a run received."""
    return record.run_memory(services, caller.user_id, flow_id, run_id)


@router.put("/flows/{flow_id}/runs/{run_id}/memory/{node_id}", responses=CONFLICT)
@operation(
    limits=Rule([flow_in("path")], [end_user_in("body"), session_in("body"), known_row("run", "run_id", "path")]),
    work=Work.CAPTURE,
)
def put_run_memory(
    flow_id: FlowId, run_id: RunId, node_id: NodeId, body: MemoryUseBody, services: ServicesDep, caller: Writer
) -> NodeUse:
    """Record the memory that a client gave a node's model itself, such as search results in its prompt. It replaces an
    earlier record of this run and node, unless a legal hold keeps that: then 409. If the run is not captured within a
    day, the record is deleted."""
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
    with counting() as replaced:
        use = record_given(services, caller.user_id, flow_id, run_id, node_id, given)
    return replace(use, warnings=caveats.redacted(replaced))


@router.get("/flows/{flow_id}/runs/{run_id}/story")
@operation(limits=FLOW_IN_PATH)
def get_run_story(flow_id: FlowId, run_id: RunId, services: ServicesDep, caller: Reader) -> RunStory:
    """Show a run as one story: its question and answer, the memory that each node received and how well it fits, and
    when each memory base held the messages."""
    return run_story.run_story(services, caller.user_id, flow_id, run_id)
