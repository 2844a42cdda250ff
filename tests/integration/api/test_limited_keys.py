"""Keys that are limited to flows or to an end user: what they reach, what they are refused, and their rotation.

tests/integration/api/test_isolation.py walks every operation with them; here are the end users of one flow, and what
limited keys can do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from harness.api import Api, open_api
from harness.contract import CONTRACT
from harness.facts import add_fact
from harness.operations import KEYED

from api.deps import Reader, keyed_router
from memorybase.core import errors
from memorybase.core.auth import api_keys, web_sessions
from memorybase.core.models import ApiKey, Flow, MemoryUse, Message, Run, Session
from memorybase.core.settings import Settings
from memorybase.features.standing_statements.models import StandingStatement

METHODS = {"get", "post", "put", "patch", "delete"}
OPERATIONS = {
    item[method]["operationId"]: (method.upper(), path)
    for path, item in CONTRACT["paths"].items()
    for method in METHODS & item.keys()
}
WITHOUT_KEY = {"health_live", "health_ready"}
RULES = {name: route.policy.limits for name, route in KEYED.items()}


# Every operation declares what it touches, or refuses limited keys.


def test_the_reference_lists_what_each_kind_of_key_may_call() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    table = text.partition("## Limited keys")[2].partition("## Audit log")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| `")]
    listed = {
        name: tuple(cell != "no" for cell in cells) for names, *cells in rows for name in re.findall(r"`(\w+)`", names)
    }
    allowed = {name: (rule.flows is not None, rule.end_user is not None) for name, rule in RULES.items()}
    assert listed == {name: kinds for name, kinds in allowed.items() if any(kinds)}


def test_an_operation_without_a_rule_refuses_limited_keys(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.flow("support")
    key = api.limited_key(flow_ids=[_flow(api, "support")])
    assert key.get("/flows/support")["name"] == "support"
    app = api.client.app
    assert isinstance(app, FastAPI)
    router = keyed_router("undeclared")

    @router.get("/undeclared")
    def undeclared(_caller: Reader) -> str:
        return "answered"

    monkeypatch.setattr(app.router, "routes", list(app.router.routes))
    app.router.routes += router.routes
    for limited in (key, api.limited_key(end_user_id="ann")):
        assert limited.refused("GET", "/undeclared", 403)["code"] == "outside_key_limits"
    assert api.get("/undeclared") == "answered"


# Two end users of one flow. Ann's key is tried with everything of Bob's, and of nobody's.


@dataclass
class Ids:
    """What an end user has; "none" stands for a session without one."""

    name: str
    run: str
    message: str
    job: str
    execution: str
    statement: str


@dataclass
class Two:
    api: Api
    key: Api
    base: str
    mine: Ids
    others: tuple[Ids, ...]

    def rows_of_others(self) -> list[str]:
        with self.api.services.database.reading() as db:
            whose = Session.end_user_id.is_distinct_from("ann")
            same = (Session.flow_id == Message.flow_id) & (Session.session_id == Message.session_id)
            found = db.execute(sa.select(Message.__table__).join(Session, same).where(whose))
            sessions = db.execute(sa.select(Session.__table__).where(whose))
            statements = db.execute(
                sa.select(StandingStatement.__table__).where(StandingStatement.end_user_id.is_distinct_from("ann"))
            )
            of_run = sa.select(Run.session_id).where(Run.id == MemoryUse.run_id).scalar_subquery()
            theirs = sa.func.coalesce(of_run, MemoryUse.session_id) == Session.session_id
            in_session = (Session.flow_id == MemoryUse.flow_id) & theirs
            uses = db.execute(sa.select(MemoryUse.__table__).join(Session, in_session).where(whose))
            not_stored = MemoryUse.session_id.endswith("-asked"), MemoryUse.end_user_id.is_distinct_from("ann")
            asked = db.execute(sa.select(MemoryUse.__table__).where(*not_stored))
            return sorted(repr(tuple(row)) for row in [*found, *sessions, *statements, *uses, *asked])


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("two"),
        embedding_model="fake",
        api_key="key-of-the-settings",
        rate_limit_per_second=0,
    )
    with open_api(settings) as api:
        api.flow("support")
        base = api.memory("notes", threshold=1, capture="all")["id"]
        api.call("PUT", "/flows/support/chat-memories/node", json={"name": "m", "chat_id": "{{ u }}"}, expect=201)
        ann, bob, nobody = (_furnish(api, base, name) for name in ("ann", "bob", "none"))
        yield Two(api, api.limited_key(end_user_id="ann"), base, ann, (bob, nobody))


def _furnish(api: Api, base: str, name: str) -> Ids:
    end_user = {} if name == "none" else {"end_user_id": name}
    said = [{"role": "user", "content": f"Always say {name}-secret cat.", "id": f"{name}-message"}]
    body = {"session_id": f"{name}-session", "run_id": f"{name}-run", "messages": said} | end_user
    run = api.post("/flows/support/runs", body, expect=201)
    api.work()
    execution = {
        "flow_id": "support",
        "session_id": f"{name}-session",
        "run_id": f"{name}-run",
        "node_id": "llm",
        "status": "succeeded",
        "outputs": {"text": f"{name}-secret", "context": []},
    }
    api.call("PUT", f"/node-executions/{name}-execution", json=execution, expect=201)
    chat = {"chat_id": f"{name}-chat", "messages": [{"role": "user", "content": f"{name}-secret"}]} | end_user
    api.post("/flows/support/chat-memories/node/messages", chat, expect=201)
    asked = {"flow_id": "support", "session_id": f"{name}-asked", "run_id": f"{name}-asked-run", "node_id": "llm"}
    api.post("/context", asked | {"token_budget": 100, "query": f"{name}-secret"} | end_user)
    job = next(
        each["id"] for each in api.get(f"/memories/{base}/jobs")["items"] if each["session_id"] == f"{name}-session"
    )
    in_session = {"flow_id": "support", "session_id": f"{name}-session"}
    (statement,) = api.get("/standing-statements", **in_session)["statements"]
    add_fact(api.services, base, run["messages"][0]["id"])
    return Ids(name, run["run_id"], f"{name}-message", job, f"{name}-execution", statement["id"])


Case = tuple[str, dict[str, Any], Any]  # path, query, body
NODE = "/flows/support/chat-memories/node"
SAID = [{"role": "user", "content": "mine"}]


def _in_session(o: Ids, **more: Any) -> dict[str, Any]:
    return {"flow_id": "support", "session_id": f"{o.name}-session", **more}


def asks(path: str, **query: Any) -> Case:
    return path, query, None


def sends(path: str, **body: Any) -> Case:
    return path, {}, body


# Of every operation that keys of an end user may call: with ids of another one, it shows and changes nothing.
CASES: dict[str, Callable[[Two, Ids], list[Case]]] = {
    "get_flow": lambda _t, _o: [asks("/flows/support")],
    "list_flows": lambda _t, _o: [asks("/flows")],
    "get_usage": lambda _t, _o: [asks("/usage")],
    "capture_run": lambda _t, o: [
        sends("/flows/support/runs", session_id=f"{o.name}-session", messages=SAID),
        sends("/flows/support/runs", session_id="new", end_user_id=o.name, messages=SAID),
        *(
            sends(
                "/flows/support/runs",
                session_id="ann-session",
                on_conflict=rule,
                messages=[{**SAID[0], "id": o.message}],
            )
            for rule in ("error", "keep", "update")
        ),
        sends("/flows/support/runs", session_id="ann-session", run_id=o.run, messages=SAID),
        sends(
            "/flows/support/runs",
            session_id="ann-session",
            messages=SAID,
            node_executions=[
                {"id": o.execution, "node_id": "llm", "status": "succeeded", "outputs": {"text": "x", "context": []}}
            ],
        ),
    ],
    "get_run_of_flow": lambda _t, o: [asks(f"/flows/support/runs/{o.run}")],
    "find_runs": lambda _t, o: [
        asks("/runs"),
        asks("/runs", end_user_id=o.name),
        asks("/runs", q=f"{o.name}-secret"),
        asks("/runs", session_id=f"{o.name}-session"),
    ],
    "get_run": lambda _t, o: [asks(f"/runs/{o.run}"), asks(f"/runs/{o.name}-run", flow_id="support")],
    "list_memory_base_sessions": lambda t, o: [
        asks(f"/memories/{t.base}/sessions"),
        asks(f"/memories/{t.base}/sessions", end_user_id=o.name),
        asks(f"/memories/{t.base}/sessions", text=o.name),
    ],
    "get_job": lambda _t, o: [asks(f"/jobs/{o.job}")],
    "watch_job": lambda _t, o: [asks(f"/jobs/{o.job}/events")],
    "list_messages": lambda t, o: [
        asks("/messages"),
        asks("/messages", end_user_id=o.name),
        asks("/messages", session_id=f"{o.name}-session", flow_id="support"),
        asks("/messages", memory_base_id=t.base),
        asks("/messages", run_id=o.run),
        *(asks("/messages", **{name: o.message}) for name in ("before_message_id", "after_message_id")),
        asks("/messages", flow_id="support", find="secret"),
    ],
    **{
        name: lambda _t, o, path=path, body=body: [
            (f"/messages/{o.message}{path}", query, body) for query in ({}, {"flow_id": "support"})
        ]
        for name, path, body in (
            ("get_message", "", None),
            ("edit_message", "", {"content": "mine"}),
            ("delete_message", "", None),
            ("get_message_ingestion", "/ingestion", None),
            ("get_message_history", "/history", None),
        )
    },
    "list_sessions": lambda _t, o: [
        asks("/sessions"),
        asks("/sessions", end_user_id=o.name),
        asks("/sessions", q=o.name),
    ],
    "update_session": lambda _t, o: [sends("/sessions", **_in_session(o, metadata={"x": 1}))],
    "delete_session": lambda _t, o: [
        asks("/sessions", **_in_session(o)),
        asks("/sessions", flow_id="support", session_id=f"{o.name}-asked"),
    ],
    "get_end_user": lambda _t, o: [asks(f"/end-users/{o.name}")],
    "get_end_user_profile": lambda _t, o: [asks(f"/end-users/{o.name}/profile", flow_id="support")],
    "get_history": lambda _t, o: [
        sends("/history", **_in_session(o)),
        sends("/history", flow_id="support", session_id="ann-session", leaf_id=o.message),
        sends("/history", flow_id="support", session_id="ann-session", run_id=o.run, node_id="llm"),
        sends(
            "/history",
            flow_id="support",
            session_id="ann-session",
            mode="node",
            node_id="llm",
            run_id="ann-run",
            execution_id=o.execution,
        ),
    ],
    "get_node_execution": lambda _t, o: [asks(f"/node-executions/{o.execution}")],
    "put_run_memory": lambda _t, o: [
        sends(
            f"/flows/support/runs/{run}/memory/llm",
            session_id=session,
            messages=[{"role": "system", "content": "given"}],
            sources=[{"message_ids": [o.message], "scores": [0.5]}],
            **more,
        )
        for run, session, more in (
            (o.run, "ann-session", {}),
            ("new", f"{o.name}-session", {}),
            ("new", "ann-session", {}),
            ("new", "ann-session", {"end_user_id": o.name}),
            ("new", "not-begun", {"end_user_id": o.name}),
        )
    ],
    "list_chats": lambda _t, o: [asks(f"{NODE}/chats"), asks(f"{NODE}/chats", end_user_id=o.name)],
    "post_chat_messages": lambda _t, o: [
        sends(f"{NODE}/messages", chat_id=f"{o.name}-chat", messages=SAID),
        sends(f"{NODE}/messages", variables={"u": f"{o.name}-chat"}, messages=SAID),
        sends(f"{NODE}/messages", chat_id="new-chat", end_user_id=o.name, messages=SAID),
    ],
    "list_chat_messages": lambda _t, o: [asks(f"{NODE}/messages", chat_id=f"{o.name}-chat")],
    "delete_chat_messages": lambda _t, o: [
        asks(f"{NODE}/messages", chat_id=f"{o.name}-chat", mode="all", roles=["user", "assistant"])
    ],
    "view_chat": lambda _t, o: [
        sends(f"{NODE}/view", chat_id=f"{o.name}-chat"),
        sends(f"{NODE}/view", variables={"u": f"{o.name}-chat"}),
        sends(f"{NODE}/view", chat_id="ann-chat", run_id=o.run),
    ],
    "trim_chat": lambda _t, o: [sends(f"{NODE}/trim", chat_id=f"{o.name}-chat", max_messages=0)],
    "summarize_chat": lambda _t, o: [sends(f"{NODE}/summarize", chat_id=f"{o.name}-chat", keep_last_n=0)],
    "export_chats": lambda _t, o: [asks(f"{NODE}/export"), asks(f"{NODE}/export", chat_id=f"{o.name}-chat")],
    "search_memory_base": lambda t, o: [
        sends(f"/memories/{t.base}/search", query="secret cat", facts=True, neighbors=2),
        sends(f"/memories/{t.base}/search", query="secret cat", facts=True, end_user_id=o.name),
        sends(f"/memories/{t.base}/search", query="secret cat", facts=True, session_id=f"{o.name}-session"),
    ],
    "search_flow": lambda t, o: [
        sends("/search", query="secret cat", facts=True, flow_id="support"),
        sends("/search", query="secret cat", facts=True, all=True),
        sends("/search", query="secret cat", facts=True, memory_base_ids=[t.base]),
        sends("/search", query="secret cat", facts=True, flow_id="support", end_user_id=o.name),
    ],
    "retrieve_knowledge": lambda t, o: [
        sends("/dify/retrieval", knowledge_id=each, query="secret cat")
        for each in ("support", t.base, f"support/{o.name}")
    ],
    "get_summary": lambda _t, o: [asks("/summary", **_in_session(o))],
    "request_summary": lambda _t, o: [sends("/summary", **_in_session(o))],
    "delete_summary": lambda _t, o: [asks("/summary", **_in_session(o))],
    "build_context": lambda _t, o: [
        sends("/context", **_in_session(o, token_budget=500, query="secret cat")),
        *(
            sends(
                "/context",
                flow_id="support",
                session_id=session,
                token_budget=500,
                query="secret cat",
                recall={"scope": "flow"},
            )
            for session in ("ann-session", "not-begun")
        ),
        sends("/context", flow_id="support", session_id="ann-session", token_budget=500, leaf_id=o.message),
        sends("/context", flow_id="support", session_id="ann-session", token_budget=500, run_id=o.run, node_id="llm"),
        sends(
            "/context",
            flow_id="support",
            session_id="not-begun",
            token_budget=500,
            query="secret cat",
            end_user_id=o.name,
        ),
    ],
    "list_facts": lambda t, o: [
        asks(f"/memories/{t.base}/facts"),
        asks(f"/memories/{t.base}/facts", end_user_id=o.name),
        asks(f"/memories/{t.base}/facts", session_id=f"{o.name}-session"),
    ],
    "search_facts": lambda t, o: [
        sends(f"/memories/{t.base}/facts/search", query="secret cat", **more)
        for more in ({}, {"end_user_id": o.name}, {"session_id": f"{o.name}-session"})
    ],
    "list_standing_statements": lambda _t, o: [
        asks("/standing-statements", flow_id="support"),
        asks("/standing-statements", flow_id="support", end_user_id=o.name),
        asks("/standing-statements", flow_id="support", session_id=f"{o.name}-session", every="true"),
    ],
    "edit_standing_statement": lambda _t, o: [sends(f"/standing-statements/{o.statement}", text="mine")],
    "delete_standing_statement": lambda _t, o: [asks(f"/standing-statements/{o.statement}")],
    "export_lines": lambda t, o: [
        asks("/export"),
        asks("/export", flow_id="support"),
        asks("/export", memory_base_id=t.base),
        asks("/export", end_user_id=o.name),
    ],
}
FOR_END_USERS = {name for name, rule in RULES.items() if rule.end_user is not None}


def test_every_operation_for_keys_of_an_end_user_is_tried() -> None:
    assert CASES.keys() == FOR_END_USERS


def test_a_key_of_an_end_user_shows_and_changes_nothing_of_others(two: Two, subtests: pytest.Subtests) -> None:
    held = two.rows_of_others()
    for operation, cases in CASES.items():
        method, _ = OPERATIONS[operation]
        for other in two.others:
            for path, query, body in cases(two, other):
                with subtests.test(f"{operation} {method} {path} {query} {body}"):
                    answer = _send(two.key, method, path, query, body)
                    before, held = held, two.rows_of_others()
                    assert held == before, "it changed what others have"
                    assert f"{other.name}-secret" not in answer.text, answer.text
                    assert answer.status_code < 500, answer.text


def test_a_key_of_an_end_user_is_refused_all_other_operations(two: Two, subtests: pytest.Subtests) -> None:
    others = sorted(OPERATIONS.keys() - FOR_END_USERS - WITHOUT_KEY)
    assert others
    for operation in others:
        with subtests.test(operation):
            method, path = OPERATIONS[operation]
            there = path.removeprefix("/v1")
            for name, value in (
                ("memory_base_id", two.base),
                ("flow_id", "support"),
                ("message_id", "ann-message"),
                ("run_id", "ann-run"),
                ("node_id", "node"),
                ("job_id", two.mine.job),
            ):
                there = there.replace(f"{{{name}}}", value)
            for name in ("dead_letter_id", "label_id", "key_id", "name", "execution_id", "end_user_id"):
                there = there.replace(f"{{{name}}}", "00000000-0000-4000-8000-000000000000")
            assert _send(two.key, method, there, {}, None if method in {"GET", "DELETE"} else {}).status_code == 403


def _send(key: Api, method: str, path: str, query: dict[str, Any], body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key.secret}"}
    return key.client.request(method, f"/v1{path}", headers=headers, params=query, json=body)


# What they can do.


@pytest.fixture
def ann(api: Api) -> Api:
    api.flow("support")
    api.flow("sales")
    api.memory("notes", threshold=1)
    api.capture("bob likes tea", session="bob-1", end_user_id="bob")
    return api.limited_key(flow_ids=[_flow(api, "support")], end_user_id="ann")


def test_a_capture_belongs_to_the_keys_end_user(ann: Api, api: Api) -> None:
    ann.capture("ann likes tea", session="ann-1")
    assert api.get("/sessions", end_user_id="ann")["items"][0]["session_id"] == "ann-1"
    error = ann.refused(
        "POST", "/flows/support/runs", 404, json={"session_id": "x", "end_user_id": "bob", "messages": SAID}
    )
    assert (error["field"], error["value"]) == ("end_user_id", "bob")


def test_searches_lists_and_contexts_are_narrowed(ann: Api, api: Api) -> None:
    ann.capture("ann likes tea", session="ann-1")
    api.work()
    assert {hit["session_id"] for hit in ann.post("/search", {"query": "tea"})["results"]} == {"ann-1"}
    assert {each["session_id"] for each in ann.get("/sessions")["items"]} == {"ann-1"}
    assert ann.get("/messages")["total"] == 1
    body = {"session_id": "ann-2", "token_budget": 500, "query": "who likes tea?"}
    assert "bob" not in json.dumps(ann.post("/context", body))
    assert [flow["name"] for flow in ann.get("/flows")["items"]] == ["support"]


def test_a_key_of_several_flows_names_the_flow(api: Api) -> None:
    for name in ("support", "sales", "other"):
        api.flow(name)
    key = api.limited_key(flow_ids=[_flow(api, "support"), _flow(api, "sales")])
    error = key.refused("GET", "/messages", 422)
    assert error["field"] == "flow_id"
    assert error["limit"] == sorted(str(_flow(api, name)) for name in ("support", "sales"))
    assert key.get("/messages", flow_id="sales")["total"] == 0
    assert key.refused("GET", "/messages", 404, params={"flow_id": "other"})["value"] == "other"
    assert {flow["name"] for flow in key.get("/flows")["items"]} == {"support", "sales"}


def test_a_key_of_an_end_user_lists_the_flows_with_their_sessions(ann: Api, api: Api) -> None:
    key = api.limited_key(end_user_id="ann")
    assert key.get("/flows")["items"] == []
    ann.capture("ann likes tea", session="ann-1")
    assert [flow["name"] for flow in key.get("/flows")["items"]] == ["support"]
    api.delete("/sessions", expect=200, flow_id="support", session_id="ann-1")
    assert key.get("/flows")["total"] == 0


def test_an_idempotency_key_replays_within_the_limits(ann: Api) -> None:
    body = {"session_id": "ann-1", "messages": SAID}
    headers = {"Idempotency-Key": "once"}
    first = ann.call("POST", "/flows/support/runs", json=body, headers=headers, expect=201)
    second = ann.call("POST", "/flows/support/runs", json=body, headers=headers, expect=201)
    assert second.headers["idempotency-replayed"] == "true"
    assert second.json() == first.json()


def test_the_body_may_state_what_the_key_states(ann: Api) -> None:
    ann.capture("ann likes tea", session="ann-1", end_user_id="ann")
    found = ann.post("/search", {"query": "tea", "flow_id": "support", "end_user_id": "ann", "mode": "keyword"})
    assert len(found["results"]) == 1
    ann.refused("POST", "/search", 422, json={"query": "tea", "flow_id": 7})
    ann.refused("POST", "/search", 422, json={"query": "tea", "all": True})


def test_a_body_that_is_no_object_is_refused(ann: Api, subtests: pytest.Subtests) -> None:
    for body in [b"{", b"[]", b"7", b'"flow_id"', b"\xff", b"[" * 100_000]:
        with subtests.test(f"{body[:20]}"):
            for path in ("/search", "/flows/support/runs", "/context"):
                assert ann.call("POST", path, content=body, expect=422).json()["error"]["field"] == "body"


# Making them.


IMPOSSIBLE_LIMITS = [
    ({"scopes": ["admin"], "end_user_id": "ann"}, 422, "scopes"),
    ({"scopes": ["metrics"], "flow_ids": ["support"]}, 422, "scopes"),
    ({"scopes": ["read"], "flow_ids": ["none-such"]}, 404, "flow_ids"),
    ({"scopes": ["read"], "flow_ids": []}, 422, "flow_ids"),
    ({"scopes": ["read"], "end_user_id": " "}, 422, "end_user_id"),
]


def test_limits_that_no_key_can_have_are_refused(api: Api, subtests: pytest.Subtests) -> None:
    for body, status, name in IMPOSSIBLE_LIMITS:
        with subtests.test(body=body):
            assert api.refused("POST", "/keys", status, json={"name": "k", **body})["field"] == name


def test_the_limits_of_a_key_are_shown(api: Api) -> None:
    api.flow("support")
    body = {"name": "browser", "scopes": ["read"], "flow_ids": ["support"], "end_user_id": "ann"}
    made = api.post("/keys", body, expect=201)
    listed = next(key for key in api.get("/keys")["items"] if key["id"] == made["id"])
    assert (listed["scopes"], listed["flow_ids"], listed["end_user_id"]) == (
        ["read"],
        [str(_flow(api, "support"))],
        "ann",
    )


def test_a_version_that_does_not_know_limits_finds_no_scope(api: Api) -> None:
    key = api.limited_key(end_user_id="ann")
    with api.services.database.reading() as db:
        stored = db.scalars(sa.select(ApiKey).where(ApiKey.key_hash == api_keys.hash_of(key.secret))).one()
    assert (stored.scopes, stored.limited_scopes) == ([], ["read", "write"])


def test_a_limited_key_cannot_sign_in_to_the_page(api: Api) -> None:
    key = api.limited_key(end_user_id="ann")
    with pytest.raises(errors.Forbidden):
        web_sessions.open_session(api.services, key.secret)
    with pytest.raises(errors.Forbidden):
        web_sessions.make_link(api.services, api_keys.authenticate(api.services, key.secret))


# Rotation.


def test_both_keys_are_valid_during_the_overlap(api: Api) -> None:
    old = api.post("/keys", {"name": "runtime", "scopes": ["read"]}, expect=201)
    new = api.post(f"/keys/{old['id']}/rotate", {"overlap_seconds": 3600}, expect=201)
    assert (new["name"], new["scopes"], new["expires_at"]) == ("runtime", ["read"], None)
    assert [_status(api, each["secret"]) for each in (old, new)] == [200, 200]
    listed = {key["id"]: key for key in api.get("/keys")["items"]}
    assert listed[old["id"]]["rotated_to"] == new["id"]
    left = datetime.fromisoformat(listed[old["id"]]["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    with api.services.database.transaction() as db:
        db.execute(sa.update(ApiKey).where(ApiKey.id == UUID(old["id"])).values(expires_at=datetime.now(UTC)))
    assert [_status(api, each["secret"]) for each in (old, new)] == [401, 200]


def test_a_key_is_rotated_once(api: Api) -> None:
    old = api.post("/keys", {"name": "runtime", "scopes": ["read"]}, expect=201)
    new = api.post(f"/keys/{old['id']}/rotate", expect=201)
    error = api.refused("POST", f"/keys/{old['id']}/rotate", 409)
    assert (error["code"], error["details"]) == ("key_rotated", {"existing_id": new["id"]})
    api.post(f"/keys/{new['id']}/rotate", expect=201)


def test_a_rotation_never_prolongs_the_old_key(api: Api) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=5)
    body = {"name": "runtime", "scopes": ["read"], "expires_at": soon.isoformat()}
    old = api.post("/keys", body, expect=201)
    new = api.post(f"/keys/{old['id']}/rotate", {"overlap_seconds": 3600}, expect=201)
    listed = {key["id"]: key for key in api.get("/keys")["items"]}
    assert listed[old["id"]]["expires_at"] == new["expires_at"] == old["expires_at"]


def test_the_rotated_key_of_the_settings_stays_ended(api: Api) -> None:
    key_id = api.get("/keys")["items"][0]["id"]
    new = api.post(f"/keys/{key_id}/rotate", {"overlap_seconds": 0}, expect=201)
    assert [_status(api, each) for each in (api.secret, new["secret"])] == [401, 200]


def test_a_repeated_rotation_makes_no_second_key(api: Api) -> None:
    old = api.post("/keys", {"name": "runtime", "scopes": ["read"]}, expect=201)
    headers = {"Idempotency-Key": "rotate"}
    new = api.call("POST", f"/keys/{old['id']}/rotate", headers=headers, expect=201).json()
    error = api.refused("POST", f"/keys/{old['id']}/rotate", 409, headers=headers)
    assert (error["code"], error["details"]) == ("secret_not_stored", {"existing_id": new["id"]})


def _status(api: Api, secret: str) -> int:
    return api.client.get("/v1/flows", headers={"X-API-Key": secret}).status_code


def _flow(api: Api, name: str) -> UUID:
    with api.services.database.reading() as db:
        return db.scalars(sa.select(Flow.id).where(Flow.external_id == name, Flow.user_id == api.user_id)).one()
