"""The page of keys, and of what is paused: what the forms do, and what they show before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from harness.api import Api
from harness.plain_browser import Page, mounted


@pytest.fixture
def page(api: Api) -> Iterator[Page]:
    api.flow("support")
    api.flow("sales")
    api.capture("an old text", "an older one", session="s1", end_user_id="anna")
    with mounted(api):
        yield Page(api)


def flow_id(api: Api, name: str) -> str:
    found: str = api.get(f"/flows/{name}")["id"]
    return found


def shown_secret(text: str) -> str:
    (secret,) = re.findall(r"mb_[\w-]{20,}", text)
    return str(secret)


# Keys.


def test_a_limited_key_is_created_and_its_secret_shown_once(api: Api, page: Page) -> None:
    support = flow_id(api, "support")
    made = page.post("/settings/keys", name="browser", scope="read", flow=support, end_user="anna", days="7").text
    key = next(each for each in api.get("/keys")["items"] if each["name"] == "browser")
    assert (key["flow_ids"], key["end_user_id"], key["scopes"]) == ([support], "anna", ["read"])
    assert timedelta(days=6) < datetime.fromisoformat(key["expires_at"]) - datetime.now(UTC) < timedelta(days=8)
    limited = {"X-API-Key": shown_secret(made)}
    assert api.client.get("/v1/flows/support", headers=limited).status_code == 200
    assert api.client.get("/v1/flows/sales", headers=limited).status_code == 404
    listed = page.get("/settings/keys")
    assert limited["X-API-Key"] not in listed
    assert "only support" in listed
    assert "only the person anna" in listed


def test_limits_that_a_key_cannot_have_keep_what_was_typed(api: Api, page: Page) -> None:
    before = api.get("/keys")["total"]
    for fields in ({"scope": "admin", "end_user": "anna"}, {"scope": "read", "flow": "none-such", "end_user": "anna"}):
        shown = page.post("/settings/keys", name="browser", **fields).text
        assert 'role="alert"' in shown
        assert 'value="anna"' in shown
    assert api.get("/keys")["total"] == before


def test_a_key_is_rotated_with_its_overlap(api: Api, page: Page) -> None:
    first = api.post("/keys", {"name": "runtime", "scopes": ["read"]}, expect=201)
    assert page.post(f"/settings/keys/{first['id']}/rotate", overlap=str(10**20)).status_code == 422
    shown = page.post(f"/settings/keys/{first['id']}/rotate", overlap="3600").text
    assert "stays valid for an hour" in shown
    secret = shown_secret(shown)
    for each in (first["secret"], secret):
        assert api.client.get("/v1/flows", headers={"X-API-Key": each}).status_code == 200
    old = next(each for each in api.get("/keys")["items"] if each["id"] == first["id"])
    assert timedelta(minutes=59) < datetime.fromisoformat(old["expires_at"]) - datetime.now(UTC) < timedelta(minutes=61)
    listed = page.get("/settings/keys")
    assert f'data-opens="rotate-{first["id"]}"' not in listed
    assert f'data-opens="rotate-{old["rotated_to"]}"' in listed
    assert page.post(f"/settings/keys/{first['id']}/rotate", overlap="0").status_code == 409
    assert "is valid no longer" in page.post(f"/settings/keys/{old['rotated_to']}/rotate", overlap="0").text
    assert api.client.get("/v1/flows", headers={"X-API-Key": secret}).status_code == 401


# Paused.


def test_the_sessions_of_a_paused_memory_say_so(api: Api, page: Page) -> None:
    base = api.memory(threshold=100)["id"]
    assert "Waiting: 2" in page.get(f"/memories/{base}/sessions")
    api.patch(f"/memories/{base}", {"paused": True})
    assert "Paused: 2" in page.get(f"/memories/{base}/sessions")
