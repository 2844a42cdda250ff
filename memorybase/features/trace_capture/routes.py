"""Traces by OTLP, the protocol of OpenTelemetry, over HTTP: an exporter is set to this address and a key."""

from __future__ import annotations

import zlib
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from api.deps import FlowId, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.key_limits import FLOW_IN_PATH
from api.operations import operation
from memorybase.core.calls import Effect
from memorybase.core.errors import InvalidRequest, TooLarge
from memorybase.features.trace_capture import spans

router = keyed_router("traces")
ROUTES = Routes(
    router=router,
    tag="traces",
    description="OpenTelemetry spans of model calls, whose conversations are captured.",
)


def _json(schema: str) -> dict[str, Any]:
    return {"content": {spans.JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}


@router.post(
    "/flows/{flow_id}/traces",
    response_class=Response,
    openapi_extra={"requestBody": {"required": True, **_json("TracesExport")}},
    responses={200: _json("TracesAnswer")},
)
@operation(limits=FLOW_IN_PATH, effect=Effect.CAPTURE)
async def receive_traces(flow_id: FlowId, request: Request, services: ServicesDep, caller: Writer) -> Response:
    """Capture the conversations in OpenTelemetry spans of model calls, as JSON or protobuf. Each message is stored
    once, however many spans repeat it. Answers as OTLP says."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in {spans.PROTOBUF, spans.JSON}:
        text = f"Content-Type must be {spans.PROTOBUF} or {spans.JSON}"
        raise InvalidRequest(text, field="Content-Type", value=content_type)
    content = await request.body()
    limit = services.settings.max_body_bytes

    def receive() -> bytes:
        plain = _decompressed(content, request.headers.get("content-encoding", "identity"), limit)
        return spans.answer_of(spans.receive(services, caller.user_id, flow_id, plain, content_type), content_type)

    return Response(await run_in_threadpool(receive), media_type=content_type)


def _decompressed(content: bytes, encoding: str, limit: int) -> bytes:
    if encoding == "identity":
        return content
    if encoding != "gzip":
        raise InvalidRequest("Content-Encoding must be gzip or identity", field="Content-Encoding", value=encoding)
    gzip = zlib.decompressobj(wbits=31)
    try:
        plain = gzip.decompress(content, limit + 1)
    except zlib.error as error:
        raise InvalidRequest("The body is not compressed with gzip", field="body") from error
    if len(plain) > limit:
        raise TooLarge(f"The body must have at most {limit} bytes, decompressed", field="body", limit=limit)
    if not gzip.eof:
        raise InvalidRequest("The body is cut off: its gzip stream has no end", field="body")
    return plain
