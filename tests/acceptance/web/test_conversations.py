"""Conversations and the page of a person, as their readers use them."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from harness.browser import NARROW, Reader
from harness.waiting import wait_until
from memorybase_client import Client
from memorybase_client.errors import NotFound
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]
ANSWER = "Berth 12 has, from Friday."


@pytest.fixture
def flow(client: Client) -> str:
    """A flow of its own, with a memory: six sessions of three people, one question each."""
    flow_id = f"harbour-{uuid4().hex[:8]}"
    client.put_flow(flow_id, name=f"Harbour {flow_id}")
    client.create_memory_base(name=flow_id, flow_id=flow_id, threshold=50, capture="all")
    for number in range(6):
        question = "Is there a sailmaker?" if number == 4 else f"Which berth has shore power, number {number}?"
        capture(client, flow_id, f"{flow_id}-{number}", question, end_user_id=f"{flow_id}-person-{number % 3}")
    return flow_id


def capture(client: Client, flow_id: str, session_id: str, question: str, *, end_user_id: str) -> None:
    client.capture_run(
        flow_id,
        session_id=session_id,
        run_id=f"{session_id}-run",
        end_user_id=end_user_id,
        messages=[
            {"role": "user", "content": question},
            {"role": "assistant", "content": "Berth 12 has, from Friday."},
        ],
    )


def rows(page: Page) -> list[str]:
    """What is in each row's second line or first link."""
    return page.locator("tbody tr[data-row]").all_inner_texts()


class TestList:
    def test_sessions_runs_and_people_of_a_flow(self, window: Window, flow: str) -> None:
        opened = window()
        opened.open(f"/conversations?flow={flow}")
        page = opened.page
        assert len(rows(page)) == 6
        first = page.locator("tbody tr").first
        expect(first).to_contain_text("Which berth has shore power, number 5?")
        expect(first).to_contain_text("Waiting")
        page.get_by_role("link", name="Runs").click()
        expect(page.locator("tbody tr").first).to_contain_text(ANSWER)
        expect(page.locator("tbody tr").first).to_contain_text("Waiting")
        page.get_by_role("link", name="People").click()
        assert len(rows(page)) == 3
        expect(page.locator("tbody tr").first).to_contain_text(f"{flow}-person-2")
        page.get_by_role("link", name="2", exact=True).first.click()
        assert len(rows(page)) == 2

    def test_filters_are_in_the_address_and_chips_remove_them(self, window: Window, flow: str) -> None:
        opened = window()
        opened.open("/conversations")
        page = opened.page
        page.get_by_label("Flow").select_option(label=f"Harbour {flow}")
        page.wait_for_url(re.compile(r"/conversations\?flow=[0-9a-f-]+$"))
        page.get_by_role("searchbox").fill("sailmaker")
        page.wait_for_url(re.compile(r"q=sailmaker"))
        expect(page.locator("tbody tr")).to_have_count(1)
        page.reload()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.get_by_role("searchbox")).to_have_value("sailmaker")
        page.get_by_label("State").select_option(label="Ingested")
        expect(page.get_by_text("Nothing fits these filters")).to_be_visible()
        page.go_back()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("link", name="Remove the filter Text: sailmaker").click()
        expect(page.locator("tbody tr")).to_have_count(6)
        assert "q=" not in page.url

    def test_pages_follow_the_cursor_and_back_returns(self, window: Window, client: Client) -> None:
        flow_id = f"many-{uuid4().hex[:8]}"
        client.put_flow(flow_id, name=flow_id)
        for number in range(52):
            capture(client, flow_id, f"{flow_id}-{number}", f"Question {number}", end_user_id=flow_id)
        opened = window()
        opened.open(f"/conversations?flow={flow_id}")
        page = opened.page
        expect(page.get_by_text("50 of 52 sessions")).to_be_visible()
        page.get_by_role("link", name="Next").click()
        expect(page.locator("tbody tr")).to_have_count(2)
        page.go_back()
        expect(page.locator("tbody tr")).to_have_count(50)

    def test_text_of_messages_is_never_markup(self, window: Window, client: Client) -> None:
        flow_id = f"markup-{uuid4().hex[:8]}"
        client.put_flow(flow_id, name="<b>flow</b>")
        capture(client, flow_id, f"{flow_id}<i>", "<script>alert(1)</script>", end_user_id="<u>person</u>")
        opened = window()
        opened.open(f"/conversations?flow={flow_id}")
        expect(opened.page.get_by_role("link", name="<script>alert(1)</script>")).to_be_visible()
        opened.page.get_by_role("link", name="<u>person</u>").click()
        expect(opened.page.get_by_role("heading", name="<u>person</u>", level=1)).to_be_visible()

    @pytest.mark.parametrize("view", ["conversations?", "conversations?tab=runs&", "conversations?tab=people&"])
    def test_a_card_on_a_phone_cuts_no_column(self, window: Window, flow: str, view: str) -> None:
        opened = window(width=NARROW, dark=True)
        opened.open(f"/{view}flow={flow}")
        shown = opened.page.locator("thead").first.locator("th:visible")
        assert shown.count() <= 4  # a checkbox and three columns
        for box in (heading.bounding_box() for heading in shown.all()):  # a card hides what is beyond its edge
            assert box is not None
            assert box["x"] + box["width"] <= NARROW


class TestManyAtOnce:
    def test_chosen_sessions_are_ingested_with_a_result_for_each(self, window: Window, flow: str) -> None:
        opened = window()
        opened.open(f"/conversations?flow={flow}")
        page = opened.page
        for number in (0, 1):
            page.get_by_label(f"Select {flow}-{number}").check()
        expect(page.get_by_text("2 selected")).to_be_visible()
        page.get_by_role("button", name="Ingest now").click()
        expect(page.get_by_role("heading", name="2 sessions to ingest")).to_be_visible()
        expect(page.get_by_text("1 job queued")).to_have_count(2)
        expect(page.get_by_text("2 of 2 sessions ingested")).to_be_visible(timeout=120_000)
        page.get_by_role("link", name="Back to the list").click()
        expect(page.get_by_text("Ingested", exact=True).locator("visible=true")).to_have_count(2)

    def test_a_deletion_is_undone_with_ctrl_z(self, window: Window, flow: str, client: Client) -> None:
        opened = window()
        opened.open(f"/conversations?flow={flow}")
        page = opened.page
        page.get_by_label("Select all on this page").check()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("6 sessions will be deleted in 30 s.")).to_be_visible()
        expect(page.get_by_text("No sessions yet").or_(page.get_by_text("Nothing fits these filters"))).to_be_visible()
        page.keyboard.press("Control+z")
        expect(page.get_by_text("6 sessions kept.")).to_be_visible()
        expect(page.locator("tbody tr")).to_have_count(6)
        assert len(list(client.list_sessions(flow_id=flow))) == 6

    def test_a_deletion_that_is_not_undone_happens(self, window: Window, flow: str, client: Client) -> None:
        opened = window()
        opened.open(f"/conversations?flow={flow}")
        page = opened.page
        page.get_by_label(f"Select {flow}-3").check()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("1 session will be deleted in 30 s.")).to_be_visible()
        expect(page.locator("tbody tr")).to_have_count(5)
        wait_until(lambda: len(list(client.list_sessions(flow_id=flow))) == 5, 90, "the session is deleted")


class TestPerson:
    def test_an_end_user_is_exported_and_erased_with_a_receipt(self, window: Window, flow: str, client: Client) -> None:
        person = f"{flow}-person-0"
        opened = window()
        opened.open(f"/conversations?tab=people&flow={flow}")
        page = opened.page
        page.get_by_role("link", name=person).click()
        expect(page.get_by_role("heading", name=person, level=1)).to_be_visible()
        expect(page.get_by_label("What is stored")).to_contain_text("Sessions 2")
        with page.expect_download() as download:
            page.get_by_role("link", name="Export").click()
        text = download.value.path().read_text()
        assert f"{flow}-0" in text
        assert f"{flow}-1" not in text
        page.get_by_role("button", name="Erase…").click()
        erase = page.get_by_role("dialog").get_by_role("button", name="Erase")
        expect(erase).to_be_disabled()
        page.get_by_label(f"Type {person} to confirm").fill(person)
        erase.click()
        expect(page.get_by_role("heading", name=f"{person} is erased")).to_be_visible()
        expect(page.get_by_label("Receipt")).to_contain_text("Messages")
        with pytest.raises(NotFound):
            client.get_end_user(person)
        assert len(list(client.list_sessions(flow_id=flow))) == 4

    def test_an_unknown_person_is_not_found(self, window: Window) -> None:
        opened = window()
        opened.page.goto(f"{opened.url}/ui/person?id=nobody-{uuid4()}")
        expect(opened.page.get_by_text("There is no such end user")).to_be_visible()
        opened.console.clear()  # the 404 itself
