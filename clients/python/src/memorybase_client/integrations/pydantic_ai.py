"""Memory for agents of Pydantic AI.

    memory = MemorybaseCapability(AgentMemory("support", outbox="memorybase-outbox"))
    agent = Agent("openai:gpt-5-mini", capabilities=[memory])
    history = await memory.message_history("anna")
    await agent.run("Where is my boat?", conversation_id="anna", message_history=history)

A conversation is a session, a run a run, and a ModelMessage a message. Its text is where memorybase reads and searches
it; the rest is metadata.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from memorybase_client._ids import id_of, storable_id
from memorybase_client.integrations._messages import Json, batches, rest_of, texts, whole_of, with_rest
from memorybase_client.integrations._recall import TOP_K, Given, earlier_hits, node_of, quoted

if TYPE_CHECKING:
    from pydantic_ai.run import AgentRunResult

    from memorybase_client import AgentMemory, models

KEY = "pydantic_ai"  # of the metadata: the ModelMessage without what the message holds

_TAKEN = {"memorybase": "content"}  # stands where a text was that is the message's content

# The parts whose text is the content of a message, by its role.
_PART_OF_ROLE = {"user": "user-prompt", "tool": "tool-return", "system": "system-prompt", "assistant": "text"}


@dataclass
class MemorybaseCapability(AbstractCapability[Any]):
    """Captures what each run of an agent adds to its conversation, and recalls what other conversations said.

    `end_user_id` is the person that all conversations belong to, or a function of the run's context. With `top_k` 0
    nothing is recalled. While memorybase is unreachable, runs continue without recall, and their messages wait in the
    outbox.
    """

    memory: AgentMemory
    end_user_id: str | Callable[[RunContext[Any]], str | None] | None = None
    top_k: int = TOP_K
    min_score: float | None = None
    _recalled: str | None = field(default=None, init=False, repr=False)  # for the question of this run

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: an AgentMemory has no form in a file."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> MemorybaseCapability:
        """A copy, which recalls once."""
        del ctx
        return replace(self)

    def get_instructions(self) -> Callable[[RunContext[Any]], Any]:
        """Recalled messages about the prompt, from other conversations. Instructions do not become part of the
        history."""
        return self._instructions

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Captures the run's new messages, now or when memorybase is back."""
        await asyncio.to_thread(self._capture, ctx, result.new_messages())
        return result

    async def message_history(self, session_id: str, *, end_user_id: str | None = None) -> list[ModelMessage]:
        """The messages of a conversation, to continue it. Empty while memorybase is unreachable, or if the conversation
        is another end user's."""
        owner = end_user_id or (self.end_user_id if isinstance(self.end_user_id, str) else None)

        def read() -> list[models.MessageView]:
            return self.memory.messages(storable_id(session_id), end_user_id=owner) or []

        found = [dump_of(message) for message in await asyncio.to_thread(read)]
        dumps = json.dumps([dump for dump in found if dump is not None])
        history: list[ModelMessage] = ModelMessagesTypeAdapter.validate_json(dumps)
        return history

    async def _instructions(self, ctx: RunContext[Any]) -> str | None:
        question = _prompt_text(ctx.prompt)
        if self._recalled is None and question:
            hits = await asyncio.to_thread(
                earlier_hits,
                self.memory,
                question,
                session_id=_session_of(ctx),
                top_k=self.top_k,
                end_user_id=self._end_user_of(ctx),
                min_score=self.min_score,
            )
            if hits is not None:
                self._recalled = quoted(hits)
                given = Given(question, hits, self._recalled, node_of(ctx.agent))
                await asyncio.to_thread(
                    given.record, self.memory, _session_of(ctx), _run_of(ctx), self._end_user_of(ctx)
                )
        return self._recalled or None

    def _capture(self, ctx: RunContext[Any], new: Sequence[ModelMessage]) -> None:
        run_id = _run_of(ctx)
        session_id = _session_of(ctx)
        dumps: list[Json] = json.loads(ModelMessagesTypeAdapter.dump_json(list(new), fallback=str))
        messages = [message_of(dump, id_of(session_id, run_id, str(index))) for index, dump in enumerate(dumps)]
        for batch in batches(messages):
            self.memory.capture(session_id, batch, run_id=run_id, end_user_id=self._end_user_of(ctx))

    def _end_user_of(self, ctx: RunContext[Any]) -> str | None:
        return self.end_user_id(ctx) if callable(self.end_user_id) else self.end_user_id


def _run_of(ctx: RunContext[Any]) -> str:
    return ctx.run_id or str(uuid4())


def _session_of(ctx: RunContext[Any]) -> str:
    return storable_id(ctx.conversation_id or ctx.run_id or "")


def _prompt_text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part for part in prompt or () if isinstance(part, str))


# ModelMessages and messages. A dump is the JSON of a ModelMessage.


def message_of(dump: Json, message_id: str) -> Json:
    """A ModelMessage as a message of memorybase. Its instructions are left out: each run has its own."""
    rest = dump | {"instructions": None} if dump["kind"] == "request" else dump
    whole = json.dumps(rest)
    role = _role_of(rest)
    fields = {"id": message_id, "role": role, "timestamp": rest.get("timestamp")} | _tool_fields(role, rest["parts"])
    taken = [_take(holder, key) for holder, key in _slots(rest, role, _is_text)]
    if len(taken) > 1:
        content: Any = [{"type": "text", "text": text} for text in taken]
    else:
        content = taken[0] if taken else None if "tool_calls" in fields else ""
    return with_rest(fields | {"content": content}, KEY, rest, whole)


def dump_of(message: models.MessageView) -> Json | None:
    """The ModelMessage of a message; None if another client captured it in a different format."""
    whole = whole_of(message, KEY)
    if whole is not None and message.edited_at is None:
        return whole
    rest = whole or rest_of(message, KEY)
    found = list(texts(message.content))
    if rest is None:
        return _plain(message.role, "\n".join(found))
    slots = list(_slots(rest, message.role, _is_text if whole else _is_taken))
    if len(found) != len(slots):  # after an edit
        found = ["\n".join(found)] + [""] * (len(slots) - 1)
    for (holder, key), text in zip(slots, found, strict=False):
        holder[key] = text
    return rest


def _plain(role: str, text: str) -> Json | None:
    if not text or role not in {"user", "assistant"}:
        return None
    part = {"part_kind": _PART_OF_ROLE[role], "content": text}
    return {"kind": "request" if role == "user" else "response", "parts": [part]}


def _role_of(dump: Json) -> str:
    if dump["kind"] == "response":
        return "assistant"
    kinds = {part["part_kind"] for part in dump["parts"]}
    if "user-prompt" in kinds:
        return "user"
    return "system" if kinds <= {"system-prompt"} else "tool"


def _tool_fields(role: str, parts: Sequence[Json]) -> Json:
    if role == "tool":
        called = next((part["tool_call_id"] for part in parts if isinstance(part.get("tool_call_id"), str)), None)
        return {"tool_call_id": called}
    if role != "assistant":
        return {}
    calls = [
        {
            "id": part["tool_call_id"],
            "type": "function",
            "function": {"name": part["tool_name"], "arguments": _arguments(part.get("args"))},
        }
        for part in parts
        if part["part_kind"] == "tool-call"
    ]
    is_answer = any(part["part_kind"] == "text" and part["content"] for part in parts)
    return {"is_output": is_answer} | ({"tool_calls": calls} if calls else {})


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else json.dumps(args or {})


def _slots(dump: Json, role: str, is_slot: Callable[[Any], bool]) -> Iterator[tuple[Any, Any]]:
    """The places for the content's texts in the dump: the container of each, and its key there."""
    for part in dump["parts"]:
        content = part.get("content")
        if part["part_kind"] != _PART_OF_ROLE[role]:
            continue
        if is_slot(content):
            yield part, "content"
        elif isinstance(content, list) and role == "user":
            yield from ((content, index) for index, each in enumerate(content) if is_slot(each))


def _is_taken(value: Any) -> bool:
    return bool(value == _TAKEN)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _take(holder: Any, key: Any) -> str:
    text: str = holder[key]
    holder[key] = _TAKEN
    return text
