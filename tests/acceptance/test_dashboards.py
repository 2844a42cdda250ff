"""A real Prometheus scrapes a real stack: every panel shows something, and alerts fire when a part is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import httpx
import pytest
from harness import EmbeddedStack, running, wait_until
from harness.dashboards import panel_expressions
from harness.prometheus import PrometheusServer
from harness.stack import KEY

pytestmark = pytest.mark.slow  # starts a stack

# Panels that may be empty in a healthy stack without a standby, an embedding endpoint and quotas.
EMPTY = {
    "api: Failed requests by route",
    "api: Reads of the standby",
    "api: Refused by quotas",
    "ingestion: Requests to the embedding endpoint",
    "ingestion: Tokens and cost of the embedding endpoint",
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    made = EmbeddedStack(tmp_path_factory.mktemp("stack"))
    made.changes = {"MEMORYBASE_METRICS_PUBLIC": "true"}
    with running(made):
        yield made


@pytest.fixture(scope="module")
def prometheus(stack: EmbeddedStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    made = PrometheusServer(tmp_path_factory.mktemp("prometheus"), stack.url)
    with running(made):
        yield made


def test_every_panel_shows_something(stack: EmbeddedStack, prometheus: PrometheusServer) -> None:
    headers = {"X-API-Key": KEY}
    with httpx.Client(base_url=f"{stack.url}/v1", headers=headers, timeout=30, trust_env=False) as client:
        client.put("/flows/f", json={"name": "f"}).raise_for_status()
        base = client.post("/memories", json={"name": "m", "flow_id": "f", "threshold": 1}).raise_for_status().json()

        def act() -> None:
            body = {"session_id": "s", "messages": [{"role": "assistant", "content": "ornithopter"}]}
            client.post("/flows/f/runs", json=body).raise_for_status()
            client.post(f"/memories/{base['id']}/search", json={"query": "ornithopter"})  # a busy store may refuse one
            client.get("/flows/missing")

        def shown() -> set[str]:
            act()
            return {each.where for each in panel_expressions() if prometheus.query(each.in_prometheus("30s"))}

        every = {each.where for each in panel_expressions()}
        wait_until(lambda: shown() >= every - EMPTY, 120, f"panels other than {EMPTY} show something")


def test_an_alert_becomes_pending_while_a_part_hangs(stack: EmbeddedStack, prometheus: PrometheusServer) -> None:
    wait_until(lambda: prometheus.firing() == set(), 60, "nothing is wrong")
    os.kill(stack.child("chroma"), signal.SIGSTOP)  # a part that hangs
    try:
        wait_until(lambda: "MemorybasePartDown" in prometheus.firing(), 60, "the alert is pending")
    finally:
        os.kill(stack.child("chroma"), signal.SIGCONT)
    wait_until(lambda: "MemorybasePartDown" not in prometheus.firing(), 120, "the alert is over")
