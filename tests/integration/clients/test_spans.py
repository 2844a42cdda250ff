"""Operations of a memory in spans, from a program through the Python client to the server: OpenTelemetry's names,
and texts only if they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from harness.clients import connected, http_answer, scripted
from harness.served import Served, serve_api
from harness.spans import Recorded, Seen, ancestors, recorded_spans
from memorybase_client import Client, errors, otel_names
from opentelemetry import trace

from memorybase.core.settings import Settings

SECRET = "ornithopter"
KEY = "mb_secret_of_this_test"
OPERATIONS = [
    "create_memory_store",
    "create_memory_store",
    "create_memory",
    "search_memory",
    "search_memory",
    "search_memory",
    "update_memory",
    "delete_memory",
    "delete_memory",
    "create_memory",
    "delete_memory",
    "delete_memory_store",
]


@pytest.fixture
def served(api_settings: Settings) -> Iterator[Served]:
    with serve_api(api_settings) as opened:
        yield opened


@contextmanager
def recording(patch: pytest.MonkeyPatch, *, has_texts: bool = False) -> Iterator[Recorded]:
    """The server's spans, and those of a program whose global provider is the same."""
    if has_texts:
        patch.setenv(otel_names.TEXTS_VARIABLE, "SPAN_ONLY")
    with recorded_spans(has_texts=has_texts) as recorded:
        patch.setattr(trace, "get_tracer", recorded.provider.get_tracer)
        yield recorded


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text} for text in texts]


def every_operation(served: Served, client: Any) -> str:
    """Each call that is an operation of a memory, in the order of OPERATIONS. Returns the id of the memory base."""
    client.put_flow("f", name="f")
    base = client.put_memory_base("f", "notes", capture="all", threshold=2)
    other = client.create_memory_base(name="other", flow_id="f", threshold=2)
    captured = client.capture_run("f", session_id="jane", messages=said(SECRET, f"{SECRET} two"))
    served.api.work()
    client.search_memory_base(base.id, query=SECRET)
    client.search_flow(flow_id="f", query=SECRET)
    client.build_context(flow_id="f", session_id="john", query=SECRET, token_budget=500)
    client.edit_message(captured.messages[0].id, content=f"a new {SECRET}")
    client.delete_message(captured.messages[1].id)
    client.delete_session(flow_id="f", session_id="jane")
    client.capture_run("f", session_id="s", end_user_id="jane", messages=said(SECRET))
    client.erase_end_user("jane")
    client.delete_memory_base(other.id)
    return str(base.id)


def of_both(seen: list[Seen]) -> list[tuple[Seen, Seen]]:
    """Each span of the client with the server's of the same operation, which is below it."""
    found = []
    for client in (span for span in seen if span.kind == "CLIENT" and span.name in set(OPERATIONS)):
        (server,) = [
            span
            for span in seen
            if span.kind == "INTERNAL" and span.name == client.name and span.trace_id == client.trace_id
        ]
        assert ancestors(server, seen)[1:] == [client.name]
        found.append((client, server))
    return found


def attributes(span: Seen, *names: str) -> list[Any]:
    return [span.attributes.get(f"gen_ai.memory.{name}") for name in names]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_each_operation_has_a_span_of_the_client_and_one_of_the_server(
    served: Served, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording(monkeypatch) as spans, connected(kind, served.url, served.api.secret) as client:
        base_id = every_operation(served, client)
        seen = spans.all()
    pairs = of_both(seen)
    assert [client.name for client, _ in pairs] == OPERATIONS
    for client, server in pairs:
        assert client.attributes["gen_ai.operation.name"] == server.attributes["gen_ai.operation.name"] == client.name
        assert client.attributes["gen_ai.provider.name"] == "memorybase"
        assert (client.attributes["server.address"], client.attributes["server.port"]) == ("127.0.0.1", served.port)
        for name in ("record.count", "record.id"):  # both sides count the same
            assert attributes(client, name) == attributes(server, name), (client.name, name)
    by_name = {client.name: (client, server) for client, server in reversed(pairs)}
    for span in by_name["create_memory_store"]:
        assert attributes(span, "store.id") == [base_id]
    for span in by_name["search_memory"]:
        assert attributes(span, "store.id", "record.count") == [base_id, 2]
    assert attributes(by_name["create_memory"][0], "record.count") == [2]
    assert None not in attributes(by_name["delete_memory"][0], "record.id", "record.count")
    ingested = [span for span in seen if span.name == "upsert_memory"]
    assert {span.trace_id for span in ingested} == {by_name["create_memory"][0].trace_id}
    assert base_id in {span.attributes["gen_ai.memory.store.id"] for span in ingested}
    assert {span.attributes["gen_ai.memory.record.count"] for span in ingested} == {2}
    shown = str([(span.name, span.attributes) for span in seen])
    assert not any(each in shown for each in (SECRET, "jane", "john", served.api.secret))


def test_texts_are_in_spans_only_if_the_variable_asks_for_them(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with recording(monkeypatch, has_texts=True) as spans, Client(served.url, served.api.secret) as client:
        every_operation(served, client)
        seen = spans.all()
    first = {client.name: (client, server) for client, server in reversed(of_both(seen))}
    for span in first["search_memory"]:
        query, records = attributes(span, "query.text", "records")
        assert query == SECRET
        assert [each["content"] for each in json.loads(records)] == [SECRET, f"{SECRET} two"]
        assert all(each.keys() == {"content", "id", "score"} for each in json.loads(records))
    for span in first["create_memory"]:
        assert json.loads(*attributes(span, "records")) == [{"content": SECRET}, {"content": f"{SECRET} two"}]
    for span in first["update_memory"]:
        assert json.loads(*attributes(span, "records"))[0]["content"] == f"a new {SECRET}"
    shown = str([(span.name, span.attributes) for span in seen])
    assert not any(each in shown for each in ("jane", served.api.secret))


def test_an_operation_that_fails_has_the_code_of_its_error_and_no_text(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording(monkeypatch) as spans, Client(served.url, served.api.secret) as client:
        with pytest.raises(errors.NotFound):
            client.delete_message("of-jane")
        with pytest.raises(errors.NotFound):
            client.delete_memory_base("00000000-0000-0000-0000-000000000001")
        seen = spans.all()
    failed = [span for span in seen if span.attributes.get("error.type") == "not_found"]
    assert [(span.name, span.kind) for span in failed] == [
        ("delete_memory", "CLIENT"),
        ("delete_memory_store", "INTERNAL"),
        ("delete_memory_store", "CLIENT"),
    ]
    assert all(span.is_error for span in failed)
    assert "jane" not in str([(span.name, span.attributes) for span in seen])


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.search_flow(flow_id="f", query=7, memory_base_ids=3),
        lambda client: client.capture_run("f", session_id="s", messages=["no message"]),
    ],
)
def test_a_request_or_answer_of_another_shape_fails_as_without_a_span(
    call: Callable[[Client], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = http_answer("200 OK", b'["<html>"]')
    with scripted(lambda _: answer) as server, recording(monkeypatch, has_texts=True) as spans:
        with Client(server.url, KEY, tries=1) as client, pytest.raises(errors.UnexpectedAnswer):
            call(client)
        (span,) = spans.all()
    assert span.attributes["gen_ai.operation.name"] == span.name
    assert KEY not in str(span.attributes)


def test_calls_that_are_no_operation_of_a_memory_continue_the_trace(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording(monkeypatch) as spans, Client(served.url, served.api.secret) as client:
        with spans.provider.get_tracer("program").start_as_current_span("turn"):
            client.put_flow("f", name="f")
        seen = spans.all()
    (request,) = [span for span in seen if span.kind == "SERVER"]
    assert ancestors(request, seen) == ["turn"]
