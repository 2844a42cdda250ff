"""memorybase as a memory backend of OmniMemEval: copy to scripts/client_factory/memorybase_provider.py.

It calls the server that MEMORYBASE_URL and MEMORYBASE_API_KEY name, else the one that `memorybase up` runs here. All
users are in one flow, MEMORYBASE_FLOW or "omnimemeval", whose id is part of the end users' ids: to erase an end user
is to erase them in all flows. What is added is ingested before the next search.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from memorybase_client import Client
from memorybase_client.errors import Conflict, NotFound

MOST_IN_A_RUN = 500
MOST_RESULTS = 100
INGESTION_SECONDS = 3_600.0


class MemorybaseProvider:
    def __init__(self) -> None:
        self._client = Client()
        self._flow_id = os.environ.get("MEMORYBASE_FLOW", "omnimemeval")
        self._client.put_flow(self._flow_id, name=self._flow_id)
        self._base_id = self._memory_base()
        self._is_ingested = False

    def add(self, messages: Sequence[Mapping[str, Any]], user_id: str, **_: Any) -> None:
        """A session of this user; each message may have its time in `chat_time`. Adding it again changes nothing."""
        said = [_message(each, number) for number, each in enumerate(messages) if str(each["content"]).strip()]
        if not said:
            return
        session = hashlib.sha256(repr([user_id, said]).encode()).hexdigest()[:16]
        for start in range(0, len(said), MOST_IN_A_RUN):
            self._client.capture_run(
                self._flow_id,
                session_id=session,
                messages=[{**each, "id": f"{session}#{each['id']}"} for each in said[start : start + MOST_IN_A_RUN]],
                run_id=f"{session}#{start}",
                end_user_id=self._end_user_id(user_id),
                on_conflict="keep",
            )
        self._is_ingested = False

    def search(self, query: str, user_id: str, top_k: int) -> str:
        """The messages, each in a line with its time, best first."""
        if not self._is_ingested:
            self._client.wait_until_searchable(self._base_id, timeout_seconds=INGESTION_SECONDS)
            self._is_ingested = True
        found = self._client.search_memory_base(
            self._base_id, query=query, top_k=min(top_k, MOST_RESULTS), end_user_id=self._end_user_id(user_id)
        )
        return "\n".join(f"[{hit.timestamp:%Y-%m-%d %H:%M}] {hit.content}" for hit in found.results)

    def delete(self, user_id: str) -> None:
        with contextlib.suppress(NotFound):
            self._client.erase_end_user(self._end_user_id(user_id))

    def _end_user_id(self, user_id: str) -> str:
        return f"{self._flow_id}/{user_id}"

    def _memory_base(self) -> str:
        """The flow's memory base. Several workers of the harness start at once."""
        try:
            made = self._client.create_memory_base(
                name=self._flow_id, flow_id=self._flow_id, capture="all", threshold=10_000
            )
        except Conflict as error:
            return str(error.details["existing_id"])
        return str(made.id)


def _message(message: Mapping[str, Any], number: int) -> dict[str, Any]:
    kept = {"id": str(number), "role": message.get("role", "user"), "content": str(message["content"])}
    optional = {"sender_name": message.get("name"), "timestamp": message.get("chat_time")}
    return kept | {name: value for name, value in optional.items() if value}
