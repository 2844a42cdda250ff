"""Lines of the agents' transcripts as messages."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from memorybase_client.coding_agents.events import Json, as_text, digest

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
# What an agent writes as a user's message although no user typed it.
_NOT_TYPED = re.compile(
    r"<(command-|local-command-|bash-|ide_|task-notification|user-prompt-submit-hook|environment_context|user_instructions|session_context)"
)
NOT_SAID = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


def claude_entries(line: Json, _: Json) -> Iterator[Json]:
    """Claude Code: {uuid, type, message} a line. Lines of subagents, summaries and notes are skipped."""
    message, kind, queued = line.get("message"), line.get("type"), line.get("attachment")
    queued = queued if kind == "attachment" and isinstance(queued, dict) else {}
    if (queued.get("type"), queued.get("commandMode", "prompt")) == ("queued_command", "prompt"):
        kind, message = "user", {"content": queued.get("prompt")}  # typed while the agent was at work
    if kind not in ("user", "assistant") or not isinstance(message, dict) or not isinstance(line.get("uuid"), str):
        return
    if any(line.get(mark) for mark in NOT_SAID):
        return
    common = {
        name: line.get(key) for name, key in (("timestamp", "timestamp"), ("cwd", "cwd"), ("branch", "gitBranch"))
    }
    common["model"] = message.get("model")
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [block for block in parts if isinstance(block, dict)] if isinstance(parts, list) else []
    texts = [typed(as_text(block.get("text"))) for block in blocks if block.get("type") == "text"]
    text = "\n\n".join(part for part in texts if part)
    if text:
        yield {"role": kind, "id": line["uuid"], "text": text, **common}
    for block in blocks:
        call = as_text(block.get("id")) or as_text(block.get("tool_use_id"))
        named = {"role": "tool", "id": f"{line['uuid']}:{call}", "call": call, **common}
        if block.get("type") == "tool_use":
            yield {**named, "name": as_text(block.get("name")), "text": json.dumps(block.get("input"))}
        elif block.get("type") == "tool_result":
            yield {**named, "text": _flat(block.get("content"))}


def typed(text: str) -> str:
    """The text without what the agent added; empty if that is all."""
    text = _REMINDER.sub("", text).strip()
    return "" if _NOT_TYPED.match(text) else text


def _flat(content: Any) -> str:
    """The text of a content that is a string or a list of parts."""
    if isinstance(content, list):
        return "\n".join(as_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


CODEX_SAID = {"user_message": "user", "agent_message": "assistant", "UserMessage": "user", "AgentMessage": "assistant"}


def codex_entries(line: Json, context: Json) -> Iterator[Json]:
    """Codex: {timestamp, type, payload} a line. What was said is in events: completed items with ids, or, in older
    threads, messages without. The model's items repeat it among instructions; only tool calls are taken from them."""
    kind, payload = line.get("type"), line.get("payload")
    if not isinstance(payload, dict):
        return
    if kind == "turn_context":
        context["model"] = payload.get("model")
    common = {"timestamp": line.get("timestamp"), "model": context.get("model")}
    what = payload.get("type")
    if kind == "event_msg":
        said = payload.get("item") if what == "item_completed" else payload
        said = said if isinstance(said, dict) else {}
        role = CODEX_SAID.get(as_text(said.get("type")))
        text = typed(as_text(said.get("message")) or _flat(said.get("content")))
        if role and text:
            name = as_text(said.get("id")) or digest(f"{line.get('timestamp')} {role} {text}")[:32]
            yield {"role": role, "id": name, "text": text, **common}
    elif kind == "response_item" and isinstance(payload.get("call_id"), str):
        call = {"role": "tool", "call": payload["call_id"], **common}
        if as_text(what).endswith("_output"):
            yield {**call, "id": f"{payload['call_id']}:result", "text": _flat(payload.get("output"))}
        elif as_text(what).endswith("_call"):
            given = payload.get("arguments") or payload.get("input") or payload.get("action")
            yield {**call, "id": payload["call_id"], "name": as_text(payload.get("name")) or what, "text": _flat(given)}


COPILOT_SAID = {"user.message": "user", "assistant.message": "assistant"}


def copilot_entries(line: Json, context: Json) -> Iterator[Json]:
    """Copilot CLI: {id, timestamp, type, data} a line. What a subagent says and does has the id of its agent."""
    kind, data = as_text(line.get("type")), line.get("data")
    if not isinstance(data, dict) or line.get("agentId") or data.get("parentToolCallId"):
        return
    context["model"] = data.get("model") or context.get("model")
    common = {"timestamp": line.get("timestamp"), "model": context["model"]}
    role, text = COPILOT_SAID.get(kind), typed(as_text(data.get("content")))
    if role and text:
        yield {"role": role, "id": as_text(data.get("messageId")) or as_text(line.get("id")), "text": text, **common}
    call = {"role": "tool", "call": as_text(data.get("toolCallId")), **common}
    if kind == "tool.execution_start":
        name = as_text(data.get("toolName"))
        yield {**call, "id": call["call"], "name": name, "text": json.dumps(data.get("arguments"))}
    elif kind == "tool.execution_complete":
        result = data.get("result")
        result = result.get("content") if isinstance(result, dict) else result
        yield {**call, "id": f"{call['call']}:result", "text": _flat(result)}


GEMINI_SAID = {"user": "user", "gemini": "assistant"}


def gemini_entries(line: Json, _: Json) -> Iterator[Json]:
    """Gemini CLI: {id, timestamp, type, content} a line, once more with the tools' results. Other lines set fields."""
    role, name = GEMINI_SAID.get(as_text(line.get("type"))), as_text(line.get("id"))
    if not role or not name:
        return
    common = {"timestamp": line.get("timestamp"), "model": line.get("model")}
    calls, text = line.get("toolCalls"), typed(_flat(line.get("content")))
    if text:
        yield {"role": role, "id": name, "text": text, **common}
    for made in calls if isinstance(calls, list) else []:
        call = {"role": "tool", "call": as_text(made.get("id")), **common}
        given, result = json.dumps(made.get("args")), as_text(made.get("resultDisplay"))
        yield {**call, "id": f"{name}:{call['call']}", "name": as_text(made.get("name")), "text": given}
        if result:
            yield {**call, "id": f"{name}:{call['call']}:result", "text": result}


def opencode_entries(message: Json, _: Json) -> Iterator[Json]:
    """opencode: {id, role, time, parts} a message. Summaries of a compaction are skipped, and parts that opencode added
    to a prompt."""
    role, name, parts = as_text(message.get("role")), message["id"], message["parts"]
    if role not in ("user", "assistant") or message.get("summary") is True:
        return
    made, asked, where = (_object(message.get(name)) for name in ("time", "model", "path"))
    common = {"timestamp": _moment(made.get("created")), "cwd": where.get("cwd")}
    common["model"] = message.get("modelID") or asked.get("modelID")
    said = [part for part in parts if part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored"))]
    text = "\n\n".join(filter(None, (typed(as_text(part.get("text"))) for part in said)))
    if text:
        yield {"role": role, "id": name, "text": text, **common}
    for part in parts:
        if part.get("type") != "tool":
            continue
        state = _object(part.get("state"))
        call = {"role": "tool", "id": f"{name}:{part.get('callID')}", "call": as_text(part.get("callID")), **common}
        yield {**call, "name": as_text(part.get("tool")), "text": json.dumps(state.get("input"))}
        if result := state.get("output") or state.get("error"):
            yield {**call, "id": f"{call['id']}:result", "text": _flat(result)}


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _moment(milliseconds: Any) -> str:
    """A time since 1970; empty for what is none."""
    if not isinstance(milliseconds, (int, float)):
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds / 1_000)) + f".{int(milliseconds % 1_000):03}Z"


READERS: dict[str, Callable[[Json, Json], Iterator[Json]]] = {
    "claude-code": claude_entries,
    "codex": codex_entries,
    "copilot": copilot_entries,
    "gemini": gemini_entries,
    "opencode": opencode_entries,
}
