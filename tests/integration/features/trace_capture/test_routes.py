"""OpenTelemetry spans of model calls: what an exporter sends becomes sessions, and is stored once."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from harness.api import Api, Json
from harness.rows import each_row
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.features.trace_capture import spans

PROTOBUF = {"Content-Type": "application/x-protobuf"}
PATH = "/flows/support/traces"


def text(role: str, content: str) -> Json:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


BOAT = text("user", "My boat lies at berth 12.")
NOTED = text("assistant", "Noted: berth 12.")


def span(
    *prompt: Json, answer: Json | None = None, session: str | None = "anna", trace: str = "0a" * 16, **more: Any
) -> Json:
    """A span as OTLP's JSON has it."""
    values: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(prompt)} | more
    if answer is not None:
        values["gen_ai.output.messages"] = json.dumps([answer | {"finish_reason": "stop"}])
    if session is not None:
        values["gen_ai.conversation.id"] = session
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in values.items()]
    return {
        "traceId": trace,
        "spanId": "0b" * 8,
        "name": "chat fake",
        "startTimeUnixNano": "1767225600000000000",
        "endTimeUnixNano": "1767225601000000000",
        "attributes": attributes,
    }


def export(*spans: Json) -> Json:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def stored(api: Api, session: str = "anna") -> list[tuple[str, Any]]:
    found = api.get("/messages", flow_id="support", session_id=session)["items"]
    return [(each["role"], each["content"]) for each in found]


@pytest.fixture(autouse=True)
def _flow(api: Api) -> None:
    api.flow()


def test_prompt_and_answer_become_messages_of_the_session(api: Api) -> None:
    system = text("system", "You are a harbour master.")
    assert api.post(PATH, export(span(system, BOAT, answer=NOTED, **{"enduser.id": "anna@example.com"}))) == {}
    assert stored(api) == [("user", "My boat lies at berth 12."), ("assistant", "Noted: berth 12.")]
    first, last = api.get("/messages", flow_id="support")["items"]
    assert first["metadata"] == {"trace_id": "0a" * 16, "span_id": "0b" * 8}
    assert (first["timestamp"], last["timestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
    assert first["end_user_id"] == "anna@example.com"


@each_row("body", [{}, {"resourceSpans": None}, {"resourceSpans": [{"scopeSpans": None}], "new": 1}])
def test_an_export_without_spans_captures_nothing(api: Api, body: Json) -> None:
    assert api.post(PATH, body) == {}
    assert stored(api) == []


@each_row(
    "body",
    ["null", "[]", "1", '{"resourceSpans": ["text"]}', '{"resourceSpans": [{"scopeSpans": [{"spans": ["a"]}]}]}'],
)
def test_a_body_of_another_shape_is_no_export(api: Api, body: str) -> None:
    error = api.refused("POST", PATH, 422, content=body, headers={"Content-Type": "application/json"})
    assert (error["code"], error["field"]) == ("invalid_request", "body")


def test_what_every_prompt_repeats_is_stored_once(api: Api) -> None:
    where, there = text("user", "Where is it?"), text("assistant", "At berth 12.")
    first = span(BOAT, answer=NOTED)
    second = span(BOAT, NOTED, where, answer=there, trace="0c" * 16)
    api.post(PATH, export(first, second))
    api.post(PATH, export(second))
    assert [content for _, content in stored(api)] == [
        "My boat lies at berth 12.",
        "Noted: berth 12.",
        "Where is it?",
        "At berth 12.",
    ]


def test_a_prompt_that_was_shortened_stores_nothing_twice_and_loses_no_repeated_word(api: Api) -> None:
    yes, which, sure = text("user", "Yes."), text("assistant", "Berth 12?"), text("assistant", "Sure?")
    api.post(PATH, export(span(BOAT, answer=which)))
    api.post(PATH, export(span(BOAT, which, yes, answer=sure)))
    # The first two messages are cut off, then all but the last answer.
    api.post(PATH, export(span(yes, sure, yes, answer=NOTED)))
    api.post(PATH, export(span(NOTED, yes, answer=which)))
    assert [content for _, content in stored(api)] == [
        "My boat lies at berth 12.",
        "Berth 12?",
        "Yes.",
        "Sure?",
        "Yes.",
        "Noted: berth 12.",
        "Yes.",
        "Berth 12?",
    ]


def test_calls_of_tools_and_their_results_are_kept(api: Api) -> None:
    call = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "find_boat", "arguments": {"name": "Albatross"}}],
    }
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "berth 12"}]}
    find = text("user", "Find her.")
    api.post(PATH, export(span(find, answer=call), span(find, call, result, answer=text("assistant", "Berth 12."))))
    found = api.get("/messages", flow_id="support", session_id="anna")["items"]
    assert [each["role"] for each in found] == ["user", "assistant", "tool", "assistant"]
    assert found[1]["tool_calls"][0]["function"] == {"name": "find_boat", "arguments": '{"name": "Albatross"}'}
    assert (found[2]["tool_call_id"], found[2]["content"]) == ("c1", "berth 12")


def recorded(**attributes: Any) -> list[ReadableSpan]:
    """Spans of OpenTelemetry's own SDK: an outer one, and a model call in it."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("agent"), tracer.start_as_current_span("chat", attributes=attributes):
        pass
    return list(exporter.get_finished_spans())


@pytest.mark.parametrize("is_compressed", [False, True])
def test_an_export_of_opentelemetrys_sdk_in_protobuf_is_captured(is_compressed: bool, api: Api) -> None:
    attributes = {
        "gen_ai.conversation.id": "anna",
        "gen_ai.input.messages": json.dumps([BOAT]),
        "gen_ai.output.messages": json.dumps([NOTED]),
    }
    content = encode_spans(recorded(**attributes)).SerializeToString()
    headers = PROTOBUF | ({"Content-Encoding": "gzip"} if is_compressed else {})
    answer = api.call("POST", PATH, content=gzip.compress(content) if is_compressed else content, headers=headers)
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert not ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans
    assert [role for role, _ in stored(api)] == ["user", "assistant"]


def test_messages_as_structured_attributes_are_read_too(api: Api) -> None:
    part = {
        "kvlistValue": {
            "values": [
                {"key": "type", "value": {"stringValue": "text"}},
                {"key": "content", "value": {"stringValue": "Berth 12."}},
            ]
        }
    }
    message = {
        "kvlistValue": {
            "values": [
                {"key": "role", "value": {"stringValue": "user"}},
                {"key": "parts", "value": {"arrayValue": {"values": [part]}}},
            ]
        }
    }
    sent = span()
    sent["attributes"] = [
        {"key": "gen_ai.conversation.id", "value": {"stringValue": "anna"}},
        {"key": "gen_ai.input.messages", "value": {"arrayValue": {"values": [message]}}},
    ]
    api.post(PATH, export(sent))
    assert stored(api) == [("user", "Berth 12.")]


def test_spans_without_messages_are_ignored(api: Api) -> None:
    other = span()
    other["attributes"] = [{"key": "http.request.method", "value": {"stringValue": "GET"}}]
    assert api.post(PATH, export(other)) == {}
    assert api.get("/sessions", flow_id="support")["items"] == []


def test_a_span_without_a_session_is_refused_by_name_and_the_others_are_stored(api: Api) -> None:
    answer = api.post(PATH, export(span(BOAT, session=None), span(BOAT)))
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "gen_ai.conversation.id" in answer["partialSuccess"]["errorMessage"]
    assert len(stored(api)) == 1


@each_row(
    ("session", "more", "reason"),
    [
        ("x" * 200, {}, "session_id must have at most 128 characters"),
        ("an\0na", {}, "must not contain a NUL character"),
        (" ", {}, "session_id must not be blank"),
        ("anna", {"enduser.id": "x" * 200}, "end_user_id must have at most 128 characters"),
        ("anna", {"gen_ai.input.messages": '[{"role": "user", "parts": 5}]'}, "parts must be a list"),
    ],
)
def test_a_run_that_cannot_be_stored_is_refused_by_name_and_the_others_are_stored(
    api: Api, session: str, more: dict[str, str], reason: str
) -> None:
    answer = api.post(PATH, export(span(BOAT, session=session, trace="0c" * 16, **more), span(BOAT, session="bob")))

    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert reason in answer["partialSuccess"]["errorMessage"]
    assert stored(api, "bob") == [("user", "My boat lies at berth 12.")]


def test_a_conversation_longer_than_a_run_may_be_is_captured(api: Api) -> None:
    most = 50  # the setting of the tests' API
    prompt = [text("user", f"question {number}") for number in range(most + 2)]

    assert "partialSuccess" not in api.post(PATH, export(span(*prompt, answer=NOTED)))
    (last,) = api.get("/messages", flow_id="support", session_id="anna", order="desc", size=1)["items"]
    assert (last["seq"], last["content"]) == (most + 3, "Noted: berth 12.")


def test_messages_that_are_cut_off_are_refused_by_name(api: Api) -> None:
    sent = span(BOAT)
    next(each for each in sent["attributes"] if each["key"] == "gen_ai.input.messages")["value"] = {
        "stringValue": '[{"role": "user", "parts": [{"type"'
    }
    answer = api.post(PATH, export(sent))
    assert "gen_ai.input.messages is not JSON" in answer["partialSuccess"]["errorMessage"]


def test_a_message_beyond_the_bound_is_refused_and_other_sessions_are_stored(api: Api) -> None:
    answer = api.post(PATH, export(span(text("user", "x" * 60_000), session="bob"), span(BOAT)))
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "50000" in answer["partialSuccess"]["errorMessage"].replace(",", "")
    assert len(stored(api)) == 1


@each_row(
    ("content", "headers", "status", "field"),
    [
        (b"\xff\xff", PROTOBUF, 422, "body"),
        (b"[", {"Content-Type": "application/json"}, 422, "body"),
        (b'{"resourceSpans": 7}', {"Content-Type": "application/json"}, 422, "body"),
        (b"{}", {"Content-Type": "text/plain"}, 422, "Content-Type"),
        (b"{}", PROTOBUF | {"Content-Encoding": "br"}, 422, "Content-Encoding"),
        (b"{}", PROTOBUF | {"Content-Encoding": "gzip"}, 422, "body"),
        (gzip.compress(b"{}", mtime=0)[:-4], PROTOBUF | {"Content-Encoding": "gzip"}, 422, "body"),
        (gzip.compress(b"\0" * 10_000_000, mtime=0), PROTOBUF | {"Content-Encoding": "gzip"}, 413, "body"),
    ],
)
def test_what_is_no_export_is_refused_with_the_reason(
    api: Api, content: bytes, headers: dict[str, str], status: int, field: str
) -> None:
    assert api.refused("POST", PATH, status, content=content, headers=headers)["field"] == field


def test_an_unknown_flow_is_404_so_that_nothing_is_lost_silently(api: Api) -> None:
    api.refused("POST", "/flows/unknown/traces", 404, json=export(span(BOAT)))


def test_a_collision_with_another_request_is_not_refused_for_good(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def collide(*_: object) -> None:
        raise errors.ConstraintViolated

    monkeypatch.setattr(spans, "capture", collide)
    error = api.refused("POST", PATH, 409, json=export(span(BOAT, answer=NOTED)))
    assert (error["code"], error["retryable"]) == ("constraint_violated", True)


def test_beyond_a_quota_the_exporter_is_told_to_try_again(api: Api) -> None:
    _, secret = api_keys.create_key(
        api.services, api.user_id, name="exporter", scopes=["write"], quotas={"messages_per_day": 0}
    )
    error = replace(api, secret=secret).refused("POST", PATH, 429, json=export(span(BOAT)))
    assert (error["code"], stored(api)) == ("quota_exceeded", [])
    api.post(PATH, export(span(BOAT)))
    assert stored(api) == [("user", "My boat lies at berth 12.")]
