"""The embedded stack over PostgreSQL alone, where no Chroma runs and nothing asks for one; and the move to it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from harness import PostgresServer
from harness.stack import KEY, EmbeddedStack, environment, memorybase
from harness.waiting import wait_until

from memorybase.core.vectors.pgvector import PgVectorStore


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


TEXTS = ["We liked the red wine in Tuscany.", "The train leaves at nine."]


def calling(stack: EmbeddedStack) -> httpx.Client:
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx.Client(base_url=f"{stack.url}/v1", headers=headers, trust_env=False, timeout=30)


@pytest.fixture
def client(stack: EmbeddedStack) -> Iterator[httpx.Client]:
    with calling(stack) as client:
        yield client


def filled(client: httpx.Client) -> str:
    """The address of a memory base that has ingested the texts."""
    client.put("/flows/flow", json={"name": "flow"}).raise_for_status()
    body = {"name": "memory", "flow_id": "flow", "capture": "all", "threshold": 1}
    memory = f"/memories/{client.post('/memories', json=body).json()['id']}"
    run = {"session_id": "s", "messages": [{"role": "user", "content": text} for text in TEXTS]}
    client.post("/flows/flow/runs", json=run).raise_for_status()
    wait_until(lambda: client.get(memory).json()["total_processed"] == 2, 60, "both messages are ingested")
    return memory


def best(client: httpx.Client, memory: str) -> str:
    wanted = {"query": "a drink from Italy", "mode": "dense", "include_pending": False}
    return str(client.post(f"{memory}/search", json=wanted).json()["results"][0]["content"])


@pytest.mark.slow
def test_messages_are_found_and_no_chroma_runs(stack: EmbeddedStack, client: httpx.Client, database_url: str) -> None:
    memory = filled(client)

    assert best(client, memory) == TEXTS[0]
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
        capture_output=True,
        text=True,
        timeout=120,
        env=environment() | stack.changes,
        check=False,
    )
    parts = httpx.get(f"{stack.url}/health/ready", trust_env=False, timeout=30).json()["parts"]
    metrics = client.get(f"{stack.url}/metrics").text

    assert doctor.returncode == 0, doctor.stdout
    assert (" pgvector " in doctor.stdout, " chroma " in doctor.stdout) == (True, False)
    assert (parts["pgvector"], "chroma" in parts) == ("ok", False)
    assert 'memorybase_part_up{part="pgvector"} 1.0' in metrics
    assert 'part="chroma"' not in metrics


@pytest.mark.slow
@pytest.mark.usefixtures("model_cache")
def test_a_stack_moves_from_chroma_to_pgvector(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """As docs/howto/use-pgvector.md says."""
    moving = EmbeddedStack(tmp_path)
    moving.changes = {"MEMORYBASE_DATABASE_URL": postgres_server.url(postgres_server.create_database())}
    moving.values = {"memorybase.core.memory_bases.deletion.RETIRE_SECONDS": 0}
    try:
        moving.start()
        with calling(moving) as client:
            memory = filled(client)
            assert client.get(memory).json()["vector_store"] == "chroma"
        moving.stop()
        moving.changes["MEMORYBASE_VECTOR_STORE"] = "pgvector"
        moving.start()
        with calling(moving) as client:
            assert best(client, memory) == TEXTS[0]
            rebuild_in_pgvector(moving, memory)
            wait_until(lambda: client.get(memory).json()["vector_store"] == "pgvector", 60, "pgvector serves")
        moving.stop()
        shutil.rmtree(moving.data / "chroma")
        moving.start()
        with calling(moving) as client:
            assert best(client, memory) == TEXTS[0]
            assert client.get(memory).json()["status"] == "ready"
        assert not (moving.data / "chroma").exists()
    finally:
        moving.close()


def rebuild_in_pgvector(stack: EmbeddedStack, memory: str) -> None:
    """Choose the store in the dialog of the web page."""
    with httpx.Client(base_url=f"{stack.url}/ui", trust_env=False, timeout=30, follow_redirects=True) as browser:
        browser.post("/sign-in", data={"key": KEY}).raise_for_status()
        page = browser.get(memory).text
        assert '<option value="chroma" selected>' in page
        csrf = re.findall(r'name="csrf" value="([^"]+)"', page)[0]
        browser.post(f"{memory}/rebuild", data={"csrf": csrf, "vector_store": "pgvector"}).raise_for_status()
