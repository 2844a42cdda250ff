"""The API killed during a request with an Idempotency-Key. A trigger in PostgreSQL stops it where its answer is stored:
with the work in one transaction, or after the commit of the work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness import PostgresServer, wait_until
from harness.gates import Change
from harness.pieces import KEY, PATIENCE, Topology, topology
from memorybase_client import Client

pytestmark = pytest.mark.slow

ANSWER = Change("idempotency_keys", "NEW.status IS NOT NULL")
SAID = [{"role": "user", "content": "Is berth 12 free?"}]


@pytest.fixture
def stack(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[Topology]:
    with topology(tmp_path, postgres=postgres_server) as built:
        built.api.start()
        yield built


def create_flow(client: Client) -> Any:
    return client.create_flow(name="generated", idempotency_key="the key")


def capture_run(client: Client) -> Any:
    # The client would choose a run_id.
    answer = client._http.post(
        "/flows/harbour/runs", json={"session_id": "s", "messages": SAID}, headers={"Idempotency-Key": "the key"}
    )
    return answer.raise_for_status()


@pytest.mark.parametrize("call", [create_flow, capture_run])
def test_a_request_whose_api_was_killed_is_done_once_by_its_repetition(call: Any, stack: Topology) -> None:
    url = f"http://127.0.0.1:{stack.api.port}"
    with Client(url, KEY) as client, Client(url, KEY, tries=1) as impatient, ThreadPoolExecutor(1) as pool:
        client.put_flow("harbour", name="Harbour")
        with stack.gate(ANSWER) as held:
            first = pool.submit(call, impatient)
            wait_until(held.reached, PATIENCE, "the answer is being stored")
            stored = client.list_messages().page().total
            stack.api.kill()
            held.open()
        assert first.exception(PATIENCE) is not None
        assert stored == (1 if call is capture_run else 0)
        stack.api.start()

        wait_until(lambda: _is_done(call, client), PATIENCE, "the lease has expired")

        assert client.list_flows().page().total == (1 if call is capture_run else 2)
        assert client.list_messages().page().total == stored


def _is_done(call: Any, client: Client) -> bool:
    try:
        call(client)
    except httpx.HTTPStatusError as error:
        if error.response.json()["error"]["code"] != "idempotency_in_progress":
            raise
        return False
    return True
