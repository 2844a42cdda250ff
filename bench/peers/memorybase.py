"""memorybase: `memorybase up` with its defaults, SQLite and Chroma, over HTTP; as a stack and as one process.

In memorybase's own environment: the only file here that may import it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from memorybase_client import Client
from peering import Found, Memory, Message

from memorybase.core.errors import NotReady
from memorybase.stack.child import StackChild
from memorybase.stack.state import DataDir

FLOW = "peers"
INGESTED_WITHIN_SECONDS = 3_600.0


class Stack(Memory):
    """A flow with a memory base over everything that is said in it; persons are end users."""

    PACKAGES = ("memorybase-server", "chromadb", "onnxruntime")
    NEEDS = "a server, started by one command; no torch"
    IS_SERVER = True
    SETTLES_SECONDS = 120.0  # docs/howto/export-and-erase.md: compacted after at most a minute and 3 s a megabyte
    one_process = False

    def __init__(self, directory: Path, model: str) -> None:  # noqa: ARG002 - the model is its default
        self._data = DataDir(directory)
        self._stack = StackChild(self._data, lambda _: None, one_process=self.one_process)
        self._stack.__enter__()
        self._client = Client(self._stack.url, self._data.known_api_key(self._stack.settings) or "")
        self._client.put_flow(FLOW, name=FLOW)
        bases = {base.name: base for base in self._client.list_memory_bases()}
        # The threshold is the size of most calls, so that ingestion goes on between them.
        base = bases.get(FLOW) or self._client.create_memory_base(name=FLOW, flow_id=FLOW, capture="all", threshold=10)
        self._base = base.id
        self._names: dict[str, str] = {}  # the caller's id of each message that was added

    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:
        answer = self._client.capture_run(
            FLOW, session_id=session, end_user_id=person, messages=messages, run_id=key, idempotency_key=key
        )
        self._names |= {str(each.id): str(each.external_id) for each in answer.messages}

    def wait(self) -> None:
        self._client.wait_until_searchable(self._base, timeout_seconds=INGESTED_WITHIN_SECONDS)

    def search(self, person: str, question: str, limit: int) -> list[Found]:
        found = self._client.search_memory_base(self._base, query=question, end_user_id=person, top_k=limit).results
        return [{"text": str(hit.content), "ids": [self._names.get(str(hit.message_id), "")]} for hit in found]

    def context(self, person: str, question: str, tokens: int) -> list[Found]:
        answer = self._client.build_context(
            flow_id=FLOW, session_id=f"{person}-asking", end_user_id=person, token_budget=tokens, query=question
        )
        return [
            {"text": str(message.get("content")), "ids": [self._names.get(id_, "") for id_ in source.message_ids]}
            for message, source in zip(answer.messages, answer.sources, strict=True)
        ]

    def texts(self) -> list[str]:
        with closing(sqlite3.connect(self._data.path / "chroma" / "chroma.sqlite3", timeout=60)) as db:
            found = db.execute("SELECT string_value FROM embedding_metadata WHERE key = 'chroma:document'")
            return [text for (text,) in found if text]

    def delete(self, person: str) -> None:
        self._client.erase_end_user(person)

    def close(self) -> None:
        self._client.close()
        with suppress(NotReady):  # it was killed
            self._stack.__exit__(None, None, None)


class OneProcess(Stack):
    """The same as one process."""

    NEEDS = "a server of one process, started by one command; no torch"
    one_process = True
