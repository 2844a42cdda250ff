"""`memorybase rebalance` beside a running stack with a further Chroma server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from harness import ChromaServer
from harness.stack import KEY, EmbeddedStack, run_memorybase
from memorybase_client import Client

pytestmark = pytest.mark.slow

TEXT = "We liked the red wine in Tuscany."


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory, own_chroma: ChromaServer) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path_factory.mktemp("rebalance"))
    stack.changes = {"MEMORYBASE_CHROMA_URLS": json.dumps({"east": own_chroma.url})}
    try:
        stack.start()
        yield stack
    finally:
        stack.close()


def test_a_server_is_drained_while_its_memory_bases_are_searched(stack: EmbeddedStack) -> None:
    with Client(stack.url, KEY) as client:
        client.put_flow("flow", name="flow")
        bases = [client.create_memory_base(name=f"memory {n}", flow_id="flow", capture="all") for n in range(2)]
        client.capture_run("flow", session_id="s", messages=[{"role": "user", "content": TEXT}])
        for base in bases:
            client.flush_memory_base(base.id, wait=60)
        assert servers(client) == ["chroma", "chroma-east"]

        planned = rebalance(stack, "--drain", "chroma-east", "--dry-run")
        assert servers(client) == ["chroma", "chroma-east"]
        assert "from chroma-east to chroma, 1 chunks" in planned

        done = rebalance(stack, "--drain", "chroma-east")
        assert servers(client) == ["chroma", "chroma"]
        assert re.search(r"^1 memory base moved, 0 failed$", done, re.MULTILINE)
        for base in bases:
            found = client.search_memory_base(base.id, query="wine", mode="dense", include_pending=False)
            assert [hit.content for hit in found.results] == [TEXT]


def servers(client: Client) -> list[str | None]:
    return sorted(base.vector_server for base in client.list_memory_bases())


def rebalance(stack: EmbeddedStack, *words: str) -> str:
    done = run_memorybase("rebalance", *words, "--data-dir", str(stack.data))
    assert done.returncode == 0, done.stderr
    return done.stdout
