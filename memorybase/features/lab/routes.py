"""Labels: mark found messages as right or wrong for a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Path, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from api.deps import FlowFilter, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.key_limits import FLOW_IN_QUERY, Asked, Rule, flow_in, memory_base_in
from api.operations import operation
from api.schemas import QUERY_BOUND, Body, Identifier, SentUuid, Stored
from memorybase.core import caveats, ids
from memorybase.core.calls import Effect
from memorybase.core.database.paging import Page
from memorybase.core.screening import counting
from memorybase.features.lab import labels, queries
from memorybase.features.lab.labels import LabelView, Mark


class LabelBody(Body):
    """A judgement of a message as an answer to a question."""

    message_id: Identifier = Field(description="The message: a UUID or the caller's id.")
    query: Stored = Field(min_length=1, description=f"The question, as it was searched. {QUERY_BOUND}")
    right: bool = Field(description="Whether the message answers the question.")
    flow_id: Identifier | None = Field(default=None, description="Its flow, if several flows have this message id.")
    session_id: Identifier | None = Field(
        default=None, description="The question was asked of this session only; null: of all."
    )
    end_user_id: Identifier | None = Field(
        default=None, description="The question was asked of this end user's sessions only; null: of all."
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Settings of the search that found the message: any JSON object."
    )


router = keyed_router("labels")
ROUTES = Routes(
    router=router,
    tag="labels",
    description="Which results are right or wrong for a question, to measure searches on.",
)


def label_in_path(asked: Asked) -> None:
    """A label of the key's flows."""
    for label_id in asked.uuids("path", "label_id"):
        asked.limits.check_flow(queries.flow_of_label(asked.db, asked.user_id, label_id), label_id, "label")


@router.post("/labels")
@operation(limits=Rule([flow_in("body")]))
def mark_result(body: LabelBody, services: ServicesDep, caller: Writer) -> LabelView:
    """Mark a message as right or wrong for a question. A second label of the same question and message replaces the
    first."""
    wanted = Mark(
        message_id=ids.CallerId.of(caller.user_id, "message", body.message_id),
        query=body.query,
        right=body.right,
        flow_id=None if body.flow_id is None else ids.flow_id(caller.user_id, body.flow_id),
        session_id=body.session_id,
        end_user_id=body.end_user_id,
        settings=body.settings,
    )
    with counting() as replaced:
        label = labels.mark(services, caller.user_id, caller.stored_key_id, wanted)
    return replace(label, warnings=caveats.redacted(replaced))


@router.get("/labels")
@operation(limits=FLOW_IN_QUERY)
def list_labels(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    flow_id: FlowFilter,
    right: Annotated[bool | None, Query(description="Only right or only wrong ones.")] = None,
) -> Page[LabelView]:
    """List the labels, newest first."""
    return labels.list_labels(services, caller.user_id, page, flow_id=flow_id, right=right)


@router.get(
    "/labels/export",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
@operation(limits=Rule([flow_in("query"), memory_base_in("query", required=False)]), effect=Effect.READ)
def export_labels(
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowFilter,
    memory_base_id: Annotated[SentUuid | None, Query(description="The labels of its flow.")] = None,
) -> Response:
    """Export the labels of a flow as questions, one JSON object on each line, as `memorybase evaluate` reads them: up
    to 50,000 labels, and of each question up to 100 right and 100 wrong messages."""
    text = labels.export_labels(services, caller.user_id, flow_id=flow_id, memory_base_id=memory_base_id)
    return PlainTextResponse(text)


@router.delete("/labels/{label_id}", status_code=204)
@operation(limits=Rule([label_in_path]))
def delete_label(
    label_id: Annotated[SentUuid, Path(description="The UUID of the label.")], services: ServicesDep, caller: Writer
) -> Response:
    """Remove a label."""
    labels.remove_label(services, caller.user_id, label_id)
    return Response(status_code=204)
