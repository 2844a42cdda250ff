"""A model's provider: answers coding agents as a test says, in the protocol of each, and keeps what it was sent.

Anthropic's Messages (Claude Code, Copilot CLI, opencode, the SDKs), OpenAI's Responses (Codex) and Gemini's.
It needs the standard library alone: adapters are tested in environments of their own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass
class Provider:
    """`replies` are the next answers to requests that offer tools or have results of one; after the last one, and to
    other requests, such as those for a session's title, it says "Done."."""

    url: str
    requests: list[Json] = field(default_factory=list)
    replies: list[Json] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.replies.append({"text": text})

    def use(self, tool: str, **arguments: Any) -> None:
        """Call the tool with this name, which agents offer with a prefix of their own."""
        self.replies.append({"name": tool, "input": arguments})

    @property
    def shown(self) -> str:
        """All that the model was shown in the latest request."""
        return shown_in(self.requests[-1])

    @property
    def tools(self) -> list[str]:
        return tools_in(self.requests[-1])

    def next_reply(self, request: Json) -> Json:
        if not request.get("tools") and '"tool_result"' not in shown_in(request):
            return {"text": "Done."}
        self.requests.append(request)
        reply = self.replies.pop(0) if self.replies else {"text": "Done."}
        if name := reply.get("name"):
            (reply["name"],) = {tool for tool in tools_in(request) if tool.endswith(name)} or {name}
        return reply

    def answer(self, path: str, request: Json) -> list[Json] | Json | None:
        """The events of an answer's stream, or a whole answer; None for what it does not serve."""
        if path == "/v1/messages":
            message = _anthropic(request, self.next_reply(request), len(self.requests))
            return _anthropic_events(message) if request.get("stream") else message
        if path == "/v1/responses":
            return _openai(self.next_reply(request), len(self.requests))
        if path.endswith(":streamGenerateContent"):
            return _gemini(self.next_reply(request))
        return None


def shown_in(request: Json) -> str:
    """All that the model was shown besides what the agent instructs it."""
    said = request.get("messages") or request.get("input") or request.get("contents")
    return json.dumps(said, ensure_ascii=False)


def tools_in(request: Json) -> list[str]:
    """The names of the tools, those of a namespace below it."""
    found = []
    for tool in request.get("tools", []):
        below = tool.get("functionDeclarations") or tool.get("tools")
        prefix = f"{tool['name']}." if below and tool.get("name") else ""
        found += [prefix + str(each.get("name") or each.get("type")) for each in below or [tool]]
    return found


def _anthropic(request: Json, reply: Json, number: int) -> Json:
    is_call = "name" in reply
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": reply.get("name"), "input": reply.get("input")}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [call if is_call else {"type": "text", "text": reply["text"]}],
        "stop_reason": "tool_use" if is_call else "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _anthropic_events(message: Json) -> list[Json]:
    (content,), reason = message["content"], message["stop_reason"]
    if reason == "tool_use":
        delta = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
        opened = content | {"input": {}}
    else:
        delta, opened = {"type": "text_delta", "text": content["text"]}, content | {"text": ""}
    return [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _openai(reply: Json, number: int) -> list[Json]:
    item: Json = {"id": f"item_{number}", "status": "completed"}
    if "name" in reply:
        namespace, _, name = reply["name"].rpartition(".")
        item |= {"type": "function_call", "call_id": f"call_{number}", "name": name}
        item |= {"arguments": json.dumps(reply["input"])} | ({"namespace": namespace} if namespace else {})
    else:
        text = {"type": "output_text", "text": reply["text"], "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [text]}
    response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response | {"usage": usage}},
    ]


def _gemini(reply: Json) -> list[Json]:
    call = {"functionCall": {"name": reply["name"], "args": reply["input"]}} if "name" in reply else None
    content = {"role": "model", "parts": [call or {"text": reply["text"]}]}
    return [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}]


@contextmanager
def serve_provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_HEAD(self) -> None:
            self._send(200, b"")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            events = provider.answer(self.path.partition("?")[0], request)
            if not isinstance(events, list):
                self._send(200 if events else 404, json.dumps(events or {}).encode())
                return
            lines = (
                (f"event: {each['type']}\n" if "type" in each else "") + f"data: {json.dumps(each)}\n\n"
                for each in events
            )
            self._send(200, "".join(lines).encode(), "text/event-stream")

        def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, name="provider").start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
