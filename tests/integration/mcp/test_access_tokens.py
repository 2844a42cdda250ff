"""Access tokens at /mcp: which are refused and what a client is told, whose memory a token reaches, and outages of the
authorization server."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from harness.api import settings_in
from harness.issuer import PUBLIC_URL, IssuerServer, jwk_of, key_named, public_pem, serve_issuer, unsigned, written
from harness.rows import each_row
from harness.served import Served, serve_api

from api import deps, mcp
from memorybase.core.auth import access_tokens
from memorybase.core.auth import issuer as issuers

ACCEPT = {"Accept": "application/json, text/event-stream"}
METADATA = f"{PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"
FOR_FLOW = f"{PUBLIC_URL}/mcp/flows/support"


@pytest.fixture
def issuer() -> Iterator[IssuerServer]:
    with serve_issuer() as served:
        yield served


@pytest.fixture
def options() -> dict[str, Any]:
    """Settings that a test needs besides those of every test."""
    return {}


@pytest.fixture
def served(issuer: IssuerServer, options: dict[str, Any], tmp_path: Path) -> Iterator[Served]:
    settings = settings_in(tmp_path).model_copy(
        update={"oauth_issuer": issuer.url, "public_url": PUBLIC_URL, **options}
    )
    # Rate limits see no time pass: how many calls are too many does not depend on how fast the machine is.
    with serve_api(settings, mcp=True, monotonic=lambda: 0.0) as served:
        served.api.flow()
        served.api.memory(capture="all")
        served.api.capture("The fence is green.", session="house")
        served.api.capture("Anna's fence is white.", session="anna-1", end_user_id="anna")
        served.api.capture("Ben's fence is black.", session="ben-1", end_user_id="ben")
        yield served


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


SEARCH = called("search_memory", query="fence", min_score=0)


def post(served: Served, token: str = "", body: Any = None, path: str = "/mcp/flows/support") -> httpx.Response:
    headers = {**ACCEPT, **({"Authorization": f"Bearer {token}"} if token else {})}
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.post(served.url + path, json=SEARCH if body is None else body, headers=headers)


def found(served: Served, token: str, **options: Any) -> set[str]:
    answer = post(served, token, **options)
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert not result["isError"], answer.text
    return {hit["content"] for hit in result["structuredContent"]["results"]}


def test_a_token_reaches_the_memory_of_its_subject_alone(served: Served, issuer: IssuerServer) -> None:
    assert found(served, issuer.token()) == {"Anna's fence is white."}
    assert found(served, issuer.token(sub="ben")) == {"Ben's fence is black."}
    assert found(served, issuer.token(sub="carl")) == set()


def test_another_end_users_data_is_out_of_reach_of_every_tool_and_of_the_api(
    served: Served, issuer: IssuerServer
) -> None:
    message = served.api.get("/messages", session_id="ben-1")["items"][0]["id"]
    for tool, arguments in (
        ("get_session", {"session_id": "ben-1"}),
        ("get_context", {"query": "fence", "session_id": "ben-1"}),
        ("remember", {"content": "x", "session_id": "ben-1"}),
        ("correct_memory", {"message_id": message, "content": "x"}),
        ("forget_memory", {"message_id": message, "confirm": True}),
    ):
        answer = post(served, issuer.token(), called(tool, **arguments))
        assert answer.json()["result"]["isError"], tool
        assert "black" not in answer.text
    headers = {"Authorization": f"Bearer {issuer.token()}"}
    with httpx.Client(base_url=f"{served.url}/v1", headers=headers, trust_env=False, timeout=60) as client:
        assert client.get(f"/messages/{message}", params={"flow_id": "support"}).status_code == 404
        assert client.get("/messages", params={"flow_id": "support", "session_id": "ben-1"}).json()["items"] == []
        assert client.get("/flows/support/memories").status_code in {403, 404}
        assert client.get("/usage").json()["user"] == []
        assert client.post("/keys", json={"name": "x", "scopes": ["read"]}).status_code == 403
    assert post(served, issuer.token(), path="/mcp/flows/support?end_user_id=ben").json()["result"]["isError"]


def test_the_address_without_a_flow_means_the_only_flow_with_sessions_of_the_end_user(
    served: Served, issuer: IssuerServer
) -> None:
    served.api.flow("other")
    assert found(served, issuer.token(), path="/mcp") == {"Anna's fence is white."}

    refused = post(served, issuer.token(sub="carl"), path="/mcp").json()["result"]
    assert refused["isError"]
    assert "/mcp/flows/FLOW_ID" in refused["content"][0]["text"]


def test_an_end_user_learns_whether_memory_works_and_no_counts_of_the_flow(
    served: Served, issuer: IssuerServer
) -> None:
    served.api.capture("Ben's gate is red.", session="ben-1", end_user_id="ben")
    status = post(served, issuer.token(), called("memory_status")).json()["result"]["structuredContent"]

    (session,) = served.api.get("/sessions", end_user_id="anna")["items"]
    assert status["last_captured_at"] == session["last_captured_at"]
    assert status["state"] == "unavailable"  # no worker runs here
    assert "worker" in status["reason"]
    assert [status[name] for name in ("pending_messages", "dead_letters", "memory_bases")] == [None, None, None]


def test_an_api_key_works_beside_tokens(served: Served) -> None:
    assert len(found(served, served.api.secret)) == 3


def wrong_tokens(issuer: IssuerServer) -> dict[str, tuple[str, str]]:
    """Tokens that must be refused, and what the refusal says."""
    right = issuer.token()
    payload = jwt.decode(right, options={"verify_signature": False})
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        short_key = jwt.encode(payload, "short", "HS256", headers={"kid": "first"})
    return {
        "another audience": (issuer.token(aud="https://other.example.com/mcp"), "another audience"),
        "an audience that begins like ours": (issuer.token(aud=f"{PUBLIC_URL}/mcp-other"), "another audience"),
        "the audience among words": (issuer.token(aud=f"x {PUBLIC_URL}/mcp"), "another audience"),
        "no audience": (issuer.token(aud=None), "is not valid"),
        "another issuer": (issuer.token(iss="https://evil.example.com"), "another issuer"),
        "no issuer": (issuer.token(iss=None), "is not valid"),
        "expired": (issuer.token(exp=1_700_000_000), "has expired"),
        "without expiry": (issuer.token(exp=None), "is not valid"),
        "not valid yet": (issuer.token(nbf=4_000_000_000), "is not valid yet"),
        "without subject": (issuer.token(sub=None), "is not valid"),
        "alg none": (unsigned(right, {"alg": "none", "kid": "first", "typ": "at+jwt"}), "must be signed"),
        "no signature": (unsigned(right, {"alg": "RS256", "kid": "first"}), "wrong signature"),
        "signed with HS256": (short_key, "must be signed"),
        "HS256 with the public key": (signed_with_public_key(payload), "must be signed"),
        "another algorithm of the same key": (
            jwt.encode(payload, key_named("first"), "PS256", headers={"kid": "first"}),
            "another way",
        ),
        "unknown kid": (issuer.token("second"), "a key that its issuer does not have"),
        "the known kid, another key": (issuer.token("second", headers={"kid": "first"}), "wrong signature"),
        "an ID token's type": (issuer.token(headers={"typ": "dpop+jwt"}), "another type"),
        "changed": (
            ".".join((right.split(".")[0], right.split(".")[1] + "A", right.split(".")[2])),
            "The access token",
        ),
        "too long": (issuer.token(padding="x" * 16_000), "at most"),
    }


def signed_with_public_key(payload: dict[str, Any]) -> str:
    """HS256 with the text of the public key as the secret; PyJWT refuses to write it."""
    parts = ({"alg": "HS256", "kid": "first", "typ": "at+jwt"}, payload)
    text = ".".join(written(json.dumps(each).encode()) for each in parts)
    return f"{text}.{written(hmac.new(public_pem('first'), text.encode(), hashlib.sha256).digest())}"


def test_a_wrong_token_is_401_and_the_challenge_says_why(
    served: Served, issuer: IssuerServer, subtests: pytest.Subtests
) -> None:
    assert found(served, issuer.token())  # so each of the following is refused for its own reason
    for name, (token, reason) in wrong_tokens(issuer).items():
        with subtests.test(name):
            answer = post(served, token)

            assert answer.status_code == 401, answer.text
            challenge = answer.headers["www-authenticate"]
            assert challenge.startswith('Bearer error="invalid_token", error_description="')
            assert reason in challenge
            assert f'resource_metadata="{METADATA}/flows/support"' in challenge
            assert token not in answer.text + challenge
    headers = {"X-API-Key": issuer.token(exp=1_700_000_000)}
    assert httpx.get(f"{served.url}/v1/flows", headers=headers, trust_env=False, timeout=60).status_code == 401


def test_without_a_token_the_challenge_names_metadata_and_scopes(served: Served) -> None:
    answer = post(served)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == (
        f'Bearer resource_metadata="{METADATA}/flows/support", scope="memory:read memory:write"'
    )


def test_a_token_in_the_query_string_counts_for_nothing(served: Served, issuer: IssuerServer) -> None:
    token = issuer.token()
    for name in ("access_token", "token", "authorization"):
        assert post(served, path=f"/mcp/flows/support?{name}={token}").status_code == 401
        refused = post(served, token, path=f"/mcp/flows/support?{name}={token}")
        assert refused.status_code == 422
        assert token not in refused.text


@each_row("path, resource", [("", "/mcp"), ("/mcp", "/mcp"), ("/mcp/flows/a%2Fb%20c", "/mcp/flows/a%2Fb%20c")])
def test_the_metadata_names_the_resource_of_its_address(
    served: Served, issuer: IssuerServer, path: str, resource: str
) -> None:
    answer = httpx.get(f"{served.url}/.well-known/oauth-protected-resource{path}", trust_env=False, timeout=60)

    assert answer.status_code == 200
    assert answer.json() == {
        "resource": PUBLIC_URL + resource,
        "resource_name": "memorybase",
        "authorization_servers": [issuer.url],
        "scopes_supported": ["memory:read", "memory:write"],
        "bearer_methods_supported": ["header"],
    }


def test_a_token_for_one_flow_is_refused_elsewhere(served: Served, issuer: IssuerServer) -> None:
    served.api.flow("other")
    token = issuer.token(aud=[FOR_FLOW, "https://other.example.com"])

    assert found(served, token) == {"Anna's fence is white."}
    for path in ("/mcp", "/mcp/flows/other"):
        answer = post(served, token, path=path)
        assert answer.status_code == 401
        assert "for another address" in answer.headers["www-authenticate"]
    headers = {"Authorization": f"Bearer {token}"}
    api = httpx.get(f"{served.url}/v1/messages?flow_id=other", headers=headers, trust_env=False, timeout=60)
    assert api.status_code == 404


def test_a_token_without_the_scope_is_403_and_learns_which_to_ask_for(served: Served, issuer: IssuerServer) -> None:
    reader, nobody = issuer.token(scope="memory:read openid"), issuer.token(scope="openid")

    assert found(served, reader)
    writing = post(served, reader, called("remember", content="The gate is red."))
    reading = post(served, nobody)

    assert [writing.status_code, reading.status_code] == [403, 403]
    for answer, scope in ((writing, "memory:read memory:write"), (reading, "memory:read")):
        challenge = answer.headers["www-authenticate"]
        assert challenge.startswith('Bearer error="insufficient_scope"')
        assert f'scope="{scope}"' in challenge
        assert "resource_metadata=" in challenge
    api = httpx.post(
        f"{served.url}/v1/flows/support/runs",
        json={"session_id": "s", "messages": [{"role": "user", "content": "x"}]},
        headers={"Authorization": f"Bearer {reader}"},
        trust_env=False,
        timeout=60,
    )
    assert api.status_code == 403


@each_row(
    "body", [[], {}, {"method": "tools/call"}, {"method": "tools/call", "params": {"name": ["remember"]}}, "text"]
)
def test_a_body_that_calls_no_tool_is_left_to_the_protocol(served: Served, issuer: IssuerServer, body: Any) -> None:
    assert post(served, issuer.token(scope="memory:read"), body).status_code in {200, 400}


def test_the_tools_that_write_are_those_that_say_so(served: Served) -> None:
    async def hints(client: Any) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools if not tool.annotations.read_only_hint}

    assert served.client().run(hints) == mcp.WRITING_TOOLS


def test_what_a_token_stores_belongs_to_its_subject_and_the_audit_log_names_it(
    served: Served, issuer: IssuerServer
) -> None:
    stored = post(served, issuer.token(), called("remember", content="The gate is red."))

    (message_id,) = stored.json()["result"]["structuredContent"]["message_ids"]
    assert served.api.get(f"/messages/{message_id}", flow_id="support")["end_user_id"] == "anna"
    assert "anna" in {entry["person"] for entry in served.api.get("/audit")["items"]}
    of_ben = post(served, issuer.token(sub="ben"), called("remember", content="The gate is blue."))
    assert of_ben.json()["result"]["structuredContent"]["session_id"] != "notes"  # which would be anna's


class TestClaims:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {
            "oauth_audiences": ["memory-api"],
            "oauth_end_user_claim": "",
            "oauth_flows_claim": "memory.flows",
            "oauth_scope_claim": "realm_access.roles",
            "oauth_scopes": {"readers": "read"},
        }

    def test_other_names_of_claims_roles_and_audiences(self, served: Served, issuer: IssuerServer) -> None:
        served.api.flow("other")
        usual: dict[str, Any] = {"aud": "memory-api", "realm_access": {"roles": ["readers", "x"]}, "scope": None}
        token = issuer.token(memory={"flows": ["support"]}, **usual)

        assert len(found(served, token)) == 3
        assert post(served, token, called("remember", content="x")).status_code == 403
        assert "not_found" in post(served, token, path="/mcp/flows/other").text
        assert "not_found" in post(served, issuer.token(memory={"flows": "other"}, **usual)).text

    @each_row("memory", [None, {}, {"flows": []}, {"flows": 7}, {"flows": [str(n) for n in range(51)]}])
    def test_a_claim_that_is_missing_widens_nothing(self, served: Served, issuer: IssuerServer, memory: Any) -> None:
        token = issuer.token(aud="memory-api", memory=memory, realm_access={"roles": ["readers"]})

        answer = post(served, token)

        assert answer.status_code == 403
        assert answer.json()["error"]["field"] == "memory.flows"


class TestUnlimited:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"oauth_end_user_claim": ""}

    def test_a_team_shares_its_memory_and_nothing_refers_to_a_key_that_does_not_exist(
        self, served: Served, issuer: IssuerServer
    ) -> None:
        token = issuer.token()
        assert len(found(served, token)) == 3

        message = served.api.get("/messages", session_id="house")["items"][0]["id"]
        label = {"flow_id": "support", "message_id": message, "query": "fence", "right": True}
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"{served.url}/v1", headers=headers, trust_env=False, timeout=60) as client:
            assert client.post("/labels", json=label).status_code == 200
            assert client.get("/usage").status_code == 200
            assert client.post("/sign-in-links").status_code == 403
            assert client.get("/keys").status_code == 403


@each_row("end_user", [None, "", 7, "x" * 129])
def test_a_token_without_an_end_user_reaches_nothing(served: Served, issuer: IssuerServer, end_user: Any) -> None:
    served.api.services.settings.__dict__["oauth_end_user_claim"] = "email"

    assert post(served, issuer.token(email=end_user)).status_code == 403
    assert found(served, issuer.token(email="ben")) == {"Ben's fence is black."}


class Clock:
    now = 100_000.0

    def __call__(self) -> float:
        return self.now


def forget_keys(served: Served, issuer: IssuerServer) -> Clock:
    """As after a start of the API; the clock says how old the keys are."""
    clock = Clock()
    served.api.services.state.of(access_tokens._State).issuer = issuers.Issuer(issuer.url, clock=clock)
    issuer.asked.clear()
    return clock


@pytest.fixture
def clock(served: Served, issuer: IssuerServer) -> Clock:
    return forget_keys(served, issuer)


def wait_for_fetch(served: Served) -> None:
    running = access_tokens.issuer_of(served.api.services)._running
    if running is not None:
        running.result()


def test_keys_are_fetched_once_and_a_new_one_when_it_is_used(
    served: Served, issuer: IssuerServer, clock: Clock
) -> None:
    for _ in range(3):
        assert found(served, issuer.token())
    assert issuer.asked == ["/.well-known/openid-configuration", "/jwks"]

    issuer.keys = [jwk_of("first"), jwk_of("second")]
    clock.now += issuers.RETRY_SECONDS
    assert found(served, issuer.token("second"))
    assert len(issuer.asked) == 4
    for _ in range(5):
        assert post(served, issuer.token("third")).status_code == 401
    assert len(issuer.asked) == 4  # however many tokens name unknown keys


def test_a_key_that_the_issuer_has_withdrawn_is_refused(served: Served, issuer: IssuerServer, clock: Clock) -> None:
    assert found(served, issuer.token())

    issuer.keys = [jwk_of("second")]
    clock.now += issuers.FRESH_SECONDS
    post(served, issuer.token())  # the keys are old, and are fetched while they are used once more
    wait_for_fetch(served)

    assert post(served, issuer.token()).status_code == 401
    assert found(served, issuer.token("second"))


@each_row("broken", [{"status": 500}, {"metadata": {"issuer": "https://evil.example.com"}}, {"keys": "none"}])
def test_an_outage_is_503_and_no_wrong_token(served: Served, issuer: IssuerServer, broken: dict[str, Any]) -> None:
    clock = forget_keys(served, issuer)
    for name, value in broken.items():
        setattr(issuer, name, value)

    for _ in range(2):
        answer = post(served, issuer.token())
        assert answer.status_code == 503
        error = answer.json()["error"]
        assert (error["code"], error["retryable"]) == ("issuer_unavailable", True)
        assert issuer.url in error["message"]
    assert len(issuer.asked) <= 2
    assert len(found(served, served.api.secret)) == 3

    issuer.status, issuer.metadata, issuer.keys = 200, {}, [jwk_of("first")]
    clock.now += issuers.RETRY_SECONDS
    assert found(served, issuer.token())


def test_known_keys_outlive_an_outage_for_a_day(served: Served, issuer: IssuerServer, clock: Clock) -> None:
    assert found(served, issuer.token())

    issuer.status = 503
    clock.now += issuers.STALE_SECONDS - 1
    assert found(served, issuer.token())
    wait_for_fetch(served)
    clock.now += issuers.RETRY_SECONDS
    assert post(served, issuer.token()).status_code == 503


def test_an_issuer_that_hangs_holds_up_no_other_call(
    served: Served, issuer: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More callers than there are threads to check keys wait for it meanwhile."""
    monkeypatch.setattr(deps, "ISSUER_SECONDS", 60.0)
    monkeypatch.setattr(issuers, "OPERATION_SECONDS", 60.0)
    monkeypatch.setattr(issuers, "FETCH_SECONDS", 60.0)
    issuer.is_silent = True
    waiting = threading.Semaphore(0)

    def call() -> int:
        waiting.release()
        return post(served, issuer.token()).status_code

    with ThreadPoolExecutor(12) as pool:
        calls = [pool.submit(call) for _ in range(12)]
        for _ in calls:
            waiting.acquire()
        assert len(found(served, served.api.secret)) == 3
        assert not any(each.done() for each in calls)
        issuer.released.set()
        assert {each.result() for each in calls} == {200}
    assert issuer.asked == ["/.well-known/openid-configuration", "/jwks"]


def test_a_call_waits_a_bounded_time_for_an_issuer_that_hangs(
    served: Served, issuer: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deps, "ISSUER_SECONDS", 0.05)
    issuer.is_silent = True

    assert post(served, issuer.token()).status_code == 503


def test_a_new_token_passes_while_others_guess_from_its_address(served: Served, issuer: IssuerServer) -> None:
    """The connectors of one vendor share addresses."""
    assert found(served, issuer.token())
    statuses = {post(served, "guess").status_code for _ in range(80)}
    assert 429 in statuses

    assert post(served, issuer.token(sub="ben")).status_code == 200
    assert post(served, issuer.token("second")).status_code == 429


class TestWithoutIssuer:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"oauth_issuer": "", "public_url": ""}

    def test_nothing_is_offered_and_no_token_is_taken(self, served: Served, issuer: IssuerServer) -> None:
        answer = post(served, issuer.token())

        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        path = "/.well-known/oauth-protected-resource/mcp"
        assert httpx.get(served.url + path, trust_env=False, timeout=60).status_code == 404
        assert issuer.asked == []
