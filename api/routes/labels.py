"""Labels: mark found messages as right or wrong for a question."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response
from fastapi.responses import PlainTextResponse

from api.auditing import Audit
from api.deps import FlowFilter, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.key_limits import FLOW_IN_QUERY, Rule, flow_in, label_in_path, memory_base_in
from api.operations import operation
from api.schemas import SentUuid
from api.search_schemas import LabelBody
from memorybase import ids, labels
from memorybase.database.paging import Page
from memorybase.labels import LabelView, Mark

router = keyed_router("labels")


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
    return labels.mark(services, caller.user_id, caller.key_id, wanted)


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
@operation(limits=Rule([flow_in("query"), memory_base_in("query", required=False)]), audit=Audit.EXPORT)
def export_labels(
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowFilter,
    memory_base_id: Annotated[SentUuid | None, Query(description="The labels of its flow.")] = None,
) -> Response:
    """Export the labels of a flow as questions, one JSON object on each line, as `memorybase evaluate` reads them."""
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
