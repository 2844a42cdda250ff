"""Memories, a memory's sessions and settings: found, synced, rebuilt, deleted; a lost store is repaired."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from harness import running
from harness.browser import Reader, reader
from harness.chroma import delete_collections_of
from harness.constants import PATIENT
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import Browser, expect

from memorybase.core.embedding import registry
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.core.settings import Settings
from memorybase.core.vectors.chroma import ChromaStore

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]


@pytest.fixture
def other_model(tmp_path: Path) -> str:
    """The default model's files in a folder, prepared."""
    folder = tmp_path / "all-MiniLM-L6-v2"
    shutil.copytree(find_source(DEFAULT_MODEL).folder, folder)
    registry.prepare(Settings(), str(folder))
    return str(folder)


def memory(client: Client, name: str, sessions: int = 3, threshold: int = 2, **fields: object) -> str:
    """A memory of a flow of its name; each session has a question and an answer."""
    flow = name.replace(" ", "-").lower()
    client.put_flow(flow, name=f"Flow of {name}")
    base = client.create_memory_base(name=name, flow_id=flow, threshold=threshold, capture="all", **fields)  # type: ignore[arg-type]
    for number in range(sessions):
        client.capture_run(
            flow,
            session_id=f"{flow}-{number}",
            end_user_id=f"person {number % 2}",
            messages=[{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": "answer"}],
        )
    return str(base.id)


def test_a_memory_is_created_found_changed_and_deleted(window: Window, client: Client) -> None:
    client.put_flow("marina", name="Marina")
    opened = window()
    page = opened.page
    opened.open("/memories")
    page.get_by_role("button", name="New memory").first.click()
    form = page.get_by_role("dialog", name="New memory")
    form.get_by_label("Name").fill("Marina memory")
    form.get_by_label("Flow").select_option(label="Marina")
    form.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Marina memory", exact=True)).to_be_visible()
    page.get_by_role("link", name="Settings").nth(1).click()
    page.get_by_label("Name").fill("Quay memory")
    page.get_by_label("Threshold").fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Quay memory", exact=True)).to_be_visible()
    (base,) = [each for each in client.list_memory_bases() if each.name == "Quay memory"]
    assert base.threshold == 7

    opened.open("/memories?q=quay")
    row = page.get_by_role("row", name="Quay memory")
    switch = row.get_by_role("switch", name="Auto-capture of Quay memory")
    expect(switch).to_have_attribute("aria-checked", "true")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(page).to_have_url(re.compile(r"\?q=quay$"))
    assert client.get_memory_base(str(base.id)).auto_capture is False

    row.get_by_role("link", name="Quay memory").click()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Delete…").first.click()
    confirm = page.get_by_role("dialog", name="Delete Quay memory?")
    confirm.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Quay memory will be deleted in 30 s.")).to_be_visible()
    expect(page.get_by_role("row", name="Quay memory")).to_have_count(0)


def test_a_name_that_is_taken_keeps_the_form(window: Window, client: Client) -> None:
    memory(client, "Taken", sessions=0)
    opened = window()
    opened.open("/memories")
    opened.page.get_by_role("button", name="New memory").first.click()
    form = opened.page.get_by_role("dialog", name="New memory")
    form.get_by_label("Name").fill("Taken")
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_role("alert")).to_be_visible()
    expect(form.get_by_label("Name")).to_have_value("Taken")


def test_the_name_of_a_deleted_memory_is_taken_until_it_is_gone(window: Window, client: Client) -> None:
    base = memory(client, "Leaving", sessions=0)
    opened = window()
    page = opened.page
    opened.open(f"/memories/{base}?tab=settings")
    page.get_by_role("button", name="Delete…").last.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Leaving will be deleted")).to_be_visible()
    page.get_by_role("button", name="New memory").first.click()
    form = page.get_by_role("dialog", name="New memory")
    form.get_by_label("Name").fill("Leaving")
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_role("alert")).to_contain_text("is being deleted. Try again in 30 s")


def test_sessions_are_found_and_the_address_restores_the_view(window: Window, client: Client) -> None:
    base = memory(client, "Found", sessions=4, threshold=50)
    opened = window()
    page = opened.page
    opened.open(f"/memories/{base}")
    rows = page.locator("table.sessions tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("question 3")
    page.get_by_label("Find a session or a person").fill("found-2")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    page.go_back()
    expect(rows).to_have_count(4)
    rows.first.get_by_role("link", name="person 1").click()
    expect(rows).to_have_count(2)
    page.get_by_role("link", name="Remove the filter Person: person 1").click()
    expect(rows).to_have_count(4)
    opened.open(f"/memories/{base}?state=failed")
    expect(page.get_by_text("No session fits")).to_be_visible()


def test_chosen_sessions_are_synced_with_a_result_for_each(window: Window, client: Client) -> None:
    base = memory(client, "Chosen", sessions=3, threshold=50)
    client.flush_memory_base(base, session_id="chosen-0", wait=60)
    opened = window()
    page = opened.page
    opened.open(f"/memories/{base}")
    expect(page.get_by_role("button", name="Ingest now: 2 sessions")).to_be_visible()
    page.get_by_label("Choose chosen-0").check()
    page.get_by_label("Choose chosen-1").check()
    with page.expect_response(lambda answer: "/sessions?seen=" in answer.url and answer.status == 200):
        pass  # the list is refreshed, and what is chosen stays chosen
    expect(page.get_by_label("Choose chosen-1")).to_be_checked()
    page.get_by_role("button", name="Ingest now", exact=True).click()
    results = page.get_by_role("region", name="Results")
    expect(results.get_by_role("listitem").filter(has_text="question 1")).to_contain_text("Being ingested")
    expect(results.get_by_role("listitem").filter(has_text="question 0")).to_contain_text("Nothing waits")
    expect(page.get_by_role("row", name="chosen-1")).to_contain_text("2 of 2")
    expect(page.get_by_role("button", name="Ingest now: 1 session")).to_be_visible()
    page.get_by_role("button", name="Ingest now: 1 session").click()
    expect(page.get_by_role("row", name="chosen-2")).to_contain_text("2 of 2")
    expect(page.get_by_role("button", name=re.compile("^Ingest now:"))).to_have_count(0)


def test_chosen_sessions_are_deleted_after_a_question(window: Window, client: Client) -> None:
    base = memory(client, "Erased", sessions=2, threshold=50)
    opened = window()
    page = opened.page
    opened.open(f"/memories/{base}")
    page.get_by_label("Choose erased-1").check()
    page.get_by_role("button", name="Delete…").last.click()
    question = page.get_by_role("alertdialog", name="Delete sessions")
    expect(question).to_contain_text("Delete 1 session?")
    question.get_by_role("button", name="Delete 1").click()
    expect(page.get_by_text("1 session will be deleted in 30 s.")).to_be_visible()
    expect(page.locator("table.sessions tbody tr")).to_have_count(1)


def test_the_store_was_lost_and_is_repaired(window: Window, client: Client, web_stack: EmbeddedStack) -> None:
    base = memory(client, "Lost store")
    client.wait_until_searchable(base)
    chroma = json.loads((web_stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(chroma, timeout_seconds=30)) as store:
        delete_collections_of(store, base)
    assert client.check_mismatch(base).mismatch
    opened = window()
    page = opened.page
    opened.open("/memories?q=lost+store&state=ready")
    expect(page.get_by_text("No memory fits")).to_be_visible()
    page.get_by_label("State", exact=True).select_option(label="Lost its vectors")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page).to_have_url(re.compile("state=lost"))
    expect(page.get_by_role("row", name="Lost store")).to_contain_text("Lost its vectors")
    page.get_by_role("link", name="Lost store").click()
    expect(page.get_by_role("row", name="lost-store-1")).to_contain_text("Lost its vectors")
    expect(page.get_by_text("All 6 chunks are missing from Chroma")).to_be_visible()
    expect(page.get_by_text("Search by meaning fails until a rebuild is done.")).to_be_visible()
    page.get_by_role("button", name="Rebuild…").first.click()
    question = page.get_by_role("dialog", name="Rebuild Lost store?")
    expect(question).to_contain_text("search by meaning fails until the rebuild is done")
    question.get_by_role("button", name="Rebuild", exact=True).click()
    expect(page.locator("#memory-status").get_by_text("Ingested", exact=True).first).to_be_visible()
    expect(page.locator("#memory-status .badge.ok")).to_contain_text("Ingested")
    page.get_by_role("button", name="Compare now").click()
    expect(page.get_by_text("Nothing is missing")).to_be_visible()
    expect(page.get_by_role("row", name="lost-store-1")).to_contain_text("Ingested")


def test_several_memories_are_synced_with_a_result_for_each(window: Window, client: Client) -> None:
    for name in ("Bulk one", "Bulk two"):
        memory(client, name, sessions=1, threshold=50)
    opened = window()
    page = opened.page
    opened.open("/memories?q=bulk")
    page.get_by_label("Choose all on this page").check()
    page.get_by_role("button", name="Ingest now", exact=True).click()
    results = page.get_by_role("region", name="Results")
    for name in ("Bulk one", "Bulk two"):
        expect(results.get_by_role("listitem").filter(has_text=name)).to_contain_text("being ingested")


def test_an_open_menu_stays_open_while_its_part_changes(window: Window, client: Client) -> None:
    base = memory(client, "menu", threshold=100)
    page = (opened := window()).page
    opened.open(f"/memories/{base}")
    waiting = page.locator("#memory-status dl > div", has_text="Waiting")
    expect(waiting).to_contain_text("6")
    page.get_by_role("button", name="More actions").click()
    client.capture_run("menu", session_id="menu-0", messages=[{"role": "assistant", "content": "one more"}])
    with page.expect_response(lambda answer: "/status" in answer.url and answer.status == 200):
        pass
    expect(page.get_by_role("button", name="Delete…").first).to_be_visible()
    expect(waiting).to_contain_text("6")
    page.keyboard.press("Escape")
    expect(waiting).to_contain_text("7")


def test_facts_without_a_model_say_how_to_name_one(window: Window, client: Client) -> None:
    base = memory(client, "Without facts", sessions=1, threshold=50)
    opened = window()
    opened.open(f"/memories/{base}?tab=facts")
    page = opened.page
    expect(page.get_by_text("No facts are derived: this server has no language model.")).to_be_visible()
    expect(page.get_by_role("group", name="Code")).to_contain_text("export MEMORYBASE_DISTILLER=openai")
    expect(page.get_by_label("Search facts")).to_have_count(0)  # there is nothing to search
    assert opened.findings() == []


def test_a_rebuild_asks_which_model_and_says_what_it_costs(
    browser: Browser, other_model: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stack = EmbeddedStack(tmp_path_factory.mktemp("models"))
    stack.values |= PATIENT
    stack.changes |= {"MEMORYBASE_ALLOWED_EMBEDDING_MODELS": json.dumps([other_model, "nobody/away"])}
    with running(stack), Client(stack.url, KEY) as client, reader(browser, stack.url) as opened:
        base = memory(client, "Models", sessions=1)
        client.wait_until_searchable(base)
        opened.sign_in(KEY)
        opened.open(f"/memories/{base}")
        opened.page.get_by_role("button", name="Rebuild…").click()
        question = opened.page.get_by_role("dialog", name="Rebuild Models?")
        expect(question).to_contain_text(re.compile(r"2 chunks are embedded again: about [\d.]+ s at the rate of"))
        expect(question).to_contain_text("Searches go on with the vectors of today")
        choice = question.get_by_label("Embedding model")
        assert choice.get_by_role("option").all_text_contents() == [
            "all-MiniLM-L6-v2 (as today)",
            other_model,
            "nobody/away (is prepared first)",
        ]
        assert opened.findings() == []
        choice.select_option(value=other_model)
        question.get_by_role("button", name="Rebuild", exact=True).click()
        expect(opened.page.locator(".notice")).to_contain_text("The rebuild has started.")
        client.wait_until_searchable(base)
        opened.open(f"/memories/{base}?tab=settings")
        expect(opened.page.get_by_text(other_model)).to_be_visible(timeout=120_000)
