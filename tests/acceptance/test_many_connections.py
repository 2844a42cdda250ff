"""The API as it is deployed, with few files, and more connections than those."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness.pieces import KEY, ApiServer, topology

pytestmark = pytest.mark.slow

FILES = 256
HALF_SENT = b"POST /v1/flows HTTP/1.1\r\nHost: localhost\r\n"


class ApiWithFewFiles(ApiServer):
    def popen_options(self) -> dict[str, Any]:
        limit = (FILES, FILES)
        return super().popen_options() | {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiWithFewFiles]:
    with topology(tmp_path, values={"api.http_protocol.HEADER_SECONDS": 300.0}) as built:
        yield built.add(ApiWithFewFiles(built.settings))


def test_more_half_sent_requests_than_files_keep_nobody_out(api: ApiWithFewFiles) -> None:
    with ExitStack() as held:
        for _ in range(FILES + 100):
            client = held.enter_context(closing(socket.create_connection(("127.0.0.1", api.port), timeout=120)))
            client.sendall(HALF_SENT)
        with httpx.Client(base_url=f"http://127.0.0.1:{api.port}", trust_env=False, timeout=120) as caller:
            assert caller.get("/health/live").status_code == 200
            answer = caller.put("/v1/flows/f", json={"name": "f"}, headers={"X-API-Key": KEY})
            assert answer.status_code == 201
