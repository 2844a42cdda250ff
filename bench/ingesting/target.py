"""The stack that is measured, and the few calls that every section makes to it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from memorybase_client import Client, models

from memorybase.core.errors import NotReady
from memorybase.stack.child import StackChild
from memorybase.stack.state import DataDir

STALLED_SECONDS = 120.0
LOOK_SECONDS = 0.1  # a look takes the API some milliseconds, which the worker wants too


@dataclass(frozen=True)
class Target:
    """A running stack and a client of it."""

    data: DataDir
    stack: StackChild
    client: Client
    started_at: float  # time.time() before the start
    ready_seconds: float

    @property
    def pid(self) -> int:
        """Of the process that runs the others, or is all of the stack."""
        running = self.data.running()
        if running is None:
            raise NotReady("The stack has ended.")
        return running.pid


@dataclass(frozen=True)
class Base:
    """A memory base over everything that is said in a flow of its own."""

    client: Client
    flow: str
    id: UUID

    def capture(self, session_id: str, texts: Sequence[str]) -> models.CaptureAnswer:
        """Post one run, user and assistant by turns; the answer."""
        messages = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
        return self.client.capture_run(self.flow, session_id=session_id, messages=messages)

    def state(self) -> models.MemoryBaseView:
        return self.client.get_memory_base(self.id)

    def wait_ingested(self, total: int) -> None:
        """Until this many messages are in the ledger; flushes nothing. Raises NotReady when none is added any more."""
        processed, moved = -1, time.monotonic()
        while processed < total:
            found = self.state().total_processed
            if found != processed:
                processed, moved = found, time.monotonic()
            if time.monotonic() - moved > STALLED_SECONDS:
                raise NotReady(f"{processed} of {total} messages were ingested, then none for {STALLED_SECONDS:g} s.")
            time.sleep(LOOK_SECONDS)

    def failed_jobs(self) -> int:
        return self.client.list_jobs(self.id, state="failed").page().total

    def search(self, query: str, *, include_pending: bool | None = None) -> list[models.Hit]:
        return self.client.search_memory_base(self.id, query=query, include_pending=include_pending).results


@contextmanager
def running_stack(database_url: str = "", *, one_process: bool = False) -> Iterator[Target]:
    """An embedded stack of its own in a temporary directory, with the settings that `memorybase up` has."""
    with (
        tempfile.TemporaryDirectory(prefix="memorybase-bench-") as directory,
        started(DataDir(Path(directory)), database_url, one_process=one_process) as target,
    ):
        yield target


@contextmanager
def started(data: DataDir, database_url: str = "", *, one_process: bool = False) -> Iterator[Target]:
    """An embedded stack in this directory."""
    started_at, began = time.time(), time.perf_counter()
    with StackChild(data, lambda _: None, database_url=database_url, one_process=one_process) as stack:
        ready = time.perf_counter() - began
        with Client(stack.url, data.known_api_key(stack.settings) or "") as client:
            yield Target(data, stack, client, started_at, ready)


def new_base(client: Client, name: str, *, threshold: int, auto_capture: bool = True) -> Base:
    flow = f"{name}-{uuid4().hex[:8]}"
    client.put_flow(flow, name=flow)
    base = client.create_memory_base(
        name=flow, flow_id=flow, capture="all", threshold=threshold, auto_capture=auto_capture
    )
    return Base(client, flow, base.id)


def in_calls(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[index : index + size] for index in range(0, len(texts), size)]
