"""Every view: axe-core finds nothing above minor, nothing scrolls sideways, and a key that may read sees no action."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote
from uuid import uuid4

import pytest
from harness.browser import IN_EVERY_LOOK, Reader
from harness.buried import add_dead_letters
from harness.stack import EmbeddedStack
from memorybase_client import Client

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]
QUESTION = "Always answer in English. Which berth has shore power?"
ANSWER = "Berth 12 has, from Friday."
READING = re.compile("Ask|Close|Compare now|Copy.*|Count what it would delete|Find|Jump|Search( or jump to…)?|Show|⋯")


@pytest.fixture
def views(client: Client, web_stack: EmbeddedStack) -> Iterator[list[str]]:
    """The address of every view, each with something to show."""
    flow = f"axe-{uuid4().hex[:8]}"
    client.put_flow(flow, name="Harbour office")
    base = client.create_memory_base(name=flow, flow_id=flow, threshold=2, capture="all").id
    off = client.create_memory_base(name=f"{flow} off", flow_id=flow, auto_capture=False).id
    call = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    said = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "12", "tool_call_id": "call_1"},
        {"role": "assistant", "content": ANSWER},
        {"role": "system", "content": f"Be brief. {200 * 'x'}"},
    ]
    client.build_context(
        flow_id=flow, session_id=flow, end_user_id=flow, run_id=flow, node_id="answer", query=QUESTION, token_budget=600
    )
    run = client.capture_run(flow, session_id=flow, run_id=flow, end_user_id=flow, messages=said)
    client.capture_run(flow, session_id=f"{flow}-deleted", end_user_id=f"{flow}-other", messages=said[:1])
    client.delete_session(flow_id=flow, session_id=f"{flow}-deleted")
    client.wait_until_searchable(base)
    add_dead_letters(web_stack, str(base), ANSWER)
    hook = client.create_webhook(url=f"https://example.com/{40 * 'long-'}", event_types=["job.completed"]).id
    memory, ask = f"/memories/{base}", quote("Which berth has shore power?")
    of_memory = [f"{memory}?tab={tab}" for tab in ("messages", "messages&state=deleted", "map", "facts", "settings")]
    of_flow = [
        f"/{each}flow={flow}" for each in ("conversations?", "conversations?tab=runs&", "conversations?tab=people&")
    ]
    of_run = [f"/{page}?flow={flow}&id={flow}" for page in ("run", "session")]
    settings = ("health", "keys", "usage", "webhooks", "knowledge", "audit?mine=true", "retention", "retention/holds")
    everywhere = [
        "/?guide=off",
        "/?window=1h",
        "/?window=7d",
        "/first-minute",
        "/conversations",
        "/memories",
        "/components",
    ]
    jobs = [f"/jobs{query}" for query in ("", "?tab=running", "?tab=all", f"?memory={base}")]
    yield [
        *everywhere,
        *of_flow,
        *of_run,
        f"/session?flow={flow}&id={flow}&find=berth",
        "/conversations?q=nothinglikethis",
        f"/person?id={flow}",
        f"/message?id={run.messages[0].id}",
        f"/standing?flow={flow}&person={flow}",
        memory,
        *of_memory,
        f"/playground?q={ask}&flow={flow}",
        f"/playground?q={ask}&b=1",
        *jobs,
        *(f"/settings/{each}" for each in settings),
        "/settings/retention/receipts",
        f"/settings/webhooks/{hook}",
    ]
    client.delete_webhook(hook)
    for each in (base, off):
        client.delete_memory_base(each)


@IN_EVERY_LOOK
def test_each_view_is_accessible_and_fits(window: Window, views: list[str], width: int, dark: bool) -> None:
    opened = window(width=width, dark=dark)
    found: dict[str, list[str]] = {}
    for path in views:
        opened.open(path)
        found[path] = opened.findings()
        if not opened.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"):
            found[path].append("it scrolls sideways")
    opened.open("/")
    opened.page.goto(f"{opened.url}/ui/nope")
    found["an error page"] = opened.findings()
    opened.console[:] = [text for text in opened.console if not re.search("status of 404", text)]
    assert {path: each for path, each in found.items() if each} == {}


def test_a_key_that_may_read_sees_no_action(window: Window, views: list[str], read_key: str) -> None:
    opened = window(key=read_key)
    main = opened.page.locator("main")
    found: dict[str, set[str]] = {}
    told: set[str] = set()
    for path in views:
        opened.open(path)
        buttons = main.locator("button:not([disabled])").all()
        texts = {each.inner_text() or each.get_attribute("aria-label") or "?" for each in buttons}
        found[path] = {text for text in texts if not READING.fullmatch(text)}
        if (
            not path.startswith("/playground")
            and main.locator("input[type=checkbox]:not(fieldset[disabled] *)").count()
        ):
            found[path].add("a checkbox")
        if opened.page.get_by_text("This key may read.").first.is_visible():
            told.add(path.partition("?")[0])
    opened.console[:] = [text for text in opened.console if not re.search("status of 403", text)]  # the webhook's page
    assert {path: each for path, each in found.items() if each and path != "/components"} == {}
    assert told >= {"/", "/conversations", "/message", "/person", "/settings/keys"}
    assert any(path.startswith("/memories/") for path in told)
