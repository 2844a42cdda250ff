"""What waits, and for what: each page names the job that holds the others up, with what can be done about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from harness.browser import Reader
from harness.stack import EmbeddedStack
from harness.stuck import add_job
from memorybase_client import Client
from playwright.sync_api import expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]
QUESTION = "Where does the ferry leave?"


@pytest.fixture
def memory(client: Client) -> Iterator[tuple[UUID, str]]:
    """A memory with two sessions of two messages that nothing ingests yet."""
    for other in client.list_memory_bases():  # what other tests left is a problem too
        if not other.auto_capture or other.dead_letters:
            client.delete_memory_base(other.id)
    flow = name = f"ferry-{str(uuid4())[:8]}"
    client.put_flow(flow, name="Ferry")
    made = client.create_memory_base(name=name, flow_id=flow, capture="all", threshold=50).id
    messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "From pier 4."}]
    for session in ("stuck", "behind"):
        client.capture_run(flow, session_id=session, messages=messages)
    yield made, name
    client.delete_memory_base(made)


def hold(stack: EmbeddedStack, base: UUID, **values: object) -> UUID:
    started = datetime.now(UTC) - timedelta(minutes=14)
    return add_job(stack, base, "stuck", minutes=15, started_at=started, **values)


def test_the_job_that_holds_others_up_is_named_where_they_wait(
    window: Window, web_stack: EmbeddedStack, memory: tuple[UUID, str]
) -> None:
    base, name = memory
    hold(web_stack, base, attempts=7, error="The worker was lost")
    add_job(web_stack, base, "behind", minutes=15)
    reader = window()
    page = reader.page

    reader.open("/")
    problem = page.get_by_role("listitem").filter(has_text=f"A job of {name} still runs, and messages wait")
    expect(problem).to_contain_text("2 messages): attempt 7, started 14 min ago. Last error: The worker was lost.")
    expect(problem).to_contain_text("1 job waits behind it.")
    expect(problem.get_by_role("link", name=QUESTION)).to_have_attribute("href", re.compile("session.*id=stuck"))
    assert [each.inner_text() for each in problem.locator(".actions .button, .actions button").all()] == [
        "Open",
        "Cancel",
    ]

    reader.open(f"/memories/{base}")
    expect(page.get_by_role("link", name="1 job runs, 1 job is queued")).to_be_visible()
    expect(page.get_by_text("until a session has")).to_have_count(0)

    reader.open("/settings/health")
    worker = page.get_by_role("listitem").filter(has_text=f"A job of {name} still runs")
    expect(worker).to_contain_text("Worker")
    expect(worker).to_contain_text("Busy")
    worker.get_by_role("link", name="Open").click()

    # "Running" counts what runs; a row has its attempt, worker, last error and next attempt.
    expect(page.get_by_role("link", name="Running 1, queued 1")).to_be_visible()
    running, queued = (page.get_by_role("row").filter(has_text=state) for state in ("Running", "Queued"))
    expect(running).to_contain_text(re.compile(r"attempt 7 · worker \S+ \d+ · The worker was lost"))
    expect(queued).to_contain_text(re.compile(r"attempt 1 · next attempt in \d+ min"))
    running.get_by_role("button", name="Cancel the job of stuck").click()
    expect(page.get_by_role("region", name="Results")).to_contain_text("Cancelled. Its messages wait again.")
    expect(page.get_by_role("link", name="Running 0, queued 1")).to_be_visible()


def test_a_slow_message_is_no_failure(window: Window, web_stack: EmbeddedStack, memory: tuple[UUID, str]) -> None:
    base, name = memory
    hold(web_stack, base, total_chunks=3470, stored_chunks=1200)
    reader = window()
    page = reader.page
    reader.open("/components")
    bar = page.locator("#alert p")
    expect(bar).to_contain_text(f"{name} ingests a long message.")
    expect(bar).to_have_class("waiting")
    assert bar.evaluate("each => getComputedStyle(each.parentElement).backgroundColor") == page.evaluate(
        """() => {
            const probe = document.createElement("i");
            probe.style.background = "var(--waiting-bg)";
            document.body.append(probe);
            const color = getComputedStyle(probe).backgroundColor;
            probe.remove();
            return color;
        }"""
    )
    expect(page).to_have_title(re.compile("^Components"))  # without a count: nobody is needed
    assert reader.findings() == []
    bar.get_by_role("link", name="Open").click()
    expect(page.get_by_role("row").filter(has_text=QUESTION)).to_contain_text("1,200 of 3,470 chunks")

    reader.open("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing needs you")
    problem = page.get_by_role("listitem").filter(has_text=f"{name} ingests a long message")
    assert [each.inner_text() for each in problem.locator(".actions .button, .actions button").all()] == [
        "Open",
        "Cancel",
    ]
