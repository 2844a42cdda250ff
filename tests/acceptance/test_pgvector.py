"""The embedded stack over PostgreSQL alone: no Chroma runs, and nothing asks for one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from harness import PostgresServer
from harness.stack import KEY, EmbeddedStack, environment, memorybase
from harness.waiting import wait_until

from memorybase.vectors.pgvector import PgVectorStore


@pytest.fixture(scope="module")
def database_url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(postgres_server.create_database())


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path_factory.mktemp("pgvector"))
    stack.changes = {"MEMORYBASE_DATABASE_URL": database_url, "MEMORYBASE_VECTOR_STORE": "pgvector"}
    try:
        stack.start()
        yield stack
    finally:
        stack.close()


@pytest.fixture
def client(stack: EmbeddedStack) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"{stack.url}/v1", headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=30
    ) as client:
        yield client


@pytest.mark.slow
def test_messages_are_found_and_no_chroma_runs(stack: EmbeddedStack, client: httpx.Client, database_url: str) -> None:
    client.put("/flows/flow", json={"name": "flow"}).raise_for_status()
    body = {"name": "memory", "flow_id": "flow", "capture": "all", "threshold": 1}
    memory = f"/memories/{client.post('/memories', json=body).json()['id']}"
    texts = ["We liked the red wine in Tuscany.", "The train leaves at nine."]
    run = {"session_id": "s", "messages": [{"role": "user", "content": text} for text in texts]}
    client.post("/flows/flow/runs", json=run).raise_for_status()
    wait_until(lambda: client.get(memory).json()["total_processed"] == 2, 60, "both messages are ingested")

    wanted = {"query": "a drink from Italy", "mode": "dense", "include_pending": False}
    found = client.post(f"{memory}/search", json=wanted).json()["results"]

    assert found[0]["content"] == texts[0]
    assert client.get(f"{memory}/mismatch").json()["state"] == "ok"
    with closing(PgVectorStore(database_url)) as store:
        (ref,) = [each.ref for each in store.list_collections() if each.ref.name.startswith("mb-")]
        assert store.count(ref) == 2
    assert not (stack.data / "run" / "chroma.pid").exists()
    assert not (stack.data / "chroma").exists()


@pytest.mark.slow
def test_readiness_doctor_and_metrics_name_the_store_in_use(stack: EmbeddedStack, client: httpx.Client) -> None:
    doctor = subprocess.run(
        memorybase("doctor", "--data-dir", str(stack.data)),
        capture_output=True, text=True, timeout=120, env=environment() | stack.changes, check=False,
    )  # fmt: skip
    parts = httpx.get(f"{stack.url}/health/ready", trust_env=False, timeout=30).json()["parts"]
    metrics = client.get(f"{stack.url}/metrics").text

    assert doctor.returncode == 0, doctor.stdout
    assert (" pgvector " in doctor.stdout, " chroma " in doctor.stdout) == (True, False)
    assert (parts["pgvector"], "chroma" in parts) == ("ok", False)
    assert 'memorybase_part_up{part="pgvector"} 1.0' in metrics
    assert 'part="chroma"' not in metrics
