"""A scripted OpenAI-compatible endpoint for distillation: honest, or lying, failing, stalling and injecting.

Honest, it makes a fact of each sentence "REMEMBER: who | what" of a new message, which corrects the known fact whose
text follows "INSTEAD OF:".
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from memorybase.core.conversation.summarizers.chat_completions import ChatEndpoint

Shown = dict[str, Any]
Script = Callable[["Prompt"], "Answer"]
_SAID = re.compile(r"REMEMBER: ([^|]+) \| ([^|.]+?)(?: INSTEAD OF: ([^.]+))?\.")


@dataclass(frozen=True)
class Prompt:
    """What a request shows: its messages and the known facts, parsed from the quoted data."""

    system: str
    user: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[Shown]:
        return self._section("messages")

    @property
    def known(self) -> list[Shown]:
        return self._section("known_facts")

    def _section(self, tag: str) -> list[Shown]:
        text = self.user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
        return [json.loads(line) for line in text.splitlines() if line]


@dataclass(frozen=True)
class Answer:
    """`content` is the model's text, unless `raw` is the whole body."""

    content: str = ""
    status: int = 200
    raw: str | None = None
    usage: dict[str, int] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    finish_reason: str = "stop"
    retry_after: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": self.retry_after}

    def body(self) -> str:
        if self.raw is not None:
            return self.raw
        choice = {"message": {"role": "assistant", "content": self.content}, "finish_reason": self.finish_reason}
        return json.dumps({"choices": [choice], **({"usage": self.usage} if self.usage else {})})


def fact(what: str, *sources: str, who: str = "user", **changes: Any) -> dict[str, Any]:
    return {"who": who, "what": what, "when": None, "sources": list(sources), "corrects": None} | changes


def answer(*facts: Any, **changes: Any) -> Answer:
    return Answer(json.dumps({"worth_remembering": bool(facts), "facts": list(facts)}), **changes)


def honest(prompt: Prompt) -> Answer:
    labels = {known["what"]: known["label"] for known in prompt.known}
    return answer(
        *(
            fact(what.strip(), message["label"], who=who.strip(), corrects=labels.get(old.strip()) if old else None)
            for message in prompt.messages
            if message["new"]
            for who, what, old in _SAID.findall(message["text"])
        )
    )


def plain(prompt: Prompt) -> Answer:
    """A fact of each new message that is one sentence and no question."""
    said = [message for message in prompt.messages if message["new"] and message["text"].endswith(".")]
    return answer(*(fact(each["text"][:-1], each["label"], who=each["speaker"]) for each in said))


@dataclass
class Model:
    """The endpoint. `script` answers each request; `prompts` are those that arrived."""

    script: Script = honest
    prompts: list[Prompt] = field(default_factory=list)
    url: str = "http://model.test/v1"

    def respond(self, body: dict[str, Any]) -> Answer:
        system, user = (message["content"] for message in body["messages"])
        prompt = Prompt(system, user, body)
        self.prompts.append(prompt)
        return self.script(prompt)

    def endpoint(self, **options: Any) -> ChatEndpoint:
        """A client of this model without a network."""

        def respond(request: httpx.Request) -> httpx.Response:
            found = self.respond(json.loads(request.content))
            return httpx.Response(found.status, headers=found.headers, text=found.body())

        return ChatEndpoint(
            url=self.url,
            key="key",
            model="scripted",
            timeout_seconds=5,
            transport=httpx.MockTransport(respond),
            **options,
        )


@contextmanager
def serving(script: Script = honest) -> Iterator[Model]:
    """The endpoint as a server on the loopback address. `stalled` scripts wait until the end of the block."""
    model = Model(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found = model.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(found.body().encode())

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
