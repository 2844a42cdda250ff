"""Sign-ins at a real OpenID Connect provider: the official MCP client's whole flow against the whole server.

`make check-mcp` installs the provider and runs these tests; nothing here is downloaded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import httpx2
import jwt
import pytest
from harness.oidc import MODULES, PAGE_SECRET, OidcServer, sign_in
from harness.one_process import OneProcess
from harness.pieces import KEY
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from memorybase.core.settings import embedded

pytestmark = [pytest.mark.slow, pytest.mark.tools]

ROLES = {"memory-readers": "reader", "memory-editors": "editor", "memory-operators": "operator"}
CALLBACK = "http://127.0.0.1:33418/callback"  # nobody listens: the test reads the address


@dataclass
class Stack:
    """memorybase in one process, and the provider whose tokens it takes."""

    process: OneProcess
    provider: OidcServer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.process.port}"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    assert (MODULES / "oidc-provider").exists(), "run: make check-mcp"
    folder = tmp_path_factory.mktemp("oauth")
    process = OneProcess(embedded(folder / "data"), KEY)
    process.directory.mkdir()
    url = f"http://127.0.0.1:{process.port}"
    provider = OidcServer(folder, url)
    process.changes = {
        "MEMORYBASE_WEB": "true",
        "MEMORYBASE_PUBLIC_URL": url,
        "MEMORYBASE_OAUTH_ISSUER": provider.url,
        "MEMORYBASE_SIGN_IN_CLIENT_ID": "memorybase-page",
        "MEMORYBASE_SIGN_IN_CLIENT_SECRET": PAGE_SECRET,
        "MEMORYBASE_SIGN_IN_SCOPES": "openid groups",
        "MEMORYBASE_SIGN_IN_ROLES": json.dumps(ROLES),
    }
    try:
        provider.start()
        process.start()
        with httpx.Client(base_url=f"{url}/v1", headers={"X-API-Key": KEY}, trust_env=False, timeout=60) as client:
            for flow in ("support", "other"):
                client.put(f"/flows/{flow}", json={"name": flow}).raise_for_status()
                base = {"name": f"{flow} notes", "flow_id": flow, "capture": "all"}
                client.post("/memories", json=base).raise_for_status()
            run = {"messages": [{"role": "user", "content": "Ben's berth is number 12."}], "end_user_id": "ben"}
            client.post("/flows/support/runs", json={"session_id": "b", **run}).raise_for_status()
        yield Stack(process, provider)
    finally:
        process.close()
        provider.close()


@dataclass
class Agent(TokenStorage):
    """An MCP client of a person: what it keeps, and every request of it."""

    stack: Stack
    person: str
    path: str = "/mcp/flows/support"
    scope: str | None = None  # that the person grants, if it is less than what was asked for
    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None
    sent: list[str] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)  # scopes of each sign-in
    _answer: str = ""

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info

    async def _open_browser(self, address: str) -> None:
        asked = parse_qs(urlsplit(address).query)
        self.asked_for.append(asked["scope"][0])
        if self.scope is not None and len(self.asked_for) == 1:
            address = address.replace(f"scope={asked['scope'][0].replace(' ', '+').replace(':', '%3A')}", self.scope)
        self._answer = await asyncio.to_thread(sign_in, address, self.person, CALLBACK)

    async def _callback(self) -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in parse_qs(urlsplit(self._answer).query).items()}
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    @asynccontextmanager
    async def connected(self) -> Any:
        address = self.stack.url + self.path
        metadata = OAuthClientMetadata(
            client_name="agent",
            redirect_uris=[CALLBACK],
            grant_types=["authorization_code", "refresh_token"],
            application_type="native",
            token_endpoint_auth_method="none",
        )
        auth = OAuthClientProvider(address, metadata, self, self._open_browser, self._callback)

        async def note(request: httpx2.Request) -> None:
            self.sent.append(f"{request.method} {request.url.path}")

        async with (
            httpx2.AsyncClient(auth=auth, timeout=60, trust_env=False, event_hooks={"request": [note]}) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            yield client

    def call(self, tool: str, **arguments: Any) -> Any:
        async def run() -> Any:
            async with self.connected() as client:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content
                return result.structured_content

        return asyncio.run(run())


def test_the_official_client_signs_a_person_in_and_reaches_their_memory(stack: Stack) -> None:
    anna = Agent(stack, "anna")

    stored = anna.call("remember", content="Anna's boat is called Albatross.")
    found = anna.call("search_memory", query="Which boat or berth?", min_score=0)["results"]

    assert [hit["content"] for hit in found] == ["Anna's boat is called Albatross."]
    assert anna.asked_for == ["memory:read memory:write offline_access"]  # once: the token was kept
    assert anna.tokens is not None
    claims = jwt.decode(anna.tokens.access_token, options={"verify_signature": False})
    assert claims["aud"] == f"{stack.url}/mcp/flows/support"
    assert claims["sub"] == "anna"
    path = f"/v1/messages/{stored['message_ids'][0]}?flow_id=support"
    message = httpx.get(stack.url + path, headers={"X-API-Key": KEY}, trust_env=False, timeout=60).json()
    assert message["end_user_id"] == "anna"

    ben = Agent(stack, "ben").call("search_memory", query="Which boat or berth?", min_score=0)["results"]
    assert [hit["content"] for hit in ben] == ["Ben's berth is number 12."]


def test_the_flow_is_that_of_the_specification(stack: Stack) -> None:
    carl = Agent(stack, "carl")
    carl.call("search_memory", query="boat")

    address = carl.path
    first = carl.sent.index("POST /token") + 1
    assert carl.sent[:first] == [
        f"POST {address}",  # 401, whose challenge names the metadata
        f"GET /.well-known/oauth-protected-resource{address}",
        "GET /.well-known/oauth-authorization-server",
        *(["GET /.well-known/openid-configuration"] if "GET /.well-known/openid-configuration" in carl.sent else []),
        "POST /reg",
        "POST /token",
    ]
    assert set(carl.sent[first:]) == {f"POST {address}"}


def test_a_token_for_one_flow_does_not_open_another(stack: Stack) -> None:
    anna = Agent(stack, "anna")
    anna.call("search_memory", query="boat")
    assert anna.tokens is not None
    headers = {"Authorization": f"Bearer {anna.tokens.access_token}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    answer = httpx.post(f"{stack.url}/mcp/flows/other", json=body, headers=headers, trust_env=False, timeout=60)

    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_client_that_may_only_read_asks_for_more_when_it_writes(stack: Stack) -> None:
    dora = Agent(stack, "dora", scope="scope=memory%3Aread+offline_access")

    dora.call("search_memory", query="boat")
    dora.call("remember", content="Dora's boat is called Heron.")

    assert len(dora.asked_for) == 2
    assert "memory:write" in dora.asked_for[1].split()


@pytest.fixture
def browser(stack: Stack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{stack.url}/ui", trust_env=False, timeout=60) as opened:
        yield opened


def returned(stack: Stack, browser: httpx.Client, person: str) -> str:
    """The address with which the provider sends the browser of a signed-in person back."""
    begun = browser.get("/sign-in/provider?next=/ui/settings")
    assert begun.status_code == 303
    return sign_in(begun.headers["location"], person, f"{stack.url}/ui/sign-in/callback")


def people(stack: Stack) -> dict[str, dict[str, Any]]:
    """Those who have signed in, by name."""
    headers = {"X-API-Key": KEY}
    listed = httpx.get(f"{stack.url}/v1/keys", headers=headers, trust_env=False, timeout=60).json()
    return {key["name"]: key for key in (listed["items"] if isinstance(listed, dict) else listed)}


def test_people_sign_in_to_the_page_with_the_scopes_of_their_role(stack: Stack) -> None:
    scopes = {"rita": ["read"], "edna": ["read", "write"], "boss": ["read", "write", "admin", "metrics"]}
    for person in scopes:
        with httpx.Client(base_url=f"{stack.url}/ui", trust_env=False, timeout=60) as browser:
            assert "Sign in with 127.0.0.1" in browser.get("/sign-in").text
            answer = browser.get(returned(stack, browser, person))

            assert (answer.status_code, answer.headers["location"]) == (303, "/ui/settings")
            assert "memorybase_sign_in" not in browser.cookies
            assert browser.get("/", follow_redirects=True).status_code == 200
    assert {name: people(stack)[name]["scopes"] for name in scopes} == scopes


def test_a_person_without_a_role_does_not_get_in(stack: Stack, browser: httpx.Client) -> None:
    answer = browser.get(returned(stack, browser, "eve"))

    assert answer.status_code == 403
    assert "Your account has no role here" in answer.text
    assert browser.get("/").status_code == 303
    assert "eve" not in people(stack)


def test_a_revoked_person_is_signed_out_and_stays_out(stack: Stack, browser: httpx.Client) -> None:
    browser.get(returned(stack, browser, "rolf"))
    assert browser.get("/").status_code == 200

    key = people(stack)["rolf"]["id"]
    httpx.delete(f"{stack.url}/v1/keys/{key}", headers={"X-API-Key": KEY}, trust_env=False, timeout=60)

    assert browser.get("/").status_code == 303
    assert "was revoked" in browser.get(returned(stack, browser, "rolf")).text


def test_another_browser_cannot_end_a_sign_in(stack: Stack, browser: httpx.Client) -> None:
    """A page elsewhere could lead somebody to the end of its own sign-in."""
    address = returned(stack, browser, "mallory")

    with httpx.Client(trust_env=False, timeout=60) as other:
        answer = other.get(address)

    assert answer.status_code == 401
    assert "The sign-in failed: it began in another browser" in answer.text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code": "made-up"}, "the provider answered with status 400"),
        ({"iss": "https://evil.example.com"}, "another provider has answered"),
        ({"iss": None}, "another provider has answered"),
        ({"code": None}, "the provider has refused it"),
    ],
)
def test_a_changed_return_signs_nobody_in(
    stack: Stack, browser: httpx.Client, change: dict[str, str | None], reason: str
) -> None:
    address = urlsplit(returned(stack, browser, "mallory"))
    query = {name: values[0] for name, values in parse_qs(address.query).items()} | change
    sent = urlencode({name: value for name, value in query.items() if value is not None})

    answer = browser.get(address._replace(query=sent).geturl())

    assert answer.status_code == 401
    assert reason in answer.text
    assert browser.get("/").status_code == 303
