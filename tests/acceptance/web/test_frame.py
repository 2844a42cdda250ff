"""What all pages share: signing in and out, the token of forms, navigation, keys, themes, accessibility."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from harness.browser import IN_EVERY_LOOK, NARROW, WIDE, Reader, reader
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import Browser, expect

from api.web.rendering import STATIC

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]


class TestSigningIn:
    def test_the_requested_page_opens_after_signing_in(self, web_stack: EmbeddedStack, browser: Browser) -> None:
        with reader(browser, web_stack.url) as window:
            page = window.page
            page.goto(f"{web_stack.url}/ui/components")
            expect(page.get_by_role("heading", name="Sign in to memorybase")).to_be_visible()
            assert window.findings() == []
            page.get_by_label("API key").fill("mb_not_a_key")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("alert")).to_contain_text("Check that the key is whole")
            expect(page.get_by_role("alert")).not_to_contain_text("Bearer")  # which a form has no place for
            page.get_by_label("API key").fill(KEY)
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("heading", name="Components")).to_be_visible()
            cookies = page.context.cookies()
            assert [(each["httpOnly"], each["sameSite"]) for each in cookies] == [(True, "Lax")]
            assert KEY not in str(cookies)

    def test_a_sign_in_link_works_once(self, web_stack: EmbeddedStack, browser: Browser, client: Client) -> None:
        link = client.create_sign_in_link().url_path
        with reader(browser, web_stack.url) as first, reader(browser, web_stack.url) as second:
            first.page.goto(web_stack.url + link)
            expect(first.page.get_by_role("navigation", name="Main")).to_be_visible()
            second.page.goto(web_stack.url + link)
            expect(second.page.get_by_role("alert")).to_contain_text("was used")

    def test_signing_out_ends_the_session(self, web_stack: EmbeddedStack, browser: Browser) -> None:
        with reader(browser, web_stack.url) as window:
            page = window.page
            window.sign_in(KEY)
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("heading", name="Sign in to memorybase")).to_be_visible()
            page.goto(page.url.replace("/sign-in", "/"))
            expect(page.get_by_role("heading", name="Sign in to memorybase")).to_be_visible()

    @pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example"])
    def test_sign_in_redirects_to_no_other_site(self, web_stack: EmbeddedStack, target: str) -> None:
        answer = httpx.post(
            f"{web_stack.url}/ui/sign-in", data={"key": KEY, "next": target}, trust_env=False, timeout=60
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")

    def test_the_root_redirects_to_the_pages(self, web_stack: EmbeddedStack) -> None:
        answer = httpx.get(web_stack.url, trust_env=False, timeout=60)
        assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")


class TestOtherSites:
    FOREIGN = (
        {"Origin": "https://elsewhere.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    )

    @pytest.mark.parametrize("headers", FOREIGN)
    def test_another_site_signs_nobody_in_or_out(self, web_stack: EmbeddedStack, headers: dict[str, str]) -> None:
        with httpx.Client(base_url=f"{web_stack.url}/ui", trust_env=False, timeout=60) as browser:
            assert browser.post("/sign-in", data={"key": KEY}, headers=headers).status_code == 403
            assert browser.post("/sign-in", data={"key": KEY}).status_code == 303
            assert browser.post("/sign-out", headers=headers).status_code == 403
            assert browser.get("/components").status_code == 200  # still signed in

    def test_a_sign_in_link_on_another_site_asks_first(self, web_stack: EmbeddedStack, client: Client) -> None:
        link = client.create_sign_in_link().url_path
        with httpx.Client(base_url=web_stack.url, trust_env=False, timeout=60) as browser:
            answer = browser.get(link, headers={"Sec-Fetch-Site": "cross-site"})
            assert "Another site led to this sign-in link" in answer.text
            form = {"token": link.rpartition("=")[2]}
            own = {"Sec-Fetch-Site": "same-origin"}
            assert browser.post("/ui/enter", data=form, headers=own).status_code == 303

    def test_a_form_without_its_token_changes_nothing(self, web_stack: EmbeddedStack) -> None:
        with httpx.Client(base_url=f"{web_stack.url}/ui", trust_env=False, timeout=60) as browser:
            browser.post("/sign-in", data={"key": KEY})
            token = re.findall(r'name="csrf" value="([^"]+)"', browser.get("/components").text)[0]
            for wrong in ({}, {"csrf": ""}, {"csrf": "é"}, {"csrf": token[:-4] + "AAA="}):
                answer = browser.post("/sign-out", data=wrong)
                assert (answer.status_code, "Load the page again" in answer.text) == (403, True)
            assert browser.post("/sign-out", headers={"X-CSRF": token}).status_code == 303
            assert browser.get("/components").status_code == 303  # signed out

    def test_no_page_allows_inline_scripts_or_styles(self, web_stack: EmbeddedStack) -> None:
        policy = httpx.get(f"{web_stack.url}/ui/sign-in", trust_env=False, timeout=60).headers[
            "content-security-policy"
        ]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_files_of_other_authors_are_as_published() -> None:
    listed = re.findall(r"^\| (\S+) \|.*\| ([0-9a-f]{64}) \|", (STATIC / "VENDORED.md").read_text(), re.MULTILINE)
    assert {name for name, _ in listed} == {"htmx.min.js", "roboto-5.3.0.woff2"}
    for name, digest in listed:
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == digest


def test_only_one_file_names_colours() -> None:
    templates = Path(STATIC).parent / "templates"
    for path in [*templates.rglob("*.html"), STATIC / "page.css", STATIC / "page.js"]:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(?<![&\w\"'=])#[0-9a-fA-F]{6}\b|rgba?\(", text) == [], path.name
        assert 'style="' not in text, path.name


def test_keys_open_the_palette_the_list_of_keys_and_places(window: Window) -> None:
    reader_window = window()
    page = reader_window.page
    reader_window.open("/components")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search or jump to")).to_be_visible()
    page.get_by_role("textbox", name="Search or jump to").fill("setti")
    expect(page.locator("#palette-found a")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("/ui/jobs$"))


def test_the_palette_tells_sessions_of_one_title_apart(window: Window, client: Client) -> None:
    word = f"boiler{uuid4().hex[:6]}"
    client.put_flow(word, name="Harbour office")
    for _ in range(5):
        said = [{"role": "user", "content": f"My {word} leaks."}]
        client.capture_run(word, session_id=str(uuid4()), messages=said)
    opened = window()
    opened.open("/")
    opened.page.keyboard.press("Control+k")
    opened.page.get_by_role("textbox", name="Search or jump to").fill(word)
    found = opened.page.locator("#palette-found a", has_text=f"My {word} leaks.")
    expect(found).to_have_count(5)
    shown = found.all_inner_texts()
    assert len(set(shown)) == 5
    assert all("Harbour office" in text and re.search(r"\d\d:\d\d", text) for text in shown)


def test_the_logo_stands_above_the_heading_at_sign_in(web_stack: EmbeddedStack, browser: Browser) -> None:
    with reader(browser, web_stack.url) as window:
        window.page.goto(f"{web_stack.url}/ui/sign-in")
        logo, heading = window.page.locator(".brand img").bounding_box(), window.page.locator("h1").bounding_box()
        assert logo is not None
        assert heading is not None
        assert logo["x"] == heading["x"]


def test_a_button_below_a_text_does_not_touch_it(window: Window, client: Client) -> None:
    flow = f"map-{uuid4().hex[:6]}"
    client.put_flow(flow, name="Harbour office")
    base = client.create_memory_base(name=flow, flow_id=flow, threshold=50, capture="all").id
    opened = window()
    opened.open(f"/memories/{base}?tab=facts")
    # The map of a memory without one: the button is inside of a form, which is inline elsewhere.
    opened.page.locator("main").evaluate(
        "each => each.insertAdjacentHTML('beforeend', '<div class=empty><p>No map yet.</p>"
        "<form class=inline><button>Compute the map</button></form></div>')"
    )
    text, button = (opened.page.locator(f".empty {each}").last.bounding_box() for each in ("p", "button"))
    assert text is not None
    assert button is not None
    assert button["y"] - (text["y"] + text["height"]) >= 8


def test_a_persons_page_shows_no_count_of_nothing(window: Window, client: Client) -> None:
    person = f"anna-{uuid4().hex[:6]}"
    client.put_flow("counts", name="Harbour office")
    said = [{"role": "user", "content": "When do you open?"}]
    client.capture_run("counts", session_id=person, end_user_id=person, messages=said)
    opened = window()
    opened.open(f"/person?id={person}")
    figures = opened.page.get_by_role("region", name="What is stored").locator("p")
    expect(figures).to_have_text(["Sessions", "Runs", "Messages"])


def test_lists_show_no_generated_id(window: Window, client: Client) -> None:
    flow = f"ids-{uuid4().hex[:6]}"
    client.put_flow(flow, name="Harbour office")
    base = client.create_memory_base(name=flow, flow_id=flow, threshold=1, capture="all").id
    for role in ("user", "assistant"):  # the second session has no question
        said = [{"role": role, "content": "The berth is free."}]
        client.capture_run(flow, session_id=str(uuid4()), run_id=str(uuid4()), end_user_id=flow, messages=said)
    opened = window()
    for path in (
        f"/conversations?flow={flow}",
        f"/conversations?tab=runs&flow={flow}",
        f"/memories/{base}",
        f"/memories/{base}?tab=messages",
        f"/person?id={flow}",
        f"/jobs?tab=all&memory={base}",
    ):
        opened.open(path)
        expect(opened.page.locator("main tbody tr").first).to_be_visible()
        assert re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-", opened.page.locator("main tbody").first.inner_text()) == [], path


DIALOGS = [
    ("/", "Keyboard"),
    ("/memories", "New memory"),
    ("/settings/keys", "New key"),
    ("/settings/webhooks", "New webhook"),
]


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize(("path", "name"), DIALOGS, ids=[name for _, name in DIALOGS])
def test_a_dialog_opens_in_the_middle_and_on_a_phone_at_the_bottom(
    window: Callable[..., Reader], path: str, name: str, width: int
) -> None:
    opened = window(width=width)
    page = opened.page
    opened.open(path)
    if name == "Keyboard":
        page.keyboard.press("?")
    else:
        page.get_by_role("button", name=name).first.click()
    dialog = page.get_by_role("dialog", name=name)
    expect(dialog).to_be_visible()
    left, top, right, bottom = dialog.evaluate(
        "each => { const {left, top, right, bottom} = each.getBoundingClientRect();"
        " return [left, top, innerWidth - right, innerHeight - bottom]; }"
    )
    assert abs(left - right) <= 1
    if width == NARROW:
        assert (left, bottom) == (0, 0)
    else:
        assert abs(top - bottom) <= 1


def test_the_theme_is_kept(window: Window) -> None:
    reader_window = window()
    reader_window.open("/")
    page = reader_window.page
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@IN_EVERY_LOOK
def test_every_component_is_accessible(window: Window, width: int, dark: bool) -> None:
    reader_window = window(width=width, dark=dark)
    reader_window.open("/components")
    assert reader_window.findings() == []
    page = reader_window.page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    if width == NARROW:
        assert page.locator("header.bar").evaluate("each => each.offsetHeight") <= 48


def test_a_form_says_below_a_field_what_is_wrong_with_it(window: Window) -> None:
    opened = window()
    opened.open("/settings/keys")
    page = opened.page
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_have_text("Name must not be empty.")
    assert opened.findings() == []
    dialog.get_by_role("button", name="Create").click()  # again: it is said once
    expect(dialog.get_by_role("alert")).to_have_count(1)
    dialog.get_by_label("Name").fill("runtime")
    expect(dialog.get_by_role("alert")).to_have_count(0)


def test_every_tab_of_the_settings_is_in_view_on_a_phone(window: Window) -> None:
    opened = window(width=NARROW)
    opened.open("/settings/health")
    tabs = opened.page.get_by_role("navigation", name="Settings").get_by_role("link")
    assert tabs.count() > 6
    for tab in tabs.all():
        box = tab.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= NARROW


def test_the_question_of_the_playground_has_the_focus(window: Window) -> None:
    opened = window()
    opened.open("/playground")
    expect(opened.page.get_by_label("Question", exact=True)).to_be_focused()
