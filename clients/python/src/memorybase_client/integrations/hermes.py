"""A memory provider for Hermes Agent. As $HERMES_HOME/plugins/memorybase/__init__.py:

    from memorybase_client import AgentMemory
    from memorybase_client.integrations.hermes import MemorybaseProvider

    def register(context):
        context.register_memory_provider(MemorybaseProvider(AgentMemory("hermes")))

and `provider: memorybase` below `memory:` in config.yaml. A session of Hermes is a session, and each turn a run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agent.memory_provider import MemoryProvider

from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._messages import storable_text
from memorybase_client.integrations._recall import (
    DESCRIPTION,
    SEARCHES,
    TOOL,
    TOP_K,
    Given,
    answer_of,
    earlier_hits,
    merged,
    quoted,
)

if TYPE_CHECKING:
    from memorybase_client import AgentMemory, models

SCHEMA = {
    "name": TOOL,
    "description": DESCRIPTION,
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


class MemorybaseProvider(MemoryProvider):
    """Captures the primary agent's turns, and recalls what other sessions said. The gateway's user is the end user.

    While memorybase is unreachable, captures wait in the outbox of `memory`, nothing is recalled, and the tool says so.
    """

    def __init__(
        self,
        memory: AgentMemory,
        *,
        end_user_id: str | None = None,
        top_k: int = TOP_K,
        min_score: float | None = None,
    ) -> None:
        self._memory = memory
        self._end_user_id = end_user_id
        self._top_k = top_k
        self._min_score = min_score
        self._session_id = ""
        self._is_primary = True
        self._found: list[tuple[str, Given]] = []  # by session, since its latest turn

    @property
    def name(self) -> str:
        return "memorybase"

    def is_available(self) -> bool:
        """Whether Hermes may use it: an address and a key were found when `memory` was made."""
        return True

    def initialize(self, session_id: str, **known: Any) -> None:
        """Begin a session; subagents and scheduled runs recall only."""
        self._session_id = session_id
        self._is_primary = known.get("agent_context", "primary") == "primary"
        self._end_user_id = self._end_user_id or known.get("user_id") or None

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        """Capture into another session from now on."""
        self._session_id = new_session_id

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """What other sessions said about the message of the turn."""
        session = self._session_of(session_id)
        hits = self._recall(session, query, self._top_k)
        if hits:
            self._keep(session, Given(query, hits, quoted(hits)))
        return quoted(hits or ())

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Any] | None = None,
    ) -> None:
        """Capture a turn's texts, and what was found for them, now or when memorybase is back."""
        del messages
        session = self._session_of(session_id)
        found = [given for of, given in self._found if of == session]
        self._found = [(of, given) for of, given in self._found if of != session]
        if not self._is_primary:
            return
        run_id = str(uuid4())
        if found:
            merged(found).record(self._memory, session, run_id, self._end_user_id)
        said = [("user", user_content), ("assistant", assistant_content)]
        texts = [
            {"id": id_of(run_id, role), "role": role, "content": storable_text(text)}
            for role, text in said
            if text.strip()
        ]
        self._memory.capture(session, texts, run_id=run_id, end_user_id=self._end_user_id)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [SCHEMA]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **known: Any) -> str:
        """The model's own search."""
        if tool_name != TOOL:
            raise NotImplementedError(f"tool_name must be {TOOL} (got {tool_name!r})")
        query = str(args.get("query") or "")
        session = self._session_of(str(known.get("session_id") or ""))
        hits = self._recall(session, query, self._top_k or TOP_K)
        if hits:
            self._keep(session, Given(query, hits))
        return json.dumps({"result": answer_of(hits)})

    def shutdown(self) -> None:
        """Send what waits in the outbox, for two seconds at most, and close `memory`."""
        self._memory.close()

    def _session_of(self, session_id: str) -> str:
        return storable_id(session_id or self._session_id)

    def _recall(self, session: str, query: str, top_k: int) -> list[models.Hit] | None:
        return earlier_hits(
            self._memory,
            query,
            session_id=session,
            top_k=top_k,
            end_user_id=self._end_user_id,
            min_score=self._min_score,
        )

    def _keep(self, session: str, given: Given) -> None:
        self._found = [*self._found, (session, given)][-SEARCHES:]
