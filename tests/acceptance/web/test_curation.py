"""A memory's messages in a browser: mute, pin, edit, delete, undo, restore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from harness.browser import Reader
from memorybase_client import Client
from playwright.sync_api import expect

pytestmark = pytest.mark.slow  # a browser

TEXTS = ("Berth 12 has shore power.", "Berth 9 has water.", "The diesel pump takes cards.")


@pytest.fixture
def memory(client: Client) -> Any:
    """A memory of a flow of its own with three messages."""
    flow = client.create_flow(name="curation")
    base = client.create_memory_base(name=f"curation {uuid4()}", flow_id=str(flow.id), capture="all", threshold=1)
    client.capture_run(
        flow.id, session_id="berths", messages=[{"role": "assistant", "content": text} for text in TEXTS]
    )
    return base


def listed(reader: Reader) -> list[str]:
    links = reader.page.locator("table.messages tbody tr td:nth-child(2) > a")
    return [text.split("\n")[0] for text in links.all_inner_texts()]


def choose(reader: Reader, *texts: str) -> None:
    for text in texts:
        reader.page.get_by_role("row", name=text).get_by_role("checkbox").check()


def test_messages_are_found_muted_and_the_muting_is_undone(window: Callable[..., Reader], memory: Any) -> None:
    reader = window()
    page = reader.page
    reader.open(f"/memories/{memory.id}?tab=messages")
    assert sorted(listed(reader)) == sorted(TEXTS)
    page.get_by_role("searchbox", name="Find messages by words").fill("berths")
    page.get_by_role("button", name="Find").click()
    expect(page.locator("table.messages tbody tr")).to_have_count(2)
    choose(reader, TEXTS[0])
    page.get_by_role("textbox", name="Reason").fill("no longer true")
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page.get_by_role("row", name=TEXTS[0]).get_by_text("Muted")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.get_by_text("1 undone.")).to_be_visible()
    expect(page.get_by_text("Muted", exact=True)).to_have_count(1)  # the filter's option
    assert reader.findings() == []


def test_a_deletion_is_undone_by_ctrl_z_and_restored_from_the_list(
    window: Callable[..., Reader], memory: Any, client: Client
) -> None:
    reader = window()
    page = reader.page
    reader.open(f"/memories/{memory.id}?tab=messages")
    choose(reader, TEXTS[0], TEXTS[1])
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("2 deleted.")).to_be_visible()
    expect(page.locator("table.messages tbody tr")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.locator("table.messages tbody tr")).to_have_count(3)

    choose(reader, TEXTS[2])
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("table.messages tbody tr")).to_have_count(2)
    page.wait_for_load_state()
    reader.open(f"/memories/{memory.id}?tab=messages&state=deleted")
    choose(reader, TEXTS[2])
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("1 restored.")).to_be_visible()
    assert client.list_messages(memory_base_id=memory.id).page().total == 3
    assert reader.findings() == []


def test_all_that_match_are_pinned_and_unpinned(window: Callable[..., Reader], memory: Any, client: Client) -> None:
    messages = [{"role": "assistant", "content": f"Pontoon {number} is free."} for number in range(120)]
    client.capture_run(memory.flow_id, session_id="pontoons", messages=messages)
    reader = window()
    page = reader.page
    reader.open(f"/memories/{memory.id}?tab=messages&q=pontoons")
    page.get_by_role("checkbox", name="Choose all on this page").check()
    page.get_by_label("All 120 that match").check()
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_text("120 messages pinned")).to_be_visible()
    assert client.list_messages(memory_base_id=memory.id, state="pinned").page().total == 120
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("100 undone. Undo takes back the next ones.")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.get_by_text("20 undone.")).to_be_visible()
    assert client.list_messages(memory_base_id=memory.id, state="pinned").page().total == 0


def test_an_edit_shows_its_difference_and_stays_in_the_history(window: Callable[..., Reader], memory: Any) -> None:
    reader = window()
    page = reader.page
    reader.open(f"/memories/{memory.id}?tab=messages")
    page.get_by_role("link", name=TEXTS[0]).click()
    page.get_by_role("textbox", name="Text").fill("Berth 12 has water.")
    expect(page.locator("#difference del")).to_have_text("shore power")
    expect(page.locator("#difference ins")).to_have_text("water")
    page.get_by_role("textbox", name="Reason").fill("It was cut off.")
    assert reader.findings() == []
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Berth 12 has water.")).to_be_visible()
    page.get_by_role("link", name="Berth 12 has water.").click()
    expect(page.locator(".changes")).to_contain_text("It was cut off.")
    expect(page.locator(".changes del")).to_have_text("shore power")
    assert reader.findings() == []


def test_an_edit_of_a_message_that_somebody_else_changed_is_not_saved_and_not_lost(
    window: Callable[..., Reader], memory: Any, client: Client
) -> None:
    reader = window()
    page = reader.page
    reader.open(f"/memories/{memory.id}?tab=messages")
    page.get_by_role("link", name=TEXTS[0]).click()
    messages = client.list_messages(memory_base_id=memory.id).page().items
    (message,) = (each for each in messages if each.content == TEXTS[0])
    client.edit_message(message.id, content="Berth 12 has gas.")
    page.get_by_role("textbox", name="Text").fill("Berth 12 has water.")
    page.get_by_role("textbox", name="Reason").fill("It was cut off.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody else changed this message while you edited it")
    expect(page.get_by_role("textbox", name="Text")).to_have_value("Berth 12 has water.")
    expect(page.locator("#difference del")).to_have_text("gas")
    assert client.get_message(message.id).content == "Berth 12 has gas."
    assert reader.findings() == []
    reader.console.clear()  # the browser reports the status
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Berth 12 has water.")).to_be_visible()
    assert client.get_message(message.id).content == "Berth 12 has water."
