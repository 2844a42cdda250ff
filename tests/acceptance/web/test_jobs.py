"""Jobs and settings: failures retried and discarded together, a key shown once."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from harness.browser import Reader
from harness.buried import add_dead_letters
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]
TEXTS = ("the volcano speaks", "the whirlpool speaks")


def failed(client: Client, stack: EmbeddedStack, name: str, sessions: int) -> str:
    """A memory with two texts in each session that are not searchable."""
    client.put_flow(name, name=name)
    base = str(client.create_memory_base(name=name, flow_id=name, threshold=3).id)
    for number in range(sessions):
        messages = [{"role": "assistant", "content": text} for text in (*TEXTS, "the harbour is quiet")]
        client.capture_run(name, session_id=f"{name}-{number}", messages=messages)
    client.wait_until_searchable(base)
    add_dead_letters(stack, base, *TEXTS)
    return base


def test_all_failures_are_retried_in_two_clicks(window: Window, client: Client, web_stack: EmbeddedStack) -> None:
    failed(client, web_stack, "another", 1)
    base = failed(client, web_stack, "seventy", 35)
    opened = window()
    page = opened.page
    opened.open("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    opened.open(f"/jobs?memory={base}")
    group = page.get_by_role("form", name="The model gave no valid vector")
    expect(group).to_contain_text("2 texts")
    expect(group.get_by_role("row", name=TEXTS[0])).to_contain_text("\N{MULTIPLICATION SIGN}35")
    group.get_by_role("button", name=re.compile(r"^Retry \d+$")).click()
    results = page.get_by_role("region", name="Results")
    expect(results).to_contain_text(re.compile(r"70 messages"))
    expect(results.get_by_role("heading", name="70 messages retried")).to_be_visible(timeout=120_000)
    expect(results).to_contain_text("70 ingested")
    results.get_by_text("A result for each").click()
    expect(results.get_by_role("listitem")).to_have_count(70)
    expect(page.get_by_text("No problems")).to_be_visible()
    assert client.get_memory_base(base).dead_letters == 0


def test_one_text_is_discarded_after_a_question(window: Window, client: Client, web_stack: EmbeddedStack) -> None:
    base = failed(client, web_stack, "discarded", 2)
    opened = window()
    page = opened.page
    opened.open(f"/jobs?memory={base}")
    group = page.get_by_role("form", name="The model gave no valid vector")
    row = group.get_by_role("row", name=TEXTS[1])
    expect(row.get_by_role("link", name=TEXTS[1])).to_have_attribute("href", re.compile("/ui/session[?]flow="))
    row.get_by_label("Choose this text").check()
    group.get_by_role("button", name="Discard…").last.click()
    question = page.get_by_role("alertdialog", name="Discard messages")
    expect(question).to_contain_text("Discard 2 messages?")
    question.get_by_role("button", name="Discard 2").click()
    expect(page.get_by_role("region", name="Results")).to_contain_text("2 messages discarded")
    expect(row).to_have_count(0)
    assert client.get_memory_base(base).dead_letters == 2


def test_a_new_key_is_shown_once(window: Window, web_stack: EmbeddedStack) -> None:
    opened = window()
    page = opened.page
    opened.open("/settings/keys")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Name").fill("shown once")
    form.get_by_role("button", name="Create").click()
    shown = page.get_by_role("status", name="The new key")
    secret = shown.locator("code").inner_text()
    assert secret.startswith("mb_")
    expect(shown.get_by_role("button", name="Copy the key")).to_be_visible()
    with Client(web_stack.url, secret) as with_key:
        assert list(with_key.list_flows()) is not None
    opened.open("/settings/keys")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke shown once").click()
    page.get_by_role("dialog", name="Revoke shown once?").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="shown once")).to_have_count(0)
    refused = httpx.get(
        f"{web_stack.url}/v1/flows", headers={"Authorization": f"Bearer {secret}"}, trust_env=False, timeout=60
    )
    assert refused.status_code == 401
    assert KEY not in page.content()


def test_only_knowledge_bases_of_documents_are_listed(window: Window, client: Client) -> None:
    client.put_flow("books", name="books")
    client.create_memory_base(name="Memory of books", flow_id="books")
    opened = window()
    page = opened.page
    opened.open("/settings/knowledge")
    page.get_by_role("button", name="New knowledge base").click()
    page.get_by_role("dialog", name="New knowledge base").get_by_label("Name").fill("handbook")
    page.get_by_role("dialog", name="New knowledge base").get_by_role("button", name="Create").click()
    expect(page.get_by_role("row", name="handbook")).to_contain_text("Ready")
    expect(page.get_by_text("Memory of books")).to_have_count(0)
    page.get_by_role("button", name="Delete handbook").click()
    confirm = page.get_by_role("dialog", name="Delete handbook?")
    confirm.get_by_role("textbox").fill("handbook")
    confirm.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("row", name="handbook")).to_have_count(0)


def test_former_addresses_lead_to_their_pages(window: Window, client: Client) -> None:
    client.put_flow("former", name="former")
    base = client.create_memory_base(name="Former", flow_id="former").id
    client.capture_run("former", session_id="s", messages=[{"role": "user", "content": "Hello"}])
    opened = window()
    moved = {
        "/health": "/settings/health",
        "/keys": "/settings/keys",
        "/knowledge-bases": "/settings/knowledge",
        "/settings": "/settings/health",
        f"/memories/{base}/jobs": f"/jobs?memory={base}",
        "/session?flow_id=former&session_id=s": "/session?flow=former&id=s",
        "/flows/former/sessions": "/conversations?flow=former",
        "/flows/former/runs": "/conversations?tab=runs&flow=former",
    }
    for former, path in moved.items():
        opened.open(former)
        expect(opened.page).to_have_url(f"{opened.url}/ui{path}")
