"""A real stack sends its spans to a real OTLP receiver: one trace over the API, the sweeper and the worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from harness import EmbeddedStack, running, wait_until
from harness.spans import Collector, Seen, ancestors
from harness.stack import KEY

pytestmark = pytest.mark.slow  # starts a stack

TRACE = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"Authorization": f"Bearer {KEY}"}
SECRET = "ornithopter"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running


@pytest.fixture
def stack(tmp_path: Path, collector: Collector) -> Iterator[EmbeddedStack]:
    made = EmbeddedStack(tmp_path)
    made.changes = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "MEMORYBASE_TRACE_STATEMENTS": "true"}
    with running(made):
        yield made


def test_a_trace_survives_the_loss_of_its_notification(stack: EmbeddedStack, collector: Collector) -> None:
    with httpx.Client(base_url=f"{stack.url}/v1", headers=HEADERS, timeout=30, trust_env=False) as client:
        client.put("/flows/f", json={"name": "f"}).raise_for_status()
        base = client.post("/memories", json={"name": "m", "flow_id": "f", "threshold": 1}).raise_for_status().json()
        os.kill(stack.child("redis"), signal.SIGSTOP)  # the notification cannot be published
        try:
            answer = client.post(
                "/flows/f/runs",
                json={"session_id": "jane", "messages": [{"role": "assistant", "content": SECRET}]},
                headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"},
            ).raise_for_status()
        finally:
            os.kill(stack.child("redis"), signal.SIGCONT)
        job_id = answer.json()["ingestion"][0]["job_id"]
        wait_until(lambda: client.get(f"/jobs/{job_id}").json()["state"] == "done", 60, "the job is done")
        found = client.post(f"/memories/{base['id']}/search", json={"query": SECRET}).raise_for_status().json()
        assert [result["content"] for result in found["results"]] == [SECRET]

    def seen() -> list[Seen]:
        return [span for span in list(collector.spans) if span.trace_id == TRACE]

    wait_until(lambda: "job" in {span.name for span in seen()}, 30, "the job's spans arrive")
    stack.stop()  # sends what is left
    spans = seen()
    assert {span.service for span in spans} == {"memorybase-api", "memorybase-sweeper", "memorybase-worker"}
    (advance,) = [span for span in spans if span.name == "advance"]
    assert ancestors(advance, spans) == ["job", "capture", "POST /flows/{flow_id}/runs"]
    assert {span.service for span in spans if span.name == "notify"} == {"memorybase-api", "memorybase-sweeper"}
    assert {"INSERT ingestion_jobs", "UPDATE session_progress"} <= {span.name for span in spans}
    shown = str([(span.name, span.attributes) for span in collector.spans])
    assert not any(each in shown for each in (SECRET, "jane", KEY))


def test_a_stack_works_and_ends_while_its_collector_is_away(tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path)
    stack.changes = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}  # nobody listens there
    with running(stack):
        with httpx.Client(base_url=f"{stack.url}/v1", headers=HEADERS, timeout=30, trust_env=False) as client:
            client.put("/flows/f", json={"name": "f"}).raise_for_status()
            client.post("/memories", json={"name": "m", "flow_id": "f", "threshold": 1}).raise_for_status()
            for number in range(20):
                body = {"session_id": "s", "messages": [{"role": "assistant", "content": f"{number}"}]}
                client.post("/flows/f/runs", json=body).raise_for_status()
        stack.stop()
        assert stack.wait() == 0
        assert stack.output().count("Traceback") == 0
