"""The Python client against the served API and against servers that fail, sync and async."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.clients import connected, http_answer, losing_answers, scripted
from harness.served import Served, serve_api
from harness.waiting import wait_until
from memorybase_client import AgentMemory, errors, models

from memorybase.core.settings import Settings

PATIENCE = 60.0  # seconds that a read of an agent's memory may take
KINDS = ("sync", "async")
CHAT = "/flows/support/chat-memories/llm"
OF_JOB = {"memory_base_name": "m", "session_id": "s", "flow_id": str(uuid4()), "created_at": "2026-01-01T00:00:00Z"}
JOB = OF_JOB | {"id": str(uuid4()), "kind": "ingest", "memory_base_id": str(uuid4()), "state": "running"}
JOB |= {"from_seq": 0, "to_seq": 1, "processed": 0, "total": 1, "attempts": 1}
JOB |= dict.fromkeys(("error", "started_at", "finished_at"))
FLOW = {"id": str(uuid4()), "external_id": "f", "name": "f", "created_at": "2026-01-01T00:00:00Z", "retain_days": None}
CAPTURED = {"run_id": str(uuid4()), "run_external_id": None, "session_id": "s", "created": True}
CAPTURED |= {"messages": [], "ingestion": []}


@pytest.fixture
def served(api_settings: Settings) -> Iterator[Served]:
    with serve_api(api_settings) as opened:
        yield opened


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str, served: Served) -> Iterator[Any]:
    with connected(kind, served.url, served.api.secret) as opened:
        yield opened


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a client would have slept."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("memorybase_client._sync.transport.sleep", slept.append)
    monkeypatch.setattr("memorybase_client._async.transport.sleep", sleep)
    return slept


@pytest.fixture
def worker(served: Served) -> Iterator[None]:
    """Runs the jobs that are enqueued, until the end of the test."""
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            served.api.work()
            ended.wait(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join(10)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text} for text in texts]


def failed(status: str, code: str, *, retryable: bool, **headers: str) -> bytes:
    error = {"code": code, "message": "m", "retryable": retryable, "request_id": "r"}
    return http_answer(status, json.dumps({"error": error}).encode(), **headers)


def found(body: Any, **options: Any) -> bytes:
    return http_answer("200 OK", json.dumps(body).encode(), **options)


def test_an_agents_memory_recalls_only_what_fits_and_each_text_once(served: Served, tmp_path: Path) -> None:
    opened = AgentMemory(
        "harbour", url=served.url, key=served.api.secret, outbox=tmp_path / "outbox", timeout_seconds=PATIENCE
    )
    with opened as memory:
        for session_id, text in (("a", "Berth 12 is free"), ("b", "berth 12 is free!"), ("c", "Bring a rope")):
            memory.capture(session_id, said(text))
        memory.flush()
        recalled = memory.recall("Which berth is free?") or []
        # Beside what answers, others fit less; each text comes once.
        texts = [(hit.content.casefold().strip("!"), hit.alike) for hit in recalled]
        assert texts[0] == ("berth 12 is free", 1)
        assert len(texts) == len(dict(texts))
        assert [memory.recall(query) for query in ("hi", "Thank you very much!", "zeppelin")] == [[], [], []]
        assert len(memory.recall("hi", min_score=0) or []) == 2


def test_before_the_first_capture_arrived_nothing_is_recalled_and_the_memory_says_why(tmp_path: Path) -> None:
    def answer(request: bytes) -> bytes:
        if b"/runs" in request.partition(b"\r\n")[0]:
            return http_answer("503 Service Unavailable")
        body = b'{"error": {"code": "not_found", "message": "There is no such flow", "retryable": false}}'
        return http_answer("404 Not Found", body)

    with (
        scripted(answer) as server,
        AgentMemory("harbour", url=server.url, key="k", outbox=tmp_path, timeout_seconds=PATIENCE) as memory,
    ):
        assert (memory.recall("Which berth is free?"), memory.failure) == ([], None)
        memory.capture("a", said("Berth 12 is free"))
        assert memory.recall("Which berth is free?") == []
        assert "1 captures wait to be sent" in str(memory.failure)


@pytest.mark.usefixtures("worker")
def test_what_was_captured_is_found_once_it_is_searchable(client: Any) -> None:
    flow = client.put_flow("support/é", name="Support")
    assert (flow.external_id, type(flow.id)) == ("support/é", UUID)
    memory = client.create_memory_base(name="notes", flow_id="support/é", threshold=50)
    captured = client.capture_run("support/é", session_id="anna", messages=said("Berth 12 is free", "Bring a rope"))
    assert [message.seq for message in captured.messages] == [1, 2]

    settled = client.wait_until_searchable(memory.id, timeout_seconds=30)

    assert (settled.pending_messages, settled.total_processed, settled.status) == (0, 2, "ready")
    answer = client.search_memory_base(memory.id, query="Which berth?", top_k=1, include_pending=False)
    assert [hit.content for hit in answer.results] == ["Berth 12 is free"]
    assert client.search_flow(flow_id="support/é", query="rope", mode="keyword").results[0].session_id == "anna"


@pytest.mark.slow
def test_waiting_includes_the_repair_after_an_edit(client: Any, served: Served) -> None:
    client.put_flow("f", name="f")
    memory = client.create_memory_base(name="notes", flow_id="f")
    (message,) = client.capture_run("f", session_id="s", messages=said("one")).messages
    client.flush_memory_base(memory.id)
    served.api.work()
    assert client.edit_message(message.id, content="two").job_ids
    with pytest.raises(errors.NotSearchable, match="had not ended after 1 s"):
        client.wait_until_searchable(memory.id, timeout_seconds=1)

    served.api.work()

    assert client.wait_until_searchable(memory.id, timeout_seconds=30).pending_messages == 0


@pytest.mark.usefixtures("worker")
def test_one_session_can_be_waited_for(client: Any) -> None:
    client.put_flow("f", name="f")
    memory = client.create_memory_base(name="notes", flow_id="f")
    for session in ("s1", "s2"):
        client.capture_run("f", session_id=session, messages=said(f"of {session}"))

    client.wait_until_searchable(memory.id, session_id="s1", timeout_seconds=30)

    states = {each.session_id: each.state for each in client.list_memory_base_sessions(memory.id)}
    assert states == {"s1": "synced", "s2": "pending"}


def test_the_last_of_many_jobs_is_waited_for(kind: str) -> None:
    """A flush of a thousand sessions takes a second of the server, which a worker would use."""
    jobs = [str(uuid4()) for _ in range(3)]
    conflicts = [{"session_id": job, "job_id": job, "state": "queued"} for job in jobs]
    error = {"code": "ingestion_active", "message": "m", "retryable": True, "request_id": "r"}
    body = json.dumps({"error": error | {"details": {"conflicts": conflicts}}})
    active, gone = http_answer("409 Conflict", body.encode()), failed("404 Not Found", "not_found", retryable=False)
    with (
        scripted([active, gone, gone]) as server,
        connected(kind, server.url, "k") as client,
        pytest.raises(errors.NotFound),
    ):
        client.wait_until_searchable(uuid4())
    assert f"/jobs/{jobs[-1]}".encode() in server.requests[1]


@pytest.mark.slow
def test_waiting_ends_with_an_error_if_nobody_ingests(client: Any) -> None:
    client.put_flow("f", name="f")
    memory = client.create_memory_base(name="notes", flow_id="f")
    client.capture_run("f", session_id="s", messages=said("one"))

    with pytest.raises(errors.NotSearchable, match=r"1 messages are pending.*after 1 s.*memorybase doctor"):
        client.wait_until_searchable(memory.id, timeout_seconds=1)


def test_a_list_is_iterated_over_all_its_pages_or_read_by_page(client: Any) -> None:
    client.put_flow("f", name="f")
    client.capture_run("f", session_id="s", messages=said(*(f"text {number}" for number in range(7))))
    listing = client.list_messages(session_id="s", flow_id="f", size=3)

    assert [message.seq for message in listing] == [1, 2, 3, 4, 5, 6, 7]
    assert [len(page.items) for page in listing.pages()] == [3, 3, 1]
    page = listing.page()
    assert (page.total, len(page.items)) == (7, 3)
    later = client.list_messages(session_id="s", flow_id="f", size=3, cursor=page.next_cursor)
    assert [each.seq for each in later] == [4, 5, 6, 7]
    assert [each.seq for each in client.list_messages(flow_id="f", size=2, page=2)] == [3, 4, 5, 6, 7]


def test_a_list_without_cursor_is_iterated_by_page(client: Any) -> None:
    for name in "abc":
        client.create_key(name=name, scopes=["read"])

    assert {"a", "b", "c"} <= {key.name for key in client.list_keys(size=1)}


def test_a_chat_is_iterated_from_its_first_message(client: Any) -> None:
    client.put_flow("f", name="f")
    client.put_chat_memory("f", "node", name="chat", chat_id="{{ who }}")
    for number in range(5):
        client.post_chat_messages("f", "node", chat_id="c", messages=[{"role": "user", "content": f"text {number}"}])

    listing = client.list_chat_messages("f", "node", chat_id="c", limit=2)

    assert [message.content for message in listing] == [f"text {number}" for number in range(5)]
    lines = list(client.export_chats("f", "node"))
    assert lines[-1]["type"] == "end"


def test_errors_have_the_class_of_their_code(client: Any) -> None:
    with pytest.raises(errors.NotFound, match="flow"):
        client.get_flow("nothing")
    with pytest.raises(errors.InvalidRequest) as invalid:
        client.create_memory_base(name="m", flow_id="f", threshold=0)
    assert (invalid.value.field, invalid.value.limit, invalid.value.status) == ("threshold", 1, 422)
    assert invalid.value.request_id
    client.put_flow("f", name="f")
    first = client.create_memory_base(name="m", flow_id="f")
    with pytest.raises(errors.Conflict) as taken:
        client.create_memory_base(name="m", flow_id="f")
    assert (type(taken.value), taken.value.details["existing_id"]) == (errors.NameTaken, str(first.id))


def test_a_deletion_answers_none_once_it_is_done(client: Any) -> None:
    client.put_flow("f", name="f")

    assert client.delete_flow("f") is None
    with pytest.raises(errors.NotFound):
        client.delete_flow("f")


def test_a_wrong_key_is_unauthorized_and_no_key_is_shown(kind: str, served: Served) -> None:
    with connected(kind, served.url, "wröng-secret") as client, pytest.raises(errors.Unauthorized) as refused:
        client.list_flows().page()
    assert "wröng-secret" not in repr(refused.value) + str(vars(refused.value)) + repr(client)


def test_an_export_can_be_imported_by_another_user(client: Any, served: Served, kind: str) -> None:
    client.put_flow("f", name="f")
    texts = ["one", "line\u2028separator", "ü" * 1000]
    client.capture_run("f", session_id="s", run_id="r", messages=said(*texts))
    lines = list(client.export_lines(flow_id="f"))
    other = served.api.of_user("other")

    with connected(kind, served.url, other.secret) as second:
        assert second.import_lines([lines[0], *map(json.dumps, lines[1:])]).messages.created == 3
        assert second.import_lines(lines).messages.known == 3
        assert [message.content for message in second.list_messages(flow_id="f")] == texts
        with pytest.raises(errors.InvalidRequest) as invalid:
            second.import_lines([*["" for _ in range(1_200)], "{"])
    assert isinstance(invalid.value, errors.CallerError)


def test_the_line_of_an_imports_error_counts_from_the_first_of_all(kind: str) -> None:
    error = {
        "code": "message_conflict",
        "message": "m",
        "retryable": False,
        "field": "line 5.id",
        "details": {"line": 5},
    }
    answers = [found({"lines": 1_000}), http_answer("409 Conflict", json.dumps({"error": error}).encode())]
    with (
        scripted(answers) as server,
        connected(kind, server.url, "k") as client,
        pytest.raises(errors.MessageConflict) as conflict,
    ):
        client.import_lines([{"type": "flow"}] * 1_200)
    assert (conflict.value.details["line"], conflict.value.field) == (1_005, "line 1005.id")
    sizes = [request.partition(b"\r\n\r\n")[2].count(b"\n") for request in server.requests]
    assert sizes == [1_000, 200]


def test_a_job_is_watched_until_it_ends(client: Any, served: Served) -> None:
    client.put_flow("f", name="f")
    memory = client.create_memory_base(name="m", flow_id="f")
    client.capture_run("f", session_id="s", messages=said("one"))
    job = client.flush_memory_base(memory.id).jobs[0]
    states = []
    with client.watch_job(job.id) as events:
        for seen in events:
            assert isinstance(seen, models.JobView)
            states.append(seen.state)
            if len(states) == 1:
                served.api.work()
    assert (states[0], states[-1]) == ("queued", "done")


def test_metrics_are_text(client: Any) -> None:
    assert "# HELP" in client.get_metrics()


# Failures


def test_a_busy_server_is_asked_again_after_the_time_it_names(kind: str, pauses: list[float]) -> None:
    answers = [
        failed("429 Too Many Requests", "rate_limited", retryable=True, Retry_After="2"),
        failed("503 Service Unavailable", "model_preparing", retryable=True, Retry_After="5"),
        http_answer("502 Bad Gateway", b"<html>"),
        b"",  # the connection is closed without an answer
        found(FLOW),
    ]
    with scripted(answers) as server, connected(kind, server.url, "k") as client:
        assert client.get_flow("f").name == "f"
    assert pauses[:2] == [2, 5]
    assert 0.2 <= pauses[2] <= 0.4 <= pauses[3] <= 0.8
    assert len(server.requests) == 5


def test_tries_are_bounded_and_the_last_error_is_raised(kind: str, pauses: list[float]) -> None:
    refusal = failed("503 Service Unavailable", "overloaded", retryable=True, Retry_After="1")
    with (
        scripted([refusal] * 9) as server,
        connected(kind, server.url, "k", tries=3) as client,
        pytest.raises(errors.Overloaded) as last,
    ):
        client.get_flow("f")
    assert (len(server.requests), pauses, last.value.retry_after) == (3, [1, 1], 1)


def test_a_server_that_does_not_listen_is_connection_failed(kind: str, pauses: list[float]) -> None:
    with scripted([]) as server:
        url = server.url
    with connected(kind, url, "k", tries=2) as client, pytest.raises(errors.ConnectionFailed, match=url):
        client.create_key(name="n", scopes=["read"])
    assert len(pauses) == 1


def test_a_call_that_would_create_a_second_object_is_repeated_with_its_key(kind: str, pauses: list[float]) -> None:
    running = failed("409 Conflict", "idempotency_in_progress", retryable=True, Retry_After="3")
    with scripted([b"", running, found(FLOW), found(FLOW)]) as server, connected(kind, server.url, "k") as client:
        client.create_flow(name="n")
        client.create_flow(name="n")
    first, second, third, other = [key_sent(request) for request in server.requests]
    assert first == second == third != other
    assert UUID(first)
    assert pauses[1:] == [3]


def test_a_caller_may_choose_the_key(kind: str) -> None:
    with (
        scripted([found(FLOW), found(CAPTURED), found(CAPTURED)]) as server,
        connected(kind, server.url, "k") as client,
    ):
        client.create_flow(name="n", idempotency_key="mine")
        client.capture_run("f", session_id="s", messages=said("one"), idempotency_key="mine too")
        client.capture_run("f", session_id="s", messages=said("one"))
    assert [key_sent(request) for request in server.requests] == ["mine", "mine too", ""]


def key_sent(request: bytes) -> str:
    lines = request.partition(b"\r\n\r\n")[0].decode().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.lower().startswith("idempotency-key")), "")


@pytest.mark.slow
@pytest.mark.usefixtures("pauses")
def test_what_was_done_although_its_answer_was_lost_is_not_done_again(kind: str, served: Served) -> None:
    served.api.flow()
    served.api.call("PUT", CHAT, json={"name": "Chat", "chat_id": "{{ user }}"}, expect=201)
    for line in ("one", "two", "three"):
        messages = [{"role": "user", "content": line}]
        served.api.post(f"{CHAT}/messages", {"chat_id": "c", "messages": messages}, expect=201)
    with losing_answers(served.url) as url, connected(kind, url, served.api.secret) as client:
        flow = client.create_flow(name="generated")
        memory = client.create_memory_base(name="notes", flow_id="support")
        build = client.regenerate_memory_base(memory.id)
        client.create_knowledge_base(name="handbook")
        client.rebuild_knowledge_base("handbook")
        deleted = client.delete_chat_messages("support", "llm", chat_id="c", mode="latest_request", roles=["user"])
        summary = client.summarize_chat("support", "llm", chat_id="c", keep_last_n=1)
        with pytest.raises(errors.SecretNotStored) as shown_once:
            client.create_key(name="ci", scopes=["read"])
    assert [each["id"] for each in served.api.get("/flows")["items"]][1:] == [str(flow.id)]
    assert [each["id"] for each in served.api.get("/memories")["items"]] == [str(memory.id)]
    assert build.generation == 2
    assert (deleted.remaining_count, summary.deleted_count) == (2, 1)
    keys = {each["id"]: each["name"] for each in served.api.get("/keys")["items"]}
    assert keys[shown_once.value.details["existing_id"]] == "ci"
    assert list(keys.values()).count("ci") == 1


@pytest.mark.usefixtures("pauses")
def test_a_repeated_capture_has_the_ids_of_the_first(kind: str) -> None:
    with (
        scripted([b"", found(CAPTURED | {"of_a_newer_server": 1})]) as server,
        connected(kind, server.url, "k") as client,
    ):
        answer = client.capture_run("f", session_id="s", messages=said("one"))
    first, second = (json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests)
    assert first == second
    assert UUID(first["run_id"])
    assert answer.of_a_newer_server == 1


def test_an_answer_of_another_shape_is_an_error_without_its_text(kind: str) -> None:
    with (
        scripted([found({"items": [{"content": "a secret text"}]})]) as server,
        connected(kind, server.url, "k") as client,
        pytest.raises(errors.UnexpectedAnswer) as unexpected,
    ):
        client.list_messages().page()
    assert "a secret text" not in str(unexpected.value) + str(unexpected.value.__cause__)
    assert "items.0.id" in str(unexpected.value.__cause__)


def test_logs_contain_neither_texts_nor_keys(kind: str, caplog: pytest.LogCaptureFixture, pauses: list[float]) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [failed("503 Service Unavailable", "unavailable", retryable=True, Retry_After="1"), found(FLOW)]
    with scripted(answers) as server, connected(kind, server.url, "a-secret-key") as client:
        client.put_flow("f", name="a secret text")
    ours = [record for record in caplog.records if record.name == "memorybase_client"]
    assert [record.levelname for record in ours] == ["WARNING"]
    assert pauses == [1]
    assert "a-secret-key" not in caplog.text
    assert "a secret text" not in caplog.text


def event(name: str, **changes: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(JOB | changes)}\n\n".encode()


def stream(*events: bytes, broken: bool = False) -> bytes:
    body = b"".join(events)
    return http_answer("200 OK", body, length=len(body) + (1 if broken else 0), Content_Type="text/event-stream")


def test_a_watch_connects_again_where_its_connection_breaks(kind: str, pauses: list[float]) -> None:
    answers = [
        stream(event("job"), b": still there\n\n", broken=True),
        stream(event("job"), event("job", processed=1)),  # the server ends
        b"",
        stream(event("job", processed=1), event("job", state="done"), event("end", state="done")),
    ]
    with scripted(answers) as server, connected(kind, server.url, "k") as client:
        seen = [(job.state, job.processed) for job in client.watch_job(JOB["id"])]
    assert seen == [("running", 0), ("running", 1), ("done", 0)]
    assert len(pauses) == 3


def test_a_watch_of_a_server_that_stays_away_ends_with_an_error(kind: str, pauses: list[float]) -> None:
    answers = [stream(event("job"), broken=True)] * 9
    with (
        scripted(answers) as server,
        connected(kind, server.url, "k", tries=3) as client,
        pytest.raises(errors.StreamBroken),
    ):
        list(client.watch_job(JOB["id"]))
    assert (len(server.requests), len(pauses)) == (3, 2)


@pytest.mark.parametrize(("name", "error"), [("unauthorized", errors.Unauthorized), ("gone", errors.NotFound)])
def test_a_watch_says_why_it_ends_early(kind: str, name: str, error: type[Exception]) -> None:
    with (
        scripted([stream(event("job"), f"event: {name}\ndata: {{}}\n\n".encode())]) as server,
        connected(kind, server.url, "k") as client,
        pytest.raises(error),
    ):
        list(client.watch_job(JOB["id"]))


@pytest.mark.parametrize("cut", [True, False], ids=["broken", "without its end"])
def test_an_incomplete_export_is_an_error_after_its_lines(kind: str, cut: bool) -> None:
    body = b'{"type": "export"}\n{"type": "flow"}\n{"ty'
    body = body if cut else body.rpartition(b"\n")[0] + b"\n"
    read: list[str] = []
    with (
        scripted([http_answer("200 OK", body, length=len(body) + cut)]) as server,
        connected(kind, server.url, "k") as client,
        pytest.raises(errors.StreamBroken),
    ):
        read.extend(line["type"] for line in client.export_lines(flow_id="f"))
    assert read == ["export", "flow"]


def test_a_stream_that_is_left_early_gives_its_connection_back(client: Any, served: Served) -> None:
    client.put_flow("f", name="f")
    memory = client.create_memory_base(name="m", flow_id="f")
    client.capture_run("f", session_id="s", messages=said("one"))
    job = client.flush_memory_base(memory.id).jobs[0]
    with client.watch_job(job.id) as events:
        assert next(iter(events)).state == "queued"
        client.get_job(job.id)
        assert len(served.connections) == 2
    wait_until(lambda: len(served.connections) == 1, what="the stream's connection is closed")
