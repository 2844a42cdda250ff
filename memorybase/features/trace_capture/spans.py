"""Runs from OpenTelemetry spans of model calls, by the semantic conventions for generative AI.

A span has the whole prompt (`gen_ai.input.messages`) and the answer (`gen_ai.output.messages`): JSON lists of
{role, parts}, or the same as structured attributes. `gen_ai.conversation.id` is the session, the trace is the run.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memorybase_client.prompts import identified

from memorybase.core import messages
from memorybase.core.errors import CallerError, InvalidRequest, NotFound
from memorybase.core.ids import CallerId
from memorybase.core.ingestion.capture import CaptureRequest, capture
from memorybase.core.services import Services

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

Json = dict[str, Any]

PROTOBUF, JSON = "application/x-protobuf", "application/json"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SESSION = ("gen_ai.conversation.id", "session.id")
END_USER = ("enduser.id", "user.id")
LISTS = ("resourceSpans", "scopeSpans", "spans", "attributes")


@dataclass(slots=True)
class SpanReport:
    """Number of spans with messages that are not stored, and why the first was not."""

    rejected: int = 0
    reason: str = ""

    def reject(self, spans: int, reason: str) -> None:
        self.rejected += spans
        self.reason = self.reason or reason


@dataclass(slots=True)
class _Run:
    """The part of one trace that belongs to one session."""

    run_id: str
    session_id: str
    end_user_id: str | None
    spans: int = 0
    messages: dict[str, Json] = field(default_factory=dict)  # by id, in the order of the spans


def receive(services: Services, user_id: UUID, flow_id: UUID, content: bytes, content_type: str) -> SpanReport:
    """Capture the messages of an export of spans, each once however many spans repeat it; spans without messages are
    ignored, and a run that cannot be stored does not take others along. Raises InvalidRequest if it is no export,
    NotFound for an unknown flow."""
    report = SpanReport()
    for run in _runs(_parsed(content, content_type), report):
        try:
            for request in _requests(user_id, run):
                capture(services, user_id, flow_id, request)
        except CallerError as error:
            if error.retryable or isinstance(error, NotFound):
                raise  # the exporter sends it again later
            report.reject(run.spans, str(error))
    return report


def answer_of(report: SpanReport, content_type: str) -> bytes:
    """The answer of the protocol, in the format of the request."""
    from google.protobuf.json_format import MessageToJson
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    answer = ExportTraceServiceResponse()
    if report.rejected:
        answer.partial_success.rejected_spans = report.rejected
        answer.partial_success.error_message = report.reason
    content: bytes = MessageToJson(answer).encode() if content_type == JSON else answer.SerializeToString()
    return content


def _requests(user_id: UUID, run: _Run) -> Iterator[CaptureRequest]:
    """The run in as many captures as its messages need: each span repeats the whole prompt, however long that is."""
    most = messages.MAX_MESSAGES
    raw = list(run.messages.values())
    for start in range(0, len(raw), most):
        yield CaptureRequest(
            session_id=run.session_id,
            messages=messages.normalise_all(raw[start : start + most], user_id=user_id),
            run_id=CallerId.of(user_id, "run", run.run_id),
            end_user_id=run.end_user_id,
            on_conflict="keep",
        )


def _parsed(content: bytes, content_type: str) -> ExportTraceServiceRequest:
    from google.protobuf.json_format import ParseDict, ParseError
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        if content_type == JSON:
            ParseDict(_with_binary_ids(_checked(json.loads(content), LISTS)), request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(content)
    except (DecodeError, ParseError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"The body is no OTLP export of traces in {content_type}", field="body") from error
    return request


def _checked(value: Any, lists: Sequence[str]) -> Json:
    """Protobuf ignores unknown fields, and takes each character of a string for the name of one: so objects are looked
    for first. `lists`: the names of the lists of objects, each inside the one before. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("It must be an object")  # noqa: TRY004 - the input is wrong, not the code
    if lists:
        below = value.get(lists[0])
        for each in below if isinstance(below, list) else ():  # protobuf refuses what is neither a list nor null
            _checked(each, lists[1:])
    elif value.get("value") is not None:
        _checked(value["value"], ())
    return value


def _with_binary_ids(value: Any) -> Any:
    """OTLP writes ids as hexadecimal digits, where protobuf's JSON has base64. Raises ValueError."""
    if isinstance(value, list):
        return [_with_binary_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64encode(bytes.fromhex(each)).decode()
        if name in {"traceId", "spanId", "parentSpanId"} and isinstance(each, str)
        else _with_binary_ids(each)
        for name, each in value.items()
    }


def _runs(request: ExportTraceServiceRequest, report: SpanReport) -> Iterator[_Run]:
    spans = [span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans]
    runs: dict[tuple[bytes, str], _Run] = {}
    # Exporters send a span when it ends, which the outer one does last.
    for span in sorted(spans, key=lambda span: span.start_time_unix_nano):
        attributes = {each.key: _plain(each.value) for each in span.attributes}
        if INPUT not in attributes and OUTPUT not in attributes:
            continue
        session_id = _first(attributes, SESSION)
        if session_id is None:
            report.reject(1, f"The span has messages, and no {SESSION[0]}: without a session they are not stored")
            continue
        try:
            messages = _messages(session_id, span, attributes)
        except ValueError as error:
            report.reject(1, str(error))
            continue
        if messages:
            run = runs.setdefault(
                (span.trace_id, session_id),
                _Run(_run_id(span, session_id), session_id, _first(attributes, END_USER)),
            )
            run.spans += 1
            for message in messages:
                run.messages.setdefault(message["id"], message)
    yield from runs.values()


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((str(attributes[name]) for name in names if attributes.get(name)), None)


def _run_id(span: Span, session_id: str) -> str:
    """A trace may touch several sessions, and a run belongs to one."""
    return f"{span.trace_id.hex()}-{hashlib.sha256(session_id.encode()).hexdigest()[:8]}"


def _messages(session_id: str, span: Span, attributes: Mapping[str, Any]) -> list[Json]:
    """Prompt and answer with ids, times and the ids of the trace. Raises ValueError that names the attribute."""
    prompt = [each for message in _listed(attributes, INPUT) for each in _converted(message)]
    answer = [each for message in _listed(attributes, OUTPUT) for each in _converted(message)]
    messages = identified(session_id, prompt, answer)
    origin = {"trace_id": span.trace_id.hex(), "span_id": span.span_id.hex()}
    spoken = sum(1 for each in answer if each["role"] in {"user", "assistant", "tool"})
    first_of_answer = len(messages) - spoken
    for position, message in enumerate(messages):
        nanoseconds = span.start_time_unix_nano if position < first_of_answer else span.end_time_unix_nano
        message["metadata"] = origin
        message["timestamp"] = datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()
    return messages


def _listed(attributes: Mapping[str, Any], name: str) -> list[Any]:
    value = attributes.get(name, [])
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{name} is not JSON: is it cut off at a limit of attribute lengths?") from None
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise ValueError(f"{name} must be a list of messages")
    return value


def _converted(message: Mapping[str, Any]) -> Iterator[Json]:
    """A message of the conventions in OpenAI's format, with its tool results as separate messages."""
    given = message.get("parts") or []
    if not isinstance(given, list):
        raise ValueError("parts must be a list")  # noqa: TRY004 - the input is wrong, not the code
    parts = [part for part in given if isinstance(part, Mapping)]
    texts = [str(part["content"]) for part in parts if part.get("type") == "text" and part.get("content")]
    calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
    for part in parts:
        if part.get("type") == "tool_call_response":
            result = part.get("response", part.get("result"))
            text = result if isinstance(result, str) else json.dumps(result)
            yield {"role": "tool", "tool_call_id": str(part.get("id") or ""), "content": text}
    if texts or calls:
        said: Json = {"role": str(message.get("role") or "")}
        if texts:
            said["content"] = "\n".join(texts)
        if calls:
            said["tool_calls"] = calls
        yield said


def _call(part: Mapping[str, Any]) -> Json:
    arguments = part.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "id": str(part.get("id") or ""),
        "type": "function",
        "function": {"name": str(part.get("name") or ""), "arguments": text},
    }


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: _plain(each.value) for each in value.kvlist_value.values}
    return None if kind is None else getattr(value, kind)
