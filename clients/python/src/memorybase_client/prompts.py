"""Messages with ids, from prompts: each call of a model repeats the conversation so far.

An id is made of the session, the message, and the message before it. So a message is stored once however many prompts
repeat it, also if the application sends only the latest part of a conversation, and a second "Yes." to another question
is another message.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]

_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool"}
_REASONING = "reasoning_content"  # some models want it back with their tool calls
_FIELDS = ("role", "content", "tool_calls", "tool_call_id", "name")


def identified(session_id: str, prompt: Iterable[Any], answer: Iterable[Any] = ()) -> list[Json]:
    """The messages of a call in OpenAI's format, each with an id.

    System messages are left out: they are the application's and not the conversation's. So is the first message of a
    prompt with answers in it: an earlier call had it, and what came before it may have been cut off.
    """
    asked = [message for each in prompt if (message := plain(each)) is not None]
    said = [message for each in answer if (message := plain(each)) is not None]
    is_first_old = any(each["role"] == "assistant" for each in asked)
    seen: Counter[str] = Counter()
    messages: list[Json] = []
    # A question without a conversation before it may be asked again: its answer tells one from the other.
    before = "" if is_first_old or not said else f"answered by {_digest(_what(said[0]))}"
    for message in [*asked, *said]:
        digest = _digest([session_id, before, *_what(message)])
        seen[digest] += 1
        messages.append({"id": f"{digest}-{seen[digest]}", **message})
        before = _digest(_what(message))
    return messages[1:] if is_first_old else messages


def run_id_of(messages: list[Json]) -> str:
    """The id of the run of the last turn in these messages, made of what followed its question: each call of a model
    in the turn has the same."""
    turn = messages
    for index, message in enumerate(messages[:-1]):
        if message["role"] == "user":
            turn = messages[index + 1 :]
    return f"run-{turn[0]['id']}"


def question_of(prompt: Iterable[Any]) -> str:
    """The text of the latest user message."""
    asked = [message for each in prompt if (message := plain(each)) is not None and message["role"] == "user"]
    content = asked[-1].get("content") if asked else ""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content or () if _is_text(part))


def is_asked(prompt: Sequence[Any]) -> bool:
    """Whether the prompt ends with a user's message, rather than with the result of a tool."""
    said = next((message for each in reversed(prompt) if (message := plain(each)) is not None), None)
    return said is not None and said["role"] == "user"


def plain(message: Any) -> Json | None:
    """One message of OpenAI's format as a dictionary; None if it is no user's, assistant's or tool's, or is empty."""
    if hasattr(message, "model_dump"):
        message = message.model_dump()
    if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
        return None
    kept = {name: message[name] for name in _FIELDS if message.get(name) not in (None, [], "")}
    if "content" not in kept and message.get("refusal"):
        kept["content"] = message["refusal"]
    if message.get(_REASONING):  # as metadata, which servers of any version store
        kept["metadata"] = {_REASONING: message[_REASONING]}
    if message["role"] == "tool":
        kept.setdefault("content", "")  # a tool that says nothing has answered its call
    if isinstance(kept.get("content"), list):
        kept["content"] = [_plain_part(part) for part in kept["content"]]
    if "tool_calls" in kept:
        kept["tool_calls"] = [_plain_call(call) for call in kept["tool_calls"]]
    return kept if "content" in kept or "tool_calls" in kept else None


def _plain_part(part: Any) -> Any:
    """The Responses API's names for text become those of chat completions."""
    if isinstance(part, Mapping) and part.get("type") in {"input_text", "output_text"}:
        return {"type": "text", "text": part.get("text", "")}
    return part


def _plain_call(call: Any) -> Any:
    return call.model_dump() if hasattr(call, "model_dump") else call


def _what(message: Json) -> list[Any]:
    """The fields that identify a message; an answer has more of them than the same message in the next prompt."""
    content = message.get("content")
    if isinstance(content, list) and all(_is_text(part) for part in content):
        content = "".join(part["text"] for part in content)
    calls = [
        [call.get("id"), (call.get("function") or {}).get("name"), (call.get("function") or {}).get("arguments")]
        for call in message.get("tool_calls", [])
        if isinstance(call, Mapping)
    ]
    text = content.strip() if isinstance(content, str) else content
    return [message["role"], text, calls, message.get("tool_call_id")]


def _digest(what: list[Any]) -> str:
    encoded = json.dumps(what, sort_keys=True, default=str)
    return hashlib.sha256(encoded.encode(errors="replace")).hexdigest()[:32]


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
