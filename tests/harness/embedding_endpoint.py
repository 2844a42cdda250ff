"""An OpenAI-compatible embedding endpoint on the loopback address, with the default model behind it, and its faults."""

from __future__ import annotations

import base64
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import Embedder

KEY = "key-of-the-endpoint"
Json = dict[str, Any]
# Returns a status with headers, or None for a normal answer.
Fault = Callable[[Json], tuple[int, dict[str, str]] | None]


@dataclass
class EmbeddingEndpoint:
    """`faults` are taken one by one, a request each; then requests are answered. `change` alters an answer."""

    url: str
    embedder: Embedder
    requests: list[Json] = field(default_factory=list)  # the bodies, in order
    faults: list[Fault] = field(default_factory=list)
    change: Callable[[Json], Any] = lambda answer: answer
    max_texts: int = 64
    max_chars: int = 200_000
    refused: str | None = None  # a request with a text that contains this is refused
    dimension: int | None = None  # whatever is asked for
    noise: float = 0.0
    stall: threading.Event | None = None  # an answer waits for it

    def answer(self, body: Json) -> tuple[int, dict[str, str], Any]:
        self.requests.append(body)
        if self.stall is not None:
            self.stall.wait(30)
        if self.faults and (fault := self.faults.pop(0)(body)) is not None:
            return (*fault, {"error": {"message": f"cannot embed {body['input']}"}})
        texts = body["input"]
        is_refused = self.refused is not None and any(self.refused in text for text in texts)
        if is_refused or not all(texts) or len(texts) > self.max_texts or sum(map(len, texts)) > self.max_chars:
            return 400, {}, {"error": {"message": f"invalid input: {texts}"}}
        vectors = self._vectors(texts, self.dimension or body.get("dimensions"))
        order = random.Random(len(texts)).sample(range(len(texts)), len(texts))
        data = [{"object": "embedding", "index": index, "embedding": vectors[index].tolist()} for index in order]
        tokens = sum(len(self.embedder.token_offsets(text)) for text in texts)
        answer = {"data": data, "model": body["model"], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
        return 200, {}, self.change(answer)

    def _vectors(self, texts: list[str], dimension: int | None) -> NDArray[np.float32]:
        vectors = self.embedder.embed(texts)
        noise = np.random.default_rng(len(self.requests)).normal(size=vectors.shape).astype(np.float32)
        return (vectors + self.noise * noise)[:, :dimension] * 3  # endpoints need not normalize


def busy(seconds: float) -> Fault:
    return lambda _body: (429, {"Retry-After": f"{seconds:g}"})


def failing(status: int) -> Fault:
    return lambda _body: (status, {})


def as_base64(answer: Json) -> Json:
    for row in answer["data"]:
        row["embedding"] = base64.b64encode(np.array(row["embedding"], dtype="<f4").tobytes()).decode()
    return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    endpoint: EmbeddingEndpoint

    def handle_error(self, *_: object) -> None:
        """A client that hung up is no error of a test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer is written in two parts
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {KEY}":
            status, headers, answer = 401, {}, {"error": {"message": f"wrong key {self.headers['Authorization']}"}}
        elif self.path != "/v1/embeddings":
            status, headers, answer = 404, {}, {}
        else:
            status, headers, answer = self.server.endpoint.answer(body)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        with suppress(OSError):  # the client hung up
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving_embeddings(embedder: Embedder) -> Iterator[EmbeddingEndpoint]:
    """An endpoint with this model behind it, until the end of the block."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.endpoint = EmbeddingEndpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", embedder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="endpoint")
    thread.start()
    try:
        yield server.endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
