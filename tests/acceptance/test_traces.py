"""A real stack sends its spans to a real OTLP receiver: one trace over the API, the sweeper and the worker."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from harness import EmbeddedStack, running, wait_until
from harness.process import run
from harness.spans import Collector, Seen, ancestors
from harness.stack import KEY

pytestmark = pytest.mark.slow  # starts a stack

TRACE = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"Authorization": f"Bearer {KEY}"}
SECRET = "ornithopter"
STORE_ID = "gen_ai.memory.store.id"


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
    assert ancestors(advance, spans) == ["job", "create_memory", "POST /flows/{flow_id}/runs"]
    assert {span.service for span in spans if span.name == "notify"} == {"memorybase-api", "memorybase-sweeper"}
    assert {"INSERT ingestion_jobs", "UPDATE session_progress"} <= {span.name for span in spans}
    shown = str([(span.name, span.attributes) for span in collector.spans])
    assert not any(each in shown for each in (SECRET, "jane", KEY))


# A program whose own spans go to the same collector.
PROGRAM = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

from memorybase_client import Client

with trace.get_tracer("agent").start_as_current_span("turn"), Client() as client:
    client.put_flow("f", name="f")
    base = client.put_memory_base("f", "notes", capture="all", threshold=2)
    said = [{"role": "assistant", "content": text} for text in ("ornithopter", "a boat")]
    first, second = client.capture_run("f", session_id="jane", messages=said).messages
    client.wait_until_searchable(base.id)
    client.search_memory_base(base.id, query="ornithopter")
    client.build_context(flow_id="f", session_id="john", query="ornithopter", token_budget=500)
    client.edit_message(first.id, content="a new ornithopter")
    client.delete_message(second.id)
    client.delete_memory_base(base.id)
"""


def test_a_collector_receives_each_operation_of_a_memory_from_program_server_and_worker(
    stack: EmbeddedStack, collector: Collector
) -> None:
    connection = {"MEMORYBASE_URL": stack.url, "MEMORYBASE_API_KEY": KEY, "OTEL_SERVICE_NAME": "agent"}
    run(sys.executable, "-c", PROGRAM, env={**connection, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
    stack.stop()
    (turn,) = [span for span in collector.spans if span.name == "turn"]
    spans = [span for span in collector.spans if span.trace_id == turn.trace_id]
    operations = {"create_memory_store", "create_memory", "search_memory", "update_memory", "delete_memory"}
    operations.add("delete_memory_store")
    found = {(span.name, span.service, span.kind) for span in spans if "gen_ai.operation.name" in span.attributes}
    assert found == {
        *((name, "agent", "CLIENT") for name in operations),
        *((name, "memorybase-api", "INTERNAL") for name in operations),
        ("upsert_memory", "memorybase-worker", "INTERNAL"),
    }
    (ingested,) = [span for span in spans if span.name == "upsert_memory" and span.attributes[STORE_ID]]
    capture = ["create_memory", "POST /flows/{flow_id}/runs", "create_memory", "turn"]
    assert ancestors(ingested, spans) == ["job", *capture]
    searches = [span for span in spans if span.name == "search_memory"]
    assert {span.attributes["gen_ai.memory.record.count"] for span in searches} == {2}
    assert ingested.attributes[STORE_ID] in {span.attributes.get(STORE_ID) for span in searches}
    assert not any(span.is_error for span in spans if "gen_ai.operation.name" in span.attributes)
    shown = str([(span.name, span.attributes) for span in collector.spans])
    assert not any(each in shown for each in (SECRET, "jane", "john", KEY))


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
