"""Standing statements over HTTP, with limited keys, on the page and through the flow's setting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from harness.api import Api, open_api, settings_in

from api.web import csrf, site
from api.web.visits import COOKIE

Json = dict[str, Any]
METRIC = "Always answer in metric units."


@pytest.fixture
def home(api: Api) -> Api:
    """A flow in which ada and bob said something."""
    api.flow()
    for person, text in (("ada", METRIC), ("bob", "Call me Bob.")):
        said(api, text, person)
    return api


def said(api: Api, text: str, person: str, flow: str = "support") -> None:
    messages = [{"role": "user", "content": text}]
    body = {"session_id": f"{person}-1", "end_user_id": person, "messages": messages}
    api.post(f"/flows/{flow}/runs", body, expect=201)


def listed(api: Api, person: str = "ada", **query: Any) -> list[Json]:
    found: list[Json] = api.get("/standing-statements", flow_id="support", end_user_id=person, **query)["statements"]
    return found


def test_a_statement_is_edited_and_deleted_under_the_name_of_the_key(home: Api) -> None:
    (statement,) = listed(home)
    path = f"/standing-statements/{statement['id']}"
    key = home.get("/keys")["items"][0]["name"]
    edited = home.patch(path, {"text": "Use meters."})
    assert (edited["text"], edited["found"], edited["own_words"], edited["changed_by"]) == (
        "Use meters.",
        METRIC,
        True,
        key,
    )
    assert listed(home) == [edited]
    home.delete(path)
    assert listed(home) == []
    assert [each["state"] for each in listed(home, every="true")] == ["deleted"]
    assert home.refused("PATCH", path, 404, json={"text": "again"})["field"] == "statement_id"


def test_what_is_asked_wrongly_is_refused_by_field(home: Api) -> None:
    (statement,) = listed(home)
    path = f"/standing-statements/{statement['id']}"
    assert home.refused("GET", "/standing-statements", 422, params={"flow_id": "support"})["field"] == "end_user_id"
    other = {"flow_id": "support", "session_id": "ada-1", "end_user_id": "bob"}
    assert home.refused("GET", "/standing-statements", 409, params=other)["field"] == "end_user_id"
    assert home.refused("PATCH", path, 422, json={"text": "x" * 301})["field"] == "text"
    assert home.refused("PATCH", path, 422, json={})["field"] == "text"
    body = {"flow_id": "support", "session_id": "s", "token_budget": 100, "standing": {"share": 2}}
    assert home.refused("POST", "/context", 422, json=body)["field"] == "standing.share"


def test_the_flow_decides_whether_contexts_contain_them(home: Api) -> None:
    asked = {"flow_id": "support", "session_id": "ada-2", "end_user_id": "ada", "token_budget": 500}
    assert home.post("/context", asked)["messages"] == []
    assert home.patch("/flows/support", {"standing": True})["standing"] is True
    answer = home.post("/context", asked)
    assert METRIC in answer["messages"][0]["content"]
    assert [source["kind"] for source in answer["sources"]] == ["standing"]
    assert answer["report"]["spent"]["standing"] == answer["report"]["tokens_after"]
    assert home.post("/context", {**asked, "standing": {"include": False}})["messages"] == []


def test_a_key_of_an_end_user_reaches_its_own_only(home: Api) -> None:
    adas = home.limited_key("read", "write", end_user_id="ada")
    (bobs,), (own,) = listed(home, "bob"), listed(home)
    assert adas.get("/standing-statements", flow_id="support")["statements"] == [own]
    for query in ({"end_user_id": "bob"}, {"session_id": "bob-1"}):
        adas.refused("GET", "/standing-statements", 404, params={"flow_id": "support", **query})
    path = f"/standing-statements/{bobs['id']}"
    adas.refused("PATCH", path, 404, json={"text": "mine"})
    adas.refused("DELETE", path, 404)
    assert listed(home, "bob") == [bobs]
    assert adas.patch(f"/standing-statements/{own['id']}", {"text": "Use meters."})["own_words"]
    asked = {"flow_id": "support", "session_id": "new", "token_budget": 500, "standing": {"include": True}}
    assert "Use meters." in adas.post("/context", asked)["messages"][0]["content"]


def test_changes_are_in_the_audit_log(home: Api) -> None:
    (statement,) = listed(home)
    home.patch(f"/standing-statements/{statement['id']}", {"text": "Use meters."})
    home.delete(f"/standing-statements/{statement['id']}")
    entries = {entry["operation"]: entry["objects"] for entry in home.get("/audit")["items"]}
    for operation in ("edit_standing_statement", "delete_standing_statement"):
        assert entries[operation] == {"statement_id": statement["id"]}


class TestPage:
    @pytest.fixture
    def api(self, tmp_path: Path) -> Iterator[Api]:
        with open_api(settings_in(tmp_path)) as opened:
            app = opened.client.app
            assert isinstance(app, FastAPI)
            without = list(app.router.routes)
            site.mount(app)
            yield opened
            app.router.routes[:] = without  # the application serves other tests, without pages

    def test_a_person_is_shown_theirs_and_corrects_and_deletes_them(self, home: Api) -> None:
        browser = TestClient(home.client.app, base_url="http://testserver")
        browser.post("/ui/sign-in", data={"key": home.secret})
        token = csrf.issue(browser.cookies[COOKIE])
        (link,) = re.findall(r'href="(/ui/standing[^"]*person=ada)"', browser.get("/ui/person?id=ada").text)
        link = link.replace("&amp;", "&")
        assert METRIC in browser.get(link).text
        path = f"/ui/standing/{listed(home)[0]['id']}"
        browser.post(path, data={"csrf": token, "text": "Use meters.", "back": "/"})
        shown = browser.get(link).text
        assert "Use meters." in shown
        assert "A person's own words" in shown.replace("&#39;", "'")
        browser.post("/ui/standing/contexts", data={"csrf": token, "flow": "support", "on": "true", "back": "/"})
        assert home.get("/flows/support")["standing"] is True
        browser.post(f"{path}/delete", data={"csrf": token, "back": "/"})
        assert "Use meters." not in browser.get(link).text
        assert "Deleted" in browser.get(f"{link}&every=1").text


class TestProfile:
    PATH = "/end-users/{}/profile"

    def test_it_is_listed_for_one_flow(self, home: Api) -> None:
        said(home, "I'm a nurse on ward 4.", "ada")
        profile = home.get(self.PATH.format("ada"), flow_id="support")
        assert profile["end_user_id"] == "ada"
        assert [(each["kind"], each["text"], each["times"]) for each in profile["items"]] == [
            ("standing", METRIC, 1),
            ("about", "I'm a nurse on ward 4.", 1),
        ]
        for each in profile["items"]:
            assert each["sources"] == [each["message_id"]]
            assert home.get(f"/messages/{each['message_id']}")["session_id"] == each["session_id"] == "ada-1"
        assert len(home.get(self.PATH.format("ada"), flow_id="support", limit=1)["items"]) == 1
        home.flow("other")
        home.refused("GET", self.PATH.format("ada"), 404, params={"flow_id": "other"})

    def test_what_is_asked_wrongly_is_refused_by_field(self, home: Api) -> None:
        path = self.PATH.format("ada")
        assert home.refused("GET", path, 422)["field"] == "flow_id"
        assert home.refused("GET", path, 404, params={"flow_id": "unknown"})["field"] == "flow_id"
        assert home.refused("GET", path, 422, params={"flow_id": "support", "limit": 201})["field"] == "limit"
        home.refused("GET", self.PATH.format("carol"), 404, params={"flow_id": "support"})

    def test_limited_keys_read_their_own_only(self, home: Api) -> None:
        adas = home.limited_key("read", end_user_id="ada")
        assert [each["text"] for each in adas.get(self.PATH.format("ada"), flow_id="support")["items"]] == [METRIC]
        adas.refused("GET", self.PATH.format("bob"), 404, params={"flow_id": "support"})
        home.flow("other")
        others = home.limited_key("read", flow_ids=[UUID(home.get("/flows/other")["id"])])
        others.refused("GET", self.PATH.format("ada"), 404, params={"flow_id": "support"})
        others.refused("GET", self.PATH.format("ada"), 404)  # what is stored elsewhere does not show

    def test_a_context_has_it_if_the_call_or_the_question_wants_it(self, home: Api) -> None:
        asked = {"flow_id": "support", "session_id": "new", "end_user_id": "ada", "token_budget": 500}
        for query, wanted in (("What do you know about me?", None), ("Where is the harbor?", True), (None, True)):
            answer = home.post("/context", {**asked, "query": query, "profile": wanted})
            assert METRIC in answer["messages"][0]["content"]
            assert len(answer["report"]["recalled"]) == 1
        assert home.post("/context", {**asked, "query": "Who am I?", "profile": False})["messages"] == []
        assert home.post("/context", {**asked, "query": "Where is the harbor?"})["messages"] == []
