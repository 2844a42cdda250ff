"""What forms of the page say that were not filled as they must be, and parts that need a choice first."""

from __future__ import annotations

import html

from harness.api import Api
from harness.plain_browser import Page, mounted

from api.web.badges import SEARCH_STATES
from memorybase.core.queries.coverage import SearchState


def test_a_key_without_a_name_is_refused_in_its_form(api: Api) -> None:
    with mounted(api):
        page = Page(api)
        for name in ("", "  "):
            answer = page.post("/settings/keys", name=name, scope="read")
            assert answer.status_code == 200
            assert "name must have 1 to 200 characters" in html.unescape(answer.text)


def test_names_that_leave_the_same_id_get_a_flow_each(api: Api) -> None:
    names = ["東京", "大阪", "Cafe bot", "Café bot"]
    with mounted(api):
        page = Page(api)
        for name in names:
            page.post("/first-minute/start", name=name)
        flows = {each["id"]: each["name"] for each in api.get("/flows")["items"]}
        assert {each["name"]: flows[each["flow_id"]] for each in api.get("/memories")["items"]} == {
            name: name for name in names
        }
        assert "cafe-bot" in {each["external_id"] for each in api.get("/flows")["items"]}
        for flow_id in flows:
            api.call("PATCH", f"/flows/{flow_id}", json={"name": "renamed"})
        refused = html.unescape(page.post("/first-minute/start", name="大阪").text)
        assert "A flow called renamed has the id my-flow-" in refused
        assert len(api.get("/flows")["items"]) == len(names)


def test_the_playground_says_that_what_a_model_is_given_needs_a_flow(api: Api) -> None:
    api.flow()
    with mounted(api):
        page = Page(api)
        for path in ("/playground", "/playground/given?q=berth"):
            assert "Choose a flow to see this" in page.get(path)
        opened = page.get("/playground?flow=support")
        assert "Choose a flow" not in opened
        assert "autofocus" in opened
        assert "autofocus" not in page.get("/playground?flow=support&q=berth")


def test_a_message_that_a_memory_base_does_not_count_does_not_wait_for_it(api: Api) -> None:
    api.flow()
    base = api.memory(threshold=100, capture="all")["id"]
    said = {"role": "assistant", "content": "the berth", "is_output": False}
    for content, status in (("which one", "completed"), ("none", "failed")):
        api.post(
            "/flows/support/runs",
            {"session_id": "s", "messages": [said | {"content": content, "status": status}]},
            expect=201,
        )
    with mounted(api):
        page, waiting = Page(api), SEARCH_STATES[SearchState.WAITING].text
        all_of, none_of = (page.get(f"/memories/{base}?tab=messages&q={q}").count(waiting) for q in ("", "nothing"))
    assert all_of - none_of == 1
