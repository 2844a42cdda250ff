"""The two calls of OpenAI's HTTP API that carry conversations, as prompts and answers in its chat format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def prompt_of(path: str, body: Any) -> list[Any] | None:
    """The prompt of a request; None if it is another call."""
    if not isinstance(body, dict):
        return None
    if path.endswith("/chat/completions") and isinstance(body.get("messages"), list):
        return list(body["messages"])
    if path.endswith("/responses") and isinstance(body.get("input"), str | list):
        return _messages_of(body["input"])
    return None


def with_recalled(body: Json, text: str) -> Json:
    """The request with this text for the model.

    In a chat it follows the question, so that the prompt up to there stays as a provider has cached it. Of a response
    the server may keep the input for further requests, but not the instructions.
    """
    if "messages" not in body:
        given = body.get("instructions")
        return {**body, "instructions": f"{given}\n\n{text}" if given else text}
    messages = list(body["messages"])
    for index, message in reversed(list(enumerate(messages))):
        if isinstance(message, dict) and message.get("role") == "user":
            messages[index] = {**message, "content": _with_text(message.get("content"), text)}
            break
    return {**body, "messages": messages}


def _with_text(content: Any, text: str) -> Any:
    """Text remains text, since some servers take no parts."""
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}"


def answer_of(content: bytes) -> list[Json]:
    """The messages of an answer, whole or streamed. An answer that was not finished, or is an error, has none."""
    text = content.decode("utf-8", errors="replace")
    if text.lstrip().startswith("{"):
        return _messages_of_answer(json.loads(text))
    events = list(events_of(text))
    finished = next((each["response"] for each in events if each.get("type") == "response.completed"), None)
    if finished is not None:
        return _messages_of_answer(finished)
    return _joined(events)


def _messages_of_answer(answer: Json) -> list[Json]:
    if answer.get("choices"):
        return [answer["choices"][0]["message"]]
    return _messages_of(answer.get("output") or [])


def _messages_of(items: str | list[Any]) -> list[Json]:
    """Items of the Responses API as messages."""
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    messages: list[Json] = []
    for item in items:
        if not isinstance(item, dict):
            continue
        kind = item.get("type", "message")
        if kind == "message":
            messages.append({"role": item.get("role"), "content": item.get("content")})
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            messages.append({"role": "assistant", "tool_calls": [call]})
        elif kind == "function_call_output":
            output = item.get("output")
            content = output if isinstance(output, str) else json.dumps(output)
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
    return messages


def events_of(text: str) -> Iterator[Json]:
    """The data of server-sent events."""
    for line in text.splitlines():
        name, _, data = line.partition(":")
        if name == "data" and data.strip().startswith("{"):
            yield json.loads(data)


def _joined(chunks: list[Json]) -> list[Json]:
    """The message that the chunks of a streamed chat completion make; none if its end is missing."""
    choices = [choice for chunk in chunks for choice in chunk.get("choices") or [] if choice.get("index", 0) == 0]
    if not any(choice.get("finish_reason") for choice in choices):
        return []
    deltas = [choice.get("delta") or {} for choice in choices]
    calls: dict[int, Json] = {}
    for delta in deltas:
        for part in delta.get("tool_calls") or []:
            _add_call(calls, part)
    names = ("content", "refusal", "reasoning_content")
    texts = {name: "".join(delta.get(name) or "" for delta in deltas) for name in names}
    return [{"role": "assistant", **texts, "tool_calls": [calls[index] for index in sorted(calls)]}]


def _add_call(calls: dict[int, Json], part: Json) -> None:
    empty: Json = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    call = calls.setdefault(part.get("index", 0), empty)
    call["id"] = part.get("id") or call["id"]
    function = part.get("function") or {}
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""
