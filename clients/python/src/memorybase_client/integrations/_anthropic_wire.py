"""The call of Anthropic's Messages API, as prompts and answers in OpenAI's chat format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memorybase_client.integrations._openai_wire import Json, events_of


def prompt_of(path: str, body: Any) -> list[Any] | None:
    """The prompt of a request; None if it is another call."""
    if not path.endswith("/messages") or not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return None
    if body.get("compaction"):  # asks for a summary
        return None
    return [message for each in body["messages"] for message in _messages_of(each)]


def with_recalled(body: Json, text: str) -> Json:
    """The request with this text for the model, after the question.

    What the application marks for the cache comes before it, so that its next prompt, which is without this text, finds
    that in the cache. A mark for the end of the whole request would follow it, and moves to the question.
    """
    messages = list(body["messages"])
    index = max((index for index, message in enumerate(messages) if _asks(message)), default=None)
    if index is None:
        return body
    asked, rest = _blocks(messages[index]), {name: value for name, value in body.items() if name != "messages"}
    if rest.get("cache_control") and index == len(messages) - 1:
        asked[-1] = {"cache_control": rest.pop("cache_control"), **asked[-1]}
    messages[index] = {**messages[index], "content": [*asked, {"type": "text", "text": text}]}
    return {**rest, "messages": messages}


def answer_of(content: bytes) -> list[Json]:
    """The messages of an answer, whole or streamed. An answer that was not finished, or is an error, has none."""
    text = content.decode("utf-8", errors="replace")
    if text.lstrip().startswith("{"):
        return list(_messages_of(json.loads(text)))
    events = list(events_of(text))
    if not any(event.get("type") == "message_stop" for event in events):
        return []
    return list(_messages_of({"role": "assistant", "content": _joined(events)}))


def _messages_of(message: Any) -> Iterator[Json]:
    """Results of tools are messages of their own. Of what a model says, texts and calls of tools are kept."""
    blocks = _blocks(message)
    for block in blocks:
        if _is_result(block):
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": _result_of(block)}
    if _asks(message):
        yield {"role": "user", "content": _said([block for block in blocks if not _is_result(block)])}
    elif blocks and message.get("role") == "assistant":
        calls = [_call_of(block) for block in blocks if block.get("type") == "tool_use"]
        yield {"role": "assistant", "content": _said(list(filter(_is_text, blocks))), "tool_calls": calls}


def _said(blocks: list[Json]) -> str | list[Json]:
    """A single text is the content, as in most chats."""
    parts = [{"type": "text", "text": block["text"]} if _is_text(block) else _unmarked(block) for block in blocks]
    return parts[0]["text"] if len(parts) == 1 and _is_text(parts[0]) else parts


def _unmarked(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _call_of(block: Json) -> Json:
    function = {"name": block.get("name"), "arguments": json.dumps(block.get("input") or {})}
    return {"id": block.get("id"), "type": "function", "function": function}


def _result_of(block: Json) -> str:
    """Its text, or as JSON what is something else."""
    blocks = _blocks(block)
    return "\n".join(each["text"] for each in blocks) if all(map(_is_text, blocks)) else json.dumps(blocks)


def _asks(message: Any) -> bool:
    """Whether a user says something in it, beside results of tools."""
    return any(not _is_result(block) for block in _blocks(message)) and message.get("role") == "user"


def _blocks(holder: Any) -> list[Json]:
    """The content of a message or of a tool's result."""
    content = holder.get("content") if isinstance(holder, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _is_text(block: Json) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _is_result(block: Json) -> bool:
    return block.get("type") == "tool_result"


def _joined(events: list[Json]) -> list[Json]:
    """The blocks that the events of a stream make."""
    blocks: dict[int, Json] = {}
    inputs: dict[int, str] = {}
    for event in events:
        index = event.get("index", 0)
        if event.get("type") == "content_block_start":
            blocks[index] = dict(event["content_block"])
        elif event.get("type") == "content_block_delta":
            delta = event["delta"]
            if delta.get("type") == "text_delta":
                blocks[index]["text"] += delta["text"]
            elif delta.get("type") == "input_json_delta":
                inputs[index] = inputs.get(index, "") + delta["partial_json"]
    for index, encoded in inputs.items():
        blocks[index]["input"] = json.loads(encoded or "{}")
    return [blocks[index] for index in sorted(blocks)]
