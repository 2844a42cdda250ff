"""Spans of the calls that are operations of a memory, by OpenTelemetry's conventions, in programs that use it.

The library is not required: a program whose spans are sent anywhere has imported it. No text is in a span unless
OpenTelemetry's variable asks for it, and never a key, an error's text, or an id that the caller chose.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

from memorybase_client import __version__, errors, otel_names
from memorybase_client._calls import Call

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from opentelemetry.util.types import AttributeValue

_PATTERNS = [
    (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", call)), operation)
    for call, operation in otel_names.OF_CALLS.items()
]
_PORTS = {"http": 80, "https": 443}
# A request that the server will refuse, or another server's answer, which the client refuses: not here.
_WHATEVER_SHAPE = suppress(AttributeError, KeyError, TypeError, ValueError)


class CallSpan:
    """The span of a call that is being sent."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span  # None: nothing is recorded of the call

    def answered(self, content: bytes) -> None:
        """Add what the answer says."""
        if self._span is not None:
            with _WHATEVER_SHAPE:
                self._span.set_attributes(_of_answer(json.loads(content)))


_NOTHING = CallSpan()


@contextmanager
def call_span(call: Call, url: str, headers: dict[str, str]) -> Iterator[CallSpan]:
    """A span around a call that is an operation of a memory. The headers continue the trace, whatever the call is."""
    if not hasattr(sys.modules.get("opentelemetry.trace"), "get_tracer"):  # not imported, or not to its end
        yield _NOTHING
        return
    from opentelemetry import trace

    matched = ((pattern.fullmatch(f"{call.method} {call.path}"), operation) for pattern, operation in _PATTERNS)
    ids, operation = next(((found.groupdict(), operation) for found, operation in matched if found), ({}, None))
    if operation is None:
        _continue_in(headers)
        yield _NOTHING
        return
    tracer = trace.get_tracer("memorybase_client", __version__, schema_url=otel_names.SCHEMA_URL)
    with tracer.start_as_current_span(
        operation, kind=trace.SpanKind.CLIENT, record_exception=False, set_status_on_exception=False
    ) as span:
        _continue_in(headers)
        if not span.is_recording():
            yield _NOTHING
            return
        span.set_attributes({otel_names.OPERATION_NAME: operation, **_of_server(url)})
        with _WHATEVER_SHAPE:
            span.set_attributes(_of_request(call, ids))
        try:
            yield CallSpan(span)
        except BaseException as error:
            code = error.code if isinstance(error, errors.MemorybaseError) else type(error).__name__
            span.set_attribute(otel_names.ERROR_TYPE, code)
            span.set_status(trace.StatusCode.ERROR)
            raise


def _continue_in(headers: dict[str, str]) -> None:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    TraceContextTextMapPropagator().inject(headers)


def _of_server(url: str) -> dict[str, AttributeValue]:
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return {
        otel_names.PROVIDER_NAME: otel_names.PROVIDER,
        otel_names.SERVER_ADDRESS: parts.hostname or "",
        otel_names.SERVER_PORT: port,
    }


def _of_request(call: Call, ids: Mapping[str, str]) -> dict[str, AttributeValue]:
    body = json.loads(call.content or b"{}")
    messages = body.get("messages")
    base_ids = body.get("memory_base_ids") or [body.get("memory_base_id", ids.get("memory_base_id"))]
    found: dict[str, AttributeValue] = {}
    if len(base_ids) == 1 and base_ids[0] is not None:
        found[otel_names.STORE_ID] = str(base_ids[0])
    if "message_id" in ids:
        found[otel_names.RECORD_COUNT] = 1
        if _is_uuid(ids["message_id"]):
            found[otel_names.RECORD_ID] = ids["message_id"]
    if messages is not None:
        found[otel_names.RECORD_COUNT] = len(messages)
    if otel_names.are_texts_wanted():
        if (query := body.get("query")) is not None:
            found[otel_names.QUERY_TEXT] = query[: otel_names.MAX_CHARACTERS]
        found |= _records(messages or ([body] if "content" in body else []))
    return found


def _of_answer(answer: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The hits of a search, what a context recalled, the rows of an erasure, or the memory base that was created."""
    results = answer.get("results", answer.get("report", {}).get("recalled"))
    if results is not None:
        is_shown = otel_names.are_texts_wanted() and "results" in answer
        return {otel_names.RECORD_COUNT: len(results)} | (_records(results) if is_shown else {})
    if "subject_id" in answer:
        return {otel_names.RECORD_COUNT: answer["messages"]}
    return {otel_names.STORE_ID: answer["id"]} if "kb_name" in answer else {}


def _records(given: list[Mapping[str, Any]]) -> dict[str, AttributeValue]:
    shown = [_record(each) for each in islice(given, otel_names.MAX_RECORDS)]
    return {otel_names.RECORDS: json.dumps(shown, ensure_ascii=False)} if shown else {}


def _record(given: Mapping[str, Any]) -> dict[str, Any]:
    """A message that is sent, in any format, or a hit."""
    content = given.get("content", given.get("text"))
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False) if content else ""
    found = {"content": text[: otel_names.MAX_CHARACTERS], "id": given.get("message_id"), "score": given.get("score")}
    return {name: value for name, value in found.items() if value is not None}


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
