"""Spans without a collector: what a caller's header may be, what off means, and what a process that ends waits for."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator

import pytest
from harness.rows import each_row
from harness.spans import recorded_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from memorybase.core import tracing
from memorybase.core.settings import Settings

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_while_traces_are_off_nothing_begins() -> None:
    assert tracing.begin("POST", "server", f"00-{TRACE}-{SPAN}-01") is None
    assert tracing.remote(f"00-{TRACE}-{SPAN}-01") is None
    assert tracing.traceparent() is None
    assert tracing.now() == 0
    with tracing.within([None]), tracing.span("capture", messages=1), tracing.span("upsert", parents=[None]):
        tracing.note(outcome="done")
        tracing.record("claim", since=0)
    tracing.end(None, error="timeout")
    # One object serves every block: nothing is made for any.
    assert tracing.span("capture") is tracing.span("embed")


@each_row(
    "header",
    [
        "",
        "nonsense",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01\n",
    ],
)
def test_an_invalid_traceparent_begins_a_trace_of_its_own(header: str) -> None:
    with recorded_spans() as spans:
        tracing.end(tracing.begin("POST", "server", header))
    request = spans.one("POST")
    assert request.parent == ""
    assert request.trace_id not in (TRACE, "0" * 32)


def test_what_another_process_continues_is_what_this_one_began() -> None:
    with recorded_spans() as spans:
        request = tracing.begin("POST", "server", f"00-{TRACE}-{SPAN}-01")
        with tracing.within([request]):
            stored = tracing.traceparent()
        tracing.end(request)
        tracing.end(tracing.begin("job", "consumer", stored))
    assert spans.one("POST").parent == SPAN
    assert spans.one("job").parent == spans.one("POST").span_id
    assert {span.trace_id for span in spans.all()} == {TRACE}


def test_work_of_several_traces_has_a_span_in_each() -> None:
    with recorded_spans() as spans:
        jobs = [tracing.begin("job", "consumer", None) for _ in range(3)]
        with tracing.span("store", parents=[*jobs, None]), tracing.span("upsert"):
            pass
    stores = {span.span_id: span.parent for span in spans.named("store")}
    assert len(stores) == 3
    assert sorted(span.parent for span in spans.named("upsert")) == sorted(stores)


def test_an_error_is_named_by_its_type_alone() -> None:
    with recorded_spans() as spans:
        request = tracing.begin("POST", "server", None)
        with pytest.raises(KeyError), tracing.within([request]), tracing.span("capture"):
            raise KeyError("the text of a message")
    capture = spans.one("capture")
    assert (capture.is_error, capture.attributes) == (True, {"error.type": "KeyError"})


def test_a_generator_may_end_in_another_context() -> None:
    """As when a response is streamed: each of its steps runs in a copy of the request's context."""

    def steps() -> Iterator[int]:
        with tracing.span("read"):
            yield 1
            yield 2

    with recorded_spans() as spans:
        request = tracing.begin("GET", "server", None)
        with tracing.within([request]):
            rest = steps()
            for _ in range(2):
                contextvars.copy_context().run(next, rest)
            assert list(contextvars.copy_context().run(list, rest)) == []
    assert spans.one("read").parent


def test_a_collector_that_hangs_does_not_keep_a_process_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    released, ended = threading.Event(), list[bool]()

    class Hanging(TracerProvider):
        def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002
            ended.append(released.wait(600))
            return True

    monkeypatch.setattr(tracing, "FLUSH_SECONDS", 0.01)
    provider = Hanging(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(SpanExporter()))
    tracing.use(provider)
    try:
        tracing.flush()
        assert ended == []
    finally:
        released.set()
        tracing.use(None)


@each_row(
    ("variables", "url"),
    [
        ({}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}, "http://collector:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector/own"}, "http://collector/own"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, ""),
        (
            {
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces/own",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://all:4318",
            },
            "http://traces/own",
        ),
    ],
)
def test_where_traces_are_sent(variables: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENDPOINT", "TRACES_ENDPOINT"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Settings().traces_url == url


def test_an_endpoint_must_be_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
    with pytest.raises(ValueError, match="OTEL_EXPORTER_OTLP_ENDPOINT must start with http"):
        Settings()


def test_the_variable_for_texts_must_be_one_that_opentelemetry_defines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "yes")
    Settings()  # without traces, the variable is of other programs
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
    with pytest.raises(ValueError, match=r"must be one of NO_CONTENT, SPAN_ONLY, .* \(got 'yes'\)"):
        Settings()
