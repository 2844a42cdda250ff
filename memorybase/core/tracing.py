"""Traces: spans by OpenTelemetry, sent by OTLP over HTTP. Off unless an endpoint is set: each call here then costs a
microsecond or less.

A trace goes from a caller's request to the moment that its messages are searchable. The job row carries it, since a
notification may be lost: see `scheduler`. A worker embeds and stores messages of many jobs at once, so work may belong
to several traces, and `span` opens a child in each of them.

`Attributes` names what a span may say, which mypy checks: never message text, keys, or ids that callers chose. Texts
are added by `note_texts` alone, and only if OpenTelemetry's variable asks for them.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack
from uuid import UUID

from memorybase_client import otel_names
from memorybase_client.otel_names import Operation

from memorybase import __version__
from memorybase.core import errors
from memorybase.core.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as Span  # noqa: PLC0414 - others annotate with it
    from opentelemetry.trace import Tracer

Kind = Literal["internal", "server", "client", "producer", "consumer"]

# A stop waits this long for spans that are not sent yet.
FLUSH_SECONDS = 2.0
# One export, with its repetitions; a collector that does not answer costs no more spans than this long fills.
EXPORT_SECONDS = 5
PREFIX = "memorybase."
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class Attributes(TypedDict, total=False):
    """Everything that a span may say; on the span each name is that of `_NAMES`. None says nothing."""

    attempt: int  # outages do not count
    flow_id: str
    from_seq: int
    job_id: str
    job_ids: list[str]
    job_kind: str
    jobs: int
    memory_base_id: str | None
    messages: int
    mode: str
    operation: Operation
    outcome: str
    record_count: int
    record_id: str
    request_id: str
    run_id: str
    store: str
    to_seq: int


# OpenTelemetry's names where it has one.
_NAMES = {name: PREFIX + name for name in Attributes.__annotations__} | {
    "memory_base_id": otel_names.STORE_ID,
    "operation": otel_names.OPERATION_NAME,
    "record_count": otel_names.RECORD_COUNT,
    "record_id": otel_names.RECORD_ID,
}

# The spans that this thread works in, one for each trace. Empty while traces are off.
_current: ContextVar[tuple[Span, ...]] = ContextVar("spans", default=())
_nothing = nullcontext()


class _Process:
    """The sender of this process's spans, None while traces are off, and whether they have texts."""

    provider: TracerProvider | None = None
    tracer: Tracer | None = None
    has_texts: bool = False


def configure(settings: Settings, *, service: str) -> None:
    """Send this process's spans as those of `memorybase-<service>`, if an endpoint is set."""
    endpoint = settings.traces_url
    if not endpoint:
        return
    # Imported here: they take 100 ms, and most installations need none of it.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = Resource({"service.name": f"memorybase-{service}", "service.version": __version__})
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win; the SDK reads OTEL_TRACES_SAMPLER itself.
    resource = Resource.create().merge(own).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=EXPORT_SECONDS)))
    use(provider, has_texts=settings.traces_have_texts)


def use(provider: TracerProvider | None, *, has_texts: bool = False) -> None:
    """Give spans to this provider from now on; None: traces are off."""
    _Process.provider = provider
    schema_url = otel_names.SCHEMA_URL
    _Process.tracer = None if provider is None else provider.get_tracer("memorybase", __version__, schema_url)
    _Process.has_texts = has_texts


def flush() -> None:
    """Send what is not sent yet, for a process that ends. Waits `FLUSH_SECONDS` at most."""
    if _Process.provider is not None:
        # In a thread: the SDK waits for a collector that does not answer.
        sending = threading.Thread(target=_Process.provider.force_flush, name="flush-spans", daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)


def now() -> int:
    """The time for `since`; 0 while traces are off."""
    return 0 if _Process.tracer is None else time.time_ns()


def span(
    name: str,
    kind: Kind = "internal",
    *,
    parents: Iterable[Span | None] | None = None,
    is_leaf: bool = False,
    **attributes: Unpack[Attributes],
) -> AbstractContextManager[None]:
    """A span around a block, in each trace that this thread works in, or in those of `parents`. Nothing without one.

    Spans that begin inside are its children, unless `is_leaf`: then they are its siblings.
    """
    among = _current.get() if parents is None else tuple(parent for parent in parents if parent is not None)
    return _children(name, kind, among, attributes, is_leaf=is_leaf) if among else _nothing


def memory_span(
    name: Operation, *, parents: Iterable[Span | None] | None = None, **attributes: Unpack[Attributes]
) -> AbstractContextManager[None]:
    """`span` around an operation of a memory, by OpenTelemetry's conventions: named after it."""
    attributes["operation"] = name
    return span(name, parents=parents, **attributes)


class ShownRecord(NamedTuple):
    """A record of a memory in a span that has texts."""

    content: str
    id: UUID | None = None
    score: float | None = None

    def as_dict(self) -> dict[str, object]:
        found: dict[str, object] = {"content": self.content[: otel_names.MAX_CHARACTERS]}
        if self.id is not None:
            found["id"] = str(self.id)
        return found if self.score is None else found | {"score": self.score}


def only_base(memory_base_ids: Collection[UUID]) -> str | None:
    """The `memory_base_id` of an operation on these memory bases: a span names one store, or none."""
    return str(next(iter(memory_base_ids))) if len(memory_base_ids) == 1 else None


def note_texts(*, query: str | None = None, records: Iterable[ShownRecord] = ()) -> None:
    """Add a query and records to the spans that this thread works in, if texts are asked for. `records` is not read
    otherwise."""
    if not (_Process.has_texts and _current.get()):
        return
    shown = [each.as_dict() for each in islice(records, otel_names.MAX_RECORDS)]
    texts = {otel_names.RECORDS: json.dumps(shown, ensure_ascii=False)} if shown else {}
    if query is not None:
        texts[otel_names.QUERY_TEXT] = query[: otel_names.MAX_CHARACTERS]
    for each in _current.get():
        each.set_attributes(texts)


def note(**attributes: Unpack[Attributes]) -> None:
    """Add to the spans that this thread works in."""
    for each in _current.get():
        each.set_attributes(_named(attributes))


def record(
    name: str,
    kind: Kind = "internal",
    *,
    since: int,
    parents: Iterable[Span | None] | None = None,
    **attributes: Unpack[Attributes],
) -> None:
    """A span from `since` to now. For a block whose trace is known only at its end."""
    for parent in _current.get() if parents is None else parents:
        if parent is not None and (child := _start(name, kind, parent, attributes, since)) is not None:
            child.end()


def begin(
    name: str, kind: Kind, parent: str | None, *, since: int | None = None, **attributes: Unpack[Attributes]
) -> Span | None:
    """A span that `end` ends, perhaps in another thread: a child of the remote span, else of this thread's, else the
    first of its trace. None while traces are off."""
    if _Process.tracer is None:
        return None
    return _start(name, kind, remote(parent) or next(iter(_current.get()), None), attributes, since)


def end(opened: Span | None, *, error: str | None = None, **attributes: Unpack[Attributes]) -> None:
    """End a span that `begin` began; `error` is the type or code of what failed."""
    if opened is None:
        return
    opened.set_attributes(_named(attributes))
    if error is not None:
        _fail(opened, error)
    opened.end()


def describe_request(opened: Span | None, *, method: str, route: str, status: int) -> None:
    """Name the span of an HTTP request, by OpenTelemetry's conventions. Not its path, which has callers' ids."""
    if opened is None:
        return
    opened.update_name(f"{method} {route}")
    opened.set_attributes(
        {"http.request.method": method, "http.route": route, "http.response.status_code": status},
    )


@contextmanager
def within(spans: Iterable[Span | None]) -> Iterator[None]:
    """Work in these spans, which somebody else ends."""
    token = _current.set(tuple(each for each in spans if each is not None))
    try:
        yield
    finally:
        # A generator, such as an export's, may end in another context than it began in. Each context has its own spans.
        with suppress(ValueError):
            _current.reset(token)


def remote(parent: str | None) -> Span | None:
    """The span that a W3C `traceparent` names; None while traces are off, and for anything else."""
    match = _TRACEPARENT.fullmatch(parent or "")
    if match is None or _Process.tracer is None:
        return None
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

    trace, span_id, flags = (int(part, 16) for part in match.groups())
    context = SpanContext(trace, span_id, is_remote=True, trace_flags=TraceFlags(flags & TraceFlags.SAMPLED))
    return NonRecordingSpan(context) if context.is_valid else None


def traceparent() -> str | None:
    """This thread's span as a W3C `traceparent`; None without one."""
    for each in _current.get():
        context = each.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return None


def trace_id() -> str | None:
    """The id of this thread's trace, for log lines; None without one, or with several."""
    spans = _current.get()
    return f"{spans[0].get_span_context().trace_id:032x}" if len(spans) == 1 else None


@contextmanager
def _children(
    name: str, kind: Kind, parents: tuple[Span, ...], attributes: Attributes, *, is_leaf: bool
) -> Iterator[None]:
    opened = [child for parent in parents if (child := _start(name, kind, parent, attributes)) is not None]
    try:
        with _nothing if is_leaf else within(opened):
            yield
    except BaseException as error:
        for each in opened:
            _fail(each, error_type(error))
        raise
    finally:
        for each in opened:
            each.end()


def error_type(error: BaseException) -> str:
    """The type of an error, for a span; never its text, which may quote a message."""
    return error.code if isinstance(error, errors.MemorybaseError) else type(error).__name__


def _start(name: str, kind: Kind, parent: Span | None, attributes: Attributes, since: int | None = None) -> Span | None:
    if _Process.tracer is None:  # turned off meanwhile
        return None
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind, set_span_in_context

    context = Context() if parent is None else set_span_in_context(parent, Context())
    return _Process.tracer.start_span(
        name,
        context,
        SpanKind[kind.upper()],
        _named(attributes),
        start_time=since,
        record_exception=False,
        set_status_on_exception=False,
    )


def _named(attributes: Attributes) -> dict[str, str | int | list[str]]:
    return {_NAMES[name]: value for name, value in attributes.items() if isinstance(value, str | int | list)}


def _fail(opened: Span, error: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    opened.set_attribute(otel_names.ERROR_TYPE, error)
    opened.set_status(Status(StatusCode.ERROR))
