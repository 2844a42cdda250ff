"""Lists at the width of a small window and of a phone: no word is broken, and no cell is cut."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from harness.browser import NARROW, Reader
from memorybase_client import Client
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]
QUESTION = "Leaking boiler: what should I do first, and whom do I call on a Sunday evening in the harbour?"

# Words of a list that stand on two lines. An id is no word.
BROKEN = r"""() => {
  const found = [], walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    if (!node.parentElement.closest("tbody") || !node.parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of node.data.matchAll(/[^\s\/-]{2,24}/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(each => Math.round(each.top))).size > 1) found.push(word);
    }
  }
  return found;
}"""
# Cells that reach beyond the card of their list, which cuts them.
CUT = """() => [...document.querySelectorAll("main tbody td")].filter(each => {
  const right = element => element.getBoundingClientRect().right;
  return each.checkVisibility() && right(each) > right(each.closest("table").parentElement) + 1;
}).map(each => each.textContent.trim())"""


@pytest.fixture
def flow(client: Client) -> str:
    """A flow of its own with a memory and two conversations, and names of the length that people choose."""
    flow_id = f"lists-{uuid4().hex[:8]}"
    client.put_flow(flow_id, name="The harbour office's assistant")
    name = f"{flow_id} is what boats and people need"
    client.create_memory_base(name=name, flow_id=flow_id, threshold=2, capture="all")
    for _ in range(2):
        client.capture_run(
            flow_id,
            session_id=str(uuid4()),
            end_user_id=f"visitor-{flow_id}",
            messages=[
                {"role": "user", "content": QUESTION},
                {"role": "assistant", "content": "Turn off the gas, then call the number at the gate of berth 12."},
            ],
        )
    return flow_id


def lists(client: Client, flow: str) -> dict[str, str]:
    base = next(each.id for each in client.list_memory_bases() if each.name.startswith(flow))
    return {
        "sessions": f"/conversations?flow={flow}",
        "runs": f"/conversations?tab=runs&flow={flow}",
        "people": f"/conversations?tab=people&q={flow}",
        "memories": f"/memories?q={flow}",
        "memory": f"/memories/{base}",
        "messages": f"/memories/{base}?tab=messages",
        "jobs": f"/jobs?tab=all&memory={base}",
        "keys": "/settings/keys",
        "audit": "/settings/audit?mine=true",
    }


def opened_list(opened: Reader, path: str) -> Page:
    opened.open(path)
    expect(opened.page.locator("main tbody tr").first).to_be_visible()
    return opened.page


@pytest.mark.parametrize("width", [NARROW, 1024, 1280])
def test_no_word_of_a_list_is_broken_and_no_cell_is_cut(window: Window, client: Client, flow: str, width: int) -> None:
    opened = window(width=width)
    for name, path in lists(client, flow).items():
        page = opened_list(opened, path)
        assert (name, page.evaluate(CUT)) == (name, [])
        if name != "audit" or width == 1280:  # paths and names of operations are longer than words
            assert (name, page.evaluate(BROKEN)) == (name, [])


def test_on_a_phone_state_and_time_are_below_the_name(window: Window, client: Client, flow: str) -> None:
    opened = window(width=NARROW)
    of_text = [name for name in lists(client, flow) if name not in {"people", "memories", "keys", "audit"}]
    for name in of_text:
        page = opened_list(opened, lists(client, flow)[name])
        row = page.locator("main tbody tr").first
        title, state, time = row.locator("a").first, row.locator(".badge").first, row.locator("time").first
        boxes = [each.bounding_box() for each in (title, state, time)]
        assert all(boxes), name
        of_title, of_state, of_time = (each or {} for each in boxes)
        below = of_title["y"] + of_title["height"]
        assert of_title["width"] > NARROW / 2, name
        assert min(of_state["y"], of_time["y"]) >= below, name
        assert of_time["x"] > of_state["x"], name
