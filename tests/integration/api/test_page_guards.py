"""Every page is shown whole; what guards every form: its token, the scope of the key, whose the ids are, and bounds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from harness.api import Api, open_api, settings_in
from harness.constants import constants
from harness.facts import add_fact
from harness.hooks import FAILED, deliver
from harness.rows import each_row

from api.web import csrf, site
from api.web.views import routers
from api.web.visits import COOKIE

every_form = pytest.mark.slow  # with each guard; test_frame and the tests of views try some of them
ROUTES = {
    route.path
    for router in routers()
    for route in router.routes
    if isinstance(route, APIRoute) and "POST" in route.methods
}
LONG = "long " * 20_000


@dataclass(frozen=True)
class Things:
    """Ids of what a user has. Each text of it begins with the user's name."""

    name: str
    flow: str
    base: str
    message: str
    deleted: str
    letter: str
    job: str
    key: str
    batch: str
    webhook: str
    delivery: str
    hold: str
    statement: str
    fact: str


@dataclass(frozen=True)
class Form:
    """A form of a page: `path` with the ids in it, and its fields. `reads`: it changes nothing."""

    route: str
    fields: dict[str, Any]
    query: str = ""
    reads: bool = False
    texts: tuple[str, ...] = ()  # fields that a person writes
    per_item: bool = False  # the answer names an unknown id beside the results of the others
    own: bool = False  # it names nothing that another user could have

    def path(self, things: Things) -> str:
        path = self.route.format(
            memory_base_id=things.base,
            memory_id=things.base,
            key_id=things.key,
            webhook_id=things.webhook,
            hold_id=things.hold,
            statement_id=things.statement,
        )
        return f"/ui{path}{'?' + self.query if self.query else ''}"


def forms(has: Things) -> list[Form]:
    """A valid form for every route, about what a user has."""
    base = "/memories/{memory_base_id}"
    session = f"{has.flow}/{has.name}"
    label = {"message": has.message, "q": "berth", "verdict": "right", "here": "/playground?q=berth"}
    return [
        Form("/conversations/sync", {"s": session}, per_item=True),
        Form("/conversations/progress", {"s": session}, reads=True),
        Form("/conversations/delete", {"s": session}, per_item=True),
        Form("/conversations/undo", {}, urlencode({"batch": has.batch}), per_item=True),
        Form("/first-minute/start", {"name": f"new {has.name}"}, texts=("name",), own=True),
        Form("/first-minute/sample", {}, own=True),
        Form("/first-minute/sample/remove", {}, own=True),
        Form("/fix", {"action": "sync", "memory_base_id": has.base}),
        Form("/jobs/dead-letters", {"action": "retry", "memory": has.base}),
        Form("/jobs/dead-letters/results", {"pair": f"{has.letter}:{has.message}"}, reads=True),
        Form("/jobs/cancel", {"job": has.job}, per_item=True),
        Form("/jobs/retry", {"memory": has.base}),
        Form("/memories", {"name": f"new {has.name}", "flow": has.flow}, texts=("name",), per_item=True),
        Form("/memories/actions", {"action": "sync", "memory": has.base}, per_item=True),
        Form("/memories/undo", {}, urlencode({"batch": has.batch}), per_item=True),
        Form(f"{base}/sync", {}),
        Form(f"{base}/rebuild", {}),
        Form(f"{base}/rebuild/stop", {}),
        Form(f"{base}/auto-capture", {"on": "0"}),
        Form(f"{base}/paused", {"paused": "true"}),
        Form(f"{base}/delete", {}),
        Form(
            f"{base}/messages",
            {"action": "mute", "ids": has.message, "reason": "why"},
            texts=("reason",),
            per_item=True,
        ),
        Form(f"{base}/sessions", {"action": "sync", "session": has.name}),
        Form(
            f"{base}/settings",
            {"name": has.name, "threshold": "7", "idle_minutes": "5", "priority": "low"},
            texts=("name",),
        ),
        Form(f"{base}/weights/reset", {}),
        Form(f"{base}/distillation", {"on": "1"}),
        Form(f"{base}/facts/delete", {"fact": has.fact}),
        Form("/memories/{memory_id}/map", {}),
        Form(
            "/message",
            {"message": has.message, "version": "1", "text": f"{has.name} edited", "reason": "why"},
            texts=("text", "reason"),
        ),
        Form("/message/difference", {"message": has.message, "text": "else"}, reads=True),
        Form("/messages/act", {"action": "pin", "ids": has.message, "reason": "why"}, texts=("reason",), per_item=True),
        Form("/messages/undo", {}, urlencode({"batch": has.batch}), per_item=True),
        Form("/messages/purge", {"ids": has.deleted}, per_item=True),
        Form("/person/erase", {}, urlencode({"id": has.name})),
        Form("/playground/label", label),
        Form("/playground/save", {"memory": has.base, "here": "/playground?q=x&w.words=2"}),
        Form("/playground/undo", {}, urlencode({"memory": has.base, "here": "/playground"})),
        Form("/run/ingest", {"flow": has.flow, "run_id": f"{has.name}-run", "memory": has.base}),
        Form("/session/rename", {"flow": has.flow, "id": has.name, "name": f"{has.name}-2"}, texts=("name",)),
        Form(
            "/settings/keys",
            {"name": f"new {has.name}", "scope": "read", "flow": has.flow, "end_user": has.name},
            texts=("name", "end_user"),
            per_item=True,
        ),
        Form("/settings/keys/{key_id}/revoke", {}),
        Form("/settings/keys/{key_id}/rotate", {"overlap": "3600"}),
        Form("/standing/contexts", {"flow": has.flow, "on": "true"}),
        Form("/standing/{statement_id}", {"text": f"{has.name} said else"}, texts=("text",)),
        Form("/standing/{statement_id}/delete", {}),
        Form("/settings/usage/{key_id}", {"end_users": "7"}),
        Form(
            "/settings/webhooks",
            {"url": f"https://example.com/{has.name}", "event": "job.failed"},
            texts=("url", "description"),
            own=True,
        ),
        Form("/settings/webhooks/{webhook_id}/enabled", {"on": "0"}),
        Form("/settings/webhooks/{webhook_id}/rotate", {}),
        Form("/settings/webhooks/{webhook_id}/test", {}),
        Form("/settings/webhooks/{webhook_id}/replay", {"delivery": has.delivery}),
        Form("/settings/webhooks/{webhook_id}/discard", {"delivery": has.delivery}),
        Form("/settings/webhooks/{webhook_id}/delete", {}),
        Form("/settings/retention", {"target": f"flow:{has.flow}", "days": "30"}),
        Form(
            "/settings/retention/holds",
            {"flow": has.flow, "session": has.name, "reason": "why"},
            texts=("reason", "session", "person"),
            per_item=True,
        ),
        Form("/settings/retention/holds/{hold_id}/lift", {}),
        Form("/settings/secrets", {"flow": has.flow, "rule": "keep"}),
        Form("/settings/knowledge", {"name": f"new {has.name}"}, texts=("name",), own=True),
        Form("/settings/knowledge/delete", {"name": f"{has.name} book"}),
    ]


NAMES = Things("mine", *map(str, (uuid4() for _ in range(len(fields(Things)) - 1))))
IDS = [form.route for form in forms(NAMES)]


class Browser:
    """A signed-in browser without JavaScript."""

    def __init__(self, api: Api) -> None:
        self._client = TestClient(api.client.app, base_url="http://testserver", follow_redirects=False)
        self._client.post("/ui/sign-in", data={"key": api.secret})
        self.token = csrf.issue(self._client.cookies[COOKIE])

    def send(self, form: Form, things: Things, *, token: str | None = None, **fields: Any) -> httpx.Response:
        data = {**form.fields, **fields, csrf.FIELD: self.token if token is None else token}
        return self._client.post(form.path(things), data=data)

    def get(self, path: str) -> httpx.Response:
        return self._client.get(f"/ui{path}", follow_redirects=True)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    settings = settings_in(tmp_path).model_copy(update={"rate_limit_per_second": 0})
    with constants({"memorybase.core.messages.MAX_MESSAGE_BYTES": 50_000}), open_api(settings) as opened:
        app = opened.client.app
        assert isinstance(app, FastAPI)
        without = list(app.router.routes)
        site.mount(app)
        yield opened
        app.router.routes[:] = without  # the application serves other tests, without pages


def furnish(api: Api, name: str) -> Things:
    api.embedders.get().reject(f"{name} poison")
    flow = api.flow(f"{name}-flow")
    base = api.memory(f"{name} notes", flow, threshold=2)["id"]
    texts = [f"{name} poison", f"{name} boat", f"{name} gone"]
    hook = {"url": f"https://example.com/{name}", "event_types": ["job.completed"]}
    webhook = api.post("/webhooks", hook, expect=201)["id"]
    test = api.post(f"/webhooks/{webhook}/test", expect=201)["id"]
    deliver(api, FAILED)
    run = api.capture(*texts, flow=flow, session=name, run_id=f"{name}-run", end_user_id=name)
    api.work()
    ids = [message["id"] for message in run["messages"]]
    gone = api.post("/messages/actions", {"action": "delete", "ids": [ids[2]]})
    api.work()
    api.capture(f"{name} one", f"{name} two", flow=flow, session=f"{name} waits")
    api.post("/knowledge-bases", {"name": f"{name} book"}, expect=201)
    asks = {
        "session_id": f"{name} asks",
        "end_user_id": name,
        "messages": [{"role": "user", "content": f"Always say {name}."}],
    }
    api.post(f"/flows/{flow}/runs", asks, expect=201)
    standing = api.get("/standing-statements", flow_id=flow, end_user_id=name)["statements"]
    return Things(
        name,
        api.get(f"/flows/{flow}")["id"],
        base,
        ids[1],
        ids[2],
        api.get(f"/memories/{base}/dead-letters")["items"][0]["id"],
        api.get(f"/memories/{base}/jobs", state="queued")["items"][0]["id"],
        api.post("/keys", {"name": f"{name} key", "scopes": ["read"]}, expect=201)["id"],
        gone["batch_id"],
        webhook,
        test,
        api.post("/holds", {"end_user_id": f"{name} held", "reason": "why"}, expect=201)["id"],
        standing[0]["id"],
        add_fact(api.services, base, ids[1]),
    )


def state(api: Api, things: Things) -> tuple[Any, ...]:
    """All that a form could change."""
    exported = re.sub(r'"exported_at":"[^"]*"', "", api.call("GET", "/export").text)
    lists = (
        "/flows",
        "/memories",
        "/knowledge-bases",
        "/keys",
        "/labels",
        "/jobs",
        "/dead-letters",
        "/sessions",
        "/deleted-messages",
        "/holds",
    )
    times = {"last_used_at", "updated_at"}
    listed = [
        [{key: value for key, value in each.items() if key not in times} for each in api.get(path)["items"]]
        for path in lists
    ]
    bases = [each["id"] for each in api.get("/memories")["items"]]
    weights = [api.get(f"/memories/{base}/weights") for base in bases]
    hooks = [[each, api.get(f"/webhooks/{each['id']}/deliveries")] for each in api.get("/webhooks")["items"]]
    maps = [api.get(f"/memories/{base}/map")["state"] for base in bases]
    facts = [[api.get(f"/memories/{base}/{each}") for each in ("facts", "distillation")] for base in bases]
    listed_page = re.findall(re.escape(things.name) + r"[ \w-]*", Browser(api).get("/memories").text)
    return exported, listed, weights, maps, facts, hooks, listed_page


def test_every_form_of_the_page_is_here() -> None:
    assert {form.route for form in forms(NAMES)} == ROUTES


@every_form
def test_a_form_without_its_token_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    mine = furnish(api, "mine")
    browser, before = Browser(api), state(api, mine)
    stranger = csrf.issue(f"the token of another session {uuid4()}")
    for form in forms(mine):
        with subtests.test(form.route):
            for token in ("", "x", stranger):
                refused = browser.send(form, mine, token=token)
                assert (refused.status_code, "came from another site" in refused.text) == (403, True)
            assert state(api, mine) == before


@every_form
def test_a_form_with_its_token_is_accepted(api: Api, subtests: pytest.Subtests) -> None:
    for number, route in enumerate(IDS):
        with subtests.test(route):
            user = api.of_new_user()  # whom no other form has taken anything from
            mine = furnish(user, "mine")
            assert Browser(user).send(forms(mine)[number], mine).status_code in {200, 303}


@every_form
def test_a_key_that_may_read_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    mine = furnish(api, "mine")
    browser = Browser(api.of_user("local", "read"))
    before = state(api, mine)
    for form in forms(mine):
        if not form.reads:
            with subtests.test(form.route):
                refused = browser.send(form, mine)
                assert refused.status_code == 403 or form.per_item
                lacking = html.unescape(refused.text).replace("admin", "write")
                assert "This API key lacks the scope 'write'" in lacking
                assert state(api, mine) == before


@every_form
def test_the_ids_of_another_user_are_as_unknown_as_ids_of_nothing(api: Api, subtests: pytest.Subtests) -> None:
    other = api.of_user("theirs")
    theirs = furnish(other, "theirs")
    browser, before = Browser(api), state(other, theirs)
    nothing = Things("nothing", *(str(uuid4()) for _ in range(len(fields(Things)) - 1)))
    for form, same in zip(forms(theirs), forms(nothing), strict=True):
        if not form.own:
            with subtests.test(form.route):
                named, unknown = browser.send(form, theirs), browser.send(same, nothing)
                assert named.status_code == unknown.status_code
                assert named.status_code == 404 or form.per_item or form.reads
                assert _said(named, theirs) == _said(unknown, nothing)
                assert state(other, theirs) == before


@every_form
def test_a_text_beyond_its_bound_is_refused_and_nothing_is_stored(api: Api, subtests: pytest.Subtests) -> None:
    mine = furnish(api, "mine")
    browser, before = Browser(api), state(api, mine)
    for form in forms(mine):
        for field in form.texts:
            with subtests.test(f"{form.route}: {field}"):
                answer = browser.send(form, mine, **{field: LONG})
                assert answer.status_code in {200, 422}
                assert 'role="alert"' in answer.text or answer.status_code == 422
                assert state(api, mine) == before


@every_form
@each_row(
    "route, fields, status",
    [
        ("/jobs/dead-letters", {"memory": ""}, 200),
        ("/jobs/dead-letters", {"memory": "none"}, 422),
        ("/jobs/dead-letters", {"memory": "none", "action": "discard-now"}, 422),
        ("/jobs/dead-letters", {"action": "none"}, 422),
        ("/jobs/dead-letters/results", {"pair": "none"}, 200),
        ("/jobs/retry", {"memory": ""}, 200),
        ("/jobs/retry", {"memory": "none"}, 422),
        ("/memories", {"start": "none"}, 422),
        ("/memories/{memory_base_id}/messages", {"every": "true", "q": "no such"}, 200),
        ("/memories/{memory_base_id}/messages", {"every": "true", "q": 129 * "x"}, 422),
        ("/memories/{memory_base_id}/messages", {"every": "true", "speaker": "none"}, 422),
        ("/memories/{memory_base_id}/messages", {"every": "true", "state": "none"}, 422),
        ("/memories/{memory_base_id}/messages", {"every": "true", "state": "deleted"}, 422),
        ("/playground/label", {"verdict": "none"}, 422),
        ("/playground/label", {"verdict": "none", "label_id": "none"}, 422),
        ("/playground/save", {"recent": "none"}, 422),
        ("/playground/save", {"recent": "nan"}, 422),
        ("/playground/save", {"recent": ""}, 303),
    ],
)
def test_a_field_of_another_kind_fails_nothing(api: Api, route: str, fields: dict[str, str], status: int) -> None:
    user = api.of_new_user()
    mine = furnish(user, "mine")
    form, before = forms(mine)[IDS.index(route)], state(user, mine)
    assert Browser(user).send(form, mine, **fields).status_code == status
    assert status != 422 or state(user, mine) == before


PAGES = (
    "/",
    "/conversations",
    "/conversations?tab=runs",
    "/conversations?tab=people",
    "/memories",
    "/jobs",
    "/jobs?tab=all",
    "/settings/keys",
    "/settings/usage",
    "/settings/webhooks",
    "/settings/knowledge",
    "/settings/retention",
    "/settings/retention?target=flow:{flow}&days=30",
    "/settings/retention/holds",
    "/settings/retention/receipts",
    "/settings/secrets",
    "/settings/audit",
    "/memories/{base}",
    "/memories/{base}?tab=messages",
    "/memories/{base}?tab=messages&state=deleted",
    "/memories/{base}?tab=map",
    "/memories/{base}?tab=facts",
    "/memories/{base}?tab=settings",
    "/session?flow={flow}&id={name}",
    "/session/message?flow={flow}&message={message}",
    "/message?id={message}",
    "/person?id={name}",
    "/standing?flow={flow}&person={name}",
    "/run?flow={flow}&id={name}-run",
    "/first-minute",
    "/playground?q=boat",
    "/playground/results?q=boat",
)
MAY_READ = {"/sign-out"}  # forms that any key may send


def acting(text: str) -> set[str]:
    """The addresses of a page's buttons that change something; a list is in a form for keys without buttons too."""
    addresses: set[str] = set()
    for action, form in re.findall(r'<form method="post" action="/ui([^"?]*)(.*?)</form>', text, re.DOTALL):
        if re.search(r"<button(?![^>]* disabled)", form):
            addresses |= {action, *re.findall(r'formaction="/ui([^"?]*)', form)}
    addresses |= set(re.findall(r'<button[^>]*hx-post="/ui([^"?]*)', text))
    return addresses - MAY_READ


VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
SHAPES = {"svg", "circle", "line", "path", "polyline", "rect", "use"}  # of SVG: each closes itself or has a closing tag


class Outline(HTMLParser):
    """Of a page: the texts of its headings of the first order, and the tags that are closed in another order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.headings: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, _: object) -> None:
        if tag not in VOID | SHAPES:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID | SHAPES and (not self.open or self.open.pop() != tag):
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h1":
            self.headings.append(data.strip())


def test_every_page_is_shown(api: Api, subtests: pytest.Subtests) -> None:
    mine = furnish(api, "mine")
    browser = Browser(api)
    for page in PAGES:
        with subtests.test(page):
            shown = browser.get(page.format(**asdict(mine)))
            outline = Outline(shown.text)
            assert (shown.status_code, outline.wrong, outline.open) == (200, [], [])
            assert len(outline.headings) == ("<!doctype html>" in shown.text.lower()), outline.headings


@every_form
def test_a_key_that_may_read_sees_no_form(api: Api, subtests: pytest.Subtests) -> None:
    mine = furnish(api, "mine")
    browser = Browser(api.of_user("local", "read"))
    for page in PAGES:
        with subtests.test(page):
            shown = browser.get(page.format(**asdict(mine)))
            assert (shown.status_code, acting(shown.text)) == (200, set())


@every_form
def test_a_cursor_that_is_none_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    mine = furnish(api, "mine")
    browser = Browser(api)
    for page in (
        "/conversations",
        "/conversations?tab=runs",
        "/conversations?tab=people",
        "/memories",
        "/jobs?tab=all",
        "/settings/knowledge",
        "/memories/{base}",
        "/memories/{base}?tab=messages",
        "/memories/{base}?tab=messages&state=deleted",
        "/message?id={message}",
    ):
        with subtests.test(page):
            path = page.format(base=mine.base, message=mine.message)
            assert browser.get(path).status_code == 200
            refused = browser.get(f"{path}{'&' if '?' in path else '?'}cursor=none")
            assert (refused.status_code, "cursor" in refused.text) == (422, True)


def test_odd_values_in_addresses_and_forms_are_refused_or_shown(api: Api, subtests: pytest.Subtests) -> None:
    browser = Browser(api)
    api.capture("hello")
    odd = {"id": "c", "function": {"name": "look", "arguments": '{"q": "\\ud83d"}'}}
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [odd]}]
    api.post("/flows/support/runs", {"session_id": "odd", "run_id": "odd", "messages": said}, expect=201)
    statuses = {
        "/session?flow=support&id=odd": 200,
        "/run?flow=support&id=odd": 200,
        "/session?flow=support&id=%00": 422,
        "/conversations?q=%00": 422,
        "/jobs?cause=%00": 422,
        f"/session/states?flow=support&id=s1&seq={2**64}": 404,
        "/playground/results?q=x&as_of=0001-01-01&days=1": 200,
        "/playground/results?q=in+March&as_of=0001-01-01": 200,
    }
    for path, status in statuses.items():
        with subtests.test(path):
            assert browser.get(path).status_code == status
    refused = browser._client.post("/ui/conversations/sync", data={csrf.FIELD: browser.token, "s": "a\x00"})
    assert refused.status_code == 422


def test_error_pages_have_the_navigation(api: Api) -> None:
    browser = Browser(api)
    shown = [
        (404, browser.get("/nope")),
        (404, browser.get("/conversations/sync")),
        (404, browser.get("/memories/none")),
        (422, browser.get("/conversations?cursor=none")),
        (422, browser._client.post("/ui/conversations/sync", data={csrf.FIELD: browser.token})),
        (403, browser._client.post("/ui/conversations/sync", data={csrf.FIELD: "x"})),
        (403, browser._client.post("/ui/conversations/sync", headers={"Sec-Fetch-Site": "cross-site"})),
    ]
    for status, answer in shown:
        assert (answer.status_code, 'aria-label="Main"' in answer.text) == (status, True), answer.url
        assert 'href="/ui/">Home</a>' in answer.text


def test_a_defect_is_answered_with_a_page_that_names_its_request(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("memorybase.core.auth.api_keys.list_keys", broken)
    crashed = Browser(api).get("/settings/keys")
    assert (crashed.status_code, 'aria-label="Main"' in crashed.text) == (500, True)
    assert crashed.headers["X-Request-ID"] in crashed.text


def _said(answer: httpx.Response, things: Things) -> str:
    """The answer without what the caller sent, and without what differs in each page: its tokens, and times ago."""
    text = answer.text + answer.headers.get("location", "") + unquote(answer.headers.get("set-cookie", ""))
    for value in (*(getattr(things, name) for name in Things.__dataclass_fields__), things.base[:8], things.job[:8]):
        text = text.replace(value, "")
    return re.sub(r'name="csrf" value="[^"]*"|X-CSRF[^}]*|<time.*?</time>', "", text)
