"""Memory for agents of the Claude Agent SDK: hooks that capture and recall, and a tool that searches.

    hooks = MemorybaseHooks(AgentMemory("support", outbox="memorybase-outbox"), end_user_id="anna")
    async for message in query(prompt="Where is my boat?", options=hooks.options(ClaudeAgentOptions())):
        ...

Hooks and tool run in this process. A session of Claude is a session, and a prompt with its answer a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, create_sdk_mcp_server, tool

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
    from claude_agent_sdk import HookContext, HookInput
    from claude_agent_sdk.types import SyncHookJSONOutput

    from memorybase_client import AgentMemory, models

SERVER = "memorybase"


@dataclass(slots=True)
class _Turn:
    """A prompt and what follows it."""

    session_id: str
    run_id: str = field(default_factory=lambda: str(uuid4()))
    answers: int = 0
    given: list[Given] = field(default_factory=list)


class MemorybaseHooks:
    """Captures each prompt and its answer, and shows the model what other sessions said.

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

    def options(self, options: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """These options with the hooks and the tool, for a ClaudeSDKClient or a query: its prompts one after the other.
        With top_k=0 nothing is recalled, and the tool finds as much as by default."""
        options = options or ClaudeAgentOptions()
        if not isinstance(options.mcp_servers, dict):
            raise ValueError("mcp_servers must be a dictionary: the tool runs in this process")  # noqa: TRY004
        session = _Session(self)
        hooks = dict(options.hooks or {})
        hooks["UserPromptSubmit"] = [*hooks.get("UserPromptSubmit", ()), HookMatcher(hooks=[session.begin])]
        hooks["Stop"] = [*hooks.get("Stop", ()), HookMatcher(hooks=[session.end])]
        search = tool(TOOL, DESCRIPTION, {"query": str})(session.search)
        return replace(
            options,
            hooks=hooks,
            mcp_servers={**options.mcp_servers, SERVER: create_sdk_mcp_server(SERVER, tools=[search])},
            allowed_tools=[*options.allowed_tools, f"mcp__{SERVER}__{TOOL}"],
        )

    def recall(self, session_id: str, query: str, top_k: int) -> list[models.Hit] | None:
        """What other sessions said."""
        return earlier_hits(
            self._memory,
            query,
            session_id=session_id,
            top_k=top_k,
            end_user_id=self._end_user_id,
            min_score=self._min_score,
        )

    def begin(self, turn: _Turn, prompt: str) -> str:
        """Recall for a prompt, and capture it; returns the text for the model."""
        hits = self.recall(turn.session_id, prompt, self._top_k)
        if hits is not None:
            turn.given.append(Given(prompt, hits, quoted(hits)))
            self.record(turn)
        self.capture(turn, "user", prompt)
        return quoted(hits or ())

    def record(self, turn: _Turn) -> None:
        """What the model was given in the turn, which takes the place of what was recorded before."""
        merged(turn.given).record(self._memory, turn.session_id, turn.run_id, self._end_user_id)

    def capture(self, turn: _Turn, role: str, text: str) -> None:
        """Store a message of the turn, now or when memorybase is back."""
        if not text.strip():
            return
        part = "prompt" if role == "user" else str(turn.answers)
        message = {"id": id_of(turn.run_id, part), "role": role, "content": storable_text(text)}
        self._memory.capture(turn.session_id, [message], run_id=turn.run_id, end_user_id=self._end_user_id)

    def end(self, turn: _Turn, answer: str) -> None:
        """Capture an answer, and what the tool found."""
        turn.answers += 1
        if len(turn.given) > 1:
            self.record(turn)
        self.capture(turn, "assistant", answer)

    def search(self, turn: _Turn | None, query: str) -> str:
        """For the model's own search."""
        hits = self.recall(turn.session_id if turn else "", query, self._top_k or TOP_K)
        if turn is not None and hits is not None:
            turn.given = [*turn.given, Given(query, hits)][-SEARCHES:]
        return answer_of(hits)


class _Session:
    """The callbacks of one agent."""

    def __init__(self, hooks: MemorybaseHooks) -> None:
        self._hooks = hooks
        self._turn: _Turn | None = None

    async def begin(self, said: HookInput, tool_use_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """UserPromptSubmit."""
        del tool_use_id, context
        self._turn = _Turn(storable_id(said["session_id"]))
        text = await asyncio.to_thread(self._hooks.begin, self._turn, str(said.get("prompt") or ""))
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}} if text else {}

    async def end(self, said: HookInput, tool_use_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """Stop: another hook may let the agent go on, which then stops again."""
        del tool_use_id, context
        answer = str(said.get("last_assistant_message") or "")
        if self._turn is not None:
            await asyncio.to_thread(self._hooks.end, self._turn, answer)
        return {}

    async def search(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The tool."""
        text = await asyncio.to_thread(self._hooks.search, self._turn, str(arguments["query"]))
        return {"content": [{"type": "text", "text": text}]}
