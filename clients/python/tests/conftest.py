"""Tests of the adapters, each in the environment of its framework: `make check-frameworks`.

The stack is real and shared by the tests of an environment; each test has flows of its own.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from memorybase_client import AgentMemory, AsyncAgentMemory, Client
from stack import Stack, Stored

PATIENCE_SECONDS = 10.0  # of reads; on a busy machine the first capture of a flow takes longer than an agent waits

# Read when the framework is imported.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("_sync", "_async"):
        for name in ("SETTLE_SECONDS", "LONGEST_SETTLE_SECONDS"):
            monkeypatch.setattr(f"memorybase_client.{kind}.agent_memory.{name}", PATIENCE_SECONDS)


@pytest.fixture(scope="session")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("stack"))
    try:
        with Client(stack.url, stack.key) as client:
            # The first search loads the model, which takes longer than an agent waits.
            client.put_flow("first", name="First")
            client.create_memory_base(name="first", flow_id="first")
            client.search_flow(query="first", flow_id="first")
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def stack(running_stack: Stack) -> Iterator[Stack]:
    """The stack, which answers again after the test."""
    yield running_stack
    running_stack.restart()


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    """Reads what the server has, past the adapter."""
    with Client(stack.url, stack.key) as opened:
        yield opened


@pytest.fixture
def flow() -> str:
    return f"flow-{uuid4()}"


@pytest.fixture
def memory(stack: Stack, flow: str, tmp_path: Path) -> Iterator[AgentMemory]:
    options = {"url": stack.url, "key": stack.key, "outbox": tmp_path / "outbox"}
    with AgentMemory(flow, timeout_seconds=PATIENCE_SECONDS, **options) as opened:
        yield opened


@pytest.fixture
def stored(memory: AgentMemory, client: Client) -> Stored:
    return Stored(memory, client)


@pytest.fixture
async def async_memory(stack: Stack, flow: str, tmp_path: Path) -> AsyncIterator[AsyncAgentMemory]:
    options = {"url": stack.url, "key": stack.key, "outbox": tmp_path / "outbox"}
    async with AsyncAgentMemory(flow, timeout_seconds=PATIENCE_SECONDS, **options) as opened:
        yield opened
