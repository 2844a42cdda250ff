"""The page of the audit log: listed, filtered, exported."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from harness.api import Api
from harness.plain_browser import Page, mounted

from memorybase.features.audit_log import chain


@pytest.fixture
def page(api: Api) -> Iterator[Page]:
    api.flow("support")
    with mounted(api):
        yield Page(api)


def test_an_erasure_has_one_name_however_it_was_asked_for(api: Api, page: Page) -> None:
    for end_user in ("ann", "ben"):
        api.capture("apples", session=end_user, end_user_id=end_user)
    page.post("/person/erase?id=ann")
    api.delete("/end-users/ben", expect=200)
    for part in ("ERASE", "end_user"):
        found = api.get("/audit", operation=part)["items"]
        assert [(each["operation"], each["via"]) for each in found] == [
            ("erase_end_user", "api"),
            ("erase_end_user", "page"),
        ]
    assert api.get("/audit", operation="e%e")["items"] == []


def test_what_the_reader_read_on_the_page_is_shown_on_request(api: Api, page: Page) -> None:
    api.capture("apples", session="s1")
    page.get("/session?flow=support&id=s1")
    other = Page(api.of_user("local", "read", "write", "admin"))
    assert "GET /ui/session" not in page.get("/settings/audit")
    assert "put_flow" in page.get("/settings/audit")
    assert "GET /ui/session" in page.get("/settings/audit?mine=true")
    assert "GET /ui/session" in other.get("/settings/audit")


def test_the_audit_log_is_listed_filtered_and_exported(api: Api, page: Page) -> None:
    page.post("/settings/keys", name="new", scope="read")
    listed = page.get("/settings/audit")
    assert "POST /ui/settings/keys" in listed
    assert "put_flow" in listed
    assert "put_flow" not in page.get("/settings/audit?operation=create_key")
    assert "No entries" in page.get("/settings/audit?kind=denied")
    chain.seal(api.services)
    exported = page.client.get("/ui/settings/audit/export")
    assert exported.headers["content-disposition"] == 'attachment; filename="audit.jsonl"'
    lines = exported.text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines == api.call("GET", "/audit/export").text.splitlines()[: len(lines)]
    reads = {each["operation"] for each in api.get("/audit", kind="read")["items"]}
    assert reads >= {"GET /ui/settings/audit/export", "export_audit_entries"}
    assert "GET /ui/settings/audit" not in reads  # it shows ids alone


@pytest.mark.usefixtures("page")
def test_a_key_without_admin_sees_and_exports_no_entry(api: Api) -> None:
    reader = Page(api.of_user("local", "read", "write"))
    assert "put_flow" not in reader.get("/settings/audit")
    assert reader.client.get("/ui/settings/audit/export").status_code == 403
