"""Letta's agent files (.af): agents with the messages in their context, and memory blocks.

Ids in an agent file are numbers of that file, and a later file has other messages under them. So a message's id is made
of what it says and when: the files of one agent, exported from time to time, add up.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from memorybase_client.importers.records import (
    Found,
    Json,
    RawRecord,
    Report,
    as_list,
    as_object,
    as_text,
    given,
    json_column,
)

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_EVENTS = ("heartbeat", "login", "system_alert")  # that Letta sends in the user's name
_ANSWER = "send_message"  # the tool by which an agent of MemGPT's kind answers


def fits(record: Json) -> bool:
    """Whether this is an agent file."""
    return isinstance(record.get("agents"), list) or {"messages", "core_memory"} <= record.keys()


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of every agent, then its memory blocks as a separate session."""
    for record in records:
        document = as_object(record.value)
        agents = document.get("agents", [document] if "messages" in document else None)
        if not isinstance(agents, list):
            report.lose(record.where, "an agent file must have agents, or messages")
            continue
        blocks = {as_text(as_object(block).get("id")): as_object(block) for block in as_list(document.get("blocks"))}
        for index, agent in enumerate(map(as_object, agents)):
            name = as_text(agent.get("name"))
            if name is None:
                report.lose(f"{record.where}.agents[{index}]", "an agent must have a name", field="name")
                continue
            yield from _messages(f"{record.where}.agents[{index}]", name, agent, report)
            own = [blocks.get(as_text(block_id), {}) for block_id in as_list(agent.get("block_ids"))]
            yield from _blocks(record.where, name, [*own, *as_list(agent.get("core_memory"))], document)


def _messages(where: str, agent: str, document: Json, report: Report) -> Iterator[Found]:
    seen: Counter[str] = Counter()
    answers: set[str] = set()  # ids of the calls that were answers
    called: list[Any] = []  # the ids of the latest calls
    for index, message in enumerate(map(as_object, as_list(document.get("messages")))):
        place = f"{where}.messages[{index}]"
        said = [message.get(name) for name in ("role", "created_at", "content", "text", "tool_calls", "tool_call_id")]
        called = [as_object(call).get("id") for call in as_list(message.get("tool_calls"))] or called
        for part in _parts(message, called):
            body = _message(place, part, answers, report)
            if body is None:
                continue
            digest = _digest(said if part is message else [*said, part["tool_call_id"], part["content"]])
            seen[digest] += 1
            number = "" if seen[digest] == 1 else f"-{seen[digest]}"
            yield Found(place, agent, {**body, "id": f"{agent}:{digest}{number}"}, flow=agent)


def _parts(message: Json, called: list[Any]) -> list[Json]:
    """The message, or a tool message for each of its results: calls in parallel, and calls that the client made and
    reported with its approval. `called`: the ids of the latest calls."""
    returns = [as_object(each) for each in as_list(message.get("tool_returns"))]
    reported = [each for each in map(as_object, as_list(message.get("approvals"))) if each.get("type") == "tool"]
    texts = [as_object(part) for part in as_list(message.get("content"))]
    results = reported or (returns if len(returns) > 1 or not _text(message) else _packed(message, texts, called))
    parts: list[Json] = []
    for index, each in enumerate(results):
        given_texts = (each.get("tool_return"), each.get("func_response"))
        given_text = next((text for text in given_texts if text is not None), None)
        if given_text is None and index < len(texts):
            given_text = texts[index].get("text")
        content = given_text if isinstance(given_text, str) else _text({"content": given_text})
        part = {
            **message,
            "role": "tool",
            "content": content,
            "tool_call_id": each.get("tool_call_id", message.get("tool_call_id")),
        }
        parts.append({**part, "name": each.get("name"), "failed": each.get("status") == "error"})
    return parts or [message]


def _packed(message: Json, texts: list[Json], called: list[Any]) -> list[Json]:
    """The results of calls in parallel that are only in the texts of a tool's message, each packed with its status."""
    is_packed = [{"status", "message"} <= as_object(json_column(text.get("text"))).keys() for text in texts]
    first = message.get("tool_call_id")
    is_result = str(message.get("role")) in {"tool", "function"}
    if not is_result or len(texts) < 2 or not all(is_packed) or first not in called:
        return []
    ids = called[called.index(first) :]
    return [{"tool_call_id": call_id} for call_id in ids[: len(texts)]] if len(ids) >= len(texts) else []


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _message(place: str, message: Json, answers: set[str], report: Report) -> Json | None:
    calls = [as_object(call) for call in as_list(message.get("tool_calls"))]
    # An approval with calls is the agent's step that asks for it; the person's decision is no message.
    role = "assistant" if message.get("role") == "approval" and calls else _ROLES.get(str(message.get("role")))
    if role is None:
        text = f"role must be one of {', '.join(_ROLES)}"
        report.skip(place, text, field="role", value=message.get("role"))
        return None
    body = given(role=role, timestamp=message.get("created_at"), metadata=given(model=as_text(message.get("model"))))
    text = _text(message)
    if role == "assistant":
        return {**body, **_said(text, calls, answers)}
    packed = as_object(json_column(text)) if text.startswith("{") else {}
    if role == "tool":
        if as_text(message.get("tool_call_id")) in answers:
            return None  # only says that the answer was sent
        if isinstance(packed.get("message"), str) and as_text(packed.get("status")) in {"OK", "Failed"}:
            body |= {"status": "failed"} if packed["status"] == "Failed" else {}
            text = packed["message"]
        if message.get("failed") is True:
            body["status"] = "failed"
        name, called = as_text(message.get("name")), as_text(message.get("tool_call_id"))
        return {**body, "content": text, **given(name=name, tool_call_id=called)}
    if packed.get("type") in _EVENTS:
        report.skip(place, "events of Letta are not imported", field="type", value=packed["type"])
        return None
    if packed.get("type") == "user_message" and isinstance(packed.get("message"), str):
        text = packed["message"]
    return {**body, "content": text, **given(sender_name=as_text(message.get("name")))}


def _said(text: str, calls: list[Json], answers: set[str]) -> Json:
    """Content and tool calls of an assistant's message. The ids of calls that were answers are added to `answers`."""
    said = {index: answer for index, call in enumerate(calls) if (answer := _answer(call)) is not None}
    answers.update(call_id for index in said if (call_id := as_text(calls[index].get("id"))))
    steps = [call for index, call in enumerate(calls) if index not in said]
    # The thoughts of an agent of MemGPT's kind are the content, next to its answer.
    content = "\n".join(said.values()) or text
    if not steps:
        return {"content": content}
    return {"content": content or None, "tool_calls": steps, **({} if said else {"is_output": False})}


def _text(message: Json) -> str:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content
    return "\n".join(text for part in as_list(content) if (text := as_text(as_object(part).get("text"))))


def _answer(call: Json) -> str | None:
    function = as_object(call.get("function"))
    if function.get("name") != _ANSWER:
        return None
    return as_text(as_object(json_column(function.get("arguments"))).get("message"))


def _blocks(where: str, agent: str, blocks: list[Any], document: Json) -> Iterator[Found]:
    """A changed block is another message: what it said before stays."""
    for block in map(as_object, blocks):
        label, value = as_text(block.get("label")), as_text(block.get("value"))
        if label is None or value is None:
            continue
        session_id = f"{agent}/blocks"
        body = {
            "role": "assistant",
            "content": value,
            "sender_name": label,
            "id": f"{session_id}:{label}:{_digest(value)}",
            "metadata": given(label=label, description=as_text(block.get("description"))),
            **given(timestamp=document.get("created_at")),
        }
        yield Found(f"{where}.blocks.{label}", session_id, body, flow=agent, run="blocks")
