"""The API behind nginx with the configurations of docs/howto/run-in-production.md and page-behind-a-proxy.md."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness import ChromaServer, RedisServer
from harness.nginx import NginxServer
from harness.pieces import KEY, PATIENCE, ApiServer, Topology, topology
from harness.waiting import wait_until

pytestmark = pytest.mark.slow  # processes are started and stopped


class PagesServer(ApiServer):
    """The API with its pages."""

    def environment(self) -> dict[str, str]:
        return super().environment() | {"MEMORYBASE_WEB": "true"}


TRUSTING: dict[str, Any] = {"trusted_proxies": ["127.0.0.1"]}


def proxied(stack: Topology, folder: Path, *, with_sign_in: bool = False) -> NginxServer:
    api = stack.add(PagesServer(stack.settings))
    wait_until(api.has_model, PATIENCE, "the embedding model is prepared")  # the tests are not about it
    return stack.add(NginxServer(folder, api.port, with_sign_in=with_sign_in))


@pytest.fixture(scope="module")
def proxy(
    tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer, chroma_server: ChromaServer
) -> Iterator[NginxServer]:
    """nginx, and behind it an API that trusts it. No worker runs."""
    with topology(tmp_path_factory.mktemp("proxied"), redis=redis_server, chroma=chroma_server, **TRUSTING) as built:
        yield proxied(built, tmp_path_factory.mktemp("nginx"))


@pytest.fixture
def client(proxy: NginxServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=proxy.url, verify=proxy.trust(), trust_env=False, timeout=30) as opened:
        yield opened


def sign_in(client: httpx.Client, origin: str) -> httpx.Response:
    return client.post("/ui/sign-in", data={"key": KEY}, headers={"Origin": origin})


def test_answers_over_tls_ask_browsers_to_stay_with_it(client: httpx.Client, proxy: NginxServer) -> None:
    answer = client.get("/health/live")
    assert (answer.status_code, answer.headers["strict-transport-security"]) == (200, "max-age=31536000")
    plain = httpx.get(f"http://127.0.0.1:{proxy.http_port}/health/live", trust_env=False, timeout=60)
    assert (plain.status_code, plain.headers["location"][:8]) == (308, "https://")


def test_a_browser_signs_in_and_gets_a_cookie_for_https_only(client: httpx.Client, proxy: NginxServer) -> None:
    answer = sign_in(client, proxy.url)
    assert answer.status_code == 303
    assert "secure" in answer.headers["set-cookie"].lower()


def test_another_site_signs_nobody_in(client: httpx.Client) -> None:
    assert sign_in(client, "https://elsewhere.example").status_code == 403


def test_events_pass_while_the_stream_is_open(client: httpx.Client) -> None:
    key = {"X-API-Key": KEY}
    client.put("/v1/flows/f", json={"name": "f"}, headers=key)
    base = client.post("/v1/memories", json={"name": "m", "flow_id": "f", "capture": "all"}, headers=key).json()["id"]
    run = {"session_id": "s", "messages": [{"role": "user", "content": "hello"}]}
    assert client.post("/v1/flows/f/runs", json=run, headers=key).status_code == 201
    job = client.post(f"/v1/memories/{base}/flush", headers=key).json()["jobs"][0]["id"]
    with client.stream("GET", f"/v1/jobs/{job}/events", headers=key) as events:
        assert next(events.iter_lines()) == "event: job"  # the stream is open while the job is queued


def test_a_body_above_the_limit_is_refused_before_it_is_sent(proxy: NginxServer) -> None:
    head = f"POST /v1/flows HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Length: 17000000\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as raw,
        proxy.trust().wrap_socket(raw, server_hostname="localhost") as client,
    ):
        client.sendall(head.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_a_client_cannot_choose_the_address_that_it_counts_under(client: httpx.Client) -> None:
    seen = [
        client.get("/v1/flows", headers={"X-API-Key": f"guess-{number}", "X-Forwarded-For": f"203.0.113.{number}"})
        for number in range(80)
    ]
    assert {answer.status_code for answer in seen} == {401, 429}
    assert client.get("/v1/flows", headers={"X-API-Key": KEY}).status_code == 200


def test_people_sign_in_before_they_see_the_page_and_nobody_names_themselves(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer, chroma_server: ChromaServer
) -> None:
    options = {**TRUSTING, "proxy_user_header": "X-Forwarded-User"}
    forged = {"X-Forwarded-User": "mallory@example.com"}
    with topology(tmp_path, redis=redis_server, chroma=chroma_server, **options) as built:
        proxy = proxied(built, tmp_path_factory.mktemp("nginx"), with_sign_in=True)
        with httpx.Client(
            base_url=proxy.url, verify=proxy.trust(), trust_env=False, timeout=30, headers=forged
        ) as client:
            assert client.get("/ui/").text == "who are you?"
            assert sign_in(client, proxy.url).text == "who are you?"
            client.cookies.set("person", "zoe@example.com")
            assert sign_in(client, proxy.url).status_code == 303
            assert client.get("/ui/", follow_redirects=True).status_code == 200
            key = {"X-API-Key": KEY}
            assert client.put("/v1/flows/f", json={"name": "f"}, headers=key).status_code == 201
            entries = client.get("/v1/audit", headers=key).json()["items"]
    assert {(entry["via"], entry["person"]) for entry in entries} == {("page", "zoe@example.com"), ("api", None)}
