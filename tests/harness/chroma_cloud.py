"""A stand-in for Chroma Cloud: a real Chroma behind a server that wants the token and enforces the quotas."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

TOKEN = "ck-secret"
# https://docs.trychroma.com/cloud/quotas-limits
RECORDS = 300
SIZES = {"document": 16_384, "id": 128, "name": 128, "key": 36, "value": 4_096, "collection value": 256}
KEYS = 32
CONDITIONS = 8
QUERY_RESULTS = 300


class OverQuota(Exception):
    """What the request exceeds."""


class Cloud:
    """Where it listens, the tenant and database to use, and what it refused."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream)
        self.tenant, self.database = f"tenant-{uuid4().hex[:8]}", f"database-{uuid4().hex[:8]}"
        self.url = ""
        self.refused: list[str] = []
        self.documents: list[str] = []

    def forward(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.upstream.hostname or "", self.upstream.port, timeout=30)
        try:
            connection.request(method, path, body or None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@contextmanager
def cloud(upstream: str) -> Iterator[Cloud]:
    """Run it in front of this Chroma, with a tenant and a database of its own."""
    state = Cloud(upstream)
    for path, name in (
        ("/api/v2/tenants", state.tenant),
        (f"/api/v2/tenants/{state.tenant}/databases", state.database),
    ):
        status, answer = state.forward("POST", path, json.dumps({"name": name}).encode())
        assert status == 200, answer
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    state: Cloud
    protocol_version = "HTTP/1.1"
    timeout = 5  # of an idle connection, so that its thread ends

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("X-Chroma-Token") != TOKEN:
            self._answer(401, _error("AuthError", "unauthorized"))
            return
        try:
            self._check(json.loads(body) if body else {})
        except OverQuota as error:
            self.state.refused.append(str(error))
            self._answer(429, _error("QuotaExceeded", str(error)))
            return
        self._answer(*self.state.forward(self.command, self.path, body))

    do_GET = do_POST = do_DELETE = do_PUT = handle_request  # noqa: N815

    def _check(self, sent: dict[str, Any]) -> None:
        path = urlsplit(self.path)
        own = f"/tenants/{self.state.tenant}/databases/{self.state.database}"
        if own not in path.path and "pre-flight" not in path.path:
            raise OverQuota(f"another tenant or database: {path.path}")
        limit = dict(pair.split("=") for pair in path.query.split("&") if pair).get("limit") or sent.get("limit") or 0
        _at_most("limit", int(limit), RECORDS)
        _at_most("results", int(sent.get("n_results") or 0) * len(sent.get("query_embeddings") or []), QUERY_RESULTS)
        _at_most("records", len(sent.get("ids") or []), RECORDS)
        _at_most("conditions", len((sent.get("where") or {}).get("$and", [])), CONDITIONS)
        _sizes("name", [sent.get("name") or ""])
        _sizes("id", sent.get("ids") or [])
        documents = [each for each in sent.get("documents") or [] if each]
        _sizes("document", documents)
        self.state.documents += documents
        for metadata in [each for each in sent.get("metadatas") or [] if each]:
            _metadata(metadata, "value")
        _metadata(sent.get("metadata") or {}, "collection value")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _metadata(metadata: dict[str, Any], value: str) -> None:
    _at_most("metadata keys", len(metadata), KEYS)
    _sizes("key", list(metadata))
    _sizes(value, [each for each in metadata.values() if isinstance(each, str)])


def _sizes(what: str, texts: list[str]) -> None:
    for text in texts:
        _at_most(f"bytes of a {what}", len(text.encode()), SIZES[what])


def _at_most(what: str, found: int, limit: int) -> None:
    if found > limit:
        raise OverQuota(f"{found} {what}, more than {limit}")


def _error(name: str, message: str) -> bytes:
    return json.dumps({"error": name, "message": message}).encode()
