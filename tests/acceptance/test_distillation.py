"""Distillation beside a real worker: a model that stalls delays no ingestion, and a killed worker's page is done once.

The scripted endpoint holds a request until a test lets it go.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from harness.distiller import Answer, Model, Prompt, plain, serving
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until

pytestmark = pytest.mark.slow

SAID = "The ketch of Carl needs a berth with shore power."


class Held:
    """A script that waits in its first request until it is let go."""

    def __init__(self) -> None:
        self.arrived, self.go = threading.Event(), threading.Event()

    def __call__(self, prompt: Prompt) -> Answer:
        self.arrived.set()
        self.go.wait(120)
        return plain(prompt)


@contextmanager
def distilling(folder: Path, model: Model, *, timeout: int) -> Iterator[tuple[EmbeddedStack, httpx.Client, str]]:
    """A stack that waits so many seconds for this model, and a memory base whose facts are distilled."""
    stack = EmbeddedStack(folder)
    stack.changes = {"MEMORYBASE_DISTILLER": "openai", "MEMORYBASE_SUMMARIZER_URL": model.url}
    stack.values = {"memorybase.core.conversation.summarizers.chat_completions.TIMEOUT_SECONDS": timeout}
    try:
        stack.start()
        headers = {"X-API-Key": KEY}
        with httpx.Client(base_url=f"{stack.url}/v1", headers=headers, trust_env=False, timeout=60) as api:
            api.put("/flows/harbour", json={"name": "harbour"}).raise_for_status()
            body = {"name": "notes", "flow_id": "harbour", "capture": "all", "threshold": 1}
            base = api.post("/memories", json=body).raise_for_status().json()["id"]
            api.put(f"/memories/{base}/distillation", json={"enabled": True}).raise_for_status()
            yield stack, api, base
    finally:
        stack.close()


def capture(api: httpx.Client, session: str, *texts: str) -> None:
    said = [{"role": "user", "content": text} for text in texts]
    api.post("/flows/harbour/runs", json={"session_id": session, "messages": said}).raise_for_status()


def read(api: httpx.Client, path: str) -> Any:
    return api.get(path).raise_for_status().json()


def ingested(api: httpx.Client, base: str) -> int:
    total: int = read(api, f"/memories/{base}")["total_processed"]
    return total


def test_a_model_that_stalls_delays_no_ingestion(tmp_path: Path) -> None:
    script = Held()
    with serving(script) as model, distilling(tmp_path, model, timeout=40) as (_, api, base):
        try:
            capture(api, "first", SAID)
            assert script.arrived.wait(60)
            for number in range(20):
                capture(api, f"later-{number}", f"The mast of boat number {number} is new.")
            # While the request is open: the only worker ingests everything.
            wait_until(lambda: ingested(api, base) == 21, 60, "ingestion beside a stalled model")
            assert not script.go.is_set()
            assert read(api, f"/memories/{base}/facts")["items"] == []
        finally:
            script.go.set()
        wait_until(lambda: read(api, f"/memories/{base}/facts")["total"] == 21, 120, "the facts")


def test_a_worker_killed_while_the_model_reads_has_its_page_done_once(tmp_path: Path) -> None:
    script = Held()
    with serving(script) as model, distilling(tmp_path, model, timeout=10) as (stack, api, base):
        capture(api, "first", SAID)
        assert script.arrived.wait(60)
        psutil.Process(stack.child("worker")).kill()
        model.script = plain
        script.go.set()
        # The lease of an embedded stack and twice the timeout, at most.
        with_facts = f"/memories/{base}/facts?state=all"
        wait_until(lambda: read(api, with_facts)["total"] == 1, 240, "the fact of the killed worker's page")
        assert read(api, f"/memories/{base}/distillation")["state"] == "idle"
        [fact] = read(api, with_facts)["items"]
        assert fact["what"] == SAID[:-1]
