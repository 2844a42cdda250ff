"""Jobs and dead letters on the page: listed, cancelled, retried, discarded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from harness.browser import NARROW, Reader
from harness.buried import REASON, add_dead_letters
from harness.stack import EmbeddedStack
from playwright.sync_api import expect

from memorybase.client import Client

TEXTS = ["the volcano speaks", "the harbour is quiet", "the whirlpool speaks"]


def memory(client: Client, name: str, *texts: str, threshold: int) -> str:
    client.put_flow(name)
    base: str = client.call("POST", "/memories", json={"name": name, "flow_id": name, "threshold": threshold})["id"]
    messages = [{"role": "assistant", "content": text} for text in texts]
    client.post_run(name, {"session_id": f"session of {name}", "messages": messages})
    return base


def test_one_dead_letter_is_retried_and_one_is_discarded(
    window: Callable[..., Reader], client: Client, web_stack: EmbeddedStack
) -> None:
    base = memory(client, "Buried", *TEXTS, threshold=3)
    client.settle(base, lambda _: None)
    reader = window()
    reader.open(f"/memories/{base}/jobs")
    letters = reader.page.get_by_role("region", name="Dead letters")
    jobs = reader.page.get_by_role("region", name="Jobs", exact=True)
    expect(letters).to_contain_text("No dead letters: every")
    expect(jobs.get_by_role("row", name="ingest session of Buried done")).to_contain_text("3 of 3")

    add_dead_letters(web_stack, base, TEXTS[0], TEXTS[2])
    volcano, whirlpool = (letters.get_by_role("row", name=text) for text in (TEXTS[0], TEXTS[2]))
    expect(volcano).to_contain_text(REASON)
    expect(whirlpool.get_by_role("link")).to_have_attribute("href", f"/ui/session?{session_query(client, base)}")
    assert reader.findings() == []

    volcano.get_by_role("button", name="Retry").click()
    expect(volcano).to_have_count(0)
    expect(jobs.get_by_role("row", name="repair session of Buried done")).to_be_visible()
    whirlpool.get_by_role("button", name="Discard").click()
    expect(reader.page.get_by_role("dialog")).to_contain_text("The messages stay stored")
    reader.page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(letters).to_contain_text("No dead letters: every")
    status = client.memory(base)
    assert (status["total_processed"], status["dead_letters"]) == (2, 0)


def session_query(client: Client, base: str) -> str:
    return f"flow_id={client.memory(base)['flow_id']}&session_id=session+of+Buried&memory_base_id={base}"


def test_a_job_is_cancelled_and_its_messages_are_pending_again(
    window: Callable[..., Reader], client: Client, web_stack: EmbeddedStack
) -> None:
    base = memory(client, "Cancelled", *TEXTS, threshold=100)
    reader = window(width=NARROW, dark=True)
    reader.open(f"/memories/{base}/jobs")
    expect(reader.page.get_by_text("No jobs yet.")).to_be_visible()
    worker = web_stack.child("worker")
    os.kill(worker, signal.SIGSTOP)
    try:
        client.call("POST", f"/memories/{base}/flush")
        row = reader.page.locator("tr", has_text="session of Cancelled")  # on a narrow screen a card
        expect(row).to_contain_text("queued")
        assert reader.findings() == []
        reader.open("/jobs?state=queued")
        expect(row.get_by_role("link", name="Cancelled")).to_have_attribute("href", f"/ui/memories/{base}/jobs")
        row.get_by_role("button", name="Cancel").click()
        expect(reader.page.get_by_role("dialog")).to_contain_text("nothing is lost")
        reader.page.get_by_role("button", name="Cancel job").click()
        expect(reader.page.get_by_text("No queued jobs.")).to_be_visible()
    finally:
        os.kill(worker, signal.SIGCONT)
    reader.open(f"/memories/{base}/jobs")
    expect(row).to_contain_text("cancelled by request")
    expect(row.get_by_role("button")).to_have_count(0)
    assert client.memory(base)["pending_messages"] == len(TEXTS)
    reader.open(f"/memories/{base}/jobs?state=failed")
    expect(reader.page.get_by_text("No failed jobs.")).to_be_visible()
