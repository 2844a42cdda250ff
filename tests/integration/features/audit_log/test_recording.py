"""What the audit log has of calls, of the page and of the command line: who, what, when, from where; never text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from harness.api import Api, open_api, settings_in
from harness.rows import each_row
from harness.statements import recorded

from api.web import csrf, site
from api.web.views import routers
from api.web.visits import COOKIE
from memorybase.core.auth import api_keys
from memorybase.core.calls import Actor, Call, Effect, Via
from memorybase.core.database.engine import Database
from memorybase.features.audit_log import chain, recording
from memorybase.features.audit_log.models import AuditEntry

Entry = dict[str, Any]
SECRET = "a text that no entry may contain"


def entries(api: Api, *kinds: str) -> list[Entry]:
    """Oldest first."""
    with api.services.database.reading() as db:
        found = db.scalars(sa.select(AuditEntry).order_by(AuditEntry.id))
        return [
            {
                "kind": e.kind,
                "operation": e.operation,
                "objects": e.objects,
                "key_id": e.key_id,
                "via": e.via,
                "person": e.person,
                "address": e.address,
                "user_id": e.user_id,
                "request_id": e.request_id,
            }
            for e in found
            if e.kind in (kinds or ("change", "read", "denied", "prune"))
        ]


def operations_of(api: Api, *kinds: str) -> list[str]:
    return [entry["operation"] for entry in entries(api, *kinds)]


# Calls.


def test_a_change_has_who_what_and_from_where(api: Api) -> None:
    answer = api.call("POST", "/flows", json={"name": "support"}, expect=201)
    (entry,) = entries(api)
    principal = api_keys.authenticate(api.services, api.secret)
    assert entry == {
        "kind": "change",
        "operation": "create_flow",
        "objects": {"flow_id": answer.json()["id"]},
        "via": "api",
        "key_id": principal.key_id,
        "user_id": api.user_id,
        "person": None,
        "address": "testclient",
        "request_id": answer.headers["x-request-id"],
    }


def test_entries_name_ids_and_never_text(api: Api) -> None:
    api.flow("support")
    base = api.memory("notes")["id"]
    said = [{"role": "user", "content": SECRET, "id": "m-1", "metadata": {"note_id": SECRET}}]
    api.post("/flows/support/runs", {"session_id": "s1", "run_id": "r1", "messages": said}, expect=201)
    api.call("PATCH", "/messages/m-1", json={"content": f"{SECRET} 2", "reason": SECRET})
    api.call("PATCH", "/sessions", json={"flow_id": "support", "session_id": "s1", "metadata": {"k": SECRET}})
    api.post("/messages/actions", {"action": "mute", "ids": ["m-1"], "flow_id": "support", "reason": SECRET})
    api.post("/labels", {"message_id": "m-1", "query": SECRET, "right": True})
    api.call("DELETE", "/messages/m-1", params={"reason": SECRET})
    key = api.post("/keys", {"name": SECRET, "scopes": ["read"]}, expect=201)
    found = entries(api, "change")
    assert SECRET not in json.dumps([entry["objects"] for entry in found])
    named = {entry["operation"]: entry["objects"] for entry in found}
    assert named["create_memory_base"]["memory_base_id"] == base
    assert named["capture_run"]["session_id"] == "s1"
    assert named["act_on_messages"] == {"ids": ["m-1"], "flow_id": "support"}
    assert named["edit_message"] == {"message_id": "m-1"}
    assert named["update_session"] == {"flow_id": "support", "session_id": "s1"}
    assert named["delete_message"] == {"message_id": "m-1"}
    assert named["create_key"] == {"key_id": key["id"]}
    assert "label_id" in named["mark_result"]


def test_failed_and_refused_calls_and_reads_leave_none(api: Api) -> None:
    api.flow("support")
    api.capture("hello", session="s1")
    before = len(entries(api))
    api.refused("DELETE", "/flows/none-such", 404)
    api.refused("POST", "/flows", 422, json={})
    api.of_user("local", "read").refused("POST", "/flows", 403, json={"name": "f"})
    api.get("/messages")
    api.post("/search", {"flow_id": "support", "query": "hello"})
    api.post("/history", {"flow_id": "support", "session_id": "s1", "run_id": "r", "node_id": "n"})
    api.post("/context", {"flow_id": "support", "session_id": "s1", "token_budget": 100})
    assert len(entries(api)) == before


def test_a_quota_that_is_counted_in_its_own_transaction_takes_no_entry_away(api: Api) -> None:
    api.flow("support")
    limited = api.limited_key(quotas={"messages_per_day": 2, "end_users": 5, "stored_messages": 100})
    before = len(entries(api))
    said = {"session_id": "s1", "run_id": "r1", "end_user_id": "anna"}
    limited.post("/flows/support/runs", {**said, "messages": [{"role": "user", "content": "a"}]}, expect=201)
    three = [{"role": "user", "content": text} for text in "bcd"]
    limited.refused("POST", "/flows/support/runs", 429, json={**said, "run_id": "r2", "messages": three})
    (entry,) = entries(api)[before:]  # of the first; the refused one left none
    assert (entry["operation"], "run_id" in entry["objects"]) == ("capture_run", True)


def test_a_repeated_request_leaves_one_entry(api: Api) -> None:
    headers = {"Idempotency-Key": "once"}
    for _ in range(2):
        api.call("POST", "/flows", json={"name": "f"}, headers=headers, expect=201)
    assert operations_of(api) == ["create_flow"]


def test_an_export_is_a_read(api: Api) -> None:
    api.flow("support")
    api.call("GET", "/export", params={"flow_id": "support", "end_user_id": "ann"})
    api.refused("GET", "/export", 404, params={"flow_id": "none-such"})
    (entry,) = entries(api, "read")
    assert (entry["operation"], entry["objects"]) == ("export_lines", {"flow_id": "support", "end_user_id": "ann"})


def test_what_a_limited_key_is_refused_is_recorded_once_a_minute(api: Api) -> None:
    for name in ("support", "sales"):
        api.flow(name)
    with api.services.database.reading() as db:
        flow_id = db.scalar(sa.text("SELECT id FROM flows WHERE external_id = 'support'").columns(id=sa.Uuid()))
    key = api.limited_key(flow_ids=[flow_id])
    for _ in range(3):
        key.refused("GET", "/flows/sales", 404)
        key.refused("GET", "/knowledge-bases", 403)
    denied = [(entry["operation"], entry["objects"]) for entry in entries(api, "denied")]
    assert denied == [
        ("get_flow", {"flow_id": "sales", "error": "not_found"}),
        ("list_knowledge_bases", {"error": "outside_key_limits"}),
    ]


def test_what_no_database_can_store_is_left_out(api: Api) -> None:
    api.flow("support")
    key = api.limited_key(end_user_id="ann")
    key.refused("GET", "/memories/%00", 403, params={"flow_id": "x\x00", "x" * 5_000 + "_id": "y", "n\x00_id": "z"})
    (entry,) = entries(api, "denied")
    assert entry["objects"] == {
        "memory_base_id": "(not storable)",
        "flow_id": "(not storable)",
        "error": "outside_key_limits",
    }


@pytest.mark.parametrize(("audit", "wanted"), [("all", ["put_flow", "capture_run"]), ("changes", ["put_flow"])])
def test_the_setting_says_what_is_recorded(tmp_path: Path, audit: str, wanted: list[str]) -> None:
    with open_api(settings_in(tmp_path).model_copy(update={"audit": audit})) as api:
        api.flow("support")
        api.capture("hello")
        assert operations_of(api) == wanted


def test_a_capture_has_one_statement_more_and_no_transaction(tmp_path: Path) -> None:
    counts = []
    for audit in ("all", "changes"):
        folder = tmp_path / audit
        folder.mkdir()
        with open_api(settings_in(folder).model_copy(update={"audit": audit})) as api:
            api.flow("support")
            api.capture("first")
            with recorded(api.services.database.engine) as sent:
                api.capture("second", session="s2")
            counts.append((len(sent), sum(text.startswith("INSERT INTO audit_entries") for text, _ in sent)))
    (with_audit, inserts), (without, none) = counts
    assert (inserts, none, with_audit - without) == (1, 0, 1)


# The list and the export.


def test_the_log_is_listed_filtered_and_exported(api: Api) -> None:
    api.flow("support")
    api.post("/flows", {"name": "f"}, expect=201)
    listed = api.get("/audit", size=1)
    assert (listed["total"], listed["items"][0]["operation"], listed["items"][0]["seq"]) == (2, "create_flow", None)
    assert [each["operation"] for each in api.get("/audit", cursor=listed["next_cursor"])["items"]] == ["put_flow"]
    assert api.get("/audit", operation="put_flow")["total"] == 1
    assert api.get("/audit", kind="read")["total"] == 0
    chain.seal(api.services)
    lines = [json.loads(line) for line in api.call("GET", "/audit/export").text.splitlines()]
    assert [(line["seq"], line["operation"]) for line in lines] == [(1, "put_flow"), (2, "create_flow")]
    assert [line["hash"] for line in lines] == [entry["hash"] for entry in reversed(api.get("/audit")["items"][-2:])]
    rest = api.call("GET", "/audit/export", params={"after_seq": 2}).text
    assert rest == ""  # the entry of the first export is not sealed yet
    api.of_user("local", "read", "write").refused("GET", "/audit", 403)


# The page.


class Browser:
    """A signed-in browser, at an address and behind a proxy."""

    def __init__(self, api: Api, address: str = "203.0.113.9", **headers: str) -> None:
        app = api.client.app
        self._client = TestClient(app, follow_redirects=False, headers=headers, client=(address, 1))
        self.signed_in = self._client.post("/ui/sign-in", data={"key": api.secret})
        self.token = csrf.issue(self._client.cookies.get(COOKIE, ""))

    def get(self, path: str, **headers: str) -> Any:
        return self._client.get(f"/ui{path}", headers=headers)

    def post(self, path: str, **fields: str) -> Any:
        return self._client.post(f"/ui{path}", data={**fields, csrf.FIELD: self.token})


@pytest.fixture
def pages(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Api]:
    changes = {"rate_limit_per_second": 0, **getattr(request, "param", {})}
    with open_api(settings_in(tmp_path).model_copy(update=changes)) as opened:
        app = opened.client.app
        assert isinstance(app, FastAPI)
        without = list(app.router.routes)
        site.mount(app)
        opened.flow("support")
        opened.capture(SECRET, session="s1", end_user_id="ann")
        yield opened
        app.router.routes[:] = without


def test_every_page_with_content_leaves_an_entry_before_it_is_shown(pages: Api) -> None:
    browser = Browser(pages)
    assert SECRET in browser.get("/session?flow=support&id=s1").text
    (entry,) = entries(pages, "read")
    assert entry["operation"] == "GET /ui/session"
    assert entry["objects"] == {"flow_id": "support", "id": "s1"}
    assert (entry["via"], entry["address"]) == ("page", "203.0.113.9")
    browser.get(f"/session?flow=support&id=s1&find={SECRET}&day=2026-01-01")
    assert SECRET not in json.dumps(entries(pages, "read"), default=str)


def test_no_content_is_shown_without_an_entry(pages: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(pages)
    monkeypatch.setattr("memorybase.features.audit_log.queries.insert_entry", _fails)
    shown = browser.get("/session?flow=support&id=s1")
    assert shown.status_code == 503
    assert SECRET not in shown.text


def _fails(*_: object) -> None:
    from memorybase.core import errors

    raise errors.DatabaseUnavailable("The database failed: disk full")


def test_a_part_that_asks_again_and_again_leaves_one_entry_a_minute(pages: Api) -> None:
    browser = Browser(pages)
    for version in "123":
        browser.get(f"/jobs/part?seen={version}", **{"HX-Request": "true"})
    assert operations_of(pages, "read") == ["GET /ui/jobs/part"]
    browser.get("/session?flow=support&id=s1")
    browser.get("/session?flow=support&id=other")
    assert operations_of(pages, "read").count("GET /ui/session") == 2


def test_a_repeated_refusal_or_view_leaves_an_entry_again_after_a_minute(
    pages: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def repeated(effect: Effect, via: Via) -> int:
        before = len(entries(pages))
        for _ in range(2):
            recording.write(pages.services, Call(Actor(via), effect, "an operation", {}))
        return len(entries(pages)) - before

    assert repeated(Effect.DENIED, "api") == 1
    assert repeated(Effect.READ, "page") == 1
    assert repeated(Effect.READ, "api") == 2, "each export"
    assert repeated(Effect.CHANGE, "page") == 2, "each sign-in"
    monkeypatch.setattr(recording, "RECENT_SECONDS", 0)
    pages.services.state.of(recording.Recent).clear()
    assert repeated(Effect.DENIED, "api") == 2
    assert repeated(Effect.READ, "page") == 2


def test_pages_that_declare_that_they_show_no_content_show_none(pages: Api) -> None:
    routes = [route for router in routers() for route in router.routes if isinstance(route, APIRoute)]
    without = {route.path for route in routes if "without_content" in vars(route.endpoint)}
    assert len(without) > 20
    browser = Browser(pages)
    for path in without:
        if "{" not in path:
            assert SECRET not in browser.get(path).text, f"{path} shows content: it must be recorded"
    assert entries(pages, "read") == []


def test_a_change_on_the_page_is_recorded(pages: Api) -> None:
    browser = Browser(pages)
    browser.post("/settings/keys", name="new", scope="read")
    browser.post("/session/rename", flow="support", id="s1", name="s2")
    browser.post("/person/erase?id=ann")
    changes = [entry for entry in entries(pages, "change") if entry["via"] == "page"]
    assert [entry["operation"] for entry in changes] == [
        "POST /ui/sign-in",
        "POST /ui/settings/keys",
        "POST /ui/session/rename",
        "erase_end_user",  # as a call of the API that does the same
    ]
    assert changes[0]["key_id"] == api_keys.authenticate(pages.services, pages.secret).key_id
    assert changes[1]["objects"].keys() == {"key_id"}
    assert changes[2]["objects"] == {"flow_id": "support", "id": "s1"}


def test_a_sign_out_is_recorded_with_the_key_that_was_signed_in(pages: Api) -> None:
    browser = Browser(pages)
    assert browser.post("/sign-out").status_code == 303
    assert browser.get("/settings/health").status_code == 303  # signed out
    assert browser.post("/sign-out").status_code == 303
    found = [entry for entry in entries(pages, "change") if entry["operation"] == "POST /ui/sign-out"]
    principal = api_keys.authenticate(pages.services, pages.secret)
    assert [(entry["via"], entry["key_id"], entry["address"]) for entry in found] == [
        ("page", principal.key_id, "203.0.113.9")
    ]


@pytest.mark.parametrize("pages", [{"audit": "off"}], indirect=True)
def test_nothing_is_recorded_if_it_is_off(pages: Api) -> None:
    browser = Browser(pages)
    assert SECRET in browser.get("/session?flow=support&id=s1").text
    pages.call("GET", "/export", params={"flow_id": "support"})
    pages.limited_key(end_user_id="ann").refused("GET", "/knowledge-bases", 403)
    assert "MEMORYBASE_AUDIT is off" in browser.get("/settings/audit").text
    assert entries(pages) == []


# Behind an authenticating proxy.

PROXIED = {"proxy_user_header": "X-Forwarded-User", "trusted_proxies": ["10.0.0.0/8"]}


@pytest.mark.slow
@pytest.mark.parametrize("pages", [PROXIED], indirect=True)
def test_the_person_whom_a_trusted_proxy_names_is_recorded(pages: Api) -> None:
    browser = Browser(pages, "10.0.0.5", **{"X-Forwarded-User": "zoe@example.com", "X-Forwarded-For": "198.51.100.1"})
    assert browser.signed_in.status_code == 303
    assert browser.get("/session?flow=support&id=s1").status_code == 200
    browser.post("/session/rename", flow="support", id="s1", name="s2")
    browser.post("/sign-out")
    found = [entry for entry in entries(pages) if entry["via"] == "page"]
    assert found[-1]["operation"] == "POST /ui/sign-out"
    assert {(entry["person"], entry["address"]) for entry in found} == {("zoe@example.com", "198.51.100.1")}
    assert {entry["kind"] for entry in found} == {"read", "change"}


@pytest.mark.parametrize("pages", [PROXIED], indirect=True)
@each_row(
    ("address", "headers"),
    [
        ("203.0.113.9", [("X-Forwarded-User", "mallory")]),  # past the proxy
        ("203.0.113.9", [("X-Forwarded-User", "mallory"), ("X-Forwarded-For", "10.0.0.5")]),
        ("10.0.0.5", []),  # the proxy has signed nobody in
        ("10.0.0.5", [("X-Forwarded-User", "")]),
        ("10.0.0.5", [("X-Forwarded-User", "mallory"), ("X-Forwarded-User", "zoe@example.com")]),
    ],
)
def test_the_pages_are_closed_to_whom_no_trusted_proxy_names(
    pages: Api, address: str, headers: list[tuple[str, str]]
) -> None:
    client = TestClient(pages.client.app, follow_redirects=False, client=(address, 1))
    for path in ("/ui/", "/ui/sign-in", "/ui/session?flow=support&id=s1"):
        assert client.get(path, headers=headers).status_code == 403
    assert client.post("/ui/sign-in", data={"key": pages.secret}, headers=headers).status_code == 403
    assert client.get("/v1/flows", headers=[*headers, ("X-API-Key", pages.secret)]).status_code == 200
    assert {entry["person"] for entry in entries(pages)} == {None}


def test_the_header_is_not_believed_by_default(pages: Api) -> None:
    Browser(pages, **{"X-Forwarded-User": "mallory"}).get("/session?flow=support&id=s1")
    assert {entry["person"] for entry in entries(pages)} == {None}


def test_another_database_has_no_entries(api: Api, tmp_path: Path) -> None:
    """The store of vectors may be a database of its own, without these tables."""
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    with api.services.database.before_commit(_fails), other.transaction() as db:
        db.execute(sa.text("CREATE TABLE t (x)"))
    other.dispose()
    assert replace(api).get("/flows")["total"] == 0
