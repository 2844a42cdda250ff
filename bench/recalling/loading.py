"""A stack for a benchmark, and the conversations loaded into it."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from memorybase_client import Client

from memorybase.core.settings import Settings
from memorybase.stack.child import StackChild
from memorybase.stack.state import DataDir
from recalling.corpora import Conversation

LOADING_SECONDS = 3_600.0  # for one conversation to be ingested


@contextlib.contextmanager
def stack(data_dir: Path | None) -> Iterator[tuple[Client, Settings]]:
    """A running stack and a client; its data stay in `data_dir`, or are deleted at the end without one."""
    with contextlib.ExitStack() as exits:
        directory = data_dir or exits.enter_context(tempfile.TemporaryDirectory(prefix="memorybase-bench-"))
        data = DataDir(Path(directory))
        running = exits.enter_context(StackChild(data, lambda line: print(f"  stack: {line}")))
        key = data.known_api_key(running.settings) or ""
        yield exits.enter_context(Client(running.url, key)), running.settings


class Loaded:
    """The conversations in a running stack, each with a flow, a memory base and sessions of one end user."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.memories = {memory.name: memory.id for memory in client.list_memory_bases()}
        self._names: dict[str, dict[str, str]] = {}

    def load(self, conversation: Conversation) -> None:
        """Post and ingest a conversation unless it is already loaded."""
        began = time.perf_counter()
        name = conversation.name
        if name not in self.memories:
            self.client.put_flow(name, name=name)
            base = self.client.create_memory_base(name=name, flow_id=name, capture="all", threshold=10_000)
            self.memories[name] = base.id
            for run in conversation.runs:
                self.client.capture_run(name, **run, end_user_id=name)
            self.client.wait_until_searchable(base.id, timeout_seconds=LOADING_SECONDS)
        if name not in self._names:
            listed = self.client.list_messages(flow_id=name)
            self._names[name] = {str(each.id): str(each.external_id) for each in listed}
            print(f"{name}: {len(self._names[name])} messages in {time.perf_counter() - began:.1f} s", flush=True)

    def own_id(self, conversation: Conversation, message_id: str) -> str:
        """The conversation's id of a message."""
        return self._names[conversation.name][message_id]

    def ids_of(self, name: str) -> Mapping[str, str]:
        """The conversation's ids of its messages, by message id."""
        return self._names[name]
