"""Export and import of everything captured, as JSON lines."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.admission import Work, admission_of
from api.contract.lines import JSON_LINES, LINES_OF_EXPORT, STREAM_HEADERS
from api.deps import FlowFilter, Reader, ServicesDep, Writer, keyed_router
from api.key_limits import Rule, end_user_in, flow_in, memory_base_in
from api.operations import operation
from api.schemas import Identifier, SentUuid
from memorybase.core.calls import Effect
from memorybase.core.import_export import exporter, importer
from memorybase.core.import_export.importer import ImportAnswer

router = keyed_router("portability")


@router.get("/export", response_class=StreamingResponse, responses={200: LINES_OF_EXPORT})
@operation(
    limits=Rule([flow_in("query"), memory_base_in("query", required=False)], [end_user_in("query")]), effect=Effect.READ
)
def export_lines(
    request: Request,
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowFilter,
    memory_base_id: Annotated[SentUuid | None, Query(description="Export the flow of this memory base.")] = None,
    end_user_id: Annotated[
        Identifier | None, Query(description="Export only sessions and chats of this end user.")
    ] = None,
) -> StreamingResponse:
    """Export flows, sessions, runs and messages with every stored field. A complete export ends with an `end` line."""
    scope = exporter.resolve_scope(
        services, caller.user_id, flow_id=flow_id, memory_base_id=memory_base_id, end_user_id=end_user_id
    )
    lines = admission_of(request)[Work.READ].iterate(exporter.export(services, scope))
    return StreamingResponse(lines, media_type=JSON_LINES, headers=STREAM_HEADERS)


@router.post("/import", openapi_extra={"requestBody": {"required": True, **LINES_OF_EXPORT}})
@operation(work=Work.BULK)
async def import_lines(
    request: Request,
    services: ServicesDep,
    caller: Writer,
    on_conflict: Annotated[
        Literal["error", "keep", "update"],
        Query(
            description="What to do if a message id is stored with other content: `error` stores nothing more, `keep` "
            "keeps the stored message, `update` stores a new version."
        ),
    ] = "error",
) -> ImportAnswer:
    """Import any range of lines of an export. Stored rows are kept, so a broken import can be sent again."""
    body = await request.body()
    return await run_in_threadpool(importer.import_lines, services, caller.user_id, body, on_conflict=on_conflict)
