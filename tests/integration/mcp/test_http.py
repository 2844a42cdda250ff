"""MCP over HTTP: what each request must bring, whose memory it reaches, and what an outage looks like."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from types import ModuleType
from typing import Any
from uuid import UUID

import httpx
import pytest
from harness.mcp import ERAS
from harness.rows import each_row
from harness.served import Served, serve_api

from api import admission, mcp
from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.core.search import search
from memorybase.core.search.search import SearchResults
from memorybase.core.settings import Settings

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "search_memory", "arguments": {"query": "fence"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(served: Served, path: str = "/mcp", body: Any = None, **headers: str) -> httpx.Response:
    sent = {"Authorization": f"Bearer {served.api.secret}", **ACCEPT, **headers}
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.post(served.url + path, json=CALL if body is None else body, headers=sent)


@each_row("era", ERAS)
def test_a_search_finds_messages_in_both_eras(served: Served, era: str) -> None:
    found = served.client("/flows/support", era=era).call("search_memory", query="green fence", neighbors=1)["results"]

    assert found[0]["content"] == "The fence is green."
    assert found[0]["session_id"] == "house"
    assert found[0]["after"] == [{"role": "assistant", "content": "The roof is blue."}]


def test_claude_codes_handshake_of_the_older_protocol_is_answered(served: Served) -> None:
    """What version 2.0.76 sends, recorded."""
    greeting = (
        b'{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},'
        b'"clientInfo":{"name":"claude-code","version":"2.0.76"}},"jsonrpc":"2.0","id":0}'
    )
    sent = {
        "user-agent": "claude-code/2.0.76",
        "authorization": f"Bearer {served.api.secret}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "accept-language": "*",
        "sec-fetch-mode": "cors",
        "accept-encoding": "gzip, deflate",
    }
    later = sent | {"mcp-protocol-version": "2025-11-25"}
    with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        greeted = client.post("/mcp/flows/support", content=greeting, headers=sent)
        noted = client.post(
            "/mcp/flows/support", content=b'{"method":"notifications/initialized","jsonrpc":"2.0"}', headers=later
        )
        stream = client.get("/mcp/flows/support", headers=later | {"accept": "text/event-stream"})

    assert greeted.json()["result"]["protocolVersion"] == "2025-11-25"
    assert greeted.json()["result"]["serverInfo"]["name"] == "memorybase"
    assert {"tools", "resources", "prompts"} <= greeted.json()["result"]["capabilities"].keys()
    assert "mcp-session-id" not in greeted.headers
    assert (noted.status_code, noted.content) == (202, b"")
    assert stream.status_code == 405  # by which a client learns that there is no stream


def test_claude_codes_handshake_of_the_new_protocol_is_answered(served: Served) -> None:
    """What version 2.1.330 sends, recorded."""
    about = (
        b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":'
        b'{"name":"claude-code","title":"Claude Code","version":"2.1.330","description":'
        b'"Anthropic\'s agentic coding tool","websiteUrl":"https://claude.com/claude-code"},'
        b'"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}}'
    )
    probe = b'{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{%s}}' % about
    listing = b'{"method":"tools/list","params":{%s},"jsonrpc":"2.0","id":0}' % about
    sent = {
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "authorization": f"Bearer {served.api.secret}",
        "content-type": "application/json",
        "user-agent": "claude-code/2.1.330 (sdk-cli)",
        "mcp-protocol-version": "2026-07-28",
    }
    with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        discovered, listed = (
            client.post("/mcp/flows/support", content=body, headers=sent | {"mcp-method": method}).json()
            for method, body in (("server/discover", probe), ("tools/list", listing))
        )

    assert discovered["id"] == "server-discover-probe-1"
    assert discovered["result"]["instructions"].startswith("memorybase keeps")
    assert len(listed["result"]["tools"]) == 8


@each_row("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic a2V5"}])
def test_without_a_valid_key_every_request_is_401_and_says_how(served: Served, headers: dict[str, str]) -> None:
    for body in (CALL, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, []):
        answer = httpx.post(f"{served.url}/mcp", json=body, headers={**ACCEPT, **headers}, trust_env=False, timeout=60)

        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["code"] == "unauthorized"


def test_the_other_header_for_keys_works(served: Served) -> None:
    answer = post(served, **{"Authorization": "", "X-API-Key": served.api.secret})

    assert answer.status_code == 200
    assert answer.json()["result"]["structuredContent"]["results"]


def test_a_revoked_key_ends_at_once(served: Served) -> None:
    key = served.api.post("/keys", {"name": "agent", "scopes": ["read"]}, expect=201)
    assert served.client(key=key["secret"]).call("search_memory", query="fence")["results"]

    served.api.delete(f"/keys/{key['id']}")

    assert post(served, Authorization=f"Bearer {key['secret']}").status_code == 401


def test_another_users_key_reaches_nothing(served: Served) -> None:
    other = served.api.of_user("mallory")
    message = served.api.get("/messages", session_id="house")["items"][0]["id"]
    client = served.client("/flows/support", key=other.secret)
    flow = served.api.get("/flows")["items"][0]["id"]
    by_uuid = served.client(f"/flows/{flow}", key=other.secret)

    for each in (client, by_uuid):
        for tool, arguments in every_tool(message):
            assert "not_found" in each.refused(tool, **arguments), tool
    assert "has no flow" in served.client(key=other.secret).refused("search_memory", query="fence")
    assert served.api.get("/messages", session_id="house")["total"] == 2


def every_tool(message: str) -> list[tuple[str, dict[str, Any]]]:
    """Every tool, with ids of the session `house`."""
    return [
        ("search_memory", {"query": "fence"}),
        ("search_memory", {"query": "fence", "session_id": "house"}),
        ("get_context", {"query": "fence", "session_id": "house"}),
        ("get_session", {"session_id": "house"}),
        ("list_sessions", {}),
        ("list_sessions", {"query": "fence"}),
        ("remember", {"content": "x", "session_id": "house"}),
        ("correct_memory", {"message_id": message, "content": "x"}),
        ("forget_memory", {"message_id": message, "confirm": True}),
        ("forget_memory", {"session_id": "house", "confirm": True}),
        ("memory_status", {}),
    ]


def test_an_end_user_in_the_address_limits_every_tool(served: Served) -> None:
    served.api.capture("Ben's fence is black.", session="ben-1", end_user_id="ben")
    anna = served.client("/flows/support?end_user_id=anna")

    found = anna.call("search_memory", query="fence", top_k=50, neighbors=5)["results"]
    assert [hit["content"] for hit in found] == ["Anna's fence is white."]
    assert anna.call("search_memory", query="fence", session_id="ben-1")["results"] == []
    assert [each["session_id"] for each in anna.call("list_sessions")["sessions"]] == ["anna-1"]
    assert [each["session_id"] for each in anna.call("list_sessions", query="fence")["sessions"]] == ["anna-1"]
    text = anna.call("get_context", query="fence")["text"]
    assert "white" in text
    assert "black" not in text
    assert "green" not in text


@each_row("session", ["ben-1", "house"])
def test_an_end_user_does_not_reach_sessions_of_others_or_of_none(served: Served, session: str) -> None:
    served.api.capture("Ben's fence is black.", session="ben-1", end_user_id="ben")
    message = served.api.get("/messages", session_id=session)["items"][0]
    anna = served.client("/flows/support?end_user_id=anna")

    assert "no session" in anna.refused("get_session", session_id=session)
    assert "another end user" in anna.refused("get_context", query="fence", session_id=session)
    assert "session_conflict" in anna.refused("remember", content="x", session_id=session)
    assert "not_found" in anna.refused("correct_memory", message_id=message["id"], content="x")
    assert "not_found" in anna.refused("forget_memory", message_id=message["id"], confirm=True)
    assert "no session" in anna.refused("forget_memory", session_id=session, confirm=True)

    assert served.api.get(f"/messages/{message['id']}") == message
    assert served.api.get("/messages", session_id=session, flow_id="support")["items"][0] == message


def test_another_flow_of_the_same_key_is_out_of_reach(served: Served) -> None:
    served.api.flow("other")
    message = served.api.get("/messages", session_id="house")["items"][0]["id"]
    other = served.client("/flows/other")

    assert "No memory base" in other.refused("search_memory", query="fence")
    assert "no session" in other.refused("get_session", session_id="house")
    assert "not_found" in other.refused("correct_memory", message_id=message, content="x")
    assert "not_found" in other.refused("forget_memory", message_id=message, confirm=True)
    assert "no session" in other.refused("forget_memory", session_id="house", confirm=True)


def test_no_argument_widens_the_scope(served: Served, subtests: pytest.Subtests) -> None:
    served.api.flow("other")
    served.api.memory("other-notes", "other")
    served.api.capture("The fence is pink.", flow="other")
    anna = served.client("/flows/support?end_user_id=anna")

    for argument in ("flow_id", "end_user_id", "user_id", "key"):
        with subtests.test(argument):
            error = anna.refused("search_memory", query="fence", **{argument: "other"})

            assert f"search_memory has no argument {argument}. It has query" in error


def test_a_key_that_only_reads_may_not_write(served: Served) -> None:
    reader = served.api.of_user("local", "read")
    client = served.client("/flows/support", key=reader.secret)
    message = served.api.get("/messages", session_id="house")["items"][0]["id"]

    assert client.call("search_memory", query="fence")["results"]
    for tool, arguments in every_tool(message):
        if tool in {"remember", "correct_memory", "forget_memory"}:
            assert "lacks the scope 'write'" in client.refused(tool, **arguments)
    assert served.api.get("/messages", session_id="house")["total"] == 2


def test_without_a_flow_in_the_address_the_only_flow_of_the_key_is_meant(served: Served) -> None:
    assert served.client().call("search_memory", query="fence")["results"]

    served.api.flow("second")

    error = served.client().refused("search_memory", query="fence")
    assert "2 flows: support, second" in error
    assert "/mcp/flows/FLOW_ID" in error


@each_row("path", ["/mcp/", "/mcp/flows/support/"])
def test_a_slash_at_the_end_of_the_address_is_no_redirect(served: Served, path: str) -> None:
    assert post(served, path).status_code == 200


def test_ids_in_the_address_may_have_any_characters(served: Served) -> None:
    name = "a/b c?ü%2F"
    quoted = "a%2Fb%20c%3F%C3%BC%252F"
    served.api.call("PUT", f"/flows/{quoted}", json={"name": name}, expect=201)
    served.api.memory("odd", name)
    client = served.client(f"/flows/{quoted}?end_user_id=%C3%BC%2F%20x")

    stored = client.call("remember", content="The gate is red.")

    assert stored["searchable"]
    message = served.api.get(f"/messages/{stored['message_ids'][0]}", flow_id=name)
    assert message["end_user_id"] == "ü/ x"
    assert client.call("search_memory", query="gate")["results"][0]["content"] == "The gate is red."


@each_row("query", ["end_user=anna", "end_user_id=", "end_user_id=anna&end_user_id=ben", "end_user_id=anna&flow_id=x"])
def test_an_address_that_is_not_understood_is_refused(served: Served, query: str) -> None:
    answer = post(served, f"/mcp/flows/support?{query}")

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_request"


@each_row("method", ["GET", "DELETE", "PUT"])
def test_there_are_no_streams_and_no_sessions(served: Served, method: str) -> None:
    answer = httpx.request(method, f"{served.url}/mcp", headers=ACCEPT, trust_env=False, timeout=60)

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


def test_a_reverse_proxys_host_is_accepted_and_a_foreign_origin_is_not(served: Served) -> None:
    assert post(served, Host="memory.example.com").status_code == 200

    for origin in ("http://evil.example", "http://localhost.evil.example", "http://localhost:80@evil.example", "null"):
        refused = post(served, Origin=origin)
        assert refused.status_code == 403
        assert "MEMORYBASE_CORS_ORIGINS" in refused.json()["error"]["message"]


@each_row("origin", ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:8443"])
def test_clients_on_the_users_machine_need_no_setting(served: Served, origin: str) -> None:
    assert post(served, Origin=origin).status_code == 200


def test_the_first_calls_load_the_library_once(api_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(name: str) -> ModuleType:
        loaded.append(name)
        return import_module(name)

    monkeypatch.setattr(mcp, "import_module", load)
    with serve_api(api_settings, mcp=True) as served:
        served.api.flow()
        served.api.memory()
        assert loaded == []
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: post(served), range(4)))
    assert (loaded, {answer.status_code for answer in answers}) == (["memorybase_client.mcp.server"], {200})


def test_a_library_that_does_not_load_fails_calls_and_nothing_else(
    api_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_: str) -> ModuleType:
        raise ImportError

    monkeypatch.setattr(mcp, "import_module", load)
    with serve_api(api_settings, mcp=True) as served:
        assert [post(served).status_code for _ in range(2)] == [500, 500]
        assert served.api.get("/flows")["items"] == []


@pytest.mark.slow
def test_an_allowed_origin_may_ask(api_settings: Settings) -> None:
    origin = "https://inspector.example"
    with serve_api(api_settings.model_copy(update={"cors_origins": [origin]}), mcp=True) as served:
        answer = post(served, Origin=origin)
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        wanted = {"Access-Control-Request-Headers": "authorization,mcp-protocol-version,mcp-method,mcp-name"}
        preflight = httpx.options(f"{served.url}/mcp", headers=asked | wanted, trust_env=False)

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert preflight.status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(("proxies", "person"), [(["127.0.0.1"], "zoe@example.com"), (["10.0.0.1"], None)])
def test_a_trusted_proxy_names_the_person(api_settings: Settings, proxies: list[str], person: str | None) -> None:
    """The tool's own call comes from within the application, where no proxy says it again."""
    changes = {"proxy_user_header": "X-Forwarded-User", "trusted_proxies": proxies}
    remember = {**CALL, "params": {"name": "remember", "arguments": {"content": "x", "session_id": "s1"}}}
    with serve_api(api_settings.model_copy(update=changes), mcp=True) as served:
        served.api.flow("support")
        answer = post(served, "/mcp/flows/support", remember, **{"X-Forwarded-User": "zoe@example.com"})
        entries = served.api.get("/audit", operation="capture_run")["items"]

    assert not answer.json()["result"].get("isError")
    assert [(entry["person"], entry["request_id"]) for entry in entries] == [(person, answer.headers["x-request-id"])]


def test_requests_have_ids_bounds_and_headers_like_all_others(served: Served) -> None:
    answer = post(served, **{"X-Request-Id": "abc-1"})
    assert answer.headers["x-request-id"] == "abc-1"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")

    too_large = post(served, body={**CALL, "padding": "x" * served.api.services.settings.max_body_bytes})
    assert too_large.status_code == 413
    assert too_large.json()["error"]["code"] == "too_large"


def test_an_error_has_the_id_of_its_request(served: Served) -> None:
    gone = {**CALL, "params": {"name": "correct_memory", "arguments": {"message_id": "gone", "content": "x"}}}

    answer = post(served, body=gone, **{"X-Request-Id": "abc-2"})

    text = answer.json()["result"]["content"][0]["text"]
    assert "There is no message 'gone' here (not_found, message_id; do not retry unchanged" in text
    assert "request abc-2" in text


def test_an_outage_of_search_is_an_error_and_never_an_empty_answer(served: Served) -> None:
    served.api.work()
    served.api.vectors.away = True
    client = served.client("/flows/support")

    for tool in ("search_memory", "list_sessions"):
        error = client.refused(tool, query="fence")
        assert "vector_store_unavailable" in error
        assert "retry later" in error
    context = client.call("get_context", query="fence")
    assert context["report"]["degraded"] == ["recall"]


def test_an_outage_of_the_database_is_an_error(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    client = served.client("/flows/support")
    message = served.api.get("/messages", session_id="house")["items"][0]["id"]
    principal = api_keys.authenticate(served.api.services, served.api.secret)

    def away(*_: object, **__: object) -> None:
        raise errors.DatabaseUnavailable

    monkeypatch.setattr(served.api.services.database, "reading", away)
    monkeypatch.setattr(served.api.services.database, "transaction", away)
    assert post(served).status_code == 503
    monkeypatch.setattr(api_keys, "authenticate", lambda *_: principal)
    for tool, arguments in every_tool(message):
        error = client.refused(tool, **arguments)
        assert "database_unavailable" in error, tool
        assert "retry later" in error


@pytest.mark.slow
def test_searches_take_slots_and_do_not_block_others(api_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, may_end = threading.Event(), threading.Event()
    search_for_real = search.search

    def slow(*arguments: Any) -> SearchResults:
        entered.set()
        assert may_end.wait(60)
        return search_for_real(*arguments)

    monkeypatch.setattr(search, "search", slow)
    monkeypatch.setitem(admission.SLOTS, admission.Work.SEARCH, 1)
    monkeypatch.setattr(admission, "WAIT_SECONDS", 0.2)
    with serve_api(api_settings, mcp=True) as served:
        served.api.flow()
        served.api.memory()
        client = served.client()
        with ThreadPoolExecutor() as pool:
            first = pool.submit(client.call, "search_memory", query="fence")
            try:
                assert entered.wait(60)
                assert "overloaded" in client.refused("search_memory", query="fence")
                assert client.call("list_sessions")["sessions"] == []  # a read: it has slots of its own
            finally:
                may_end.set()
            assert first.result(60)["results"] == []


@pytest.mark.slow
def test_the_rate_of_a_key_is_limited(api_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.limits.BURST_SECONDS", 1)
    limited = api_settings.model_copy(update={"rate_limit_per_second": 1})
    with serve_api(limited, mcp=True, monotonic=lambda: 1_000.0) as served:
        text = post(served, "/mcp/flows/support").json()["result"]["content"][0]["text"]
        answer = post(served)

    assert "rate_limited" in text  # the tool's own call
    assert answer.status_code == 429
    assert "retry-after" in answer.headers


@pytest.mark.slow
def test_the_setting_turns_it_off(api_settings: Settings) -> None:
    with serve_api(api_settings.model_copy(update={"mcp": False}), mcp=True) as served:
        assert post(served).status_code == 404


def test_the_limits_of_a_key_hold_for_every_tool(served: Served) -> None:
    """Neither the address nor an argument of a tool reaches another end user or another flow."""
    api = served.api
    api.flow("other")
    flow = UUID(api.get("/flows/support")["id"])
    said = [{"role": "user", "content": "My fence is red."}]
    api.post("/flows/support/runs", {"session_id": "mine", "end_user_id": "ann", "messages": said}, expect=201)
    key = {"Authorization": f"Bearer {api.limited_key(flow_ids=[flow], end_user_id='ann').secret}"}
    assert "red" in post(served, **key).text  # the address need not name the flow
    assert "green" not in post(served, **key).text
    assert "green" not in post(served, "/mcp?end_user_id=bob", **key).text
    assert "not_found" in post(served, "/mcp/flows/other", **key).text
