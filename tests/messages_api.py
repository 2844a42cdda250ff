"""A model's provider: answers calls of the Messages API as a test says, and keeps what it was sent. Standard library
only, since tests of adapters use it too."""

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
    """`replies` are the contents of the next answers; after the last one it says "Done."."""

    url: str
    requests: list[Json] = field(default_factory=list)
    replies: list[Json] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.replies.append({"type": "text", "text": text})

    def use(self, tool: str, **arguments: Any) -> None:
        self.replies.append({"type": "tool_use", "id": f"toolu_{len(self.replies)}", "name": tool, "input": arguments})

    @property
    def shown(self) -> str:
        """All that the model was shown in the latest request."""
        return json.dumps(self.requests[-1]["messages"], ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.requests[-1].get("tools", [])]

    def answer(self, request: Json) -> Json:
        self.requests.append(request)
        content = self.replies.pop(0) if self.replies else {"type": "text", "text": "Done."}
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [content],
            "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }


def _events(message: Json) -> list[Json]:
    """A message as its stream."""
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


@contextmanager
def serve_provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_HEAD(self) -> None:
            self._send(200, b"")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.partition("?")[0] != "/v1/messages":
                self._send(404, b"{}")
                return
            answer = provider.answer(request)
            if not request.get("stream"):
                self._send(200, json.dumps(answer).encode(), "application/json")
                return
            lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in _events(answer))
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
