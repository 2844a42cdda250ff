from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module", autouse=True)
def _closed_sockets() -> Iterator[None]:
    """A unit test talks to nothing; Unix sockets stay open, since event loops wake themselves through them."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def check(self: socket.socket) -> None:
        if self.family != socket.AF_UNIX:
            raise AssertionError("a unit test opened a connection; take a double of harness.doubles")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check(self)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check(self)
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        yield
