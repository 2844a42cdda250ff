"""Webhooks over the API and on the page: secrets shown once, URLs checked, deliveries listed and replayed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from harness.api import Api
from harness.plain_browser import mounted
from harness.rows import each_row
from harness.waiting import wait_until

from memorybase.features.webhooks import sender
from memorybase.features.webhooks.endpoints import MAX_ENDPOINTS
from memorybase.features.webhooks.requests import Attempt

HOOK = {"url": "https://hooks.example.com/x", "event_types": ["job.completed"]}


@pytest.fixture
def hook(api: Api) -> str:
    created: str = api.post("/webhooks", HOOK, expect=201)["id"]
    return created


def complete_a_job(api: Api, session: str = "s1") -> None:
    api.flow()
    if not api.get("/memories")["items"]:
        api.memory(threshold=1)
    api.capture("the secret text", session=session)
    api.work()


def test_a_secret_is_shown_at_creation_and_rotation_only(api: Api) -> None:
    created = api.post("/webhooks", HOOK | {"description": "Alerts"}, expect=201)
    assert created["secret"].startswith("whsec_")
    shown = api.get(f"/webhooks/{created['id']}")
    assert shown == {name: value for name, value in created.items() if name != "secret"}
    assert api.get("/webhooks")["items"] == [shown]
    rotated = api.post(f"/webhooks/{created['id']}/secret", {"overlap_hours": 1})
    assert rotated["secret"] not in {created["secret"], ""}
    assert rotated["former_secret_until"] is not None
    assert "secret" not in api.get(f"/webhooks/{created['id']}")


@each_row(
    ("change", "field", "code"),
    [
        ({"url": "http://127.0.0.1:8000/v1"}, "url", "address_refused"),
        ({"url": "http://[::ffff:169.254.169.254]/latest/meta-data"}, "url", "address_refused"),
        ({"url": "http://2130706433/"}, "url", "address_refused"),
        ({"url": "file:///etc/passwd"}, "url", "invalid_request"),
        ({"event_types": []}, "event_types", "invalid_request"),
        ({"event_types": ["job.started"]}, "event_types[0]", "invalid_request"),
        ({"description": "x" * 201}, "description", "invalid_request"),
        ({"secret": "mine"}, "secret", "invalid_request"),
    ],
)
def test_an_invalid_webhook_is_refused_by_its_field(
    api: Api, hook: str, change: dict[str, object], field: str, code: str
) -> None:
    for method, path, body in (("POST", "/webhooks", HOOK | change), ("PATCH", f"/webhooks/{hook}", change)):
        error = api.refused(method, path, 422, json=body)
        assert (error["field"], error["code"]) == (field, code)


def test_a_user_has_a_bounded_number_of_webhooks(api: Api) -> None:
    for _ in range(MAX_ENDPOINTS):
        api.post("/webhooks", HOOK, expect=201)
    assert api.refused("POST", "/webhooks", 422, json=HOOK)["limit"] == MAX_ENDPOINTS


def test_a_webhook_is_changed_disabled_and_deleted(api: Api, hook: str) -> None:
    changed = api.patch(f"/webhooks/{hook}", {"event_types": ["session.erased", "job.failed"], "enabled": False})
    assert changed["event_types"] == ["job.failed", "session.erased"]
    assert (changed["enabled"], changed["disabled_reason"]) == (False, "request")
    enabled = api.patch(f"/webhooks/{hook}", {"enabled": True})
    assert (enabled["enabled"], enabled["disabled_reason"], enabled["disabled_at"]) == (True, None, None)
    api.delete(f"/webhooks/{hook}")
    assert api.refused("GET", f"/webhooks/{hook}", 404)["field"] == "webhook_id"


def test_deliveries_are_listed_by_state_and_type_and_replayed(api: Api, hook: str) -> None:
    complete_a_job(api)
    complete_a_job(api, "s2")
    newest, oldest = api.get(f"/webhooks/{hook}/deliveries")["items"]
    assert newest["occurred_at"] >= oldest["occurred_at"]
    assert (newest["state"], newest["attempts"], newest["event_type"]) == ("pending", 0, "job.completed")
    assert "secret text" not in newest["body"]
    assert api.get(f"/webhooks/{hook}")["pending"] == 2
    assert api.get(f"/webhooks/{hook}/deliveries", state="dead")["items"] == []
    assert api.get(f"/webhooks/{hook}/deliveries", event_type="job.failed")["items"] == []
    first = api.get(f"/webhooks/{hook}/deliveries", size=1)
    second = api.get(f"/webhooks/{hook}/deliveries", size=1, cursor=first["next_cursor"])
    assert [*first["items"], *second["items"]] == [newest, oldest]
    again = api.post(f"/webhooks/{hook}/deliveries/{oldest['id']}/replay")
    assert (again["state"], again["event_id"]) == ("pending", oldest["event_id"])
    assert api.post(f"/webhooks/{hook}/replay", {"since": "2026-01-01T00:00:00Z"}) == {
        "replayed": 0,
        "remaining": False,
    }


def answer(api: Api, attempt: Attempt) -> None:
    """Send what is due; the receiver answers so."""
    ours = sender.Sender(api.services, lambda *_: attempt)
    while ours.start_due():
        assert ours.wait(60)


def test_a_test_event_answers_with_its_delivery(api: Api, hook: str) -> None:
    sent = api.call("POST", f"/webhooks/{hook}/test", expect=201)
    path = f"/webhooks/{hook}/deliveries/{sent.json()['id']}"
    assert sent.headers["location"] == f"/v1{path}"
    assert api.get(path) == sent.json()
    assert (sent.json()["event_type"], sent.json()["state"]) == ("webhook.test", "pending")
    answer(api, Attempt(status=204))
    assert (api.get(path)["state"], api.get(path)["last_status"]) == ("delivered", 204)
    assert api.get(f"/webhooks/{hook}/deliveries", event_type="webhook.test")["total"] == 1
    api.patch(f"/webhooks/{hook}", {"enabled": False})
    assert api.refused("POST", f"/webhooks/{hook}/test", 409)["code"] == "webhook_disabled"


def test_a_caller_who_waits_gets_the_receivers_answer(api: Api, hook: str) -> None:
    def send() -> None:
        wait_until(lambda: api.get(f"/webhooks/{hook}/deliveries")["total"] == 1, 60, "the test is recorded")
        answer(api, Attempt(status=500, error="status 500"))

    with ThreadPoolExecutor(1) as others:
        sending = others.submit(send)
        seen = api.post(f"/webhooks/{hook}/test", expect=201, wait=20)
        sending.result()
    assert (seen["state"], seen["attempts"], seen["last_error"]) == ("dead", 1, "status 500")
    assert api.get(f"/webhooks/{hook}")["failing_since"] is None


def let_tests_die(api: Api, hook: str, count: int) -> list[str]:
    """The ids of so many dead deliveries, the latest first."""
    tests = [api.post(f"/webhooks/{hook}/test", expect=201)["id"] for _ in range(count)]
    answer(api, Attempt(error="connection refused"))
    return tests[::-1]


def let_events_die(api: Api, hook: str) -> None:
    """Let the event of a completed job be dead: the receiver is gone."""
    complete_a_job(api, uuid4().hex)
    answer(api, Attempt(status=410, error="status 410"))
    api.patch(f"/webhooks/{hook}", {"enabled": True})


def test_dead_deliveries_are_discarded_one_or_all_and_recorded(api: Api, hook: str) -> None:
    first, second = let_tests_die(api, hook, 2)
    api.delete(f"/webhooks/{hook}/deliveries/{first}")
    assert [each["id"] for each in api.get(f"/webhooks/{hook}/deliveries")["items"]] == [second]
    pending = api.post(f"/webhooks/{hook}/deliveries/{second}/replay")
    refused = api.refused("DELETE", f"/webhooks/{hook}/deliveries/{pending['id']}", 409)
    assert (refused["code"], refused["field"]) == ("conflict", "delivery_id")
    assert api.refused("DELETE", f"/webhooks/{hook}/deliveries/{first}", 404)["field"] == "delivery_id"
    for _ in range(2):
        let_events_die(api, hook)
    assert api.get(f"/webhooks/{hook}")["dead"] == 2
    nothing = {"discarded": 0, "remaining": False}
    assert api.post(f"/webhooks/{hook}/discard", {"until": "2026-01-01T00:00:00Z"}) == nothing
    assert api.post(f"/webhooks/{hook}/discard") == {"discarded": 2, "remaining": False}
    assert "webhook" not in {each["kind"] for each in api.get("/problems")["problems"]}
    (entry,) = api.get("/audit", operation="discard_delivery")["items"]
    assert entry["objects"] == {"webhook_id": hook, "delivery_id": first}
    recorded = api.get("/audit", operation="discard_dead_deliveries")["items"]
    assert [each["objects"] for each in recorded] == [{"webhook_id": hook}] * 2


# The page


@pytest.fixture
def browser(api: Api) -> Iterator[TestClient]:
    with mounted(api):
        client = TestClient(api.client.app, base_url="http://testserver", follow_redirects=True)
        client.post("/ui/sign-in", data={"key": api.secret})
        yield client


def token_of(page: str) -> str:
    return page.split('name="csrf" value="')[1].split('"', maxsplit=1)[0]


def test_the_page_creates_a_webhook_shows_its_secret_once_and_replays(api: Api, browser: TestClient) -> None:
    page = browser.get("/ui/settings/webhooks").text
    assert "No webhooks" in page
    form = {"csrf": token_of(page), "url": HOOK["url"], "event": "job.completed"}
    created = browser.post("/ui/settings/webhooks", data=form).text
    (hook,) = api.get("/webhooks")["items"]
    assert "whsec_" in created
    assert "whsec_" not in browser.get("/ui/settings/webhooks").text
    complete_a_job(api)
    (delivery,) = api.get(f"/webhooks/{hook['id']}/deliveries")["items"]
    page = browser.get(f"/ui/settings/webhooks/{hook['id']}").text
    assert "job.completed" in page
    assert "Pending" in page
    assert delivery["event_id"] in page
    replayed = browser.post(
        f"/ui/settings/webhooks/{hook['id']}/replay", data={"csrf": token_of(page), "delivery": delivery["id"]}
    )
    assert replayed.url.path == f"/ui/settings/webhooks/{hook['id']}"
    assert "No deliveries" in browser.get(f"/ui/settings/webhooks/{hook['id']}?state=dead").text


def test_the_page_sends_a_test_and_shows_its_result(api: Api, browser: TestClient, hook: str) -> None:
    path = f"/ui/settings/webhooks/{hook}"
    shown = browser.post(f"{path}/test", data={"csrf": token_of(browser.get(path).text)})
    (live,) = re.findall(rf'hx-get="({path}/tests/[^"]*seen=)"', shown.text)
    (version,) = re.findall(r"\?seen=(\w+)", browser.get(live).text)
    assert browser.get(live + version).status_code == 204  # nothing has changed
    answer(api, Attempt(error="connection refused"))
    ended = browser.get(live).text
    assert "Connection refused" in ended
    assert "hx-get" not in ended


def test_the_page_discards_one_delivery_or_those_that_it_showed(api: Api, browser: TestClient, hook: str) -> None:
    let_events_die(api, hook)
    (dead, *_) = let_tests_die(api, hook, 1)
    path = f"/ui/settings/webhooks/{hook}"
    (review,) = re.findall(rf'href="({path}[^"]*)">Review', browser.get("/ui/home/problems").text)
    page = browser.get(review).text
    assert "Discard 1 dead delivery?" in page
    assert page.count("Discard this delivery?") == 2
    (until,) = re.findall(r'name="until" value="([^"]+)"', page)
    form = {"csrf": token_of(page)}
    browser.post(f"{path}/discard", data={**form, "delivery": dead})
    assert api.get(f"/webhooks/{hook}/deliveries", event_type="webhook.test")["items"] == []
    let_events_die(api, hook)
    assert api.get(f"/webhooks/{hook}")["dead"] == 2
    browser.post(f"{path}/discard", data={**form, "until": until})
    assert api.get(f"/webhooks/{hook}")["dead"] == 1
    assert "Discard 1 dead delivery?" in browser.get(path).text


def test_the_alert_bar_and_home_show_a_webhook_that_was_disabled(api: Api, browser: TestClient, hook: str) -> None:
    complete_a_job(api)
    answer(api, Attempt(status=410, error="status 410"))
    page = browser.get("/ui/home/problems").text
    assert "The webhook hooks.example.com is disabled" in page
    form = {"csrf": token_of(page), "webhook_id": hook}
    assert browser.post("/ui/fix", data={**form, "action": "enable"}).url.path == "/ui/"
    assert api.get(f"/webhooks/{hook}")["enabled"] is True
    assert "1 event was not delivered" in browser.get("/ui/home/problems").text
    browser.post("/ui/fix", data={**form, "action": "replay"})
    assert api.get(f"/webhooks/{hook}/deliveries")["items"][0]["state"] == "pending"
    assert browser.post("/ui/fix", data={**form, "action": "rebuild"}).status_code == 422


def test_the_page_refuses_a_private_address_and_keeps_what_was_typed(api: Api, browser: TestClient) -> None:
    page = browser.get("/ui/settings/webhooks").text
    form = {"csrf": token_of(page), "url": "http://10.0.0.1/hook", "event": "job.failed"}
    refused = browser.post("/ui/settings/webhooks", data=form).text
    assert 'role="alert"' in refused
    assert 'value="http://10.0.0.1/hook"' in refused
    assert api.get("/webhooks")["items"] == []
