"""Clients that send half a request, too much of one, or read no answer cost little and keep nobody out."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient
from harness.served import Served, read_to_end, serve_api
from harness.waiting import wait_until
from starlette.types import Receive, Scope, Send

from api import bodies, file_limit, http_protocol, server
from memorybase.core.settings import Settings

pytestmark = pytest.mark.slow

HALF = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
MOST = 20


def settings(folder: Path, **changes: Any) -> Settings:
    fixed = {"data_dir": folder, "embedding_model": "fake", "api_key": "the-key-from-the-settings"}
    return Settings(**(fixed | {"max_body_bytes": 400_000} | changes))


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (http_protocol, "HEADER_SECONDS"),
        (bodies, "BODY_SECONDS"),
        (http_protocol, "WRITE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 300.0)
    monkeypatch.setattr(server, "MAX_CONNECTIONS_PER_ADDRESS", MOST)


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Served]:
    """A server that waits longer than any test."""
    with serve_api(settings(tmp_path)) as opened:
        yield opened


@pytest.fixture
def hurries_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that soon stops waiting for headers, for clients that never send them whole."""
    monkeypatch.setattr(http_protocol, "HEADER_SECONDS", 0.3)
    with serve_api(settings(tmp_path)) as opened:
        yield opened


@pytest.fixture
def hurries_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The same for bodies."""
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.3)
    with serve_api(settings(tmp_path)) as opened:
        yield opened


def error_of(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]["code"]


class TestConnections:
    def test_half_sent_requests_keep_nobody_out(self, patient: Served) -> None:
        with ExitStack() as open_connections:
            for _ in range(3 * MOST):
                open_connections.enter_context(closing(patient.connect(HALF)))
            assert httpx.get(f"{patient.url}/health/live", timeout=60).status_code == 200
            wait_until(lambda: len(patient.connections) == MOST - 1, what="the others gave way, to the last one too")

    def test_idle_connections_keep_nobody_out(self, patient: Served) -> None:
        whole = HALF + b"\r\n"
        with ExitStack() as open_connections:
            for _ in range(2 * MOST):
                client = open_connections.enter_context(closing(patient.connect(whole)))
                assert client.recv(100).startswith(b"HTTP/1.1 200")
            assert len(patient.connections) <= MOST

    def test_an_address_whose_requests_are_all_in_progress_gets_503(self, patient: Served) -> None:
        started = patient.head("POST", "/v1/flows", "Content-Length: 10", "Expect: 100-continue")
        with ExitStack() as open_connections:
            for _ in range(MOST):
                client = open_connections.enter_context(closing(patient.connect(started)))
                assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the key was accepted
            assert error_of(patient.all_answers(HALF)) == (503, "too_many_connections")
        wait_until(lambda: len(patient.connections) == 0, what="closed connections are not counted")
        assert httpx.get(f"{patient.url}/health/live", timeout=60).status_code == 200

    def test_a_trusted_proxy_has_no_bound_of_its_own(self, tmp_path: Path) -> None:
        behind = settings(tmp_path, trusted_proxies=["127.0.0.0/8"])
        with serve_api(behind) as served, ExitStack() as open_connections:
            for _ in range(2 * MOST):
                open_connections.enter_context(closing(served.connect(HALF)))
            wait_until(lambda: len(served.connections) == 2 * MOST, what="every connection is open")

    def test_an_upgrade_to_a_web_socket_is_answered_as_a_request(self, patient: Served) -> None:
        upgrade = b"GET /v1/health/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        with closing(patient.connect(upgrade)) as connection:
            assert connection.recv(15) == b"HTTP/1.1 200 OK"


class TestHeaders:
    def test_headers_that_take_too_long_are_408(self, hurries_headers: Served) -> None:
        assert error_of(hurries_headers.all_answers(HALF)) == (408, "request_timeout")

    def test_a_connection_without_a_request_is_closed(self, hurries_headers: Served) -> None:
        assert hurries_headers.all_answers(b"") == b""
        assert hurries_headers.all_answers(b"\r\n") == b""

    def test_a_second_request_has_the_same_deadline(self, hurries_headers: Served) -> None:
        assert b'"code":"request_timeout"' in hurries_headers.all_answers(HALF + b"\r\n" + HALF).replace(b" ", b"")

    @pytest.mark.parametrize(
        "headers",
        [b"X: " + b"y" * 40_000, b"X: " + b"y" * 400_000, b"a:b\r\n" * 2_000, b"X: y\r\n" * 300_000],
        ids=["one", "endless", "many", "endlessly many"],
    )
    def test_large_headers_are_431(self, patient: Served, headers: bytes) -> None:
        with closing(patient.connect(HALF)) as client:
            try:
                client.sendall(headers)
            except ConnectionError:
                return  # closed before all was sent
            answer = read_to_end(client)
        assert not answer or error_of(answer) == (431, "headers_too_large")

    def test_large_headers_are_named_with_their_bound(self, patient: Served) -> None:
        answer = patient.all_answers(HALF + b"X: " + b"y" * 32_768 + b"\r\n\r\n")
        assert error_of(answer) == (431, "headers_too_large")
        assert b"32768" in answer

    def test_what_is_not_http_is_400_in_the_shape_of_errors(self, patient: Served) -> None:
        assert error_of(patient.all_answers(b"\x16\x03\x01 nonsense\r\n\r\n")) == (400, "bad_request")


class TestBodies:
    def test_the_key_is_checked_before_the_body_is_read(self, patient: Served) -> None:
        head = patient.head("POST", "/v1/flows", "Content-Length: 300000", key="wrong")
        with closing(patient.connect(head)) as client:
            assert client.recv(100).startswith(b"HTTP/1.1 401")

    def test_a_body_without_a_valid_key_is_thrown_away_for_a_while(self, hurries_bodies: Served) -> None:
        head = hurries_bodies.head("POST", "/v1/flows", "Content-Length: 300000", key="wrong")
        with closing(hurries_bodies.connect(head)) as client:
            client.sendall(b"x" * 250_000)
            assert read_to_end(client).startswith(b"HTTP/1.1 401")  # and then the server closed the connection

    def test_the_connection_serves_on_after_an_unread_body(self, patient: Served) -> None:
        head = patient.head("POST", "/v1/flows", "Content-Length: 300000", key="wrong")
        with closing(patient.connect(head + b"x" * 300_000 + HALF + b"Connection: close\r\n\r\n")) as client:
            answers = read_to_end(client)
        assert (answers.count(b"HTTP/1.1 401"), answers.count(b"HTTP/1.1 200")) == (1, 1)

    def test_a_body_that_takes_too_long_is_408(self, hurries_bodies: Served) -> None:
        head = hurries_bodies.head("POST", "/v1/flows", "Content-Length: 300000")
        assert error_of(hurries_bodies.all_answers(head + b'{"name":')) == (408, "request_timeout")

    def test_an_unknown_path_reads_no_body(self, patient: Served) -> None:
        head = patient.head("POST", "/v1/nowhere", "Transfer-Encoding: chunked")
        with closing(patient.connect(head)) as client:
            assert client.recv(100).startswith(b"HTTP/1.1 404")

    def test_large_bodies_wait_for_room_and_small_ones_pass(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bodies, "ROOM_WAIT_SECONDS", 0.1)
        with serve_api(settings(tmp_path)) as served, ExitStack() as held:
            large = served.head("POST", "/v1/flows", "Content-Length: 400000", "Expect: 100-continue")
            for _ in range(3):
                client = held.enter_context(closing(served.connect(large)))
                assert client.recv(100).startswith(b"HTTP/1.1 100")
            assert error_of(served.all_answers(large)) == (503, "too_many_bodies")
            served.api.flow("f")
            small = {"session_id": "s", "messages": [{"role": "user", "content": "hello"}]}
            answer = httpx.post(
                f"{served.url}/v1/flows/f/runs", json=small, headers={"X-API-Key": served.api.secret}, timeout=60
            )
            assert answer.status_code == 201

    @pytest.mark.parametrize("prefix", ["", "/memory"])
    def test_bodies_of_the_pages_need_no_key_and_are_small(self, tmp_path: Path, prefix: str) -> None:
        async def reads_body(scope: Scope, receive: Receive, send: Send) -> None:
            await Request(scope, receive).body()
            await Response("read")(scope, receive, send)

        app = TestClient(bodies.BodyBound(reads_body, settings(tmp_path)), root_path=prefix)
        large = b"x" * (bodies.PAGE_BODY_BYTES + 1)
        statuses = [app.post(prefix + path, content=large).status_code for path in ("/ui/sign-in", "/v1/flows")]
        assert statuses == [413, 200]

    def test_the_room_of_a_body_is_free_once_it_was_answered(self, patient: Served) -> None:
        body = {"name": "x" * 390_000}
        for _ in range(10):
            answer = httpx.post(
                f"{patient.url}/v1/flows", json=body, headers={"X-API-Key": patient.api.secret}, timeout=60
            )
            assert answer.status_code == 422

    async def _waits(self) -> list[str]:
        room, order = bodies.Room(1_000_000), []

        async def take(name: str, size: int) -> None:
            await room.take(size)
            order.append(name)

        await take("first", 700_000)
        waiting = asyncio.create_task(take("large", 400_000))
        await asyncio.sleep(0)
        await take("small", 200_000)
        room.give_back(700_000)
        await waiting
        return order

    def test_a_waiting_body_gets_the_room_that_becomes_free(self) -> None:
        assert asyncio.run(self._waits()) == ["first", "small", "large"]


class TestAnswers:
    @pytest.mark.slow
    def test_a_client_that_does_not_read_its_answers_is_disconnected(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_protocol, "WRITE_SECONDS", 0.3)
        request = b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with serve_api(settings(tmp_path)) as served, closing(served.connect(request * 100, receive_buffer=4_096)):
            wait_until(lambda: len(served.connections) == 1, what="connected")
            wait_until(lambda: len(served.connections) == 0, what="disconnected by the server")


class TestFiles:
    def test_the_server_raises_its_limit_of_open_files(self) -> None:
        program = (
            "import resource as r; hard = r.getrlimit(r.RLIMIT_NOFILE)[1]; r.setrlimit(r.RLIMIT_NOFILE, (512, hard));"
            "from api import file_limit; print(file_limit.raise_file_limit(), r.getrlimit(r.RLIMIT_NOFILE)[0], hard)"
        )
        raised, now, hard = map(int, subprocess.check_output([sys.executable, "-c", program], text=True).split())
        assert raised == now == min(hard, file_limit.MOST_FILES)

    def test_the_connections_leave_files_for_the_server_itself(self, tmp_path: Path) -> None:
        app = FastAPI()
        app.state.settings = settings(tmp_path)
        allowed = server.bounded_protocol(app, files=1_024).all_connections
        assert allowed._all.most == 1_024 - server.OWN_FILES
