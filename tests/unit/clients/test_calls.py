"""What the Python client sends, repeats and reads, without a server."""

from __future__ import annotations

import pickle
import ssl
import stat
import sys
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from harness.rows import each_row
from memorybase_client import Client, errors, local_stack, models
from memorybase_client._calls import Call, connection_of, encoded, error_of, json_of, pause_before_retry, segment
from memorybase_client._ids import with_message_ids, with_run_id
from memorybase_client._lines import PART_LINES, Events, Lines, parts_of, plus
from memorybase_client.local_stack import LocalStack


def pause(error: errors.MemorybaseError, attempt: int = 1) -> Any:
    return pause_before_retry(error, attempt=attempt, tries=5)


@each_row(
    ("value", "path"),
    [("a/b", "a%2Fb"), ("ü?#", "%C3%BC%3F%23"), ("..", "%2E%2E"), (".", "%2E"), ("a.b", "a.b"), (UUID(int=1), None)],
)
def test_an_id_stays_one_segment_of_the_path(value: Any, path: str | None) -> None:
    wanted = path or str(value)
    assert segment(value, "flow_id") == wanted
    url = httpx.Client(base_url="http://server/v1").build_request("GET", f"/flows/{wanted}/runs").url
    assert url.raw_path.decode() == f"/v1/flows/{wanted}/runs"


def test_an_empty_id_is_refused_since_the_path_would_be_another_calls() -> None:
    with pytest.raises(ValueError, match="flow_id must not be empty"):
        segment("", "flow_id")


def test_bodies_leave_out_none_and_write_ids_and_times() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    assert json_of({"a": None, "b": UUID(int=1), "c": at, "d": [models.Covers(from_seq=1, to_seq=2)]}) == (
        b'{"b": "00000000-0000-0000-0000-000000000001", "c": "2026-01-02T00:00:00+00:00", '
        b'"d": [{"from_seq": 1, "to_seq": 2}]}'
    )
    assert json_of({"a": None}, is_optional=True) is None
    with pytest.raises(ValueError, match="JSON compliant"):
        encoded({"score": float("nan")})


def test_a_call_that_waits_is_given_the_time_for_it() -> None:
    assert Call("GET", "/jobs/1").options(5)["timeout"].read == 5
    timeout = Call("GET", "/jobs/1", wait_seconds=60).options(5)["timeout"]
    assert (timeout.read, timeout.connect) == (70, 5)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user with no settings, on a machine without a stack."""
    monkeypatch.delenv("MEMORYBASE_URL", raising=False)
    monkeypatch.delenv("MEMORYBASE_API_KEY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.usefixtures("alone")
def test_the_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection_of(None, "given") == ("http://127.0.0.1:8000", "given")
    with pytest.raises(ValueError, match="pass key=, set MEMORYBASE_API_KEY, or start memorybase"):
        connection_of(None, None)
    monkeypatch.setenv("MEMORYBASE_URL", "https://memory.example/")
    monkeypatch.setenv("MEMORYBASE_API_KEY", "from the environment")
    assert connection_of(None, None) == ("https://memory.example", "from the environment")
    assert connection_of("http://other", "given") == ("http://other", "given")


@pytest.mark.usefixtures("alone")
def test_a_client_finds_the_stack_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = LocalStack("http://127.0.0.1:8123", "its key", "/data")
    local_stack.note(stack)
    assert connection_of(None, None) == ("http://127.0.0.1:8123", "its key")
    assert connection_of("http://127.0.0.1:8123/", None) == ("http://127.0.0.1:8123", "its key")
    assert connection_of(None, "given") == ("http://127.0.0.1:8123", "given")
    monkeypatch.setenv("MEMORYBASE_API_KEY", "from the environment")
    assert connection_of(None, None) == ("http://127.0.0.1:8123", "from the environment")
    assert "its key" not in repr(stack)


@pytest.mark.usefixtures("alone")
def test_the_key_of_the_stack_is_sent_to_no_other_address() -> None:
    local_stack.note(LocalStack("http://127.0.0.1:8123", "its key"))
    with pytest.raises(ValueError, match="An API key is required"):
        connection_of("https://memory.example", None)


@pytest.mark.usefixtures("alone")
def test_a_note_that_others_can_read_or_that_is_damaged_is_ignored() -> None:
    local_stack.note(LocalStack("http://127.0.0.1:8123", "its key"))
    file = local_stack.state_dir() / "stack.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)
    assert local_stack.find() is None
    file.chmod(0o600)
    file.write_text('{"url": ')
    assert local_stack.find() is None


@pytest.mark.usefixtures("alone")
def test_on_windows_a_note_has_no_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    local_stack.note(noted := LocalStack("http://127.0.0.1:8123", "its key"))
    (local_stack.state_dir() / "stack.json").chmod(0o644)
    monkeypatch.setattr(sys, "platform", "win32")

    assert local_stack.find() == noted


@pytest.mark.usefixtures("alone")
def test_a_stack_that_stops_leaves_the_note_of_a_later_one() -> None:
    earlier, later = LocalStack("http://127.0.0.1:1", "a"), LocalStack("http://127.0.0.1:2", "b")
    local_stack.note(earlier)
    local_stack.note(later)
    local_stack.forget(earlier)
    assert local_stack.find() == later
    local_stack.forget(later)
    assert local_stack.find() is None


def test_a_key_that_cannot_be_a_header_is_refused_and_not_shown() -> None:
    assert connection_of("http://a", "a key from a file\n") == ("http://a", "a key from a file")
    for broken in ("secret\nline", "secret\x00", "secret\x7f"):
        with pytest.raises(ValueError, match="control characters") as refused:
            connection_of("http://a", broken)
        assert "secret" not in str(refused.value)


def test_a_retryable_answer_is_repeated_after_what_it_asks_for() -> None:
    assert pause(errors.RateLimited("", status=429, retryable=True, retry_after=3)) == 3
    assert pause(errors.DatabaseUnavailable("", status=503, retryable=True, retry_after=31)) is None
    assert 0.05 <= pause(errors.DatabaseUnavailable("", status=503, retryable=True)) <= 0.1
    assert 2.5 <= pause(errors.DatabaseUnavailable("", status=503, retryable=True), attempt=4) * 8 <= 6.4


@each_row(
    "error",
    [
        errors.CollectionMissing("", status=503, retryable=False, retry_after=5),
        errors.IngestionActive("", status=409, retryable=True, retry_after=1),
        errors.NotFound("", status=404),
    ],
)
def test_what_a_repetition_cannot_change_is_not_repeated(error: errors.MemorybaseError) -> None:
    assert pause(error) is None


def test_the_answer_to_the_call_itself_is_worth_a_wait() -> None:
    assert pause(errors.IdempotencyInProgress("", status=409, retryable=True, retry_after=3)) == 3
    assert pause(errors.SecretNotStored("", status=409)) is None
    assert pause(errors.QuotaExceeded("", status=429, retryable=True, retry_after=3_600)) is None
    assert pause(errors.QuotaFull("", status=429, retryable=True)) is None


def test_a_call_sends_its_key() -> None:
    headers = Call("POST", "/keys", content=b"{}", idempotency_key="k").options(5)["headers"]
    assert headers == {"Content-Type": "application/json", "Idempotency-Key": "k"}
    assert "Idempotency-Key" not in Call("POST", "/search", content=b"{}").options(5)["headers"]


def test_the_last_try_is_the_last() -> None:
    error = errors.RateLimited("", status=429, retryable=True, retry_after=0)
    assert [pause(error, attempt=attempt) for attempt in (4, 5)] == [0, None]


def answer(status: int, body: Any, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers=headers)


def test_an_error_is_one_of_its_codes_class_with_all_its_fields() -> None:
    body = {
        "code": "name_taken",
        "message": "taken",
        "field": "name",
        "value": "a",
        "limit": 1,
        "retryable": False,
        "request_id": "r",
        "details": {"existing_id": "x"},
    }
    error = error_of(answer(409, {"error": body}))
    assert type(error) is errors.NameTaken
    assert isinstance(error, errors.Conflict)
    assert (error.status, error.field, error.value, error.limit, error.request_id, error.details) == (
        409,
        "name",
        "a",
        1,
        "r",
        {"existing_id": "x"},
    )
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), "taken", vars(error))


@each_row(("status", "kind"), [(418, errors.CallerError), (507, errors.ServerFailure)])
def test_a_code_of_a_newer_server_keeps_its_name(status: int, kind: type[Exception]) -> None:
    body = {"code": "of_the_future", "message": "m", "retryable": True}
    error = error_of(answer(status, {"error": body}, **{"Retry-After": "7"}))
    assert (type(error), error.code, error.retryable, error.retry_after) == (kind, "of_the_future", True, 7)
    assert kind.code != "of_the_future"


@each_row(("status", "retryable"), [(502, True), (504, True), (500, False), (404, False), (302, False)])
def test_an_answer_of_something_else_says_so(status: int, retryable: bool) -> None:
    error = error_of(httpx.Response(status, text="<html>"))
    assert (type(error), error.retryable) == (errors.UnexpectedAnswer, retryable)


def test_answers_keep_fields_and_values_of_a_newer_server() -> None:
    read = models.JobBrief.model_validate_json(
        b'{"id": "00000000-0000-0000-0000-000000000001", "session_id": "s", "state": "paused", "new": [1]}'
    )
    assert (read.id, read.state, read.model_extra) == (UUID(int=1), "paused", {"new": [1]})


def test_ids_are_chosen_where_the_caller_left_them_out() -> None:
    assert with_run_id({"run_id": "mine"}) == {"run_id": "mine"}
    assert UUID(with_run_id({"run_id": None})["run_id"])
    sent = with_message_ids({"messages": [{"id": "mine"}, {"role": "user"}, {"type": "ai", "data": {"content": "c"}}]})
    mine, chosen, nested = sent["messages"]
    assert mine == {"id": "mine"}
    assert UUID(chosen["id"])
    assert UUID(nested["data"]["id"])


def test_lines_are_split_at_line_feeds_only_wherever_a_part_ends() -> None:
    text = '{"a": "x\u2028y\x85"}\n{"b": 1}\nrest'.encode()
    for size in (1, 2, 7, 100):
        lines = Lines()
        found = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
        assert (found, lines.rest) == (['{"a": "x\u2028y\x85"}'.encode(), b'{"b": 1}'], b"rest")


def test_events_have_a_name_and_data_and_comments_are_skipped() -> None:
    events = Events()
    sent = b"event: job\ndata: {}\n\n: still there\n\ndata: a\ndata:b\n\nevent: end\r\ndata: 1\r\n\r\n"
    found = [event for line in sent.split(b"\n") if (event := events.feed(line))]
    assert found == [("job", b"{}"), ("message", b"a\nb"), ("end", b"1")]


def test_an_import_is_sent_in_parts_of_whole_lines() -> None:
    lines = [{"n": number} if number % 2 else f'{{"n": {number}}}\n' for number in range(PART_LINES + 1)]
    parts = list(parts_of(lines))
    assert [before for before, _ in parts] == [0, PART_LINES]
    assert b"".join(part for _, part in parts).count(b"\n") == PART_LINES + 1
    assert [before for before, _ in parts_of(["x" * 600_000, "y" * 600_000, "z"])] == [0, 1]


def test_counts_and_lists_of_parts_are_added() -> None:
    parts = ({"a": 1}, {"a": 1, "b": {"c": 2}, "w": ["x"]}, {"a": 1, "w": ["y"]}, {"b": {"c": 3}})
    assert reduce(plus, parts, None) == {"a": 3, "b": {"c": 5}, "w": ["x", "y"]}


@each_row(
    ("url", "options", "mode"),
    [
        ("https://memory.example", {}, ssl.CERT_REQUIRED),
        ("https://memory.example", {"verify": False}, ssl.CERT_NONE),
        ("http://127.0.0.1:8000", {"proxy": "https://proxy.example"}, ssl.CERT_REQUIRED),
        ("http://127.0.0.1:8000", {}, ssl.CERT_NONE),  # no TLS: the certificates are not even read
    ],
)
def test_certificates_are_checked_wherever_there_is_tls(
    url: str, options: dict[str, Any], mode: ssl.VerifyMode
) -> None:
    with Client(url, "k", **options) as client:
        routes = [transport for transport in client._http._mounts.values() if transport is not None]
        for transport in routes or [client._http._transport]:
            assert transport._pool._ssl_context.verify_mode == mode  # type: ignore[attr-defined]
