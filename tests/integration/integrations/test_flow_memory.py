"""Both memories of a flow raise the same errors; over HTTP, what is away is told from what is refused."""

from __future__ import annotations

import json

import pytest
from harness.clients import http_answer, scripted
from harness.rows import each_row
from memorybase_client import Client

from memorybase import errors
from memorybase.integrations.flow_memory import FlowMemory, OverHttp
from memorybase.integrations.langchain import ChatHistory
from memorybase.integrations.outbox import is_away

MESSAGE = {"id": "m", "role": "user", "content": "x"}


def failed(status: str, code: str, *, retryable: bool = False) -> bytes:
    error = {
        "code": code, "message": "what happened", "retryable": retryable, "field": "messages", "value": 9, "limit": 3,
        "details": {"line": 1},
    }  # fmt: skip
    return http_answer(status, json.dumps({"error": error}).encode())


@each_row(
    ("answer", "kind", "away"),
    [
        (failed("404 Not Found", "not_found"), errors.NotFound, False),
        (failed("422 Unprocessable Entity", "invalid_request"), errors.InvalidRequest, False),
        (failed("409 Conflict", "message_conflict"), errors.MessageConflict, False),
        (failed("400 Bad Request", "of_a_newer_server"), errors.CallerError, False),
        (failed("429 Too Many Requests", "rate_limited", retryable=True), errors.RateLimited, True),
        (failed("503 Service Unavailable", "database_unavailable", retryable=True), errors.DatabaseUnavailable, True),
        (failed("503 Service Unavailable", "overloaded", retryable=True), errors.EnvironmentFailure, True),
        (failed("500 Internal Server Error", "internal_error"), errors.EnvironmentFailure, True),
        (failed("500 Internal Server Error", "constraint_violated"), errors.EnvironmentFailure, True),
        (http_answer("502 Bad Gateway", b"<html>"), errors.EnvironmentFailure, True),
        (b"", errors.EnvironmentFailure, True),
    ],
)
def test_an_error_over_http_is_raised_as_in_the_process(
    answer: bytes, kind: type[errors.MemorybaseError], *, away: bool
) -> None:
    with (
        scripted([answer]) as server,
        Client(server.url, "k", tries=1) as client,
        pytest.raises(errors.MemorybaseError) as raised,
    ):
        OverHttp(client, "f").newest("s")

    assert type(raised.value) is kind
    assert is_away(raised.value) == away
    if b"what happened" in answer:
        assert (raised.value.message, raised.value.field) == ("what happened", "messages")
        assert (raised.value.value, raised.value.limit, raised.value.details) == (9, 3, {"line": 1})


def test_what_is_refused_has_the_same_class_in_both_memories(memory: FlowMemory) -> None:
    memory.capture("s", "r", [MESSAGE])
    with pytest.raises(errors.MessageConflict):
        memory.capture("s", "r", [{**MESSAGE, "content": "y"}])
    with pytest.raises(errors.RunConflict):
        memory.capture("another", "r", [{**MESSAGE, "id": "n"}])


@each_row("fields", [{"max_message": 5}, {"max_messages": "many"}, {"trim_mode": None}])
def test_invalid_fields_of_a_chat_memory_are_named(fields: dict[str, object], memory: FlowMemory) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        ChatHistory(memory, "notes", "c", **fields)
    assert refused.value.field == next(iter(fields))


def test_a_view_over_http_has_the_fields_of_one_in_the_process(memory: FlowMemory) -> None:
    ChatHistory(memory, "notes", "c").add_messages([])
    memory.post_chat("notes", "c", [MESSAGE])
    view = memory.view_chat("notes", "c")
    assert view["messages"] == [{"role": "user", "content": "x"}]
    assert {"messages", "sources", "text", "report"} <= view.keys()
    (stored,) = memory.read_chat("notes", "c")["items"]
    assert (stored["external_id"], stored["content"]) == ("m", "x")
    memory.capture("s", "r", [MESSAGE])
    (captured,) = memory.newest("s")
    assert isinstance(captured["id"], str)
    assert (captured["external_id"], captured["content"], captured["edited_at"]) == ("m", "x", None)
