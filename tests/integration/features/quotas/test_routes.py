"""Quotas over the API and on the page: set by another key, shown with their use, refused with 429."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from harness.api import Api
from harness.plain_browser import Page, mounted
from harness.rows import each_row
from memorybase_client import errors as client_errors
from memorybase_client._calls import error_of

from memorybase.features.audit_log.models import AuditEntry
from memorybase.features.quotas import manage
from memorybase.features.quotas import page as settings_usage

UNLIMITED = {"messages_per_day": None, "stored_messages": None, "searches_per_minute": None, "end_users": None}


def new_key(api: Api, *scopes: str, **quotas: int) -> tuple[str, Api]:
    body = {"name": "limited", "scopes": scopes or ["read", "write"], "quotas": quotas}
    created = api.post("/keys", body, expect=201)
    return created["id"], replace(api, secret=created["secret"])


def by_name(quotas: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["quota"]: each for each in quotas}


def test_a_key_beyond_its_quota_gets_429_with_what_and_until_when(api: Api) -> None:
    api.flow()
    _, key = new_key(api, messages_per_day=2)
    key.capture("one", "two")
    refused = key.call(
        "POST",
        "/flows/support/runs",
        expect=429,
        json={"session_id": "s1", "messages": [{"role": "user", "content": "three"}]},
    )
    error = refused.json()["error"]
    assert (error["code"], error["limit"], error["retryable"]) == ("quota_exceeded", 2, True)
    details = error["details"]
    assert (details["quota"], details["whose"], details["used"]) == ("messages_per_day", "key", 2)
    until = datetime.fromisoformat(details["resets_at"])
    said = error_of(refused)  # what a client raises
    assert isinstance(said, client_errors.QuotaExceeded)
    assert str(said) == (
        f"The quota messages_per_day of this API key is 2: 2 used, 1 more wanted. It resets at {until.isoformat()}"
    )
    now = parsedate_to_datetime(refused.headers["date"]) if "date" in refused.headers else datetime.now(until.tzinfo)
    assert abs((until - now).total_seconds() - int(refused.headers["retry-after"])) < 5
    assert not refused.headers["ratelimit"].startswith('"calls";r=0;')
    api.capture("another key is not limited")


def test_what_is_stored_says_what_makes_room_instead(api: Api) -> None:
    api.flow()
    _, key = new_key(api, end_users=1)
    key.capture("one", session="a", end_user_id="ann")
    refused = key.call(
        "POST",
        "/flows/support/runs",
        expect=429,
        json={"session_id": "b", "end_user_id": "bob", "messages": [{"role": "user", "content": "two"}]},
    )
    error = refused.json()["error"]
    assert (error["code"], "retry-after" in refused.headers) == ("quota_full", False)
    assert "Erase an end user" in error["details"]["freed_by"]


def test_usage_has_limit_use_and_reset(api: Api) -> None:
    api.flow()
    manage.change_user_quotas(api.services, api.user_id, {"stored_messages": 100})
    key_id, key = new_key(api, messages_per_day=10, searches_per_minute=5)
    key.capture("one", "two")
    usage = key.get("/usage")
    assert usage["key_id"] == key_id
    of_key, of_user = by_name(usage["key"]), by_name(usage["user"])
    assert (of_key["messages_per_day"]["limit"], of_key["messages_per_day"]["used"]) == (10, 2)
    assert of_key["messages_per_day"]["resets_at"] is not None
    assert (of_key["searches_per_minute"]["used"], of_key["end_users"]["used"]) == (0, None)
    assert (of_user["stored_messages"]["limit"], of_user["stored_messages"]["used"]) == (100, 2)
    assert of_user["stored_messages"]["resets_at"] is None
    assert api.get("/usage", key_id=key_id) == usage
    other, _ = new_key(api)
    key.refused("GET", "/usage", 403, params={"key_id": other})


def test_a_key_cannot_change_its_own_quotas_nor_those_of_its_rotation(api: Api) -> None:
    key_id, key = new_key(api, "read", "write", "admin", messages_per_day=1)
    assert key.refused("PUT", f"/keys/{key_id}/quotas", 403, json={"messages_per_day": 9})["code"] == "forbidden"
    successor = key.post(f"/keys/{key_id}/rotate", {}, expect=201)
    assert successor["quotas"] == UNLIMITED | {"messages_per_day": 1}
    key.refused("PUT", f"/keys/{successor['id']}/quotas", 403, json={"messages_per_day": 9})
    changed = api.call("PUT", f"/keys/{key_id}/quotas", json={"end_users": 3}).json()
    assert changed["quotas"] == UNLIMITED | {"end_users": 3}
    assert {each["id"]: each["quotas"]["end_users"] for each in api.get("/keys")["items"]}[successor["id"]] == 3


def test_a_rotated_key_goes_on_with_what_its_predecessor_used(api: Api) -> None:
    api.flow()
    key_id, key = new_key(api, messages_per_day=3)
    key.capture("one", "two")
    secret = api.post(f"/keys/{key_id}/rotate", {}, expect=201)["secret"]
    successor = replace(api, secret=secret)
    assert by_name(successor.get("/usage")["key"])["messages_per_day"]["used"] == 2
    successor.capture("three")
    for each in (key, successor):
        each.refused(
            "POST",
            "/flows/support/runs",
            429,
            json={"session_id": "s2", "messages": [{"role": "user", "content": "four"}]},
        )


def test_imports_are_charged_like_captures(api: Api) -> None:
    api.flow()
    _, key = new_key(api, messages_per_day=1)
    key.capture("one")
    line = {
        "type": "message",
        "flow_id": "support",
        "session_id": "s9",
        "run_id": "r",
        "id": "m",
        "role": "user",
        "content": "two",
    }
    assert key.refused("POST", "/import", 429, content=json.dumps(line))["code"] == "quota_exceeded"


def test_a_changed_quota_is_in_the_audit_log(api: Api) -> None:
    key_id, _ = new_key(api)
    api.call("PUT", f"/keys/{key_id}/quotas", json={"messages_per_day": 5})
    with api.services.database.reading() as db:
        found = sa.select(AuditEntry.objects).where(AuditEntry.operation == "set_key_quotas")
        assert {"key_id": key_id} in db.scalars(found).all()


PAGE = "/settings/usage"


@pytest.fixture
def _pages(api: Api) -> Iterator[None]:
    with mounted(api):
        yield


def save(page: Page, key_id: str, **quotas: str) -> httpx.Response:
    return page.post(f"{PAGE}/{key_id}", **(dict.fromkeys(UNLIMITED, "") | quotas))


def quotas_of(api: Api, key_id: str) -> dict[str, int | None]:
    found: dict[str, dict[str, int | None]] = {each["id"]: each["quotas"] for each in api.get("/keys")["items"]}
    return found[key_id]


@pytest.mark.usefixtures("_pages")
class TestPage:
    def test_it_shows_the_quotas_of_the_user_and_of_keys(self, api: Api) -> None:
        manage.change_user_quotas(api.services, api.user_id, {"messages_per_day": 1_234})
        new_key(api, end_users=77)
        text = Page(api).get(PAGE)
        assert "1,234" in text
        assert ">77<" in text

    def test_home_leads_to_it_from_a_quota_that_is_used_up(self, api: Api) -> None:
        manage.change_user_quotas(api.services, api.user_id, {"messages_per_day": 1})
        api.capture("one")
        shown = Page(api).get("/home/problems")
        assert "The quota messages_per_day is used up" in shown
        assert '<a class="button" href="/ui/settings/usage">Details</a>' in shown

    def test_it_replaces_the_quotas_of_a_key(self, api: Api) -> None:
        key_id, key = new_key(api, messages_per_day=5, end_users=7)
        page = Page(api)
        assert re.search(r'id="end_users-[^>]* value="7"', page.get(PAGE))
        assert save(page, key_id, messages_per_day=" 0 ", searches_per_minute="60").url.path == "/ui/settings/usage"
        assert quotas_of(api, key_id) == UNLIMITED | {"messages_per_day": 0, "searches_per_minute": 60}
        api.flow()
        said = {"session_id": "s1", "messages": [{"role": "user", "content": "one"}]}
        key.refused("POST", "/flows/support/runs", 429, json=said)
        (entry,) = api.get("/audit", operation="POST /ui/settings/usage/{key_id}")["items"]
        assert (entry["objects"], entry["via"]) == ({"key_id": key_id}, "page")

    @each_row("wrong", ["-1", "1.5", "many", "1" + 15 * "0" + "1", 5_000 * "9", "²"])
    def test_a_quota_out_of_bounds_is_refused_beside_its_field(self, api: Api, wrong: str) -> None:
        key_id, _ = new_key(api, messages_per_day=5)
        refused = save(Page(api), key_id, messages_per_day="6", end_users=wrong)
        assert f'data-opens-now="quotas-{key_id}"' in refused.text
        (error,) = re.findall(r'<p class="error" role="alert">([^<]*)</p>', refused.text)
        assert error == "end_users must be 0 to 1000000000000000"
        assert refused.text.index(f'id="end_users-{key_id}"') < refused.text.index(error)
        assert re.search(r'id="messages_per_day-[^>]* value="6"', refused.text)
        assert quotas_of(api, key_id) == UNLIMITED | {"messages_per_day": 5}

    def test_no_key_changes_its_own_quotas_nor_those_of_its_rotation(self, api: Api) -> None:
        key_id, key = new_key(api, "read", "write", "admin", messages_per_day=1)
        rotated = key.post(f"/keys/{key_id}/rotate", {}, expect=201)["id"]
        page = Page(key)
        for own in (key_id, rotated):
            assert f'action="/ui/settings/usage/{own}"' not in page.get(PAGE)
            assert save(page, own, messages_per_day="9").status_code == 403
            assert quotas_of(api, own) == UNLIMITED | {"messages_per_day": 1}
        assert page.get(PAGE).count("cannot change its own quotas") == 2
        assert save(Page(api), rotated, messages_per_day="9").status_code == 200
        assert quotas_of(api, key_id) == UNLIMITED | {"messages_per_day": 9}

    def test_it_says_that_further_keys_are_left_out(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(settings_usage, "MOST_KEYS", 2)
        new_key(api)
        assert "more" not in Page(api).get(PAGE).split("<main")[1]
        new_key(api)
        assert "1 more key" in Page(api).get(PAGE)
