"""Signing in and out, API keys, health and knowledge bases."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from harness.browser import NARROW, Reader, reader
from harness.stack import KEY, EmbeddedStack
from playwright.sync_api import Browser, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from memorybase.client import Client

Window = Callable[..., Reader]


class TestSigningIn:
    def test_the_requested_page_opens_after_signing_in(self, web_stack: EmbeddedStack, browser: Browser) -> None:
        with reader(browser, web_stack.url) as reader_window:
            page = reader_window.page
            page.goto(f"{web_stack.url}/ui/health")
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            assert reader_window.findings() == []

            page.get_by_label("API key").fill("mb_not_a_key")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("alert")).to_be_visible()

            page.get_by_label("API key").fill(KEY)
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("heading", name="Health")).to_be_visible()
            cookies = page.context.cookies()
            assert [(each["httpOnly"], each["sameSite"]) for each in cookies] == [(True, "Lax")]
            assert KEY not in str(cookies)

    def test_a_sign_in_link_works_once(self, web_stack: EmbeddedStack, browser: Browser, client: Client) -> None:
        link = client.call("POST", "/sign-in-links")["url_path"]
        with reader(browser, web_stack.url) as first, reader(browser, web_stack.url) as second:
            first.page.goto(web_stack.url + link)
            expect(first.page.get_by_role("heading", name="Memories")).to_be_visible()
            second.page.goto(web_stack.url + link)
            expect(second.page.get_by_role("alert")).to_contain_text("was used")

    def test_signing_out_ends_the_session(self, window: Window) -> None:
        reader_window = window()
        reader_window.page.get_by_role("button", name="Sign out").click()
        expect(reader_window.page.get_by_role("heading", name="Sign in")).to_be_visible()
        reader_window.page.go_back()
        reader_window.page.reload()
        expect(reader_window.page.get_by_role("heading", name="Sign in")).to_be_visible()

    @pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example"])
    def test_sign_in_redirects_to_no_other_site(self, web_stack: EmbeddedStack, target: str) -> None:
        form = {"key": KEY, "next": target}
        answer = httpx.post(f"{web_stack.url}/ui/sign-in", data=form, trust_env=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")

    def test_the_root_redirects_to_the_pages(self, web_stack: EmbeddedStack) -> None:
        answer = httpx.get(web_stack.url, trust_env=False)
        assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")


class TestOtherSites:
    FOREIGN = (
        {"Origin": "https://elsewhere.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    )

    @pytest.mark.parametrize("headers", FOREIGN)
    def test_another_site_signs_nobody_in_or_out(self, web_stack: EmbeddedStack, headers: dict[str, str]) -> None:
        with httpx.Client(base_url=f"{web_stack.url}/ui", trust_env=False) as browser:
            assert browser.post("/sign-in", data={"key": KEY}, headers=headers).status_code == 403
            assert browser.post("/sign-in", data={"key": KEY}).status_code == 303
            assert browser.post("/sign-out", headers=headers).status_code == 403
            assert browser.get("/").status_code == 200  # still signed in

    def test_a_sign_in_link_on_another_site_asks_first(self, web_stack: EmbeddedStack, client: Client) -> None:
        link = client.call("POST", "/sign-in-links")["url_path"]
        with httpx.Client(base_url=web_stack.url, trust_env=False) as browser:
            asked = browser.get(link, headers={"Sec-Fetch-Site": "cross-site"})
            assert (asked.status_code, browser.cookies.get("memorybase_session")) == (200, None)
            form = {"token": link.partition("token=")[2]}
            assert browser.post("/ui/enter", data=form, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303

    @pytest.mark.parametrize("headers", [*FOREIGN, {}])
    def test_a_web_socket_needs_the_own_origin_and_a_signed_in_browser(
        self, web_stack: EmbeddedStack, headers: dict[str, str]
    ) -> None:
        with httpx.Client(base_url=f"{web_stack.url}/ui", trust_env=False) as browser:
            browser.post("/sign-in", data={"key": KEY})
            cookie = {"Cookie": f"memorybase_session={browser.cookies['memorybase_session']}"} if headers else {}
        url = f"{web_stack.url}/ui/_nicegui_ws/socket.io/?EIO=4&transport="
        with pytest.raises(InvalidStatus, match="403"):
            connect(url.replace("http", "ws", 1) + "websocket", additional_headers=headers | cookie, proxy=None)
        assert httpx.get(url + "polling", headers=headers | cookie, trust_env=False).status_code == 403

    def test_a_page_runs_no_script_that_is_not_its_own(self, web_stack: EmbeddedStack, browser: Browser) -> None:
        with reader(browser, web_stack.url) as reader_window:
            reader_window.sign_in(KEY)
            reader_window.page.evaluate("""
                document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='window.ran = 1'>");
                document.body.append(Object.assign(document.createElement("script"), {textContent: "window.ran = 2"}));
            """)
            reader_window.page.wait_for_function("[...document.images].every(image => image.complete)")
            assert reader_window.page.evaluate("window.ran") is None
            assert all("Content Security Policy" in text for text in reader_window.console)

    def test_no_page_can_know_the_nonce_of_the_next_one(self, web_stack: EmbeddedStack) -> None:
        policies = [
            httpx.get(f"{web_stack.url}/ui/sign-in", trust_env=False).headers["content-security-policy"]
            for _ in range(2)
        ]
        assert policies[0] != policies[1]


@pytest.mark.parametrize("path", ["/memories/not-an-id", "/memories/00000000-0000-4000-8000-000000000000"])
def test_an_unknown_memory_has_an_error_page(window: Window, web_stack: EmbeddedStack, path: str) -> None:
    reader_window = window()
    answer = reader_window.page.request.get(f"{web_stack.url}/ui{path}")
    assert (answer.status, "All memories" in answer.text()) == (404, True)


def test_a_key_is_created_shown_once_used_and_revoked(window: Window, web_stack: EmbeddedStack) -> None:
    page = (reader_window := window()).page
    reader_window.open("/keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("for the page's test")
    page.get_by_role("button", name="Create").click()
    secret = page.locator("pre").inner_text()

    def status() -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        return httpx.get(f"{web_stack.url}/v1/memories", headers=headers, trust_env=False).status_code

    assert status() == 200
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text("for the page's test")).to_be_visible()
    assert secret not in page.content()

    page.get_by_role("button", name="Revoke for the page's test").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("for the page's test revoked.")).to_be_visible()
    assert status() == 401


def test_a_read_only_key_sees_no_buttons_that_change(
    web_stack: EmbeddedStack, browser: Browser, client: Client
) -> None:
    secret = client.call("POST", "/keys", json={"name": "reader", "scopes": ["read"]})["secret"]
    with reader(browser, web_stack.url) as reader_window:
        reader_window.sign_in(secret)
        expect(reader_window.page.get_by_role("heading", name="Memories")).to_be_visible()
        expect(reader_window.page.get_by_role("button", name="New memory")).to_have_count(0)
        reader_window.open("/keys")
        expect(reader_window.page.get_by_role("alert")).to_contain_text("scope admin")


def test_health_lists_components_and_a_knowledge_base_is_created_and_deleted(window: Window) -> None:
    page = (reader_window := window()).page
    reader_window.open("/health")
    for part in ("database", "redis", "chroma", "worker", "sweeper"):
        row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=part, exact=True))
        expect(row.get_by_text("ok", exact=True)).to_be_visible()

    reader_window.open("/knowledge-bases")
    page.get_by_role("button", name="New knowledge base").click()
    page.get_by_label("Name").fill("manuals")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Delete manuals").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_label("Type manuals to confirm").fill("manuals")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("manuals deleted.")).to_be_visible()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (NARROW, True)])
def test_the_pages_are_accessible(window: Window, width: int, dark: bool) -> None:
    reader_window = window(width=width, dark=dark)
    for path in ("/", "/knowledge-bases", "/keys", "/health"):
        reader_window.open(path)
        assert reader_window.findings() == [], path
        wider = reader_window.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, f"{path} scrolls sideways at {width}"
