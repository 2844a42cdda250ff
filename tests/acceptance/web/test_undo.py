"""Every deletion on the page is undone by Ctrl-Z for 30 seconds; a dialog that asks for one without undo says why."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from harness.browser import Reader
from memorybase_client import Client
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]


class Stored:
    """A flow with two sessions of two messages each, and two memories."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.flow = f"undo-{uuid4().hex[:8]}"
        client.put_flow(self.flow, name=self.flow)
        bases = [client.create_memory_base(name=f"{self.flow} {n}", flow_id=self.flow, threshold=50) for n in (1, 2)]
        self.bases = [str(base.id) for base in bases]
        self.sessions = [f"{self.flow}-{n}" for n in (1, 2)]
        for session in self.sessions:
            said = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "At berth 12."}]
            client.capture_run(self.flow, session_id=session, end_user_id=self.flow, messages=said)

    def all(self) -> tuple[set[str], set[str], list[str]]:
        """The names of the sessions and of the memories, and the messages."""
        sessions = {each.session_id for each in self.client.list_sessions(flow_id=self.flow)}
        bases = {str(each.id) for each in self.client.list_memory_bases(flow_id=self.flow)}
        return sessions, bases, sorted(str(each.id) for each in self.client.list_messages(flow_id=self.flow))


def one_message(opened: Reader, stored: Stored) -> None:
    message = next(iter(stored.client.list_messages(flow_id=stored.flow)))
    opened.open(f"/message?id={message.id}&back=/conversations")
    opened.page.get_by_role("button", name="Delete").click()


def several_messages(opened: Reader, stored: Stored) -> None:
    opened.open(f"/memories/{stored.bases[0]}?tab=messages")
    opened.page.get_by_label("Choose all on this page").check()
    opened.page.get_by_role("button", name="Delete…").last.click()
    confirm(opened.page, "Delete the chosen messages?")


def one_session(opened: Reader, stored: Stored) -> None:
    opened.open(f"/session?flow={stored.flow}&id={stored.sessions[0]}")
    opened.page.get_by_role("button", name="More actions").click()
    opened.page.get_by_role("button", name="Delete…").click()
    confirm(opened.page, "Delete this session?")


def several_sessions(opened: Reader, stored: Stored) -> None:
    opened.open(f"/conversations?flow={stored.flow}")
    opened.page.get_by_label("Select all on this page").check()
    opened.page.get_by_role("button", name="Delete").click()


def sessions_of_a_memory(opened: Reader, stored: Stored) -> None:
    opened.open(f"/memories/{stored.bases[0]}")
    opened.page.get_by_label("Choose all on this page").check()
    opened.page.get_by_role("button", name="Delete…").last.click()
    opened.page.get_by_role("button", name="Delete 2").click()


def one_memory(opened: Reader, stored: Stored) -> None:
    opened.open(f"/memories/{stored.bases[0]}")
    opened.page.get_by_role("button", name="More actions").click()
    opened.page.get_by_role("button", name="Delete…").first.click()
    confirm(opened.page, f"Delete {stored.flow} 1?")


def several_memories(opened: Reader, stored: Stored) -> None:
    opened.open(f"/memories?q={stored.flow}")
    opened.page.get_by_label("Choose all on this page").check()
    opened.page.get_by_role("button", name="Delete…").click()
    opened.page.get_by_role("button", name="Delete 2").click()


def confirm(page: Page, title: str) -> None:
    dialog = page.get_by_role("dialog", name=title)
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Delete").click()


KINDS = (
    one_message,
    several_messages,
    one_session,
    several_sessions,
    sessions_of_a_memory,
    one_memory,
    several_memories,
)


@pytest.mark.parametrize("delete", [pytest.param(each, id=each.__name__) for each in KINDS])
def test_ctrl_z_undoes_a_deletion(window: Window, client: Client, delete: Callable[[Reader, Stored], None]) -> None:
    stored = Stored(client)
    before = stored.all()
    opened = window()
    delete(opened, stored)
    expect(opened.page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    opened.page.keyboard.press("Control+z")
    expect(opened.page.locator("#notices").get_by_text("Undo", exact=True)).to_have_count(0)
    expect(opened.page.locator("#notices")).to_contain_text("kept." if "message" not in delete.__name__ else "undone.")
    assert stored.all() == before


def test_an_erasure_says_why_it_cannot_be_undone(window: Window, client: Client) -> None:
    stored = Stored(client)
    opened = window()
    opened.open(f"/person?id={stored.flow}")
    opened.page.get_by_role("button", name="Erase").first.click()
    question = opened.page.get_by_role("dialog", name=f"Erase {stored.flow}?")
    expect(question).to_contain_text("It cannot be undone: an erasure promises that nothing is left.")
