"""Pictures of every page, light and dark, wide and narrow, for docs/images: `make pictures`.

    PYTHONPATH=tests python -m harness.pictures FOLDER

They show a stack of their own: first holding nothing, then the sample conversation in good health, then a memory with a
dead letter and a pending session, one that lost its vectors, and one that is off.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from contextlib import closing, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from memorybase_client import Client
from playwright.sync_api import Browser, Page, expect

from harness.browser import NARROW, WIDE, Reader, chromium, reader
from harness.buried import add_dead_letters
from harness.chroma import delete_collections_of
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until
from memorybase.core.import_export.conversation_files import read_runs
from memorybase.core.vectors.chroma import ChromaStore

FLOW = "home-assistant"
SESSION = "2026-03-02-kitchen"
PLANS, ANSWERS = "Marta's plans", "Answers only"
QUESTION = "When does the electrician come, and what does he need?"
LOOKS = {"light": (WIDE, False), "dark": (WIDE, True), "narrow-light": (NARROW, False), "narrow-dark": (NARROW, True)}
MAX_HEIGHT = 1_300
STRIP = """<style>body {{ margin: 0 }} main {{ display: grid; grid-template-columns: 1fr 1fr; gap: 8px;
padding: 8px; background: #7d8985; font: 600 22px sans-serif; color: #fff }} figure {{ margin: 0 }}
figcaption {{ padding: 6px 4px }} img {{ width: 100%; border-radius: 4px; display: block }}</style>
<main>{images}</main>"""
# What the repair of a memory is shown with: what was said, and what a model answers from it.
KEYS = "The spare key of the boathouse is with Mrs. Lund in flat {}."
WHO = "Who has the spare key of the boathouse?"


def main() -> None:
    """Take all pictures; raises if a page does not load."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        stack = EmbeddedStack(Path(data))
        try:
            stack.start()
            with Client(stack.url, KEY) as client, chromium() as browser:
                take_all(stack, browser, {"first-minute": "/", "no-conversations": "/conversations"}, folder)
                take_strip(stack, client, browser, folder)
                take_repair(stack, client, browser, folder)
                take_all(stack, browser, add_data(client), folder)
                take_all(stack, browser, add_failures(stack, client), folder)
                take_acts(stack, client, browser, folder)
                take_outage(stack, browser, folder)
        finally:
            stack.close()


def take_all(stack: EmbeddedStack, browser: Browser, pages: Mapping[str, str], folder: Path, *, key: str = KEY) -> None:
    for look, (width, dark) in LOOKS.items():
        with reader(browser, stack.url, width=width, dark=dark) as window:
            photograph(window, pages, folder, look, key)


def photograph(window: Reader, pages: Mapping[str, str], folder: Path, look: str, key: str) -> None:
    """One picture of each page: `<page>-<look>.png`."""
    page = window.page
    page.goto(f"{window.url}/ui/sign-in")
    page.screenshot(path=folder / f"sign-in-{look}.png")
    window.sign_in(key)
    for name, path in pages.items():
        window.open(path)
        page.evaluate("scrollTo(0, 0)")  # a session opens at its end, where the bars would hide what is behind them
        width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(max(height, 500), MAX_HEIGHT)}
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=True, clip=clip)


def take_acts(stack: EmbeddedStack, client: Client, browser: Browser, folder: Path) -> None:
    """What opens by a click: why a hit has its score, the palette, a deletion's question; and the view of a reader."""
    base = next(each.id for each in client.list_memory_bases() if each.name == PLANS)
    for look, (width, dark) in LOOKS.items():
        with reader(browser, stack.url, width=width, dark=dark) as window:
            page = window.page
            window.sign_in(KEY)
            window.open(f"/playground?{urlencode({'q': QUESTION, 'memory': str(base)})}")
            page.locator(".hit").first.get_by_text(re.compile("^Why ")).click()
            page.screenshot(path=folder / f"why-{look}.png")
            page.keyboard.press("Control+k")
            page.get_by_role("textbox", name="Search or jump to").fill("marta")
            expect(page.locator("#palette-found")).to_contain_text(PLANS)
            page.screenshot(path=folder / f"palette-{look}.png")
            window.open(f"/memories/{base}?tab=settings")
            page.get_by_role("button", name="Delete…", exact=True).last.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            page.screenshot(path=folder / f"delete-{look}.png")
    reading = client.create_key(name="A reader", scopes=["read"]).secret
    pages = {"read-only-memory": f"/memories/{base}", "read-only-problems": "/jobs?tab=problems"}
    take_all(stack, browser, pages, folder, key=reading)


def take_outage(stack: EmbeddedStack, browser: Browser, folder: Path) -> None:
    """The pages while Chroma is frozen. Frozen for long the stack would replace it, so each look freezes it again."""
    pages = {
        "outage-home": "/",
        "outage-health": "/settings/health",
        "outage-playground": f"/playground?{urlencode({'q': QUESTION})}",
    }
    for look, (width, dark) in LOOKS.items():
        wait_until(stack.ready, 120, "Chroma to answer")
        chroma = stack.child("chroma")
        os.kill(chroma, signal.SIGSTOP)
        try:
            wait_until(lambda: not stack.ready(), 90, "the outage to be noticed")
            with reader(browser, stack.url, width=width, dark=dark) as window:
                photograph(window, pages, folder, look, KEY)
        finally:
            with suppress(ProcessLookupError):
                os.kill(chroma, signal.SIGCONT)


def take_strip(stack: EmbeddedStack, client: Client, browser: Browser, folder: Path) -> None:
    """The first minute in four pictures: `first-minute-strip.png`."""
    shots: list[bytes] = []
    with reader(browser, stack.url, width=WIDE) as window:
        page = window.page
        page.set_viewport_size({"width": 940, "height": 620})
        window.sign_in(KEY)
        window.open("/")
        shots.append(page.screenshot())
        page.get_by_label("Name").fill("Harbour office")
        page.get_by_role("button", name="Create a flow and its memory").click()
        page.locator("li.step", has_text="4 Send a run").locator("pre").scroll_into_view_if_needed()
        shots.append(page.screenshot())
        said = [
            {"role": "user", "content": "Which berth has shore power?"},
            {"role": "assistant", "content": "Berth 12 has shore power."},
        ]
        client.capture_run("harbour-office", session_id="visitor-1", messages=said)
        for name in ("4 Send a run", "5 Ingested"):
            expect(page.locator("li.step", has_text=name).get_by_text("Done")).to_be_visible(timeout=60_000)
        shots.append(page.screenshot())
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.locator("#first-hits")).to_contain_text("Berth 12", timeout=60_000)
        page.locator("#first-hits").scroll_into_view_if_needed()
        shots.append(page.screenshot())
        captions = ("1. An empty stack", "2. A flow, and its call", "3. The first run, ingested", "4. The first hit")
        _strip(page, dict(zip(captions, shots, strict=True)), folder / "first-minute-strip.png")
    client.delete_flow("harbour-office")


def take_repair(stack: EmbeddedStack, client: Client, browser: Browser, folder: Path) -> None:
    """A wrong answer, the memories behind it, the correction, and the answer after it: `repair-strip.png`."""
    flow = client.put_flow("front-desk", name="Front desk").id
    base = client.put_memory_base("front-desk", "Front desk memory", capture="all", threshold=1).id
    said = [KEYS.format(4), "Noted.", "The boathouse opens at eight, and on Sundays at ten.", "Good to know."]
    roles = ("user", "assistant", "user", "assistant")
    handover = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    client.capture_run("front-desk", session_id="Handover", messages=handover)
    client.update_session(flow_id="front-desk", session_id="Handover", metadata={"title": "Handover, front desk"})
    client.wait_until_searchable(base)
    run = _ask(client, "desk-1", "Mrs. Lund in flat 4.")
    shots: dict[str, bytes] = {}
    with reader(browser, stack.url, width=WIDE) as window:
        page = window.page
        page.set_viewport_size({"width": 940, "height": 690})
        window.sign_in(KEY)
        window.open(f"/session?{urlencode({'flow': str(flow), 'id': 'Friday'})}")
        shots["1. A wrong answer"] = _content(page, "article")
        window.open(f"/run?{urlencode({'flow': str(flow), 'id': str(run)})}")
        shots["2. What the model was given, and why"] = _content(page, "#node-1")
        window.open(f"/session?{urlencode({'flow': str(flow), 'id': 'Handover'})}")
        page.get_by_role("button", name="About message 1", exact=True).click()
        card = page.locator("#about")
        card.get_by_text("Edit", exact=True).click()
        card.get_by_label("Text").fill(KEYS.format(14))
        card.get_by_role("button", name="Save").click()
        expect(page.locator("#notices")).to_contain_text("Saved")
        client.wait_until_searchable(base)
        page.evaluate("htmx.ajax('GET', location.href, {target: 'ol.group', select: 'ol.group', swap: 'outerHTML'})")
        expect(page.get_by_role("article", name="message 1")).to_contain_text("ingested")
        shots["3. The message corrected, with Undo"] = _content(page, "article")
        _ask(client, "desk-2", "Mrs. Lund in flat 14.")
        client.wait_until_searchable(base)
        window.open(f"/session?{urlencode({'flow': str(flow), 'id': 'Friday'})}")
        shots["4. The same question, answered rightly"] = _content(page, "article")
        _strip(page, shots, folder / "repair-strip.png")
    client.delete_flow("front-desk")


def _content(page: Page, first: str) -> bytes:
    """The page without its navigation, from a little above the first such element."""
    page.locator(first).first.evaluate("element => scrollBy(0, element.getBoundingClientRect().top - 110)")
    box = page.locator(first).first.bounding_box()
    assert box is not None
    left = page.evaluate("document.querySelector('main').getBoundingClientRect().left")
    clip = {"x": left, "y": min(box["y"] - 50, 270), "width": 940 - left, "height": 420}
    return page.screenshot(clip=clip)


def _ask(client: Client, run_id: str, answer: str) -> UUID:
    """A run in which a model is given the memories that answer the question. Returns the run's id."""
    client.build_context(
        flow_id="front-desk", session_id="Friday", run_id=run_id, node_id="answer", query=WHO, token_budget=300
    )
    messages = [{"role": "user", "content": WHO}, {"role": "assistant", "content": answer}]
    return client.capture_run("front-desk", session_id="Friday", run_id=run_id, messages=messages).run_id


def _strip(page: Page, shots: Mapping[str, bytes], file: Path) -> None:
    """Several pictures as one, each with its caption."""
    page.set_viewport_size({"width": 1_600, "height": 400})
    page.goto("about:blank")
    page.set_content(STRIP.format(images="".join(_figure(caption, shot) for caption, shot in shots.items())))
    page.locator("main").screenshot(path=file)


def _figure(caption: str, shot: bytes) -> str:
    image = f'<img alt="" src="data:image/png;base64,{b64encode(shot).decode()}">'
    return f"<figure><figcaption>{caption}</figcaption>{image}</figure>"


def add_data(client: Client) -> Mapping[str, str]:
    """Add the sample conversation. Returns the paths of the pages that show it, by name."""
    flow_id = client.put_flow(FLOW, name="Home assistant").id
    plans = _memory(client, PLANS, threshold=16, capture="all")
    answers = _memory(client, ANSWERS, threshold=10, capture="outputs")
    for run in read_runs(files("memorybase").joinpath("samples/conversation.jsonl").read_text(), namespace="sample"):
        client.capture_run(
            FLOW, session_id=run.session_id, run_id=run.run_id, end_user_id="marta", messages=run.messages
        )
    client.update_session(flow_id=FLOW, session_id=SESSION, metadata={"title": "The kitchen on Alder Street"})
    run_id = _add_run(client)
    for base in (plans, answers):
        client.wait_until_searchable(base)
    client.request_memory_map(plans)
    wait_until(lambda: client.get_memory_map(plans).state == "ready", 90, "the map")
    kitchen = client.list_messages(flow_id=FLOW, session_id=SESSION, role="user").page().items
    session = urlencode({"flow": str(flow_id), "id": SESSION})
    asked = {"q": QUESTION, "memory": str(plans)}
    client.create_knowledge_base(name="house-manuals")
    client.add_documents(
        "house-manuals", documents=[{"text": "The boiler is serviced each October.", "metadata": {"page": 3}}]
    )
    return {
        "home": "/",
        "sessions": "/conversations?tab=sessions",
        "runs": "/conversations?tab=runs",
        "people": "/conversations?tab=people",
        "session": f"/session?{session}",
        "run": f"/run?{urlencode({'flow': str(flow_id), 'id': str(run_id)})}",
        "person": "/person?id=marta",
        "memories": "/memories",
        "memory": f"/memories/{plans}",
        "messages": f"/memories/{plans}?tab=messages",
        "map": f"/memories/{plans}?tab=map",
        "settings": f"/memories/{plans}?tab=settings",
        "message": f"/message?id={kitchen[0].id}",
        "playground": f"/playground?{urlencode(asked | {'session': SESSION})}",
        "compare": f"/playground?{urlencode(asked | {'compare': '1', 'b.mode': 'keyword'})}",
        "nothing-fits": f"/playground?{urlencode(asked | {'q': 'zebra crossing on Mars'})}",
        "health": "/settings/health",
        "keys": "/settings/keys",
        "usage": "/settings/usage",
        "webhooks": "/settings/webhooks",
        "knowledge-bases": "/settings/knowledge",
    }


def add_failures(stack: EmbeddedStack, client: Client) -> Mapping[str, str]:
    """Add a dead letter, a pending session, lost vectors and a memory that is off. Returns the pages that show them."""
    _memory(client, "From now on", threshold=50, capture="all", start="now", auto_capture=False)
    bases = {each.name: each.id for each in client.list_memory_bases()}
    kitchen = client.list_messages(flow_id=FLOW, session_id=SESSION, role="user").page().items
    add_dead_letters(stack, str(bases[PLANS]), str(kitchen[2].content))
    _delete_collection(stack, client, bases[ANSWERS])
    return {
        "problems-home": "/",
        "problems-memories": "/memories",
        "lost": f"/memories/{bases[ANSWERS]}",
        "problems": "/jobs?tab=problems",
        "jobs": "/jobs?tab=all",
    }


def _memory(client: Client, name: str, **fields: Any) -> UUID:
    return client.create_memory_base(name=name, flow_id=FLOW, **fields).id


def _add_run(client: Client) -> UUID:
    """Add a run with a context, a question and two answers, the second a regeneration. Returns the run's id."""
    question = {"id": "garden-question", "role": "user", "content": "What did I say about the wiring?"}
    answers = ["You said little about it.", "That it comes first, and that Mr. Osei does it."]
    messages = [
        {"id": f"garden-answer-{number}", "role": "assistant", "content": text, "parent_message_id": "garden-question"}
        for number, text in enumerate(answers)
    ]
    run = client.capture_run(FLOW, session_id=SESSION, run_id="garden", messages=[question, *messages])
    client.build_context(
        flow_id=FLOW,
        session_id=SESSION,
        run_id="garden",
        node_id="answer",
        token_budget=500,
        query=QUESTION,
        recall={"scope": "flow"},
    )
    return run.run_id


def _delete_collection(stack: EmbeddedStack, client: Client, base: UUID) -> None:
    """Delete the memory base's collection, so that there is a mismatch."""
    chroma = json.loads((stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(chroma, timeout_seconds=30)) as store:
        delete_collections_of(store, str(base))
    client.check_mismatch(base)


if __name__ == "__main__":
    main()
