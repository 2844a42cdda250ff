"""One request over a real socket: to the checked address, within its time, without following anything."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from harness.receiver import Received, Receiver, receiving
from harness.rows import each_row
from standardwebhooks import Webhook

from memorybase.features.webhooks import requests, signatures
from memorybase.features.webhooks.addresses import Resolver
from memorybase.features.webhooks.requests import Attempt

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as opened:
        yield opened


def post(url: str, *, seconds: float = 10, resolve: Resolver | None = None, allowed: bool = True) -> Attempt:
    return requests.post(
        url, "{}", {"webhook-id": "an-id"}, allowed=LOOPBACK if allowed else (), seconds=seconds, resolve=resolve
    )


def test_a_request_has_the_body_and_a_signature_that_the_reference_library_accepts(receiver: Receiver) -> None:
    secret, body = signatures.new_secret(), '{"type":"job.failed","data":{}}'
    headers = signatures.headers([secret], "an-id", int(time.time()), body)
    sent = requests.post(f"{receiver.url}?token=1", body, headers, allowed=LOOPBACK, seconds=10)
    assert sent == Attempt(status=204)
    (got,) = receiver.requests
    assert (got.path, got.headers["content-type"]) == ("/hook?token=1", "application/json")
    assert Webhook(secret).verify(got.body, got.headers) == {"type": "job.failed", "data": {}}


def test_a_private_address_is_not_even_connected_to(receiver: Receiver) -> None:
    assert post(receiver.url, allowed=False) == Attempt(error="address refused")
    assert receiver.requests == []


def test_the_connection_goes_to_the_address_that_was_checked_and_the_name_is_not_looked_up_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that answers with another address at the second look-up ("DNS rebinding") gains nothing."""
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    def never(host: str, *_: object, **__: object) -> list[object]:
        if host == "127.0.0.1":  # written as an address: nothing is asked
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        raise AssertionError(f"{host} was looked up again")

    port = int(receiver.url.split(":")[2].split("/")[0])
    monkeypatch.setattr("socket.getaddrinfo", never)
    sent = post(f"http://hooks.example.com:{port}/hook", resolve=resolve)
    assert (sent, asked) == (Attempt(status=204), ["hooks.example.com"])
    assert receiver.requests[0].headers["host"] == f"hooks.example.com:{port}"


@each_row("status", [301, 302, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.requests.clear()
    receiver.headers = {"Location": receiver.url}
    receiver.answer = lambda _request, _socket: status
    assert post(receiver.url) == Attempt(status=status, error=f"status {status}")
    assert len(receiver.requests) == 1


@each_row("status", [200, 202, 299])
def test_a_status_of_success_is_a_success(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _request, _socket: status
    assert post(receiver.url).delivered


@each_row("status", [400, 404, 410, 429, 500, 503])
def test_any_other_status_is_a_failure(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _request, _socket: status
    receiver.headers = {"Retry-After": "120"}
    sent = post(receiver.url)
    assert (sent.status, sent.error, sent.retry_after) == (status, f"status {status}", 120)
    assert sent.is_gone == (status == 410)


class Stalls:
    """Receivers that never finish; each lets go when the test ends."""

    def __init__(self) -> None:
        self.end = threading.Event()

    def silent(self, _request: Received, _socket: socket.socket) -> None:
        self.end.wait(30)

    def drips_headers(self, _request: Received, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not self.end.wait(0.02):
            connection.sendall(b"X: 1\r\n")

    def drips_body(self, _request: Received, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not self.end.wait(0.02):
            connection.sendall(b"x")

    def endless(self, _request: Received, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not self.end.is_set():
            connection.sendall(b"x" * 65_536)


@pytest.mark.parametrize("how", ["silent", "drips_headers", "drips_body"])
def test_a_receiver_that_stalls_is_cut_off_at_the_deadline(receiver: Receiver, how: str) -> None:
    """A byte now and then would pass every timeout of a single read."""
    stalls = Stalls()
    receiver.answer = getattr(stalls, how)
    try:
        sent = post(receiver.url, seconds=0.5)
    finally:
        stalls.end.set()
    assert sent == Attempt(error="no answer in time")


def test_of_an_endless_answer_only_the_beginning_is_read(receiver: Receiver) -> None:
    stalls = Stalls()
    receiver.answer = stalls.endless
    try:
        assert post(receiver.url, seconds=20) == Attempt(status=200)
    finally:
        stalls.end.set()


def test_an_answer_that_is_not_http_is_a_failure(receiver: Receiver) -> None:
    receiver.answer = lambda _request, connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")  # type: ignore[func-returns-value]
    assert post(receiver.url).error == "no valid HTTP answer"


def test_nobody_who_listens_is_a_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert post(f"http://127.0.0.1:{port}/").error == "connection refused"


def test_a_name_that_does_not_exist_is_a_failure() -> None:
    def fail(_host: str, _port: int) -> list[str]:
        raise socket.gaierror

    assert post("https://no-such.example.com/", resolve=fail).error == "name not resolved"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of hooks.example.com, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=hooks.example.com",
        "-addext",
        "subjectAltName=DNS:hooks.example.com",
        "-keyout",
        str(folder / "key.pem"),
        "-out",
        str(folder / "certificate.pem"),
    ]
    subprocess.run(made, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("host", "trusted", "error"),
    [
        ("hooks.example.com", True, None),
        ("other.example.com", True, "certificate not valid"),
        ("hooks.example.com", False, "certificate not valid"),
    ],
)
def test_tls_verifies_the_name_of_the_url_though_it_connects_to_an_address(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, host: str, trusted: bool, error: str | None
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    if trusted:  # as an operator names a private authority
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
    requests._tls.cache_clear()
    with receiving(context) as opened:
        port = int(opened.url.split(":")[2].split("/")[0])
        sent = post(f"https://{host}:{port}/hook", resolve=lambda _host, _port: ["127.0.0.1"])
    requests._tls.cache_clear()
    assert sent.error == error
    assert len(opened.requests) == (error is None)
