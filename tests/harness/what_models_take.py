"""What OpenAI's chat completions refuse in a history, by the API reference's rules for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "system": {"text"},
    "tool": {"text"},
}


def refusals(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why the messages would be refused, empty if they would not. Calls of the last messages may still lack results."""
    found: list[str] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                found.append(f"{number}: a result of no call right before it")
            else:
                waiting.remove(message["tool_call_id"])
        else:
            found += [f"{number}: no result of {each!r} before it" for each in waiting]
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            if "" in waiting or len(set(waiting)) < len(waiting):
                found.append(f"{number}: calls without an id of their own")
        found += [f"{number}: {why}" for why in _refused_content(message)]
    return found


def _refused_content(message: Mapping[str, Any]) -> list[str]:
    content, role = message.get("content"), message["role"]
    if content is None:
        return [] if role == "assistant" and message.get("tool_calls") else ["no content"]
    if isinstance(content, str):
        return []
    refused = [f"a part {part.get('type')!r} of {role}" for part in content if part.get("type") not in _PARTS[role]]
    return refused or ([] if content else ["an empty list as content"])
