"""memorybase as a memory provider of agent-memory-benchmark: copy to src/memory_bench/memory/memorybase.py.

It calls the server that MEMORYBASE_URL and MEMORYBASE_API_KEY name, else the one that `memorybase up` runs here. Each
document is a session of its user, and each of its turns a message. What is retrieved are messages, by document.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memorybase_client import Client

from ..models import Document
from .base import MemoryProvider

MOST_IN_A_RUN = 500
MOST_RESULTS = 100
INGESTION_SECONDS = 3_600.0
# How BEAM's chats are written: "[March-15-2024 | Turn 3] User: ...".
SPOKEN = re.compile(r"^(?:\[[^\]\n]*\] )?(User|Assistant): ", re.MULTILINE)

Message = dict[str, Any]


class MemorybaseMemoryProvider(MemoryProvider):
    name = "memorybase"
    description = "Messages as they were said, found by words, vectors and time; no LLM at ingestion or retrieval."
    kind = "local"
    provider = "memorybase"
    concurrency = 4

    def initialize(self) -> None:
        self._client = Client()

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None, reset: bool = True) -> None:
        """One flow for a run, whose id is kept in `store_dir`."""
        store_dir.mkdir(parents=True, exist_ok=True)
        file = store_dir / "memorybase-flow.txt"
        if reset or not file.exists():
            file.write_text(f"amb-{uuid.uuid4()}", encoding="utf-8")
        self._flow_id = file.read_text(encoding="utf-8")
        self._client.put_flow(self._flow_id, name=self._flow_id)
        found = next(iter(self._client.list_memory_bases(flow_id=self._flow_id)), None)
        self._base = found or self._client.create_memory_base(
            name=self._flow_id, flow_id=self._flow_id, capture="all", threshold=10_000
        )

    def ingest(self, documents: list[Document]) -> None:
        for document in documents:
            messages = list(_messages(document))
            for start in range(0, len(messages), MOST_IN_A_RUN):
                self._client.capture_run(
                    self._flow_id,
                    session_id=document.id,
                    messages=messages[start : start + MOST_IN_A_RUN],
                    run_id=f"{document.id}#{start}",
                    end_user_id=document.user_id,
                    on_conflict="keep",
                )
        self._client.wait_until_searchable(self._base.id, timeout_seconds=INGESTION_SECONDS)

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Document], dict[str, Any] | None]:
        found = self._client.search_memory_base(
            self._base.id, query=query, top_k=min(k, MOST_RESULTS), end_user_id=user_id
        )
        lines: dict[str, list[str]] = {}
        for hit in found.results:
            when = f"{hit.timestamp:%Y-%m-%d %H:%M}"
            lines.setdefault(hit.session_id, []).append(f"[{when}] {hit.sender_name or hit.role}: {hit.content}")
        documents = [Document(id=id_, content="\n".join(said), user_id=user_id) for id_, said in lines.items()]
        return documents, found.model_dump(mode="json")

    def cleanup(self) -> None:
        self._client.close()


def _messages(document: Document) -> Iterator[Message]:
    start = _time(document.timestamp)
    for number, (role, speaker, content) in enumerate(_turns(document)):
        if content.strip():
            message = {"id": f"{document.id}#{number}", "role": role, "content": content, "sender_name": speaker}
            yield message | ({"timestamp": (start + timedelta(seconds=number)).isoformat()} if start else {})


def _turns(document: Document) -> Iterator[tuple[str, str | None, str]]:
    """Role, speaker and text: of messages, of a content that is their JSON, or of a chat as text."""
    turns = document.messages or _as_json(document.content)
    first = next((turn.get("speaker") for turn in turns), None)
    for turn in turns:
        speaker = turn.get("speaker")
        role = "user" if turn.get("role", "user") == "user" and speaker == first else "assistant"
        yield role, speaker, str(turn.get("content") or turn.get("text") or "")
    if not turns:
        starts = [match.start() for match in SPOKEN.finditer(document.content)]
        for start, end in zip([0, *starts], [*starts, len(document.content)], strict=True):
            text = document.content[start:end]
            spoken = SPOKEN.match(text)
            yield "assistant" if spoken and spoken[1] == "Assistant" else "user", None, text


def _as_json(content: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(content)
    except ValueError:
        return []
    return found if isinstance(found, list) and all(isinstance(each, dict) for each in found) else []


def _time(timestamp: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
