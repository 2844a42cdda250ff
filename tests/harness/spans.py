"""Spans that the code under test has ended: in this process, or as a collector receives them from others."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memorybase.core import tracing


@dataclass
class Seen:
    """A span, whoever sent it. Ids are lowercase hex; `parent` is empty for the first of a trace."""

    name: str
    trace_id: str
    span_id: str
    parent: str
    began: int
    ended: int
    attributes: dict[str, Any]
    is_error: bool = False
    service: str = ""
    kind: str = ""  # such as CLIENT


@dataclass
class Recorded:
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    provider: TracerProvider = field(default_factory=lambda: TracerProvider(shutdown_on_exit=False))

    def all(self) -> list[Seen]:
        return [_seen(span) for span in self.exporter.get_finished_spans()]

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.all() if span.name == name]

    def one(self, name: str) -> Seen:
        (found,) = self.named(name)
        return found

    def clear(self) -> None:
        self.exporter.clear()


@contextmanager
def recorded_spans(*, has_texts: bool = False) -> Iterator[Recorded]:
    """Traces are on in this process, and every span is kept as soon as it ends."""
    recorded = Recorded()
    recorded.provider.add_span_processor(SimpleSpanProcessor(recorded.exporter))
    tracing.use(recorded.provider, has_texts=has_texts)
    try:
        yield recorded
    finally:
        tracing.use(None)
        recorded.provider.shutdown()


def ancestors(span: Seen, spans: Sequence[Seen]) -> list[str]:
    """The names of the spans above this one, the nearest first."""
    by_id = {each.span_id: each for each in spans}
    found: list[str] = []
    while (parent := by_id.get(span.parent)) is not None:
        found.append(parent.name)
        span = parent
    return found


class Collector:
    """An OTLP receiver over HTTP on a port of its own, as the OpenTelemetry Collector is one."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                is_traces = self.path == "/v1/traces" and self.headers["content-type"] == "application/x-protobuf"
                if is_traces:
                    collector.spans += _spans_of(body)
                self.send_response(200 if is_traces else 400)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _seen(span: ReadableSpan) -> Seen:
    assert span.context is not None
    assert span.start_time is not None
    assert span.end_time is not None
    return Seen(
        name=span.name,
        trace_id=f"{span.context.trace_id:032x}",
        span_id=f"{span.context.span_id:016x}",
        parent=f"{span.parent.span_id:016x}" if span.parent else "",
        began=span.start_time,
        ended=span.end_time,
        attributes=dict(span.attributes or {}),
        is_error=not span.status.is_unset,
        kind=span.kind.name,
    )


def _value(value: AnyValue) -> Any:
    if value.HasField("array_value"):
        return [_value(each) for each in value.array_value.values]
    return getattr(value, value.WhichOneof("value") or "string_value")


def _spans_of(body: bytes) -> list[Seen]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Seen(
            name=span.name,
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            began=span.start_time_unix_nano,
            ended=span.end_time_unix_nano,
            attributes={each.key: _value(each.value) for each in span.attributes},
            kind=span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
            is_error=span.status.code == span.status.STATUS_CODE_ERROR,
            service=next(
                each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
            ),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
