"""A server that speaks OpenAI's and Anthropic's HTTP APIs and says what a test wants. Standard library only."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shown import reply

Json = dict[str, Any]


class FakeModel:
    """Answers each call with the next text, or tool call (a name and arguments), then as who has read the prompt."""

    def __init__(self, *answers: str | tuple[str, str]) -> None:
        self.answers = list(answers)
        self.url = ""
        self.bodies: list[Json] = []  # of the requests

    @property
    def calls(self) -> int:
        return len(self.bodies)

    def message(self, body: Json) -> Json:
        self.bodies.append(body)
        read = "\n".join(str(each.get("content")) for each in body.get("messages", ()))
        answer = self.answers.pop(0) if self.answers else reply(read)
        if isinstance(answer, str):
            return {"role": "assistant", "content": answer}
        name, arguments = answer
        call = {"id": f"call-{self.calls}", "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: FakeModel

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = self.model.message(body)
        if self.path.endswith("/responses"):
            self._respond(body, message)
        elif self.path.partition("?")[0].endswith("/messages"):
            answer = _anthropic_message(message)
            if body.get("stream"):
                self._events(_anthropic_events(answer))
            else:
                self._json(answer)
        elif body.get("stream"):
            self._events(_chunks(message))
        else:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._json(_completion("chat.completion", [choice]))

    def _respond(self, body: Json, message: Json) -> None:
        part = {"type": "output_text", "text": message["content"], "annotations": []}
        item = {
            "type": "message",
            "id": f"msg_{self.model.calls}",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        answer = {
            "id": f"resp_{self.model.calls}",
            "object": "response",
            "created_at": 0,
            "model": "fake",
            "status": "completed",
            "output": [item],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "temperature": 1,
            "top_p": 1,
        }
        if body.get("stream"):
            self._events(
                [
                    {"type": "response.created", "response": answer | {"output": []}, "sequence_number": 0},
                    {"type": "response.completed", "response": answer, "sequence_number": 1},
                ]
            )
        else:
            self._json(answer)

    def _json(self, answer: Json) -> None:
        self._send("application/json", json.dumps(answer).encode())

    def _events(self, events: list[Json]) -> None:
        named = any(event.get("type") == "message_start" for event in events)
        lines = "".join(
            (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events
        )
        self._send("text/event-stream", (lines if named else f"{lines}data: [DONE]\n\n").encode())

    def _send(self, content_type: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _completion(kind: str, choices: list[Json]) -> Json:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": "fake", "choices": choices, "usage": usage}


def _chunks(message: Json) -> list[Json]:
    """The message word by word; a tool call in two pieces."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"{word} "} for word in (message["content"] or "").split()]
    for call in message.get("tool_calls", []):
        function = call["function"]
        deltas.append({"tool_calls": [{"index": 0, **call, "function": {"name": function["name"], "arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": function["arguments"]}}]})
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    return [_completion("chat.completion.chunk", [choice]) for choice in choices]


def _anthropic_message(message: Json) -> Json:
    """The message as Anthropic's API has it, after a thought."""
    blocks: list[Json] = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
    if message["content"]:
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.loads(function["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": blocks,
        "stop_reason": "tool_use" if message.get("tool_calls") else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _anthropic_events(answer: Json) -> list[Json]:
    """The message in pieces."""
    events: list[Json] = [{"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}]
    for index, block in enumerate(answer["content"]):
        empty, deltas = _pieces(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    return [
        *events,
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _pieces(block: Json) -> tuple[Json, list[Json]]:
    if block["type"] == "tool_use":
        text = json.dumps(block["input"])
        cut = len(text) // 2
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": part} for part in ("", text[:cut], text[cut:])
        ]
    kind = block["type"]
    words = block[kind].split(" ")
    pieces = [{"type": f"{kind}_delta", kind: word if not index else f" {word}"} for index, word in enumerate(words)]
    return {**block, kind: ""}, pieces


@contextmanager
def serving(model: FakeModel) -> Iterator[FakeModel]:
    """The model at a port of its own; its address is `model.url`."""
    handler = type("Handler", (_Handler,), {"model": model})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
