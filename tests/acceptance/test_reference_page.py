"""The reference page at /docs in a browser that reaches nothing but this server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.browser import chromium
from harness.contract import CONTRACT
from harness.served import Served, serve_api
from playwright.sync_api import Page, expect

from memorybase.core.settings import Settings

PATIENCE = 60_000  # a busy machine renders a hundred operations late


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("reference")
    with serve_api(Settings(data_dir=folder, embedding_model="fake", api_key="the-key-from-the-settings")) as opened:
        opened.api.flow("support")
        yield opened


@pytest.fixture(scope="module")
def page(served: Served) -> Iterator[Page]:
    """The open page. Every request that it makes must go to this server, and its console must stay empty."""
    asked: list[str] = []
    said: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{served.url}/docs")
        yield page
        page.close()
    assert [url for url in asked if not url.startswith((served.url, "data:"))] == []
    assert said == []


@pytest.mark.slow
def test_every_operation_is_shown_below_its_tag(page: Page) -> None:
    # One tag after the other: of a very long page only the part that is in view is in the document.
    expect(page.locator(".opblock-tag")).to_have_count(len(CONTRACT["tags"]), timeout=PATIENCE)
    operations = [operation for item in CONTRACT["paths"].values() for operation in item.values()]
    for name in (tag["name"] for tag in CONTRACT["tags"]):
        heading = page.locator(f"#operations-tag-{name.replace(' ', '_')}")
        heading.click()
        own = sum(name in operation["tags"] for operation in operations)
        expect(page.locator(".opblock")).to_have_count(own, timeout=PATIENCE)
        heading.click()
        expect(page.locator(".opblock")).to_have_count(0, timeout=PATIENCE)


@pytest.mark.slow
def test_a_call_from_the_page_is_answered(page: Page, served: Served) -> None:
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(served.api.secret)
    page.locator(".auth-container").first.get_by_role("button", name="Apply credentials").click()
    page.get_by_role("button", name="Close").first.click()
    flows = page.locator("#operations-flows-list_flows")
    if not flows.is_visible():
        page.locator("#operations-tag-flows").click()
    flows.locator(".opblock-summary-control").click()
    flows.get_by_role("button", name="Try it out").click()
    flows.get_by_role("button", name="Execute").click()
    expect(flows.locator(".live-responses-table td.response-col_status:not(.col_header)")).to_have_text(
        "200", timeout=PATIENCE
    )
    expect(flows.locator(".live-responses-table")).to_contain_text('"external_id": "support"')
